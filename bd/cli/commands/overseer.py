"""bd overseer."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

from bd.cli.spec import DURATION, Command, Flag, Option
from bd.core.errors import BadInput
from bd.notify.hooks import tell as tell_people
from bd.worker.fleet_state import look
from bd.worker.heartbeats import tell
from bd.worker.maintenance import keep_house
from bd.worker.stall_recovery import reassign

if TYPE_CHECKING:
    from bd.cli.app import App


SPEC = Command(
    "overseer",
    Flag("--once", help="Only one round, instead of one per interval until interrupted."),
    Option("--interval", kind=DURATION, default=900.0, help="Between two rounds (15m)."),
    help="""Free stalled claims and do chores, once or continuously.

    Any agent's poll does so as well; nothing depends on an overseer. `bd attention` lists what needs a person.
    """,
    examples=["bd overseer --once --agent beadmaster      the overseer's one cron line"],
)


def run(app: App, once: bool, interval: float) -> None:
    """Free stalled claims and run chores, once or for ever."""
    if app.out.is_json and not once:
        raise BadInput("--json is one document, but this runs until interrupted", hint="add --once")
    gc.enable()
    _round(app)
    while not once:
        app.runtime.sleep(interval)
        _round(app)


def _round(app: App) -> None:
    view = look(app.hub, app.identity.by)
    outcome = reassign(app.hub, view.abandoned, app.identity.by)
    change = outcome.change if outcome else None
    freed = list(change.touched) if change else []
    for note in change.notes if change else ():
        app.out.note(note)
    left = view._replace(snapshot=app.hub.snapshot()).stalls
    said = [*tell_people(app.hub, app.identity.by, left), *keep_house(app.hub, app.identity.by)]
    if app.identity.agent:
        tell(app.hub, app.identity.agent)
    if app.out.is_json:
        app.out.object({"freed": freed, "house": said, "commit": app.hub.snapshot().commit})
        return
    for bead_id in freed:
        app.out.line(f"✓ Freed {bead_id}: it had stalled")
    for line in said:
        app.out.line(line)
    app.out.said(f"Looked at {app.hub.snapshot().commit[:7]}: {len(freed)} freed.")
