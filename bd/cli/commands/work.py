"""bd work."""

from __future__ import annotations

import gc
import os
import shutil
import signal
from difflib import get_close_matches
from typing import TYPE_CHECKING

from bd.cli.output import escaped
from bd.cli.spec import DURATION, FOLDER, Argument, Command, Flag, Option, whole_number
from bd.cli.worker_log import WorkerLog
from bd.compat import bead_json
from bd.core.errors import BadInput, Interrupted, NothingReady
from bd.core.schema import AGENTS_DIR
from bd.policy.eligibility import Eligibility
from bd.schedule.agent_log import log_path, rotate
from bd.store import locate
from bd.worker import job, presence
from bd.worker.fleet_state import look
from bd.worker.job import GRACE_S
from bd.worker.loop import Worker
from bd.worker.options import Plan

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from bd.cli.app import App
    from bd.core.settings import Settings
    from bd.store import Clone
    from bd.worker.options import Ended


SPEC = Command(
    "work",
    Argument("words", many=True, metavar="-- CMD [ARGS]..."),
    Flag("--once", help="End when nothing fits any more, or another worker of the agent runs here; for cron."),
    Option("--jobs", kind=whole_number(1, 64), default=1, help="The number of beads at once, within the agent's max_concurrent."),
    Option("--max-tasks", kind=whole_number(1), help="End after this many beads."),
    Option("--max-idle", kind=DURATION, help="End after this long without work."),
    Option("--interval", kind=DURATION, help="How often to look, instead of what the agent's file says."),
    Option("--folder", kind=FOLDER, help="The folder to run the command in; default: the current one."),
    Flag("--prompt", help="Give the command the bead's prompt on stdin."),
    Option("--idle-timeout", kind=DURATION, help="End the command after this long without output."),
    Option("--grace", kind=DURATION, default=GRACE_S, help="The time between TERM and KILL (10s)."),
    Flag("--no-recover", help="Do not free stalled claims."),
    Flag("--dry-run", help="Show what would be claimed now; change nothing."),
    help="""Claim beads one after another and run a command on each.

    The command gets BD_BEAD_ID, BD_TOKEN, BD_ATTEMPT and BD_BEAD_FILE (the bead as JSON). It reports the outcome in
    BD_RESULT_FILE or by its exit code: 0 done, 75 give the bead back, anything else failed. While it runs, bd sends
    heartbeats and watches the claim. Exit 3 if there was nothing to do.
    """,
    examples=[
        "bd work --agent codemonkey -- ./agent.sh",
        "bd work --agent codemonkey --once -- ./agent.sh          from cron: until nothing fits",
        "bd work --agent pltops --jobs 2 --prompt -- claude -p    the bead's prompt on stdin",
    ],
)


def run(app: App, words: tuple[str, ...], dry_run: bool, **flags: Any) -> None:
    """Claim beads one after another and run a command on each."""
    agent = app.claimant().agent
    _warn_of_stranger(app, agent)
    if not words:
        raise BadInput("which command?", hint="bd work --agent NAME -- CMD ARGS")
    if shutil.which(words[0], path=os.environ.get("PATH")) is None and not os.path.exists(
        os.path.join(flags["folder"] or ".", words[0])
    ):
        raise BadInput(f"there is no command {words[0]}", hint="the command after -- is started without a shell")
    plan = _plan(agent, words, app.settings(), flags)
    if dry_run:
        _dry_run(app, agent, words)
        return
    gc.enable()
    rotate(log_path(app.hub.place.folder, agent))
    log = WorkerLog(app)
    with presence.shown(app.hub, agent) as is_first:
        if plan.once and not is_first:
            hint = "`bd agent list` shows what it has"
            log.found_nothing(NothingReady(f"a worker of {agent} runs in this clone already", hint=hint))
        else:
            _work(app, plan, log)


def _work(app: App, plan: Plan, log: WorkerLog) -> None:
    """Run the worker, and report as it goes."""
    ended: list[Ended] = []

    def on_ended(one: Ended) -> None:
        if app.out.is_json or not ended:  # others are printed and forgotten: a worker may run for months
            ended.append(one)
        log.ended(one)

    worker = Worker(
        plan,
        _opener(app, log),
        log.note,
        on_ended,
        lambda bead, line: log.note(f"{bead}| {line}"),
        lambda bead, snapshot: bead_json.detailed(bead, snapshot, app.runtime.now()),
        app.runtime,
    )
    signals = _stop_on_signals(worker)
    worker.run()
    if not ended and worker.nothing is not None and signal.SIGINT not in signals:
        log.found_nothing(worker.nothing)
    elif app.out.is_json:
        app.out.json([{"id": one.id, "title": one.title, "outcome": one.what, "text": one.words} for one in ended])
    if signal.SIGINT in signals:
        app.out.exit_code = Interrupted.exit_code


def _warn_of_stranger(app: App, agent: str) -> None:
    """Warn about an agent without a file where others have one: a mistyped name would be offered everything."""
    known = app.snapshot().records(AGENTS_DIR)
    if known and agent not in known:
        close = get_close_matches(agent, known, n=1)
        meant = f"; did you mean {close[0]}?" if close else ""
        app.out.note(f"warning: {agent} has no agent file and is offered everything that needs no capability{meant}")


def _plan(agent: str, words: tuple[str, ...], settings: Settings, flags: dict[str, Any]) -> Plan:
    folder = os.path.abspath(flags["folder"] or os.getcwd())
    run = job.Command(words, folder, flags["prompt"], flags["idle_timeout"], flags["grace"], settings.stop_when_cut_off)
    return Plan(
        agent,
        run,
        flags["once"],
        flags["jobs"],
        flags["max_tasks"],
        flags["max_idle"],
        flags["interval"],
        recover=False if flags["no_recover"] else None,
    )


def _opener(app: App, log: WorkerLog) -> Callable[[], Clone]:
    """Return a function that opens the hub: a worker lives long, so nothing it has read is kept."""
    app.hub.close()
    directory = app.flags.directory

    def opened() -> Clone:
        hub = app.open_clone(locate(directory))
        hub.on_tried = lambda: app.tell_left_behind(hub, log.note)
        return hub

    return opened


def _stop_on_signals(worker: Worker) -> list[int]:
    """Let TERM, INT, QUIT and HUP stop the worker cleanly, unless HUP is ignored (`nohup`). Return the list of those that came."""
    came: list[int] = []

    def stop(number: int, _frame: Any) -> None:
        came.append(number)
        worker.stop()

    for name in ("SIGTERM", "SIGINT", "SIGQUIT", "SIGHUP"):
        number = getattr(signal, name, None)  # not every system has all of them
        if number is not None and not (name == "SIGHUP" and signal.getsignal(number) is signal.SIG_IGN):
            signal.signal(number, stop)
    return came


def _dry_run(app: App, agent: str, words: tuple[str, ...]) -> None:
    view = look(app.hub, f"agent:{agent}", fetch=app.flags.fetch is not False)
    app.hub.check_format(view.snapshot)
    answer = Eligibility(view.snapshot, agent, app.runtime.now())
    reason, best = answer.idle(), next(answer.beads(), None)
    stalls = [stall.id for stall in view.abandoned]
    if app.out.is_json:
        app.out.object({"agent": agent, "would_free": stalls, "would_claim": best.id if best else None, "command": list(words)})
        return
    for bead_id in stalls:
        app.out.line(f"would free {bead_id}: it has stalled")
    said = f"would claim {best.id} — {escaped(best.title)}, and run {' '.join(words)}" if best else "would claim nothing"
    app.out.line(f"{said}{f': {reason.text}' if reason else ''}")
