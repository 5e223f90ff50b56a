"""The lines of `bd list`: a bead, its state and its holder, as plain text or for a terminal.

As plain text a line is the same for everybody, so it is one of the store's derivations (derivations.py), which has to name
everything that this module imports.
"""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.cli.output import PlainOutput, escaped
from bd.policy import advisory_claims
from bd.policy.dag import awaited
from bd.policy.derivations import lasting
from bd.policy.readiness import Readiness

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from bd.cli.output import Output
    from bd.core.model import Bead, Snapshot
    from bd.core.queries import Derive

# The name of the derivation.
LINE = "line"


def line_with_state(out: Output, bead: Bead, readiness: Readiness) -> str:
    """Format a bead with its state and holder."""
    shared = at_it(bead, readiness.now)
    who = f", {escaped(shared or bead.assignee or '')}" if shared or bead.assignee else ""
    return out.bead_line(bead, readiness, with_state=True, tail=who)


def plain_lines(beads: Iterable[Bead], readiness: Readiness) -> dict[str, str]:
    """Format beads as plain text, by id."""
    shown, out = list(beads), PlainOutput()
    readiness.snapshot.heads({target for bead in shown for target in (*awaited(bead), bead.parent or bead.id)})  # all at once
    return {bead.id: line_with_state(out, bead, readiness) for bead in shown}


def lasting_lines(snapshot: Snapshot, now: datetime) -> Derive:
    """Derive the plain lines, by id, of beads whose line only a change of some bead can invalidate."""
    readiness, is_lasting = Readiness(snapshot, now), lasting(snapshot)

    def derive(ids: Sequence[str]) -> dict[str, str]:
        beads = (bead for bead in snapshot.heads(ids) if not bead.get("claims") and is_lasting(bead))
        return plain_lines(beads, readiness)

    return derive


def at_it(bead: Bead, now: datetime) -> str:
    """Describe who works on an advisory bead; "" for any other."""
    if not bead.get("claims"):
        return ""
    return advisory_claims.words(bead, now)
