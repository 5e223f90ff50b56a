"""Policy results that a store may keep: the phases of those beads that move only if some bead changes.

cli/derivations.py lists all derivations.
"""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.queries import is_calm
from bd.policy.dag import Lineage
from bd.policy.ranking import Ranking

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from bd.core.model import Bead, Snapshot
    from bd.core.queries import Derive


def lasting(snapshot: Snapshot) -> Callable[[Bead], bool]:
    """Return a test whether only a change of some bead can move a bead to another phase, or place in the order of work."""
    deferred = Lineage(snapshot, lambda parent: (True,) if parent.get("defer_until") else ())
    return lambda bead: is_calm(bead.fields) and bool(bead.created_at) and not deferred.above(bead)


def phases(snapshot: Snapshot, now: datetime) -> Derive:
    """Derive the phases of beads whose phase lasts, by id; for a ready bead followed by its place in the order of work
    and since when it has been ready, separated by spaces.
    """
    ranking, is_lasting = Ranking(snapshot, now), lasting(snapshot)

    def derive(ids: Sequence[str]) -> dict[str, str]:
        beads = [bead for bead in snapshot.heads(ids) if is_lasting(bead)]
        found = {bead.id: ranking.readiness.phase(bead) for bead in beads}
        ranking.weigh(bead_id for bead_id, phase in found.items() if phase == "ready")
        for bead in beads:
            if found[bead.id] == "ready":
                found[bead.id] = f"ready {ranking.place(bead, is_ready=True)!r} {ranking.age(bead)[0]}"
        return found

    return derive
