"""Operations that put things right: undo. (Failing, reassigning and dead letters will stand here too.)"""

from __future__ import annotations

from bd.errors import WrongState
from bd.model import Bead, Change
from bd.operations.base import Operation, register, subject
from bd.operations.capacity import with_capacity
from bd.policy import lifecycle

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar

    from bd.model import Snapshot
    from bd.operations.base import World


@register
class Undo(Operation):
    """Take a write back: `words` (its subject), `beads` {id: {before, after}} (fields or None).

    Refused as soon as one of the beads is no longer as that write left it. An undone claim
    stays counted in `attempts` and is forgiven.
    """

    verb: ClassVar[str] = "undo"

    def decide(self, snapshot: Snapshot, world: World) -> Change:
        beads: dict[str, Bead | None] = {}
        names: set[str | None] = set()
        for bead_id, versions in self.args["beads"].items():
            tip = snapshot.bead(bead_id)
            if (dict(tip.fields) if tip else None) != versions["after"]:
                raise WrongState(f"{bead_id} was changed since; the write is no longer the last word", id=bead_id)
            for fields in (versions["before"], versions["after"]):
                names.add(((fields or {}).get("claim") or {}).get("agent"))
            beads[bead_id] = self._restored(versions["before"], tip)
        words = subject("undo", list(beads), self.by)
        change = Change(beads, words, touched=tuple(beads), result={"undone": self.args["words"]})
        return with_capacity(change, snapshot, names, world.now)

    def _restored(self, before: dict[str, Any] | None, tip: Bead | None) -> Bead | None:
        if before is None:
            return None
        bead = Bead(before)
        if tip is None:
            return lifecycle.touch(bead, self.asked_at)
        spent = tip.attempts - bead.attempts
        if spent > 0:
            forgiven = tip.get("attempts_forgiven", 0) + spent
            bead = bead.evolve(attempts=tip.attempts, attempts_forgiven=forgiven)
        return lifecycle.touch(bead.evolve(updated_at=tip.get("updated_at")), self.asked_at)
