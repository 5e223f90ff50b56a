"""Policy results that a store may keep: the phases of those beads that move only if some bead changes.

cli/derivations.py lists all derivations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bd.core.queries import is_calm
from bd.policy.dag import ancestors
from bd.policy.ranking import Ranking

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from bd.core.model import Bead, Snapshot
    from bd.core.queries import Derive


def is_lasting(bead: Bead, snapshot: Snapshot) -> bool:
    """Return whether only a change of some bead can move the bead to another phase, or to another place in the order of work."""
    if not is_calm(bead.fields) or not bead.created_at:
        return False
    return not bead.parent or not any(parent.get("defer_until") for parent in ancestors(bead, snapshot))


def phases(snapshot: Snapshot, now: datetime) -> Derive:
    """Derive the phases of beads whose phase lasts, by id; for a ready bead followed by a space and its place in the order."""
    ranking = Ranking(snapshot, now)

    def derive(ids: Sequence[str]) -> dict[str, str]:
        beads = [bead for bead in snapshot.heads(ids) if is_lasting(bead, snapshot)]
        found = {bead.id: ranking.readiness.phase(bead) for bead in beads}
        ranking.weigh(bead_id for bead_id, phase in found.items() if phase == "ready")
        for bead in beads:
            if found[bead.id] == "ready":
                found[bead.id] = f"ready {ranking.place(bead, is_ready=True)!r}"
        return found

    return derive
