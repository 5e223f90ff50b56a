"""Operations on schedules: add, remove, and make the bead of a due tick."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.errors import BadInput, NotFound, WrongState
from bd.core.ids import check_agent
from bd.core.model import Change
from bd.core.schema import CONFIG_PATH
from bd.core.times import time_text
from bd.operations.base import Operation, mint, register
from bd.operations.create import Create, MakesOne
from bd.operations.field_values import check_title, checked
from bd.policy import schedules

if TYPE_CHECKING:
    from typing import Any, ClassVar

    from bd.core.model import Snapshot
    from bd.core.operation import DecisionContext
    from bd.core.runtime import Runtime


def _with(entries: list[dict[str, Any]], snapshot: Snapshot) -> dict[str, Any]:
    """Return the configuration with these schedules."""
    rest = {key: value for key, value in snapshot.config().items() if key != "schedules"}
    return {**rest, **({"schedules": entries} if entries else {})}


@register
class AddSchedule(Operation):
    """Add a schedule: `schedule` {name, cron, tz, and the fields of its beads}. Its first tick is after now."""

    verb: ClassVar[str] = "schedule-add"
    takes: ClassVar[frozenset[str]] = frozenset({"schedule"})

    @classmethod
    def prepare(cls, args: dict[str, Any], runtime: Runtime | None) -> None:
        mint(args["schedule"], "uid", runtime)

    def exact_form(self, change: Change, before: Snapshot) -> dict[str, Any]:
        form, given = super().exact_form(change, before), self.args["schedule"]
        if given.get("parent"):
            form["args"]["schedule"] = {**given, "parent": self.find(given["parent"], before).id}
        return form

    def decide(self, snapshot: Snapshot, context: DecisionContext) -> Change:
        given = self.args["schedule"]
        name = check_agent(given["name"])
        schedules.check(given["cron"], given.get("tz", "UTC"), self.asked_at)
        fields = checked({key: given[key] for key in schedules.BEAD_KEYS if key in given}, context)
        check_title(given.get("title", ""))
        if fields.get("parent"):
            fields["parent"] = self.find(fields["parent"], snapshot).id
        there = schedules.schedule_of(name, snapshot)
        if there is not None:
            if there.get("uid") == given["uid"]:
                return Change({}, "")
            raise WrongState(f"the schedule {name} already exists", hint=f"`bd schedule remove {name}` first")
        head = {"name": name, "uid": given["uid"], "cron": given["cron"], "tz": given.get("tz", "UTC")}
        entry = {**head, **{k: v for k, v in fields.items() if v not in (None, [])}, "last_tick": time_text(self.asked_at)}
        config = _with([*schedules.schedules_of(snapshot), entry], snapshot)
        return Change({}, f"schedule-add: {name} by {self.agent}", records={CONFIG_PATH: config}, result=entry)


@register
class RemoveSchedule(Operation):
    """Remove a schedule: `name`. Its beads stay."""

    verb: ClassVar[str] = "schedule-remove"
    takes: ClassVar[frozenset[str]] = frozenset({"name"})

    def decide(self, snapshot: Snapshot, context: DecisionContext) -> Change:
        name = self.args["name"]
        entries = schedules.schedules_of(snapshot)
        kept = [one for one in entries if one["name"] != name]
        if len(kept) == len(entries):
            raise NotFound(f"there is no schedule {name}", hint="`bd schedule list` names them")
        return Change({}, f"schedule-remove: {name} by {self.agent}", records={CONFIG_PATH: _with(kept, snapshot)})


@register
class RunSchedule(MakesOne):
    """Make the bead of a schedule's last tick, if it is due: `name`, `new` {uid}.

    The same commit moves the schedule's `last_tick`, so a tick is made once, whoever runs it. Does nothing if nothing is due.
    """

    verb: ClassVar[str] = "schedule-run"
    takes: ClassVar[frozenset[str]] = frozenset({"ids", "name", "new"})

    @classmethod
    def prepare(cls, args: dict[str, Any], runtime: Runtime | None) -> None:
        args.setdefault("new", {})
        mint(args["new"], "uid", runtime)
        super().prepare(args, runtime)

    def decide(self, snapshot: Snapshot, context: DecisionContext) -> Change:
        name, new = self.args["name"], self.args["new"]
        there = snapshot.by_uid(new["uid"])
        if there is not None:
            return Change({}, "", touched=(there.id,))
        entries = schedules.schedules_of(snapshot)
        schedule = next((one for one in entries if one["name"] == name), None)
        if schedule is None:
            raise NotFound(f"there is no schedule {name}", hint="`bd schedule list` names them")
        tick = schedules.due_tick(schedule, self.asked_at)
        if tick is None:
            return Change({}, "")
        stamp = time_text(tick)
        try:
            fields = checked({key: schedule[key] for key in schedules.BEAD_KEYS if key in schedule}, context)
        except BadInput as error:
            error.hint = error.hint or f"mend {name} in {CONFIG_PATH}, or `bd schedule remove {name}`"
            raise
        spec = {**fields, **new, "metadata": {"schedule": name, "tick": stamp}}
        # What is stored are whole ids: the parent may be gone by now, and its id the beginning of another's.
        made = Create(by=f"cron:{name}", at=self.at, uid=self.uid, beads=[spec], is_exact=True).decide(snapshot, context)
        moved = [{**one, "last_tick": stamp} if one["name"] == name else one for one in entries]
        words = f"schedule-run: {made.touched[0]} from {name}, due {stamp}, by {self.agent}"
        return made.replace(subject=words, records={CONFIG_PATH: _with(moved, snapshot)}, result=None)
