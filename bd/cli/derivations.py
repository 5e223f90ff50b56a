"""The derivations that bd passes to its store: what it keeps about beads, so that lists need not compute it again.

Each names all code that its function may import. It does so when first used: a claim uses none of them.
"""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.queries import Derivation

if TYPE_CHECKING:
    from datetime import datetime

    from bd.core.model import Snapshot
    from bd.core.queries import Derive


def _phases(snapshot: Snapshot, now: datetime) -> Derive:
    from bd.policy.derivations import phases  # noqa: PLC0415  see above

    return phases(snapshot, now)


def _entries(snapshot: Snapshot, now: datetime) -> Derive:
    from bd.compat.bead_json import lasting_entries  # noqa: PLC0415  the same

    return lasting_entries(snapshot, now)


def _lines(snapshot: Snapshot, now: datetime) -> Derive:
    from bd.cli.bead_lines import lasting_lines  # noqa: PLC0415  the same

    return lasting_lines(snapshot, now)


# Single modules where a package has many that derive nothing: every command reads all of this code, to tell the cache that is its own.
_PHASES = (
    "cli/derivations.py",
    "core",
    "policy/dag.py",
    "policy/derivations.py",
    "policy/priority.py",
    "policy/ranking.py",
    "policy/readiness.py",
)
_ENTRIES = (*_PHASES, "compat/bead_json.py", "policy/live_notes.py")
_LINES = (
    *_PHASES,
    "cli/bead_lines.py",
    "cli/columns.py",
    "cli/output.py",
    "policy/advisory_claims.py",
    "policy/claims.py",
)
PHASES = Derivation("phase", _PHASES, _phases)
ENTRIES = Derivation("issue", _ENTRIES, _entries)
LINES = Derivation("line", _LINES, _lines)
DERIVATIONS = (PHASES, ENTRIES, LINES)
