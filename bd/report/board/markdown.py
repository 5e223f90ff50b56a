"""The board as Markdown. Pure. Its first line is a comment with the time of the board, which alone is no news."""

from __future__ import annotations

import re

from bd import TYPE_CHECKING
from bd.core.times import instant_of
from bd.report.board.board import SHOWN, Board, Entry, shown
from bd.report.metrics.charts import share_text, spread_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import datetime

_STAMP = re.compile(r"<!-- as of ([0-9T:.Z-]+) -->")
# Characters that Markdown, or HTML in it, would take as markup.
_MARKUP = re.compile(r"([\\`*_\[\]<>|#~&!])")


def markdown(board: Board, at: str) -> str:
    """Return the page. Times are absolute, so that it stays the same while nothing happens."""
    return "\n".join([stamp(at), "", *_lines(board)]) + "\n"


def stamp(at: str) -> str:
    """Return the line with the time of a board."""
    return f"<!-- as of {at} -->"


def is_news(old: str | None, new: str) -> bool:
    """Return whether a board differs from the one before in more than its stamp."""
    return old is None or _STAMP.sub("", old) != _STAMP.sub("", new)


def age_s(text: str | None, now: datetime) -> float | None:
    """Return a published board's age by its stamp; None if it has none, or one that is in the future or unreadable."""
    found = _STAMP.search(text or "")
    try:
        seconds = (now - instant_of(found[1])).total_seconds() if found else -1.0
    except (ValueError, TypeError):
        return None
    return seconds if seconds >= 0 else None


def escaped(text: str) -> str:
    """Escape a bead's text as plain Markdown text on one line."""
    one_line = "".join(char if char.isprintable() else " " if char.isspace() else "\ufffd" for char in text)
    return _MARKUP.sub(r"\\\1", one_line)


def _lines(board: Board) -> Iterator[str]:
    yield f"# {escaped(board.name)}"
    if board.paused:
        yield f"\n**Paused.** {escaped(board.paused)}"
    agents = [
        [
            f"**{escaped(agent.name)}**",
            escaped(agent.status),
            f"{len(agent.beads)}{'' if agent.limit is None else f' of {agent.limit}'}",
            " ".join(f"`{bead}`" for bead in agent.beads),
        ]
        for agent in board.agents
    ]
    yield from _table("Agents", ["agent", "status", "holds", "beads"], agents, "No agents yet.")
    flying = [
        [*_bead(one), escaped(one.crew), "delayed" if one.is_delayed else one.phase, one.since, escaped(one.text)]
        for one in board.flying
    ]
    yield from _table("In progress", ["bead", "title", "agent", "status", "since", "last note"], flying, "Nobody is working.")
    yield from _ready(board)
    yield from _entries("Blocked", board.blocked, "why", "Nothing is blocked.")
    yield from _entries("Waiting for people", board.waiting, "question", "No questions for people.")
    yield from _entries("Dead letters", board.dead, "why", "None.")
    done = [[*_bead(one), escaped(one.crew), one.since] for one in board.finished]
    yield from _table("Finished lately", ["bead", "title", "by", "at"], done, "Nothing yet.")
    yield from _flow(board)


def _bead(one: Entry) -> list[str]:
    return [f"`{one.id}`", escaped(one.title)]


def _ready(board: Board) -> Iterator[str]:
    if not board.ready:
        yield "\n## Ready\n\nNothing is ready."
    for tier, entries in board.ready.items():
        rows = [[*_bead(one), escaped(one.gate)] for one in shown(entries)[0]]
        title = f"Ready, {tier} ({len(entries)})"
        yield from _table(title, ["bead", "title", "kind"], rows, "", len(entries))


def _entries(title: str, entries: Sequence[Entry], words: str, none: str) -> Iterator[str]:
    rows = [[*_bead(one), escaped(one.text)] for one in entries[:SHOWN]]
    counted = f"{title} ({len(entries)})" if entries else title
    yield from _table(counted, ["bead", "title", words], rows, none, len(entries))


def _table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], none: str, of: int = 0) -> Iterator[str]:
    yield f"\n## {title}\n"
    if not rows:
        yield none
        return
    yield from _rows([columns, ["---"] * len(columns), *rows])
    if of > len(rows):
        yield f"\nand {of - len(rows)} more"


def _rows(rows: Iterable[Sequence[str]]) -> Iterator[str]:
    for row in rows:
        yield f"| {' | '.join(row)} |"


def _flow(board: Board) -> Iterator[str]:
    flow = board.flow
    yield f"\n## Flow\n\n{flow['since']} to {flow['until']}:\n"
    for words, value in flow_words(board):
        yield f"- {words}: {escaped(value)}"


def flow_words(board: Board) -> list[tuple[str, str]]:
    """Describe the flow in a few words."""
    flow = board.flow
    contention, attempts = flow["contention"], flow["attempts"]
    return [
        ("closed", f"{flow['throughput']['closed']}, created {flow['throughput']['created']}"),
        ("wait until claimed", spread_text(flow["wait_s"])),
        ("from claim to close", spread_text(flow["work_s"])),
        ("attempts that failed", f"{attempts['failed']} of {attempts['failed'] + attempts['succeeded']}"),
        ("pushes for each claim", f"{contention['pushes_per_claim']}, {share_text(contention['conflict_rate'])} lost to others"),
        ("cost", f"${flow['cost']['usd']:.2f}"),
    ]
