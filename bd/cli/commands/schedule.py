"""bd schedule."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.cli import lookup
from bd.cli.bead_options import filled, options, typed_fields
from bd.cli.spec import Argument, Command, Group, Option
from bd.core.errors import NotFound
from bd.core.times import time_text
from bd.operations.schedules import AddSchedule, RemoveSchedule
from bd.policy import schedules
from bd.schedule.sources import due_schedules, run_schedules

if TYPE_CHECKING:
    from typing import Any

    from bd.cli.app import App


_KEYS = ("type", "priority", "description", "assignee", "expected", "parent", "labels", "needs")
_HELP = {
    "type": "task, bug, research ... (task)",
    "priority": "0 to 4; default: 2.",
    "assignee": "Route the beads to this agent or person.",
    "expected": "How long one should take, such as 45m.",
    "parent": "The bead they are part of.",
    "labels": "Labels.",
    "needs": "Capabilities they take.",
}

ADD = Command(
    "add",
    Argument("name"),
    Option("--cron", required=True, help='Five fields: minute hour day month weekday, such as "0 9 * * 1".'),
    Option("--tz", default="UTC", help="The time zone of the expression (UTC)."),
    Option("--title", required=True, help="The title of its beads."),
    *options(*_KEYS, helps=_HELP),
    help="""Add a schedule; its first tick is the next one.

    Any agent's idle poll creates what is due, and so does `bd schedule run`. Of several missed ticks only the last
    is made up for.
    """,
    examples=[
        'bd schedule add audit --cron "0 9 * * 1" --title "Audit the dependencies" --tz Europe/Berlin',
        'bd schedule add nightly --cron "30 2 * * *" --title "Nightly report" -t research -l report',
    ],
)


def add(app: App, name: str, cron: str, tz: str, title: str, **flags: Any) -> None:
    """Add a schedule; its first tick is the next one."""
    given = filled(typed_fields(flags, *_KEYS))
    outcome = app.publish(AddSchedule(**app.asked(schedule={"name": name, "cron": cron, "tz": tz, "title": title, **given})))
    shown = _shown(schedules.schedule_of(name, app.snapshot()) or {}, app)
    if app.out.is_json:
        app.out.object({**shown, "published": outcome.published})
    else:
        app.out.said(f"✓ Added schedule {name}: next at {shown.get('next_tick', 'no time at all')}")


def _shown(schedule: dict[str, Any], app: App) -> dict[str, Any]:
    """Return a schedule with its next tick, or the reason if it can't be read."""
    shown = {key: value for key, value in schedule.items() if key != "uid"}
    tick, why = schedules.next_or_why(schedule, app.now)
    return {**shown, "next_tick": time_text(tick)} if tick else {**shown, "error": why}


LIST_SCHEDULES = Command(
    "list",
    help="List the schedules, each with its next tick.",
    examples=["bd schedule list"],
)


def list_schedules(app: App) -> None:
    """List the schedules, each with its next tick."""
    found = [_shown(one, app) for one in schedules.schedules_of(app.snapshot())]
    lookup.list_them(app, "schedule", found, ("cron", "zone", "next", "title"), _row)


def _row(shown: Any) -> list[str]:
    when = shown.get("next_tick") or shown.get("error", "")
    return [shown["name"], shown.get("cron", ""), shown.get("tz", "UTC"), when, shown.get("title", "")]


REMOVE = Command(
    "remove",
    Argument("name"),
    help="Remove a schedule; its beads stay.",
    examples=["bd schedule remove audit"],
)


def remove(app: App, name: str) -> None:
    """Remove a schedule; its beads stay."""
    outcome = app.publish(RemoveSchedule(**app.asked(name=name)))
    lookup.tell_removed(app, "schedule", name, outcome)


RUN = Command(
    "run",
    Argument("names", many=True),
    help="Create the due beads, of all schedules or of the named ones.",
    examples=["bd schedule run            make what is due, such as from a cron line"],
)


def run(app: App, names: tuple[str, ...]) -> None:
    """Create the due beads, of all schedules or of the named ones."""
    app.refuse_past()
    snapshot = app.snapshot(fetch=True)
    unknown = next((name for name in names if schedules.schedule_of(name, snapshot) is None), None)
    if unknown is not None:
        raise NotFound(f"there is no schedule {unknown}", hint="`bd schedule list` names them")
    tried = run_schedules(app.hub, dict.fromkeys(names) or due_schedules(snapshot, app.runtime.now()), app.identity.by)
    failed = [(name, error) for name, _, error in tried if error]
    made = [
        {"id": bead_id, "schedule": name, "published": outcome.published}
        for name, outcome, _ in tried
        if outcome and outcome.change
        for bead_id in outcome.change.beads
    ]
    if app.out.is_json:
        app.out.json([*made, *({"schedule": name, **error.as_json()} for name, error in failed)])
    else:
        for one in made:
            app.out.line(str(one["id"]) if app.out.quiet else f"✓ Made {one['id']} from schedule {one['schedule']}")
        if not made and not failed:
            app.out.said("Nothing is due.")
    app.out.failures(error.as_failure(name) for name, error in failed)


SPEC = Group(
    "schedule",
    {
        "add": (ADD, add),
        "list": (LIST_SCHEDULES, list_schedules),
        "remove": (REMOVE, remove),
        "run": (RUN, run),
    },
    help="Create beads on a schedule.",
)
