"""The board as a page, in the manner of an airport's flight board: each bead a flight, its gate, its crew, its status. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bd.report import html_page
from bd.report.board.board import SHOWN, Board, Entry
from bd.report.board.markdown import flow_words, stamp
from bd.report.html_page import Cell

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# Each phase in the words of an airport, and its colour.
STATUSES = {
    "ready": ("boarding", "go"),
    "claimed": ("at gate", "busy"),
    "running": ("in flight", "busy"),
    "validating": ("landing", "busy"),
    "retrying": ("holding", "wait"),
    "pending": ("waiting", "wait"),
    "parked": ("held", "wait"),
    "dead_lettered": ("grounded", "stop"),
    "completed": ("landed", "past"),
    "cancelled": ("cancelled", "past"),
}
_AGENTS = {"available": "go", "busy": "busy", "overloaded": "stop", "draining": "wait", "offline": "past"}
_HEADS = [("flight", "id"), ("", "title"), ("gate", "time"), ("crew", "time"), ("since", "time"), ("status", "")]


def html(board: Board, at: str) -> str:
    """The page, as of an instant; nothing else in it moves with the clock alone."""
    made = html_page.page(f"{board.name} departures", f"last movement {board.flow['until']}", sections(board))
    return f"{made}{stamp(at)}\n"


def sections(board: Board, named: Callable[[str], Cell] = html_page.text) -> str:
    """Everything on the board; `named` shows an id, for pages that have more to say of it."""
    ready = [one for entries in board.ready.values() for one in entries]
    paused = f'<p class="state wait">paused: {html_page.text(board.paused)}</p>\n' if board.paused else ""
    asked = [one._replace(phase="asked") for one in board.waiting]
    body = [
        paused,
        html_page.section("Departures", _flights([*board.flying, *ready], "Nothing is ready, nobody is working.", named)),
        html_page.section("Waiting for people", _flights(asked, "No questions for people.", named)),
        html_page.section("Grounded", _flights(board.dead, "No dead letters.", named)),
        html_page.section("Not yet", _flights(board.blocked, "Nothing is blocked.", named)),
        html_page.section("Crews", _crews(board, named)),
        html_page.section("Arrivals", _flights(board.finished, "Nothing is finished yet.", named)),
        html_page.section("Flow", html_page.table([("", "title"), ("", "time")], flow_words(board), "")),
    ]
    return "".join(body)


def _flights(entries: Sequence[Entry], none: str, named: Callable[[str], Cell]) -> str:
    rows = [
        (named(one.id), _title(one), one.gate, one.crew or Cell("&ndash;"), clock_text(one.since), _status(one))
        for one in entries[:SHOWN]
    ]
    more = len(entries) - SHOWN
    return html_page.table(_HEADS, rows, none) + (f'<p class="none">and {more} more</p>\n' if more > 0 else "")


def _title(one: Entry) -> Cell:
    words = f'<br><span class="past">{html_page.text(one.text)}</span>' if one.text else ""
    return Cell(f"{html_page.text(one.title)}{words}")


def _status(one: Entry) -> Cell:
    if one.is_delayed:
        return html_page.state("delayed", "stop")
    return html_page.state("asks a person", "person") if one.phase == "asked" else status(one.phase)


def status(phase: str) -> Cell:
    """A phase as an airport would say it."""
    return html_page.state(*STATUSES[phase])


def clock_text(since: str) -> Cell:
    """`02-21 15:07`, UTC; the whole instant when pointed at."""
    return Cell(
        f'<time datetime="{html_page.text(since)}">{html_page.text(since[5:16].replace("T", " "))}</time>' if since else ""
    )


def _crews(board: Board, named: Callable[[str], Cell]) -> str:
    heads = [("crew", "id"), ("role", ""), ("holds", "number"), ("flights", "id"), ("status", "")]
    rows = [
        (
            crew.name,
            crew.role,
            f"{len(crew.beads)}{'' if crew.limit is None else f' of {crew.limit}'}",
            Cell(", ".join(map(named, crew.beads))),
            crew_status(crew.status),
        )
        for crew in board.agents
    ]
    return html_page.table(heads, rows, "No agents yet.")


def crew_status(word: str) -> Cell:
    """An agent's status in its colour."""
    return html_page.state(word, _AGENTS.get(word, "wait"))
