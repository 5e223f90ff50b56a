"""The operation that undoes a write."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.errors import StaleToken, WrongState
from bd.core.model import Bead, Change
from bd.operations.base import Operation, register, subject
from bd.operations.capacity_file import with_capacity
from bd.operations.dependencies import refuse_circles
from bd.operations.idempotency import with_spent
from bd.policy import lifecycle
from bd.policy.eligibility import refuse_overlap
from bd.policy.triggers import EVENT_KEYS

if TYPE_CHECKING:
    from typing import Any, ClassVar

    from bd.core.model import Snapshot
    from bd.core.operation import DecisionContext


@register
class Undo(Operation):
    """Undo a write: `words` (its subject), `beads` {id: {before, after}} (fields or None), `moves` {id: path before}.

    Refused if one of the beads has changed since that write, if others name a bead that it made, if it would change another
    agent's claim, or if beads would wait for each other. An undone claim stays counted in `attempts`, and is forgiven.
    """

    verb: ClassVar[str] = "undo"
    takes: ClassVar[frozenset[str]] = frozenset({"beads", "moves", "words"})

    @property
    def needs_remote(self) -> bool:
        """True if it restores a claim: only the hub can say that nobody else has the bead."""
        versions = self.args["beads"].values()
        return any(_claim(one["before"]) and _claim(one["before"]) != _claim(one["after"]) for one in versions)

    def decide(self, snapshot: Snapshot, context: DecisionContext) -> Change:
        beads: dict[str, Bead | None] = {}
        names: set[str | None] = set()
        for bead_id, versions in self.args["beads"].items():
            tip = snapshot.bead(bead_id)
            if (dict(tip.fields) if tip else None) != versions["after"]:
                raise WrongState(f"{bead_id} was changed since; the write can't be undone any more", id=bead_id)
            self._refuse_loss(tip, versions["before"], snapshot)
            for fields in (versions["before"], versions["after"]):
                names.update(Bead(fields or {}).holders)
            if versions["before"] != versions["after"]:
                beads[bead_id] = self._restored(versions["before"], tip)
        moves = {bead_id: path for bead_id, path in self.args.get("moves", {}).items() if path != snapshot.path_of(bead_id)}
        touched = tuple(self.args["beads"])
        words = subject("undo", touched, self.by)
        change = Change(beads, words, moves=moves, touched=touched, result={"undone": self.args["words"]})
        refuse_overlap(change, snapshot)
        refuse_circles(change, snapshot)
        # An event does not come again because its beads were undone; a plan may be applied again with the same key.
        return with_capacity(with_spent(change, snapshot, EVENT_KEYS), snapshot, names, context.now)

    def _refuse_anothers(self, tip: Bead, snapshot: Snapshot) -> None:
        """Refuse to change a claim without its token: such a claim is ended by its holder, not undone."""
        try:
            self.guard(tip, snapshot)
        except StaleToken as error:
            hint = f"`bd undo --agent {tip.assignee}` from where it was claimed, or `bd release {tip.id} --force --reason TEXT`"
            raise StaleToken(error.message, hint=hint, id=tip.id) from None

    def _refuse_loss(self, tip: Bead | None, before: dict[str, Any] | None, snapshot: Snapshot) -> None:
        """Refuse to remove what others rely on: another author's claim, or a bead that others name."""
        if tip is None:
            return
        if tip.claims and (before is None or any(before.get(key) != tip.get(key) for key in lifecycle.HOLDER_FIELDS)):
            self._refuse_anothers(tip, snapshot)
        if before is None:
            others = sorted(head.id for head in snapshot.mentioning(tip.id) if head.id not in self.args["beads"])
            if others:
                hint = f"`bd delete {tip.id}` removes it anyway"
                raise WrongState(f"{tip.id} is referred to by {', '.join(others[:5])} by now", hint=hint, id=tip.id)

    def _restored(self, before: dict[str, Any] | None, tip: Bead | None) -> Bead | None:
        if before is None:
            return None
        bead = Bead(before)
        if tip is None:
            return lifecycle.touch(bead, self.asked_at)
        spent = tip.attempts - bead.attempts
        if spent > 0:
            forgiven = bead.get("attempts_forgiven", 0) + spent
            bead = bead.evolve(attempts=tip.attempts, attempts_forgiven=forgiven)
        return lifecycle.touch(bead.evolve(updated_at=tip.get("updated_at")), self.asked_at)


def _claim(fields: dict[str, Any] | None) -> dict[str, Any]:
    return (fields or {}).get("claim") or {}
