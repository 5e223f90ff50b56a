"""bd log."""

from __future__ import annotations

import gc
import json
import sys

from bd import TYPE_CHECKING
from bd.cli.columns import cells, cut
from bd.cli.output import escaped, json_safe
from bd.cli.spec import Command, Flag, Option, whole_number
from bd.core.errors import BadInput
from bd.report.audit.audit import start_of
from bd.report.bead_events import Transition
from bd.report.log import last, read
from bd.worker.follow import tips

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bd.cli.app import App
    from bd.policy.live_notes import LiveNote

_SHOWN = 30
_MARKS = {
    "created": "green",
    "claimed": "blue",
    "reserved": "blue",
    "started": "blue",
    "resumed": "blue",
    "closed": "bright_black",
    "cancelled": "bright_black",
    "failed": "red",
    "freed": "red",
    "dead letter": "magenta",
    "parked": "magenta",
}


SPEC = Command(
    "log",
    Flag("--follow", "-f", help="Keep printing what happens, until interrupted."),
    Option("--since", metavar="WHEN", narrows=True, help="Only what happened after this: a commit, a time, or an age (`2h`)."),
    Option("--limit", "-n", kind=whole_number(0), help="Only the last N; 0 is all. Without --since 30, in JSON all."),
    help="""Show what happened in the fleet, a line for each transition.

    Newest last. With --follow and --json: one object per line, because the stream is endless.
    """,
    examples=[
        "bd log                        the last 30 transitions",
        "bd log --since 2h             what happened in the last two hours",
        "bd log --follow               and what happens from now on, until Ctrl-C",
        "bd log --follow --json | jq -r .transition",
    ],
)


def run(app: App, follow: bool, since: str | None, limit: int | None) -> None:
    """Show what happened in the fleet, a line for each transition."""
    if follow and app.flags.at:
        raise BadInput("--follow shows what comes, --at the past", hint="leave one of them out")
    if follow:
        gc.enable()
    hub = app.hub
    if not app.flags.at and app.flags.fetch is not False and (follow or app.flags.fetch):
        hub.fetch()
    tip = hub.commit_at(app.flags.at) if app.flags.at else (follow and hub.published()) or hub.view()
    found, is_cut = _found(app, tip, since, limit)
    if not follow:
        app.tell_gaps(reads_history=not is_cut and (not limit or len(found) < limit))
    if app.out.is_json and not follow:
        app.out.json([one.as_json() for one in found])
        return
    _tell(app, found)
    if not found and not follow:
        app.out.said("Nothing happened since then." if since else "Nothing happened yet.")
    if is_cut and limit is None:
        app.out.note("there is more: `bd log --limit 0` shows all of it")
    if follow:
        _follow(app, tip)


def _found(app: App, tip: str, since: str | None, limit: int | None) -> tuple[list[Transition], bool]:
    """Return what is shown first, and whether something earlier is left out."""
    repo = app.hub.repo
    most = limit if limit is not None else 0 if since or app.out.is_json else _SHOWN
    if most and not since:
        return last(repo, tip, most)
    start = start_of(app.hub, since, tip) if since else None
    ranges = (f"^{start}",) if start else ()
    found = list(read(repo, tip, *ranges, on_progress=app.hub.on_progress))
    return found[-most:] if most else found, bool(most) and len(found) > most


def _follow(app: App, tip: str) -> None:
    """Print each transition once: those in a new tip that the previous one lacks."""
    sys.stdout.flush()
    for new in tips(app.hub, tip, on_trouble=app.out.note, on_notes=lambda notes: _tell_notes(app, notes)):
        _tell(app, read(app.hub.repo, new, f"^{tip}"))
        sys.stdout.flush()
        tip = new


def _tell_notes(app: App, notes: list[LiveNote]) -> None:
    """Print the notes of progress that have come: they are no commits."""
    snapshot = app.hub.snapshot()
    _tell(
        app,
        (
            Transition(
                "progress",
                "",
                note.at,
                note.agent,
                "agent",
                0,
                note.bead,
                note.agent,
                text=note.text,
                after=snapshot.head(note.bead),
            )
            for note in notes
        ),
    )
    sys.stdout.flush()


def _tell(app: App, found: Iterable[Transition]) -> None:
    if app.out.is_json:
        for one in found:
            sys.stdout.write(json_safe(json.dumps(one.as_json(), separators=(",", ":"))) + "\n")
    elif app.out.quiet:
        app.out.lines(one.bead or one.what for one in found)
    else:
        app.out.lines(_line(app, one) for one in found)


def _line(app: App, one: Transition) -> str:
    """Format `TIME  WHAT  ID  WHO  TITLE: WORDS`, cut to the width."""
    attempt = f" (attempt {one.attempt})" if one.attempt > 1 and one.what == "claimed" else ""
    who = one.agent or one.by
    by = f"{who} by {one.by}" if one.agent and one.by not in ("", one.agent) else who
    text = one.text.replace("\n", " ")
    words = escaped(f"{one.title}{attempt}{': ' if one.title and text else ''}{text}")
    what, by = escaped(one.what), escaped(by)
    room = app.out.width() - 20 - 2 - max(11, cells(what)) - len(one.bead) - cells(by) - (6 if one.bead else 4)
    words = cut(words, max(12, room))
    shown = app.out.styled(what.ljust(11), _MARKS[what]) if what in _MARKS else what.ljust(11)
    bead = f"{app.out.styled(one.bead, 'bold')}  " if one.bead else ""
    return f"{one.at}  {shown}  {bead}{by}  {words}"
