"""bd spawn."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.cli.bead_options import filled, options, typed_fields
from bd.cli.output import escaped
from bd.cli.spec import Argument, Command, Flag
from bd.cli.work_options import WORK_OPTIONS, maps_of, without_unset
from bd.compat import bead_json
from bd.operations.spawn import Spawn
from bd.policy.ranking import Ranking

if TYPE_CHECKING:
    from typing import Any

    from bd.cli.app import App


_KEYS = ("type", "priority", "description", "assignee", "labels", "needs", "deps", "acceptance_criteria", "expected")
_HELP = {
    "type": "task, bug, research ... (task)",
    "priority": "0 to 4; default: the bead's own.",
    "labels": "Labels.",
    "deps": "What it waits for: ids.",
}

SPEC = Command(
    "spawn",
    Argument("bead"),
    Argument("title"),
    Flag("--wait", help="Give the bead back until the subtask is closed; it costs no attempt."),
    *options(*_KEYS, helps=_HELP),
    *WORK_OPTIONS,
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
    new = {"title": title, **filled({**typed_fields(flags, *_KEYS), **without_unset(maps_of(flags))})}
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
