"""bd spawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bd.cli.output import escaped
from bd.cli.spec import PRIORITY, Argument, Command, Flag, Option, list_option
from bd.cli.values import flat, text_argument
from bd.compat import bead_json
from bd.operations.spawn import Spawn
from bd.policy.ranking import Ranking

if TYPE_CHECKING:
    from typing import Any

    from bd.cli.app import App


SPEC = Command(
    "spawn",
    Argument("bead"),
    Argument("title"),
    Flag("--wait", help="Give the bead back until the subtask is closed; it costs no attempt."),
    Option("--type", "-t", name="bead_type", help="task, bug, research ... (task)"),
    Option("--priority", "-p", kind=PRIORITY, help="0 to 4; default: the bead's own."),
    Option("--description", "-d", help="The description; - reads stdin."),
    Option("--assignee", "-a", help="Route it to this agent or person."),
    list_option("--labels", "-l", "--label", help="Labels."),
    list_option("--needs", help="Capabilities that it needs."),
    list_option("--deps", help="What it waits for: ids."),
    help="""Create a subtask of a bead in progress, which continues or waits for the subtask.

    After --wait the command should end. When every subtask is closed, the bead is offered first to the agent that
    had it, for two of its intervals, then to anyone.
    """,
    examples=[
        'bd spawn hub-7k3q "Look at the third competitor" -t research',
        'bd spawn hub-7k3q "Draw the icons" --wait      and end: it comes back when they are drawn',
    ],
)


def run(app: App, bead: str, title: str, *, wait: bool, **flags: Any) -> None:
    """Create a subtask of a bead in progress, which continues or waits for the subtask."""
    given = {
        "type": flags["bead_type"],
        "priority": flags["priority"],
        "description": text_argument(flags["description"], None, "description"),
        "assignee": flags["assignee"],
        **{key: flat(flags[key]) for key in ("labels", "needs", "deps")},
    }
    new = {"title": title, **{key: value for key, value in given.items() if value not in (None, "", [])}}
    asked = app.asked_to_end if wait else app.asked
    outcome = app.publish(Spawn(**asked([bead], ids=[bead], new=new, wait=wait)))
    parent_id, made_id = outcome.change.touched if outcome.change else ("", "")
    snapshot = app.hub.snapshot(outcome.commit)
    made = snapshot.bead(made_id)
    if app.out.is_json and made is not None:
        app.out.object({**bead_json.issue(made, Ranking(snapshot, app.now)), "published": outcome.published})
    elif app.out.quiet or made is None:
        app.out.line(made_id)
    else:
        app.out.line(f"✓ Spawned {app.out.styled(made_id, 'bold')} — {escaped(made.title)}")
        app.out.line(f"  {parent_id} waits for it; it is given back." if wait else f"  {parent_id} continues.")
