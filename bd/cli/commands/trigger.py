"""bd trigger."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.cli import lookup
from bd.cli.output import escaped
from bd.cli.spec import Argument, Command, Group, Option
from bd.compat.dag_plans import read_new
from bd.compat.jsonl_import import bytes_of, event_of
from bd.core.errors import BadInput, NotFound
from bd.operations.triggers import AddTrigger, RemoveTrigger
from bd.policy import triggers
from bd.schedule import sources

if TYPE_CHECKING:
    from typing import Any

    from bd.cli.app import App


ADD = Command(
    "add",
    Argument("name"),
    Option(
        "--on",
        required=True,
        help="dag:ROOT, github:EVENT.ACTION (gitea:, gitlab:), or file:FOLDER/GLOB (committed files of the hub).",
    ),
    Option("--plan", required=True, help="The plan file to apply; {event.field} in its texts is filled."),
    help="""Add a trigger. Its plan is kept in the hub.

    An event's fields fill texts of the plan as data: {event.issue.title}, {event.path}, {event.root}.
    """,
    examples=[
        "bd trigger add review --on github:pull_request.opened --plan plan.yaml",
        "bd trigger add report --on dag:hub-a1b2 --plan plan.yaml",
        'bd trigger add inbox --on "file:inbox/*.json" --plan plan.yaml',
    ],
)


def add(app: App, name: str, on: str, plan: str) -> None:
    """Add a trigger. Its plan is kept in the hub."""
    outcome = app.publish(AddTrigger(**app.asked(trigger={"name": name, "on": on, "plan": read_new(plan)})))
    made = _named(app, name)
    if app.out.is_json:
        app.out.object({**_shown(made), "published": outcome.published})
    else:
        app.out.said(f"✓ Added trigger {name}: on {escaped(str(made['on']))}, {len(made['plan'])} beads")


def _named(app: App, name: str) -> Any:
    found = next((one for one in triggers.triggers_of(app.snapshot()) if one["name"] == name), None)
    if found is None:
        raise NotFound(f"there is no trigger {name}", hint="`bd trigger list` names them")
    return found


def _shown(trigger: Any) -> dict[str, Any]:
    return {
        "name": trigger["name"],
        "on": trigger["on"],
        "beads": len(trigger["plan"]),
        "title": trigger["plan"][0].get("title", ""),
    }


LIST_TRIGGERS = Command(
    "list",
    help="List the triggers.",
    examples=["bd trigger list"],
)


def list_triggers(app: App) -> None:
    """List the triggers."""
    found = [_shown(one) for one in triggers.triggers_of(app.snapshot())]
    lookup.list_them(app, "trigger", found, ("on", "beads", "title"), lambda one: [str(value) for value in one.values()])


REMOVE = Command(
    "remove",
    Argument("name"),
    help="Remove a trigger; what it has made stays.",
    examples=["bd trigger remove review"],
)


def remove(app: App, name: str) -> None:
    """Remove a trigger; what it has made stays."""
    outcome = app.publish(RemoveTrigger(**app.asked(name=name)))
    lookup.tell_removed(app, "trigger", name, outcome)


FIRE = Command(
    "fire",
    Argument("name"),
    Argument("file"),
    Option("--delivery", help="The event's id; default: the address of its subject."),
    help="""Apply a trigger's plan to an event: a JSON object from a file, or - for stdin.

    The same event never creates anything twice.
    """,
    examples=["bd trigger fire review event.json --delivery 72d3162e"],
)


def fire(app: App, name: str, file: str, delivery: str | None) -> None:
    """Apply a trigger's plan to an event: a JSON object from a file, or - for stdin."""
    app.refuse_past()
    event = event_of(bytes_of(file), "stdin" if file == "-" else file)
    app.snapshot(fetch=True)
    trigger = _named(app, name)
    on = triggers.parse_on(str(trigger["on"]))
    key = triggers.forge_key(on, event, delivery) if on.kind in triggers.FORGES else delivery
    if not key:
        raise BadInput("the event has no id", hint="--delivery ID; `bd trigger run` finds ended DAGs and new files")
    _tell(app, name, sources.fire(app.hub, trigger, event, key, app.identity.by))


RUN = Command(
    "run",
    Argument("names", many=True),
    help="Fire the triggers for finished DAGs and for existing files.",
    examples=["bd trigger run             what idle agents do by themselves"],
)


def run(app: App, names: tuple[str, ...]) -> None:
    """Fire the triggers for finished DAGs and for existing files."""
    app.refuse_past()
    app.snapshot(fetch=True)
    for name in names:
        _named(app, name)
    tried = sources.fire_pending(app.hub, app.identity.by, names)
    failed = [(name, error) for name, _, error in tried if error]
    fired = [(name, outcome) for name, outcome, _ in tried if outcome]
    if app.out.is_json:
        made = [_made(name, outcome) for name, outcome in fired]
        app.out.json([*made, *({"trigger": name, **error.as_json()} for name, error in failed)])
    else:
        for name, outcome in fired:
            _tell(app, name, outcome)
        if not tried:
            app.out.said("Nothing has happened.")
    app.out.failures(error.as_failure(name) for name, error in failed)


def _made(name: str, outcome: Any) -> dict[str, Any]:
    change = outcome.change
    return {
        "trigger": name,
        "root": change.touched[0],
        "ids": change.result,
        "made": bool(change.beads),
        "published": outcome.published,
    }


def _tell(app: App, name: str, outcome: Any) -> None:
    made = _made(name, outcome)
    if app.out.is_json:
        app.out.object(made)
    elif app.out.quiet:
        app.out.line(made["root"])
    elif made["made"]:
        app.out.line(f"✓ Made {made['root']} by trigger {name}: {len(made['ids'])} beads")
    else:
        app.out.line(f"✓ Made before: {made['root']}, by trigger {name}")


SPEC = Group(
    "trigger",
    {
        "add": (ADD, add),
        "list": (LIST_TRIGGERS, list_triggers),
        "remove": (REMOVE, remove),
        "fire": (FIRE, fire),
        "run": (RUN, run),
    },
    help="Create beads when something happens.",
)
