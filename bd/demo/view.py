"""Displays of the race: a live table on a terminal, else a plain line for each event.

A view is a context manager with `show(board, seconds)`, which is called repeatedly.
"""

from __future__ import annotations

from typing import Protocol

from bd import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from bd.demo.board import Board, Happening, Row

BAR_WIDTH = 25
EVENTS_SHOWN = 6


class View(Protocol):
    """A display of a race."""

    def __enter__(self) -> View: ...

    def __exit__(self, *ended: object) -> None: ...

    def show(self, board: Board, seconds: float) -> None:
        """Show the current state of the race."""


class Silent:
    """Shows nothing."""

    def __enter__(self) -> Silent:
        return self

    def __exit__(self, *ended: object) -> None:
        pass

    def show(self, board: Board, seconds: float) -> None:
        pass


class Lines:
    """Writes a plain line for each event to a stream."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._shown = 0

    def __enter__(self) -> Lines:
        return self

    def __exit__(self, *ended: object) -> None:
        pass

    def show(self, board: Board, seconds: float) -> None:
        """Write what has happened since the last call."""
        width = max(map(len, board.rows), default=0)
        for event in board.events[self._shown :]:
            said = words_of(event.happening)
            bead = (*event.happening.claimed, *event.happening.closed)[0]
            self._write(f"{event.at_s:5.1f}s  {event.happening.by:<{width}}  {said:<46}  {board.titles.get(bead, '')}".rstrip())
        self._shown = len(board.events)


def words_of(happening: Happening) -> str:
    """Return a happening as a short text: `closed hub-a, claimed hub-b (2 tries)`."""
    parts = []
    if happening.closed:
        parts.append(f"closed {' '.join(happening.closed)}")
    if happening.claimed:
        parts.append(f"claimed {' '.join(happening.claimed)}")
    return ", ".join(parts) + (f" ({happening.tries} tries)" if happening.tries > 1 else "")


def bar_of(board: Board) -> str:
    """Return the progress as a bar of `BAR_WIDTH` characters."""
    full = BAR_WIDTH * board.closed // board.total if board.total else BAR_WIDTH
    return "━" * full + "╌" * (BAR_WIDTH - full)


class LiveTable:
    """A table that is redrawn in place: the agents, the progress, and the last events."""

    def __init__(self, width: int | None = None) -> None:
        from rich.console import Console
        from rich.live import Live

        self._console = Console(width=width, highlight=False)
        self._live = Live(console=self._console, auto_refresh=False, vertical_overflow="crop")

    def __enter__(self) -> LiveTable:
        self._live.start()
        return self

    def __exit__(self, *ended: object) -> None:
        self._live.stop()

    def show(self, board: Board, seconds: float) -> None:
        """Draw the table."""
        from rich.console import Group
        from rich.text import Text

        how_far = f"{board.closed} of {board.total} done, {seconds:.1f} s, {board.pushes_per_claim:.2f} pushes per claim"
        line = Text.assemble((bar_of(board), "green"), "  ", how_far, no_wrap=True, overflow="ellipsis")
        events = [_event_line(event.at_s, event.happening) for event in board.events[-EVENTS_SHOWN:]]
        blank = [Text("")] * (EVENTS_SHOWN - len(events))
        self._live.update(Group(_agents_table(board), Text(""), line, Text(""), *events, *blank), refresh=True)


def _agents_table(board: Board) -> Any:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="dim", expand=True)
    table.add_column("agent", no_wrap=True)
    table.add_column("works on", no_wrap=True, min_width=14)
    table.add_column("", no_wrap=True, overflow="ellipsis", ratio=1)
    table.add_column("done", justify="right", no_wrap=True)
    table.add_column("pushes", justify="right", no_wrap=True)
    for row in board.rows.values():
        table.add_row(*_cells(row, board))
    return table


def _cells(row: Row, board: Board) -> list[Any]:
    """Return a row's cells as plain texts, in which nothing is parsed as markup."""
    from rich.text import Text

    idle = "" if board.is_done else "nothing fits now"
    title = Text(board.titles.get(row.bead, "") or idle, "" if row.bead else "dim")
    return [Text(row.agent, "bold"), Text(row.bead, "blue"), title, Text(str(row.done)), Text(str(row.tries))]


def _event_line(at_s: float, happening: Happening) -> Any:
    from rich.text import Text

    return Text(f"{at_s:5.1f}s  {happening.by}  {words_of(happening)}", "dim", no_wrap=True, overflow="ellipsis")
