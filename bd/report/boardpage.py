"""The board as a page, in the manner of an airport's flight board: each bead a flight, its gate, its crew, its status. Pure."""

from __future__ import annotations

from bd.report import page
from bd.report.board import SHOWN, Board, Entry
from bd.report.boardtext import flow_words, stamp
from bd.report.page import Cell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

# What an airport would call each phase, and its colour.
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
    ready = [one for entries in board.ready.values() for one in entries]
    paused = f'<p class="state wait">paused: {page.text(board.paused)}</p>\n' if board.paused else ""
    asked = [one._replace(phase="asked") for one in board.waiting]
    body = [
        paused,
        page.section("Departures", _flights([*board.flying, *ready], "Nothing is ready, nobody is at work.")),
        page.section("Waiting for people", _flights(asked, "Nobody is asked anything.")),
        page.section("Grounded", _flights(board.dead, "No dead letters.")),
        page.section("Not yet", _flights(board.blocked, "Nothing is blocked.")),
        page.section("Crews", _crews(board)),
        page.section("Arrivals", _flights(board.finished, "Nothing is finished yet.")),
        page.section("Flow", page.table([("", "title"), ("", "time")], flow_words(board), "")),
    ]
    made = page.page(f"{board.name} departures", f"last movement {board.flow['until']}", "".join(body))
    return f"{made}{stamp(at)}\n"


def _flights(entries: Sequence[Entry], none: str) -> str:
    rows = [
        (one.id, _title(one), one.gate, one.crew or Cell("&ndash;"), _clock(one.since), _status(one)) for one in entries[:SHOWN]
    ]
    more = len(entries) - SHOWN
    return page.table(_HEADS, rows, none) + (f'<p class="none">and {more} more</p>\n' if more > 0 else "")


def _title(one: Entry) -> Cell:
    words = f'<br><span class="past">{page.text(one.text)}</span>' if one.text else ""
    return Cell(f"{page.text(one.title)}{words}")


def _status(one: Entry) -> Cell:
    if one.is_delayed:
        return page.state("delayed", "stop")
    word, kind = ("asks a person", "person") if one.phase == "asked" else STATUSES[one.phase]
    return page.state(word, kind)


def _clock(since: str) -> Cell:
    """`02-21 15:07`, UTC; the whole instant when pointed at."""
    return Cell(f'<time datetime="{page.text(since)}">{page.text(since[5:16].replace("T", " "))}</time>' if since else "")


def _crews(board: Board) -> str:
    heads = [("crew", "id"), ("role", ""), ("holds", "number"), ("flights", "id"), ("status", "")]
    rows = [
        (
            crew.name,
            crew.role,
            f"{len(crew.beads)}{'' if crew.limit is None else f' of {crew.limit}'}",
            ", ".join(crew.beads),
            page.state(crew.status, _AGENTS.get(crew.status, "wait")),
        )
        for crew in board.agents
    ]
    return page.table(heads, rows, "No agents yet.")
