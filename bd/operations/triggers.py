"""Operations on triggers: add and remove. An event applies the trigger's plan (plan.py)."""

from __future__ import annotations

from copy import deepcopy

from bd import TYPE_CHECKING
from bd.core.errors import NotFound, WrongState
from bd.core.ids import check_agent
from bd.core.model import Change
from bd.core.schema import trigger_path
from bd.core.times import time_text
from bd.operations.base import Operation, mint, register
from bd.operations.plan import ApplyPlan
from bd.policy.triggers import filled, parse_on

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, ClassVar

    from bd.core.model import Snapshot
    from bd.core.operation import DecisionContext
    from bd.core.runtime import Runtime


@register
class AddTrigger(Operation):
    """Add a trigger: `trigger` {name, on, plan}; the plan is a list of beads as for ApplyPlan, and must be applicable now."""

    verb: ClassVar[str] = "trigger-add"
    takes: ClassVar[frozenset[str]] = frozenset({"trigger"})

    @classmethod
    def prepare(cls, args: dict[str, Any], runtime: Runtime | None) -> None:
        mint(args["trigger"], "uid", runtime)

    def exact_form(self, change: Change, before: Snapshot) -> dict[str, Any]:
        form = super().exact_form(change, before)
        form["args"]["trigger"] = {**self.args["trigger"], "on": change.result["on"]} if change.result else self.args["trigger"]
        return form

    def named_in(self, args: Mapping[str, Any]) -> list[str]:
        on = parse_on(args["trigger"]["on"])
        return [on.what] if on.kind == "dag" else []

    def decide(self, snapshot: Snapshot, context: DecisionContext) -> Change:
        given = self.args["trigger"]
        name = check_agent(given["name"])
        on = parse_on(given["on"])
        waits_for = f"dag:{self.find(on.what, snapshot).id}" if on.kind == "dag" else given["on"].strip()
        there = snapshot.record(trigger_path(name))
        if there is not None:
            if there.get("uid") == given["uid"]:
                return Change({}, "")
            raise WrongState(f"the trigger {name} already exists", hint=f"`bd trigger remove {name}` first")
        trial = filled(deepcopy(given["plan"]), {})
        # Nothing of the trial is kept: any ids will do.
        named = [{**spec, "title": spec["title"] or "x", "uid": f"{number:014}{self.uid}"} for number, spec in enumerate(trial)]
        ApplyPlan(by=self.by, at=self.at, uid=self.uid, beads=named).decide(snapshot, context)
        record = {
            "name": name,
            "uid": given["uid"],
            "on": waits_for,
            "created_at": time_text(self.asked_at),
            "created_by": self.by,
            "plan": given["plan"],
        }
        return Change({}, f"trigger-add: {name} by {self.agent}", records={trigger_path(name): record}, result=record)


@register
class RemoveTrigger(Operation):
    """Remove a trigger: `name`. Its beads stay."""

    verb: ClassVar[str] = "trigger-remove"
    takes: ClassVar[frozenset[str]] = frozenset({"name"})

    def decide(self, snapshot: Snapshot, context: DecisionContext) -> Change:
        name = self.args["name"]
        if snapshot.record(trigger_path(name)) is None:
            raise NotFound(f"there is no trigger {name}", hint="`bd trigger list` names them")
        return Change({}, f"trigger-remove: {name} by {self.agent}", records={trigger_path(name): None})
