"""bd cron."""

from __future__ import annotations

import shutil

from bd import TYPE_CHECKING
from bd.cli.spec import Argument, Command, Flag, Group, Option
from bd.core.errors import BadInput, NoIdentity
from bd.core.ids import hub_name
from bd.core.times import duration_s, duration_text
from bd.operations.switches import SetDuty
from bd.policy.roles import interval_of
from bd.schedule import agent_log, crontab, systemd_units
from bd.schedule.interval import timetable
from bd.schedule.invocation import station

if TYPE_CHECKING:
    from bd.cli.app import App
    from bd.schedule.interval import Timetable
    from bd.schedule.invocation import Station


COMMAND = Argument("words", many=True, metavar="-- CMD [ARGS]...")
INTERVAL = Option("--interval", metavar="TIME", help="The interval; default: that of the agent's file or role, else 30m.")
SYSTEMD = Flag("--systemd", help="Use a systemd user service and timer instead.")
FOLDER = Option("--units", name="folder", metavar="DIR", help="The folder of the units, if not systemd's own.")


SHOW = Command(
    "show",
    COMMAND,
    INTERVAL,
    SYSTEMD,
    FOLDER,
    help="Print what install would write; without CMD, the agent's lines in the crontab.",
    examples=["bd cron show --agent codemonkey --interval 30m -- ./worker.sh"],
)


def show(app: App, words: tuple[str, ...], interval: str | None, systemd: bool, folder: str | None) -> None:
    """Print what install would write; without CMD, the agent's lines in the crontab."""
    where = _station(app, words)
    if not words and not systemd:
        found = crontab.installed(where)
    else:
        _check(app, words, "show")
        times = _times(app, where.agent, interval)
        agent_log.make_if_possible(where.log)
        lines = (
            systemd_units.lines(where, times, systemd_units.units(where, folder))
            if systemd
            else crontab.block(where, times).splitlines()
        )
        found = crontab.Lines(lines, where.environment["PATH"], where.log, list(times.minutes), list(times.hours))
    if app.out.is_json:
        shown = found._asdict()
        app.out.object({"agent": where.agent, **{key: value for key, value in shown.items() if key != "hours" or value}})
        return
    for line in found.lines:
        app.out.line(line)


INSTALL = Command(
    "install",
    COMMAND,
    INTERVAL,
    SYSTEMD,
    FOLDER,
    help="Write the agent's lines into the crontab, and set it online. Other lines are kept.",
    examples=["bd cron install --agent codemonkey --interval 30m -- ./worker.sh"],
)


def install(app: App, words: tuple[str, ...], interval: str | None, systemd: bool, folder: str | None) -> None:
    """Write the agent's lines into the crontab, and set it online. Other lines are kept."""
    _check(app, words, "install")
    where = _station(app, words)
    times = _times(app, where.agent, interval)
    program = where.command[0] if where.command else _own_program(app)
    if shutil.which(program) is None:
        app.out.note(f"warning: there is no {program} to run yet")
    agent_log.make_if_possible(where.log)
    files = systemd_units.units(where, folder)
    changed = systemd_units.install(where, times, files) if systemd else crontab.install(where, times)
    file = files.timer if systemd else "crontab"
    often = f"every {duration_text(times.interval_s)} ({times.cron})"
    said = f"{'✓ Wrote' if changed else 'Nothing to change in'} {file}: {where.agent} looks for work {often}"
    _finish(app, where.agent, "available", changed, file, [said, *(systemd_units.to_enable(files) if systemd else ())])


REMOVE = Command(
    "remove",
    SYSTEMD,
    FOLDER,
    help="Remove the agent's lines from the crontab, and set it offline. Other lines are kept.",
    examples=["bd cron remove --agent codemonkey"],
)


def remove(app: App, systemd: bool, folder: str | None) -> None:
    """Remove the agent's lines from the crontab, and set it offline. Other lines are kept."""
    where = _station(app)
    files = systemd_units.units(where, folder)
    changed = systemd_units.remove(files) if systemd else crontab.remove(where.key)
    file = files.timer if systemd else "crontab"
    said = f"✓ Removed {where.agent} from {file}" if changed else f"Nothing to remove: {file} has no lines for {where.agent}"
    _finish(app, where.agent, "offline", changed, file, [said, *(systemd_units.to_forget(files) if systemd and changed else ())])


def _own_program(app: App) -> str:
    """Return the coding agent that the agent's file names; "" if it names none."""
    return str((app.snapshot().agent(app.identity.agent or "") or {}).get("with") or "")


def _check(app: App, words: tuple[str, ...], verb: str) -> None:
    if not words and not _own_program(app):
        hint = f"bd cron {verb} --agent NAME -- CMD ARGS; or `bd agent add NAME --with claude`, for a coding agent"
        raise BadInput("which command works on the beads?", hint=hint)


def _station(app: App, words: tuple[str, ...] = ()) -> Station:
    agent = app.identity.agent
    if not agent:
        raise NoIdentity
    return station(app.hub, agent, hub_name(app.settings().prefix), words)


def _times(app: App, agent: str, interval: str | None) -> Timetable:
    """Return the times: as requested, else from the agent's file or role. Reports an interval that a crontab can't express."""
    own_s = interval_of(app.snapshot().agent(agent) or {})
    times = timetable(agent, duration_s(interval) if interval else own_s)
    if times.is_rounded:
        asked, kept = duration_text(times.asked_s), duration_text(times.interval_s)
        app.out.note(f"cron can't express an interval of {asked}; the agent starts every {kept}")
    return times


def _finish(app: App, agent: str, duty: str, changed: bool, file: str, said: list[str]) -> None:
    """Report what was written here before publishing the duty: it stays even if the hub refuses."""
    if not app.out.is_json:
        app.out.said("\n".join(said))
    outcome = app.publish(SetDuty(agent=agent, duty=duty, **app.asked()))
    if app.out.is_json:
        app.out.object({"agent": agent, "changed": changed, "file": file, "published": outcome.published})
    elif not outcome.published:
        app.out.note(f"the hub does not know yet that {agent} is {duty}; `bd sync` publishes that")


SPEC = Group(
    "cron",
    {
        "show": (SHOW, show),
        "install": (INSTALL, install),
        "remove": (REMOVE, remove),
    },
    help="Start an agent on a schedule: with a cron line, or a systemd timer.",
)
