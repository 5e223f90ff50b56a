"""Beads about friction: what fails too often gets one, and no second one while it is open."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bd.core.model import Change
from bd.core.times import age_text
from bd.operations.base import Operation, minting, register, subject
from bd.operations.create import Create
from bd.policy import friction

if TYPE_CHECKING:
    from typing import Any, ClassVar

    from bd.core.model import Snapshot
    from bd.core.operation import DecisionContext
    from bd.core.runtime import Runtime

# The most beads made at once; the worst causes first.
AT_ONCE = 5
_NAMED = 10


@register
class TellFriction(Operation):
    """Create a bead about each cause of friction that has no open one: `window_s`, `rate`, `least`. Often there is none."""

    verb: ClassVar[str] = "friction"
    takes: ClassVar[frozenset[str]] = frozenset({"least", "rate", "uids", "window_s"})

    @classmethod
    def prepare(cls, args: dict[str, Any], runtime: Runtime | None) -> None:
        if "uids" not in args:
            args["uids"] = [minting(runtime).new_id() for _ in range(AT_ONCE)]

    def decide(self, snapshot: Snapshot, context: DecisionContext) -> Change:
        there = [bead for bead in map(snapshot.by_uid, self.args["uids"]) if bead is not None]
        if there:
            return Change({}, "", touched=tuple(bead.id for bead in there))
        rules = friction.Rules(self.args["window_s"], self.args["rate"], self.args["least"])
        found = friction.causes(snapshot, self.asked_at, rules)
        untold = [cause for cause in found if cause.about is None][:AT_ONCE]
        if not untold:
            return Change({}, "")
        specs = [{**self._spec(cause), "uid": uid} for cause, uid in zip(untold, self.args["uids"], strict=False)]
        made = Create(by=self.by, at=self.at, uid=self.uid, beads=specs).decide(snapshot, context)
        return made._replace(subject=subject(self.verb, made.touched, self.by), result=None)

    def _spec(self, cause: friction.Cause) -> dict[str, Any]:
        percent = round(100 * cause.rate)
        total = cause.failed + cause.done
        window = age_text(self.args["window_s"])
        more = len(cause.beads) - _NAMED
        named = ", ".join(cause.beads[:_NAMED]) + (f" and {more} more" if more > 0 else "")
        return {
            "title": f"{percent} % of the attempts on {cause.kind} {cause.name} fail",
            "type": "chore",
            "labels": [friction.LABEL, cause.label],
            "description": f"{cause.failed} of {total} attempts in {window} failed, on {named}. Find out why, and fix the cause.",
        }
