"""bd overseer."""

from __future__ import annotations

import gc

from bd import TYPE_CHECKING
from bd.cli.output import escaped
from bd.cli.spec import DURATION, Command, Flag, Option, list_option
from bd.core.errors import BadInput
from bd.overseer.duties import DUTIES, NAMES, Watch, carried_out
from bd.worker.fleet_state import look
from bd.worker.heartbeats import tell

if TYPE_CHECKING:
    from bd.cli.app import App
    from bd.overseer.duties import Duty


SPEC = Command(
    "overseer",
    Flag("--once", help="Only one round, instead of one per interval until interrupted."),
    Flag("--explain", help="Say what a round would do now, and change nothing."),
    list_option("--skip", name="skipped", help=f"Leave these duties out: {', '.join(NAMES)}."),
    Option("--interval", kind=DURATION, default=900.0, help="Between two rounds (15m)."),
    help="""Look after the fleet, once or continuously.

    A round frees stalled claims, evens out queues, closes finished roots of plans, files what needs a person as beads
    that wait for one, tells people, creates the beads of schedules and triggers, and publishes a summary of the last day
    (DAILY.md) and the board. Nothing depends on an overseer: any agent's poll frees claims, too, and any number of
    overseers may run.
    """,
    examples=[
        "bd overseer --once --agent beadmaster      the overseer's one cron line",
        "bd overseer --explain                      what it would do now",
        "bd overseer --skip board,summary           without pages in the hub",
    ],
)


def run(app: App, once: bool, explain: bool, skipped: tuple[list[str], ...], interval: float) -> None:
    """Look after the fleet, once or for ever."""
    if app.out.is_json and not (once or explain):
        raise BadInput("--json is one document, but this runs until interrupted", hint="add --once")
    left_out = [name for names in skipped for name in names]
    unknown = next((name for name in left_out if name not in NAMES), None)
    if unknown is not None:
        raise BadInput(f"{unknown!r} is not a duty", hint=f"one of {', '.join(NAMES)}")
    duties = [duty for duty in DUTIES if duty.name not in left_out]
    if explain:
        _explain(app, duties)
        return
    gc.enable()
    _round(app, duties)
    while not once:
        app.runtime.sleep(interval)
        app.tolerate(lambda: _round(app, duties))


def _explain(app: App, duties: list[Duty]) -> None:
    watch = Watch(app.hub, app.look(), app.identity.by)
    found = {duty.name: duty.would(watch) for duty in duties}
    if app.out.is_json:
        app.out.object({"would": found, "commit": watch.view.snapshot.commit})
        return
    for duty in duties:
        app.out.line(app.out.styled(f"{duty.name}: {duty.help}", "bold"))
        for line in found[duty.name] or ["nothing to do"]:
            app.out.line(f"  {escaped(line)}")


def _round(app: App, duties: list[Duty]) -> None:
    watch = Watch(app.hub, look(app.hub, app.identity.by), app.identity.by)
    done = {duty.name: carried_out(duty, watch) for duty in duties}
    if app.identity.agent:
        tell(app.hub, app.identity.agent)
    commit = app.hub.snapshot().commit
    freed = list(done["reassign"].names) if "reassign" in done else []
    if app.out.is_json:
        names = {name: list(one.names) for name, one in done.items() if name not in ("reassign", "house")}
        house = list(done["house"].lines) if "house" in done else []
        errors = {name: one.error for name, one in done.items() if one.error}
        app.out.object({"freed": freed, "house": house, "commit": commit, **names, **({"errors": errors} if errors else {})})
        return
    for name, one in done.items():
        if one.error:
            app.out.note(f"{name}: {one.error}")
        for line in one.lines:
            app.out.line(escaped(line if name == "house" or app.out.quiet else f"✓ {line}"))
    app.out.said(f"Looked at {commit[:7]}: {len(freed)} freed.")
