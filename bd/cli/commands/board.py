"""bd board."""

from __future__ import annotations

import gc
import sys

from bd import TYPE_CHECKING
from bd.cli.app import SIGNS
from bd.cli.output import LivePage
from bd.cli.spec import Command, Flag, Option
from bd.core.errors import BadInput
from bd.core.times import time_text
from bd.operations.board import PublishBoard, check_path
from bd.overseer import pages
from bd.report.board import board_page, markdown
from bd.report.board.board import gather
from bd.report.metrics.flow import flow_of
from bd.worker.follow import tips

if TYPE_CHECKING:
    from bd.cli.app import App
    from bd.report.board.board import Board


SPEC = Command(
    "board",
    Flag("--html", name="as_html", help="As a self-contained HTML page."),
    Flag("--publish", help="Write it into the hub if it has changed, at most every 15 minutes."),
    Option("--path", help="Path in the hub; default: the setting board_path, else BOARD.md or board.html."),
    Flag("--watch", help="Show it in this terminal as it changes, until Ctrl-C."),
    help="""Show the fleet on one page, and publish it.

    Agents, what is in work, what is ready by tier, what is blocked and why, questions, dead letters, what was
    finished recently, and the flow of the week.
    """,
    examples=[
        "bd board                         one page of Markdown",
        "bd board --html > board.html     a page that needs no other file",
        "bd board --publish               into the hub, as BOARD.md, if it says anything new",
        "bd board --watch                 here, as it changes",
    ],
)


def run(app: App, as_html: bool, publish: bool, path: str | None, watch: bool) -> None:
    """Show the fleet on one page, and publish it."""
    if watch:
        _watch(app, refused=as_html or publish or app.flags.json)
        return
    if path and not publish:
        raise BadInput("--path says where to publish the board", hint="add --publish")
    if publish:
        _publish(app, path, as_html=as_html)
        return
    board = _board(app)
    missing = app.tell_gaps()
    if app.out.is_json:
        app.out.object({**board.as_json(), **missing})
    else:
        sys.stdout.write(_text(board, time_text(app.now), as_html=as_html))


def _board(app: App) -> Board:
    snapshot = app.snapshot()
    app.leave_out(SIGNS)
    tip = snapshot.commit if app.flags.at else app.hub.published() or snapshot.commit
    flow = flow_of(app.hub, tip, app.hub.on_progress, keeps=not app.flags.at)
    return gather(snapshot, flow, app.settings(), app.now)


def _text(board: Board, at: str, *, as_html: bool) -> str:
    return board_page.html(board, at) if as_html else markdown.markdown(board, at)


def _publish(app: App, path: str | None, *, as_html: bool) -> None:
    if app.flags.at:
        raise BadInput("--at reads the past, which can't be changed", hint="leave --publish or --at out")
    app.snapshot(fetch=True)
    where = check_path(path or app.settings().board_path or ("board.html" if as_html else "BOARD.md"))
    text = _text(_board(app), time_text(app.runtime.now()), as_html=where.endswith(".html"))
    why_not = pages.why_no_board(pages.published(app.hub, where), text, app.runtime.now())
    if why_not:
        _answer(app, where, why_not, published=False)
    else:
        outcome = app.publish(PublishBoard(**app.asked(path=where, text=text)))
        _answer(app, where, "", published=outcome.published)


def _answer(app: App, path: str, why_not: str, *, published: bool) -> None:
    if app.out.is_json:
        app.out.object({"path": path, "published": published, **({"reason": why_not} if why_not else {})})
    else:
        done = f"✓ Published {path}" if published else f"✓ Wrote {path}, not published yet"
        app.out.said(f"{path} stays as it is: {why_not}" if why_not else done)


def _watch(app: App, *, refused: bool) -> None:
    """Show the board again for every new tip."""
    if refused or app.flags.at or not sys.stdout.isatty():
        raise BadInput("--watch shows the board in a terminal", hint="`bd log --follow` prints what happens anywhere")
    gc.enable()
    commit = app.snapshot(fetch=True).commit
    known = app.hub.published() or commit  # before the board is read: an event in between may show twice, but is never missed
    app.renew()
    with LivePage() as page:
        page.show(markdown.markdown(_board(app), time_text(app.now)))
        for _ in tips(app.hub, known):
            app.renew()
            page.show(markdown.markdown(_board(app), time_text(app.now)))
