"""The derivations that bd hands to its store: what it keeps of beads, so that a list need not work it out again.

Each names all code that its function may import, which it does when it is first asked. A derivation of many modules takes
longer to tell from another version's, at every start.
"""

from __future__ import annotations

from bd.core.queries import Derivation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from bd.core.model import Snapshot


def _phases(ids: Sequence[str], snapshot: Snapshot, now: datetime) -> Mapping[str, str]:
    from bd.policy.derivations import phases

    return phases(ids, snapshot, now)


def _entries(ids: Sequence[str], snapshot: Snapshot, now: datetime) -> Mapping[str, str]:
    from bd.compat.bead_json import lasting_entries

    return lasting_entries(ids, snapshot, now)


def _lines(ids: Sequence[str], snapshot: Snapshot, now: datetime) -> Mapping[str, str]:
    from bd.cli.bead_lines import lasting_lines

    return lasting_lines(ids, snapshot, now)


PHASES = Derivation("phase", ("core", "policy"), _phases)
ENTRIES = Derivation("issue", ("core", "policy", "compat"), _entries)
LINES = Derivation("line", ("core", "policy", "cli/bead_lines.py", "cli/output.py"), _lines)
DERIVATIONS = (PHASES, ENTRIES, LINES)
