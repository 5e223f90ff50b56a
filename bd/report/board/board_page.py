"""The board as a page: tables of beads by what happens to them, the agents, and the flow. Pure."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.report import html_page
from bd.report.board.board import SHOWN, Board, Entry
from bd.report.board.markdown import flow_words, stamp
from bd.report.html_page import Cell

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# Each phase in the words that people read, and its colour.
STATUSES = {
    "ready": ("ready", "go"),
    "claimed": ("claimed", "busy"),
    "running": ("in progress", "busy"),
    "validating": ("validating", "busy"),
    "retrying": ("retrying", "wait"),
    "pending": ("blocked", "wait"),
    "parked": ("parked", "wait"),
    "dead_lettered": ("dead letter", "stop"),
    "completed": ("closed", "past"),
    "cancelled": ("cancelled", "past"),
}
_AGENTS = {"available": "go", "busy": "busy", "overloaded": "stop", "draining": "wait", "offline": "past"}
_HEADS = [("bead", "id"), ("", "title"), ("kind", "time"), ("agent", "time"), ("since", "time"), ("status", "")]


def html(board: Board, at: str) -> str:
    """The page, as of an instant; nothing else in it moves with the clock alone."""
    made = html_page.page(f"{board.name} board", f"last change {board.flow['until']}", sections(board))
    return f"{made}{stamp(at)}\n"


def sections(board: Board, named: Callable[[str], Cell] = html_page.text) -> str:
    """Everything on the board; `named` shows an id, for pages that have more to say of it."""
    ready = [one for entries in board.ready.values() for one in entries]
    paused = f'<p class="state wait">paused: {html_page.text(board.paused)}</p>\n' if board.paused else ""
    asked = [one._replace(phase="asked") for one in board.waiting]
    body = [
        paused,
        html_page.section(
            "In progress and ready", _beads([*board.flying, *ready], "Nothing is ready, nobody is working.", named)
        ),
        html_page.section("Waiting for people", _beads(asked, "No questions for people.", named)),
        html_page.section("Dead letters", _beads(board.dead, "No dead letters.", named)),
        html_page.section("Blocked", _beads(board.blocked, "Nothing is blocked.", named)),
        html_page.section("Agents", _agents(board, named)),
        html_page.section("Finished lately", _beads(board.finished, "Nothing is finished yet.", named)),
        html_page.section("Flow", html_page.table([("", "title"), ("", "time")], flow_words(board), "")),
    ]
    return "".join(body)


def _beads(entries: Sequence[Entry], none: str, named: Callable[[str], Cell]) -> str:
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
    """A phase in its colour."""
    return html_page.state(*STATUSES[phase])


def clock_text(since: str) -> Cell:
    """`02-21 15:07`, UTC; the whole instant when pointed at."""
    return Cell(
        f'<time datetime="{html_page.text(since)}">{html_page.text(since[5:16].replace("T", " "))}</time>' if since else ""
    )


def _agents(board: Board, named: Callable[[str], Cell]) -> str:
    heads = [("agent", "id"), ("role", ""), ("holds", "number"), ("beads", "id"), ("status", "")]
    rows = [
        (
            agent.name,
            agent.role,
            f"{len(agent.beads)}{'' if agent.limit is None else f' of {agent.limit}'}",
            Cell(", ".join(map(named, agent.beads))),
            agent_status(agent.status),
        )
        for agent in board.agents
    ]
    return html_page.table(heads, rows, "No agents yet.")


def agent_status(word: str) -> Cell:
    """An agent's status in its colour."""
    return html_page.state(word, _AGENTS.get(word, "wait"))
