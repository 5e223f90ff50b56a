"""The operation that moves assigned beads from overloaded agents to idle ones, by the rules of policy/stealing.py."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.model import Change
from bd.core.times import time_text
from bd.operations.base import Operation, register
from bd.policy import lifecycle
from bd.policy.stealing import LABEL, cycle

if TYPE_CHECKING:
    from typing import ClassVar

    from bd.core.model import Bead, Snapshot
    from bd.core.operation import DecisionContext


@register
class Rebalance(Operation):
    """Make one cycle of moves, judged on the snapshot that the commit is built on: all, or those to one agent (`to`).

    Beads that were moved, claimed or ended meanwhile are left out, so any number of rebalancers may run.
    """

    verb: ClassVar[str] = "rebalance"
    takes: ClassVar[frozenset[str]] = frozenset({"to"})

    @property
    def needs_remote(self) -> bool:
        return True

    @property
    def is_portable(self) -> bool:
        return False  # who is idle depends on what this clone has fetched, not only on the snapshot

    def decide(self, snapshot: Snapshot, context: DecisionContext) -> Change:
        done = self._done(snapshot)
        if done:
            return Change({}, "", touched=tuple(done))
        beads: dict[str, Bead | None] = {}
        for move in cycle(snapshot, context.now, to=self.args.get("to")).moves:
            bead = snapshot.bead(move.id)
            if bead is not None:
                known = {**bead.get("metadata", {}), "stolen_from": move.source, "stolen_at": self._stamp}
                after = bead.evolve(assignee=move.to, labels=sorted({*bead.labels, LABEL}), metadata=known)
                beads[bead.id] = lifecycle.touch(after, self.asked_at)
        if not beads:
            return Change({}, "", notes=("nothing to move; `bd rebalance status` says why",))
        count = f"{len(beads)} bead{'s' if len(beads) > 1 else ''}"
        return Change(beads, f"{self.verb}: {count} by {self.agent}", touched=tuple(sorted(beads)))

    @property
    def _stamp(self) -> str:
        return time_text(self.asked_at, exact=True)

    def _done(self, snapshot: Snapshot) -> list[str]:
        """Return what this operation has already moved on this snapshot."""
        moved = [bead.id for bead in snapshot.live() if LABEL in bead.labels]
        stamped = (bead for bead in snapshot.wholes(moved) if (bead.get("metadata") or {}).get("stolen_at") == self._stamp)
        return sorted(bead.id for bead in stamped)
