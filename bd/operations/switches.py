"""Operations that turn work off and on: for the whole fleet, or for one agent.

Work in progress goes on; only new claims stop.
"""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core import ids
from bd.core.errors import BadInput, WrongState
from bd.core.model import Change
from bd.core.schema import CONFIG_PATH, capacity_path
from bd.core.times import time_text
from bd.operations.agents import known_agent
from bd.operations.base import Operation, register
from bd.operations.capacity_file import capacity_of
from bd.policy.capacity import DUTIES, duty_of
from bd.policy.eligibility import pause_of, pause_words

if TYPE_CHECKING:
    from typing import Any, ClassVar

    from bd.core.model import Snapshot
    from bd.core.operation import DecisionContext

AVAILABLE = "available"
# The command that ends each.
_ENDED_BY = {"draining": "undrain", "offline": "online"}


@register
class SetDuty(Operation):
    """Set whether an agent takes work: `agent`, `duty` (offline, draining, available).

    `known`: refuse a name that is no agent of this hub. `ends`: with available, the duty that is to end; refused if it is another
    one.
    """

    verb: ClassVar[str] = "duty"
    takes: ClassVar[frozenset[str]] = frozenset({"agent", "duty", "ends", "known"})

    def decide(self, snapshot: Snapshot, context: DecisionContext) -> Change:
        name, duty = ids.check_agent(self.args["agent"]), self.args["duty"]
        if duty not in (*DUTIES, AVAILABLE):
            raise BadInput(f"{duty!r} is not a duty", hint=f"one of {', '.join([*DUTIES, AVAILABLE])}")
        if self.args.get("known"):
            known_agent(name, snapshot)
        before, ends = duty_of(name, snapshot), self.args.get("ends")
        if duty == "draining" and before == "offline":
            raise WrongState(f"{name} is offline", hint=f"`bd online {name}` first", agent=name)
        if ends and before and before != ends:
            raise WrongState(f"{name} is {before}, not {ends}", hint=f"`bd {_ENDED_BY[before]} {name}` ends that", agent=name)
        record = capacity_of(name, snapshot, context.now, sign_of_life=False, changes={"status": duty})
        if before == (None if duty == AVAILABLE else duty):
            return Change({}, "", result={"agent": name, "status": record["status"]})
        result = {"agent": name, "status": record["status"]}
        words = f"{self.verb}: {name} {duty} by {self.agent}"
        return Change({}, words, records={capacity_path(name): record}, result=result)


class _Switch(Operation):
    """A switch that must be on the hub to take effect: otherwise half the fleet would follow it."""

    @property
    def needs_remote(self) -> bool:
        return True


@register
class Pause(_Switch):
    """Stop all claims from now on: `reason`. An existing pause is left as it is."""

    verb: ClassVar[str] = "pause"
    takes: ClassVar[frozenset[str]] = frozenset({"reason"})

    def decide(self, snapshot: Snapshot, context: DecisionContext) -> Change:
        there = pause_of(snapshot)
        mine: dict[str, Any] = {"by": self.by, "at": time_text(self.asked_at)}
        if self.args.get("reason"):
            mine["reason"] = self.args["reason"]
        if there:
            notes = () if there == mine else (f"{pause_words(there)} already",)
            return Change({}, "", notes=notes, result=dict(there))
        words = f"{self.verb}: the fleet by {self.agent}"
        return Change({}, words, records={CONFIG_PATH: {**snapshot.config(), "paused": mine}}, result=mine)


@register
class Resume(_Switch):
    """Let the fleet claim again."""

    verb: ClassVar[str] = "resume"
    takes: ClassVar[frozenset[str]] = frozenset()

    def decide(self, snapshot: Snapshot, context: DecisionContext) -> Change:
        if not pause_of(snapshot):
            return Change({}, "", notes=("the fleet is not paused",))
        left = {key: value for key, value in snapshot.config().items() if key != "paused"}
        return Change({}, f"{self.verb}: the fleet by {self.agent}", records={CONFIG_PATH: left})
