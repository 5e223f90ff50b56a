"""bd work."""

from __future__ import annotations

import gc
import os
import shutil
import signal
from difflib import get_close_matches

from bd import TYPE_CHECKING
from bd.cli import isolated_work
from bd.cli.output import escaped
from bd.cli.spec import DURATION, FOLDER, Argument, Command, Flag, Option, whole_number
from bd.cli.worker_log import WorkerLog
from bd.coding_agents.known import KNOWN, known_agent
from bd.compat import bead_json
from bd.core.errors import BadInput, Interrupted, NothingReady
from bd.core.schema import AGENTS_DIR
from bd.policy.capacity import limit_of
from bd.policy.eligibility import Eligibility
from bd.processes.confinement import Confinement
from bd.schedule.agent_log import log_path, rotate
from bd.store import locate
from bd.worker import job, presence
from bd.worker.fleet_state import look
from bd.worker.job import GRACE_S
from bd.worker.loop import Worker
from bd.worker.options import Plan

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from bd.cli.app import App
    from bd.coding_agents.known import KnownAgent
    from bd.core.settings import Settings
    from bd.store import Clone
    from bd.worker.options import Ended


_MOST_JOBS = 64

SPEC = Command(
    "work",
    Argument("words", many=True, metavar="-- CMD [ARGS]..."),
    Option(
        "--with",
        name="program",
        metavar="NAME",
        help="A coding agent that bd knows: claude, codex, gemini; after -- more of its arguments.",
    ),
    Flag("--once", help="End when nothing fits any more, or another worker of the agent runs here; for cron."),
    Option("--jobs", kind=whole_number(1, _MOST_JOBS), help="The number of beads at once; default: the agent's max_concurrent."),
    Option("--max-tasks", kind=whole_number(1), help="End after this many beads."),
    Option("--max-idle", kind=DURATION, help="End after this long without work."),
    Option("--interval", kind=DURATION, help="How often to look, instead of what the agent's file says."),
    Option("--folder", kind=FOLDER, help="The folder to run the command in; default: the current one."),
    Flag(
        "--workspace", help="Run it in an empty folder for each bead that is about no repository of the hub; --with always does."
    ),
    Flag(
        "--isolated",
        help="Give it no clone of the hub, and no credentials of git, but an API for its claim; in a workspace, as --workspace.",
    ),
    Flag("--prompt", help="Give the command the bead's brief on stdin; --with always does."),
    Option("--timeout", kind=DURATION, help="End the command after this long."),
    Option("--idle-timeout", kind=DURATION, help="End the command after this long without output."),
    Option("--grace", kind=DURATION, default=GRACE_S, help="The time between TERM and KILL (10s)."),
    Flag("--no-recover", help="Do not free stalled claims."),
    Flag("--dry-run", help="Show what would be claimed now; change nothing."),
    help="""Claim beads one after another and run a command on each.

    The command gets BD_BEAD_ID, BD_TOKEN, BD_ATTEMPT and BD_BEAD_FILE (the bead as JSON). It reports the outcome in
    BD_RESULT_FILE or by its exit code: 0 done, 75 give the bead back, anything else failed. While it runs, bd sends
    heartbeats and watches the claim. Exit 3 if there was nothing to do.

    With --with, or `with: NAME` in the agent's file, it starts a coding agent that it knows, gives it the brief, reads
    its output, and books what it cost.
    """,
    examples=[
        "bd work --agent codemonkey -- ./agent.sh",
        "bd work --agent codemonkey --once -- ./agent.sh          from cron: until nothing fits",
        "bd work --agent pltops --with claude                     a coding agent that bd knows",
        "bd work --agent pltops --with codex --jobs 2 -- --profile ci    with arguments of its own",
    ],
)


def run(app: App, words: tuple[str, ...], dry_run: bool, **flags: Any) -> None:
    """Claim beads one after another and run a command on each."""
    agent = app.claimant().agent
    _warn_of_stranger(app, agent)
    program = _program(app, agent, words, flags["program"])
    if program is None:
        _check_command(words, flags["folder"])
    confinement = _confinement(app, program.start[0] if program else words[0], flags)
    flags["jobs"] = flags["jobs"] or min(_MOST_JOBS, max(1, limit_of(agent, app.snapshot()) or 1))
    plan = _plan(agent, words, program, confinement, app.settings(), flags)
    if dry_run:
        command = plan.command
        _dry_run(app, agent, program.words(command.permissions, extra=words) if program else words)
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


def _program(app: App, agent: str, words: tuple[str, ...], typed: str | None) -> KnownAgent | None:
    """Return the coding agent to start; None for the command that was typed. Raises BadInput if there is no such program."""
    own = (app.snapshot().agent(agent) or {}).get("with")
    name = typed or (str(own) if own and not words else "")
    if not name:
        return None
    program = known_agent(name)
    if shutil.which(program.start[0], path=os.environ.get("PATH")) is None:
        where = "" if typed else f", which {agent}'s agent file names,"
        raise BadInput(
            f"{program.start[0]}{where} is not on the PATH",
            hint=f"install it, or add its folder to PATH; `{program.start[0]} --version` shows whether it is found",
        )
    return program


def _check_command(words: tuple[str, ...], folder: str | None) -> None:
    """Raise BadInput if there is no such command."""
    if not words:
        names = "|".join(KNOWN)
        raise BadInput("which command?", hint=f"bd work --agent NAME -- CMD ARGS, or bd work --agent NAME --with {names}")
    if shutil.which(words[0], path=os.environ.get("PATH")) is None and not os.path.exists(os.path.join(folder or ".", words[0])):
        raise BadInput(f"there is no command {words[0]}", hint="the command after -- is started without a shell")


def _confinement(app: App, program: str, flags: Mapping[str, Any]) -> Confinement:
    """Return how the commands are confined. Raises BadInput if they can't be isolated."""
    found = Confinement.of(app.settings())
    if not flags["isolated"]:
        return found
    if not found.sandbox:
        app.out.note(
            "warning: without a sandbox the command can read all files of your user: `bd config set sandbox bwrap --user`"
        )
    return found._replace(hidden=isolated_work.hidden_folders(app, program, flags["folder"]))


def _work(app: App, plan: Plan, log: WorkerLog) -> None:
    """Run the worker, and report as it goes."""
    ended: list[Ended] = []
    opener = _opener(app, log)
    if plan.command.confinement.is_isolated:
        plan = plan._replace(command=plan.command._replace(api=isolated_work.api_for(opener, app.runtime, log.note)))

    def on_ended(one: Ended) -> None:
        if app.out.is_json or not ended:  # others are printed and forgotten: a worker may run for months
            ended.append(one)
        log.ended(one)

    worker = Worker(
        plan,
        opener,
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


def _plan(
    agent: str,
    words: tuple[str, ...],
    program: KnownAgent | None,
    confinement: Confinement,
    settings: Settings,
    flags: Mapping[str, Any],
) -> Plan:
    run = job.Command(
        words,
        os.path.abspath(flags["folder"] or os.getcwd()),
        flags["prompt"] or program is not None,
        flags["idle_timeout"],
        flags["grace"],
        settings.stop_when_cut_off,
        in_workspace=flags["workspace"] or ((program is not None or flags["isolated"]) and not flags["folder"]),
        timeout_s=flags["timeout"],
        max_duration=settings.max_duration,
        program=program,
        permissions=settings.permissions,
        prices=settings.prices,
        confinement=confinement,
    )
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


def _dry_run(app: App, agent: str, words: Sequence[str]) -> None:
    view = look(app.hub, f"agent:{agent}", fetch=app.flags.fetch is not False)
    app.hub.check_format(view.snapshot)
    answer = Eligibility(view.snapshot, agent, app.runtime.now())
    reason, best = answer.idle(), next(answer.beads(), None)
    stalls = [stall.id for stall in view.abandoned]
    if best is None and not stalls:
        app.out.exit_code = NothingReady.exit_code  # as the run itself
    if app.out.is_json:
        app.out.object({"agent": agent, "would_free": stalls, "would_claim": best.id if best else None, "command": list(words)})
        return
    for bead_id in stalls:
        app.out.line(f"would free {bead_id}: it has stalled")
    said = f"would claim {best.id} — {escaped(best.title)}, and run {' '.join(words)}" if best else "would claim nothing"
    app.out.line(f"{said}{f': {reason.text}' if reason else ''}")
