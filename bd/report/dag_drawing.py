"""A drawing of what a bead waits for and what waits for it, directly or not; waiting beads are to the right. Pure."""

from __future__ import annotations

from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.policy.dag import awaited
from bd.policy.readiness import Readiness
from bd.report import html_page
from bd.report.board.board_page import STATUSES
from bd.report.html_page import Cell

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime

    from bd.core.model import Bead, Snapshot

# The number of beads drawn (the nearest), their size, and the space between them.
MOST = 40
_WIDTH, _HEIGHT, _BESIDE, _BELOW = 190, 46, 46, 14
_TITLE = 24
_SWEEPS = 4


class Graph(NamedTuple):
    """`beads` by id; `edges` are (waited for, waiting); `more` is the number of beads left out."""

    beads: Mapping[str, Bead]
    edges: tuple[tuple[str, str], ...]
    more: int = 0


def around(bead: Bead, snapshot: Snapshot) -> Graph:
    """Return the bead, everything it waits for, and everything that waits for it, directly or not."""
    found: dict[str, Bead] = {bead.id: bead}
    missed: set[str] = set()

    def walk(near: Callable[[Bead], Iterable[Bead]]) -> None:
        edge = [bead]
        while edge:
            following = [other for one in edge for other in near(one) if other.id not in found]
            edge = []
            for other in {other.id: other for other in following}.values():
                if len(found) < MOST:
                    found[other.id] = other
                    edge.append(other)
                else:
                    missed.add(other.id)

    walk(lambda one: snapshot.heads(awaited(one)))
    walk(lambda one: [other for other in snapshot.mentioning(one.id) if one.id in awaited(other)])
    edges = tuple((target, one.id) for one in found.values() for target in awaited(one) if target in found)
    return Graph(found, edges, len(missed))


def svg(graph: Graph, here: str, snapshot: Snapshot, now: datetime, href: Callable[[str], str]) -> Cell:
    """Draw the graph; `here` is its bead, `href` returns the page of a bead."""
    columns = _columns(graph)
    places = {
        bead_id: (column * (_WIDTH + _BESIDE) + 1, row * (_HEIGHT + _BELOW) + 1)
        for column, ids in enumerate(columns)
        for row, bead_id in enumerate(ids)
    }
    width = len(columns) * (_WIDTH + _BESIDE) - _BESIDE + 2
    height = max(map(len, columns)) * (_HEIGHT + _BELOW) - _BELOW + 2
    lines = [_line(places[before], places[after]) for before, after in graph.edges]
    readiness = Readiness(snapshot, now)
    boxes = [_box(graph.beads[one], place, one == here, readiness, href) for one, place in places.items()]
    frame = f'<svg class="graph" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img">'
    return Cell(f"{frame}{''.join(lines)}{''.join(boxes)}</svg>\n")


def _columns(graph: Graph) -> list[list[str]]:
    """Arrange the beads in columns, each to the right of all it waits for and near its neighbours."""
    depth = dict.fromkeys(graph.beads, 0)
    for _ in graph.beads:  # no path is longer than the number of beads, even if somebody typed a cycle
        deeper = {after: depth[before] + 1 for before, after in graph.edges if depth[after] <= depth[before]}
        if not deeper:
            break
        for one in deeper:
            depth[one] = min(len(depth) - 1, max(depth[before] + 1 for before, after in graph.edges if after == one))
    used = sorted(set(depth.values()))
    columns = [[one for one in sorted(graph.beads) if depth[one] == level] for level in used]
    for sweep in range(_SWEEPS):
        _untangle(columns if sweep % 2 == 0 else columns[::-1], graph.edges)
    return columns


def _untangle(columns: Sequence[list[str]], edges: Iterable[tuple[str, str]]) -> None:
    """Move each bead to the height of its neighbours in earlier columns."""
    bound: dict[str, list[str]] = {}
    for one, other in edges:
        bound.setdefault(one, []).append(other)
        bound.setdefault(other, []).append(one)
    rows: dict[str, int] = {}
    for ids in columns:
        near = {one: [rows[other] for other in bound.get(one, ()) if other in rows] for one in ids}
        here = {one: row for row, one in enumerate(ids)}
        ids.sort(key=lambda one: (sum(near[one]) / len(near[one]) if near[one] else here[one], here[one]))
        rows.update((one, row) for row, one in enumerate(ids))


def _line(start: tuple[int, int], end: tuple[int, int]) -> str:
    x1, y1, x2, y2 = start[0] + _WIDTH, start[1] + _HEIGHT // 2, end[0], end[1] + _HEIGHT // 2
    bend = _BESIDE if x2 > x1 else 3 * _BESIDE
    return f'<path class="edge" d="M{x1} {y1}C{x1 + bend} {y1} {x2 - bend} {y2} {x2} {y2}"/>'


def _box(bead: Bead, place: tuple[int, int], is_here: bool, readiness: Readiness, href: Callable[[str], str]) -> str:
    x, y = place
    word, kind = STATUSES[readiness.phase(bead)]
    title = bead.title if len(bead.title) <= _TITLE else f"{bead.title[: _TITLE - 1]}…"
    shape = f'<rect x="{x}" y="{y}" width="{_WIDTH}" height="{_HEIGHT}" rx="4"/>'
    head = f'<text class="{kind}" x="{x + 8}" y="{y + 18}">{html_page.text(bead.id)} {html_page.text(word)}</text>'
    words = f'<text x="{x + 8}" y="{y + 36}">{html_page.text(title)}</text><title>{html_page.text(bead.title)}</title>'
    return f'<a href="{html_page.text(href(bead.id))}" class="box{" here" if is_here else ""}">{shape}{head}{words}</a>'
