"""Beads about friction: what fails too often gets one, and no second one while it is open."""

from __future__ import annotations

from bd import TYPE_CHECKING
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
# So many failures of a cause are listed, each with so much of its error.
_NAMED, _WORDS = 10, 120


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
        role = friction.role_of(snapshot)
        specs = [{**self._spec(cause), "uid": uid} for cause, uid in zip(untold, self.args["uids"], strict=False)]
        specs = [friction.for_role(spec, role, snapshot) for spec in specs] if role else specs
        made = Create(by=self.by, at=self.at, uid=self.uid, beads=specs).decide(snapshot, context)
        return made.replace(subject=subject(self.verb, made.touched, self.by), result=None)

    def _spec(self, cause: friction.Cause) -> dict[str, Any]:
        percent = round(100 * cause.rate)
        total = cause.failed + cause.done
        window = age_text(self.args["window_s"])
        return {
            "title": f"{percent} % of the attempts on {cause.kind} {cause.name} fail",
            "type": "chore",
            "labels": [friction.LABEL, cause.label],
            "description": "\n".join(
                [
                    f"{cause.failed} of {total} attempts in {window} failed. Find out why, and fix the cause.",
                    "",
                    *map(_line, cause.failures[:_NAMED]),
                    *([f"- and {cause.failed - _NAMED} more"] if cause.failed > _NAMED else []),
                ]
            ),
            "links": [{"type": "caused-by", "id": bead_id} for bead_id in cause.beads[:_NAMED]],
        }


def _line(failed: friction.Failed) -> str:
    """Return one failed attempt in words: what the bead about it has as evidence."""
    entry = failed.entry
    words = str(entry.get("error") or "").strip().partition("\n")[0]
    said = f": {words[:_WORDS]}{'…' if len(words) > _WORDS else ''}" if words else ""
    number = f", attempt {entry['attempt']}" if entry.get("attempt") else ""
    by = f" by {entry['agent']}" if entry.get("agent") else ""
    return f"- {failed.bead_id}{number}{by}, {failed.at}: {entry.get('reason') or 'failed'}{said}"
