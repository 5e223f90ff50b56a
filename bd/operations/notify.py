"""Operations on notifying people about beads: taking the right to, and having done so.

The rules are in policy/notification.py; notify/hooks.py runs hooks.
"""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.model import Change
from bd.operations.base import Operation, register, subject
from bd.policy import lifecycle, notification

if TYPE_CHECKING:
    from typing import ClassVar

    from bd.core.model import Bead, Snapshot
    from bd.core.operation import DecisionContext


@register
class Notify(Operation):
    """Take the right to notify people about beads: `ids`, and `keys` by id for beads that are not dead letters.

    Occasions that are no longer due are left out, possibly all of them.
    """

    verb: ClassVar[str] = "notify"
    takes: ClassVar[frozenset[str]] = frozenset({"ids", "keys"})

    @property
    def needs_remote(self) -> bool:
        return True

    def decide(self, snapshot: Snapshot, context: DecisionContext) -> Change:
        mine: list[str] = []

        def take(bead: Bead) -> Bead:
            if notification.noted(bead).get("right") == self.uid:
                mine.append(bead.id)
                return bead
            occasion = notification.occasion_of(bead, (self.args.get("keys") or {}).get(bead.id, ""), snapshot, self.asked_at)
            if occasion is None or not notification.is_due(bead, occasion, self.asked_at):
                return bead
            mine.append(bead.id)
            return lifecycle.touch(notification.taken(bead, occasion.key, self.by, self.uid, self.asked_at), self.asked_at)

        beads, _, failed = self.each(self.args["ids"], snapshot, take)
        return Change(beads, subject("notify", mine, self.by), touched=tuple(mine), failures=tuple(failed))


@register
class Notified(Operation):
    """Record that people were notified about beads: `ids`, under the `right` that was taken; others' rights are left alone."""

    verb: ClassVar[str] = "notified"
    takes: ClassVar[frozenset[str]] = frozenset({"ids", "right"})

    def decide(self, snapshot: Snapshot, context: DecisionContext) -> Change:
        def done(bead: Bead) -> Bead:
            known = notification.noted(bead)
            if known.get("right") != self.args["right"] or known.get("done"):
                return bead
            return lifecycle.touch(notification.told(bead), self.asked_at)

        beads, names, failed = self.each(self.args["ids"], snapshot, done)
        return Change(beads, subject("notified", names, self.by), touched=tuple(names), failures=tuple(failed))
