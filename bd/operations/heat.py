"""Attention: beads are heated by `bd heat`, and by other operations on them."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.errors import BadInput
from bd.core.model import Bead, Change
from bd.core.times import time_text
from bd.operations.base import Operation, register, subject
from bd.policy import lifecycle
from bd.policy.priority import HEAT, HOTTEST, half_life_of, heated, temperature_at

if TYPE_CHECKING:
    from typing import Any, ClassVar

    from bd.core.model import Snapshot
    from bd.core.operation import DecisionContext
    from bd.core.runtime import Runtime


def attended(bead: Bead, kind: str, operation: Operation, snapshot: Snapshot, context: DecisionContext) -> Bead:
    """Return the bead heated by a kind of attention, as of when the operation was made."""
    return heated(bead, HEAT[kind], operation.asked_at, half_life_of(snapshot), now=context.now)


@register
class Heat(Operation):
    """Heat beads: `ids`, `degrees` (negative: cool them). Anybody may, as with comments."""

    verb: ClassVar[str] = "heat"
    takes: ClassVar[frozenset[str]] = frozenset({"degrees", "ids"})

    @classmethod
    def prepare(cls, args: dict[str, Any], runtime: Runtime | None) -> None:
        super().prepare(args, runtime)
        degrees = float(args.setdefault("degrees", HEAT["asked"]))
        if not 0 < abs(degrees) <= HOTTEST:
            raise BadInput(f"can't heat by {degrees:g}", hint="1 to 100 heats, -1 to -100 cools")

    def decide(self, snapshot: Snapshot, context: DecisionContext) -> Change:
        half_life_s = half_life_of(snapshot)
        result: dict[str, int] = {}

        def heat(bead: Bead) -> Bead:
            after = self._heated(bead, half_life_s, context)
            result[bead.id] = round(temperature_at(after, context.now, half_life_s))
            return after

        beads, done, failed = self.each(self.args["ids"], snapshot, heat)
        return Change(beads, subject("heat", done, self.by), touched=tuple(done), failures=tuple(failed), result=result)

    def _heated(self, bead: Bead, half_life_s: float, context: DecisionContext) -> Bead:
        if bead.get("heated_at") == time_text(self.asked_at, exact=True):
            return bead
        after = heated(bead, self.args["degrees"], self.asked_at, half_life_s, now=context.now)
        return lifecycle.touch(after, self.asked_at) if after != bead else bead
