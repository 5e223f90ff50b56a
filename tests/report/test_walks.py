"""Every walk over a graph looks at each bead and edge a few times at most, however deep, wide or shared the graph is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from bd.cli.commands.dep import _nodes
from bd.core.model import Bead, Change, Overlay
from bd.core.settings import merge
from bd.operations.cycles import untangled
from bd.policy.circles import circles, new_circle
from bd.policy.dag import Graph, ancestors, chains, is_under, parent_loops
from bd.policy.dag_progress import Dags, shape_of
from bd.policy.derivations import lasting
from bd.policy.ranking import Ranking
from bd.policy.readiness import Readiness
from bd.report.dag_drawing import around
from bd.report.selection import Wanted, below, selected
from tests.clocks import START
from tests.memory import MemorySnapshot, make_bead

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

pytestmark = pytest.mark.one_in(3)

SIZE = 500
# So often each bead and edge may be asked for. A walk that goes back over its way asks SIZE times, one along every path for ever.
OFTEN = 60


class Counting(MemorySnapshot):
    """A snapshot that ends the test when it is asked too often: nothing has to be waited for."""

    def __init__(self, beads: Iterable[Bead]) -> None:
        made = list(beads)
        super().__init__(made)
        edges = sum(len(bead.depends_on) + bool(bead.parent) for bead in made)
        self.left = OFTEN * (len(made) + edges)
        self._waiting: dict[str, list[Bead]] = {}
        for bead in made:
            for target in {*bead.depends_on, *([bead.parent] if bead.parent else ())}:
                self._waiting.setdefault(target, []).append(bead)

    def _asked(self, number: int = 1) -> None:
        self.left -= number
        assert self.left > 0, "the walk goes over the same beads again and again"

    def bead(self, bead_id: str) -> Bead | None:
        self._asked()
        return super().bead(bead_id)

    def every(self) -> Iterator[Bead]:
        for bead in super().every():
            self._asked()
            yield bead

    def mentioning(self, bead_id: str) -> list[Bead]:
        found = self._waiting.get(bead_id, [])
        self._asked(1 + len(found))
        return found

    def waiters(self, ids: list[str]) -> dict[str, list[str]]:
        return {target: [bead.id for bead in self.mentioning(target) if target in bead.depends_on] for target in ids}


def name(number: int) -> str:
    return f"hub-{number:04}"


def beads(edges: Callable[[int], dict[str, Any]], size: int = SIZE) -> list[Bead]:
    return [make_bead(name(number), **edges(number)) for number in range(size)]


def _above(number: int) -> dict[str, Any]:
    return {"depends_on": [name(other) for other in range(max(0, number // 3 * 3 - 3), number // 3 * 3)]}


GRAPHS: dict[str, Callable[[], list[Bead]]] = {
    "deep parents": lambda: beads(lambda n: {"parent": name(n - 1) if n else None}),
    "wide parents": lambda: beads(lambda n: {"parent": name(0) if n else None}),
    "deep dependencies": lambda: beads(lambda n: {"depends_on": [name(n - 1)] if n else None}),
    "wide dependencies": lambda: beads(lambda n: {"depends_on": [name(other) for other in range(1, SIZE)] if not n else None}),
    "shared dependencies": lambda: beads(_above),
    "shared, below deep parents": lambda: beads(lambda n: {**_above(n), "parent": name(n - 3) if n > 2 else None}, 150),
    "parents in a circle": lambda: beads(lambda n: {"parent": name((n + 1) % 8)}),
    "dependencies in a circle": lambda: beads(lambda n: {"depends_on": [name((n + 1) % SIZE)]}),
    "all wait for all": lambda: beads(lambda n: {"depends_on": [name(other) for other in range(60) if other != n]}, 60),
}


def _live(snapshot: Counting) -> list[Bead]:
    return list(snapshot.live())


WALKS: dict[str, Callable[[Counting, Bead], object]] = {
    "circles": lambda snapshot, _: circles(snapshot),
    "a new circle": lambda snapshot, bead: new_circle(
        snapshot, Overlay(snapshot, Change({bead.id: bead.evolve(parent=None, depends_on=[name(1)])}, "")), [bead.id]
    ),
    "import": lambda snapshot, _: untangled({bead.id: bead for bead in snapshot.live()}, MemorySnapshot()),
    "loops of parents": lambda snapshot, _: [*parent_loops([bead.id for bead in snapshot.live()], snapshot)],
    "chains": lambda snapshot, _: chains([bead.id for bead in snapshot.live()], snapshot, 5),
    "waits": lambda snapshot, _: [Graph(snapshot).waits_on(bead) for bead in _live(snapshot)[-3:]],
    "ancestors": lambda snapshot, bead: [ancestors(bead, snapshot), is_under(bead.id, name(0), snapshot)],
    "phases": lambda snapshot, _: [*map(Readiness(snapshot, START).standing, _live(snapshot))],
    "ranking": lambda snapshot, _: [*map(Ranking(snapshot, START).listed, _live(snapshot))],
    "DAGs": lambda snapshot, _: Dags(snapshot, START).every(),
    "its shape": lambda snapshot, _: [shape_of(dag, snapshot, lambda _: 60.0) for dag in Dags(snapshot, START).every()],
    "what lasts": lambda snapshot, _: [*map(lasting(snapshot), _live(snapshot))],
    "below": lambda snapshot, _: [*map(below(name(0), snapshot), _live(snapshot))],
    "list": lambda snapshot, _: selected(
        snapshot, Wanted(parent=name(0), statuses=("ready", "pending")), START, lambda: merge([])
    ),
    "drawing": lambda snapshot, bead: around(bead, snapshot),
    "tree": lambda snapshot, bead: _nodes(Ranking(snapshot, START), bead.id, "down", 10**6),
    "tree, up": lambda snapshot, _: _nodes(Ranking(snapshot, START), name(0), "up", 10**6),
}


@pytest.mark.parametrize("walk", WALKS)
@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.one_in(9)
def test_a_walk_takes_time_for_each_bead_and_edge(graph: str, walk: str) -> None:
    made = GRAPHS[graph]()
    WALKS[walk](Counting(made), made[-1])


def test_a_walk_along_every_path_would_be_seen() -> None:
    snapshot = Counting(GRAPHS["shared dependencies"]())

    def every_path(bead_id: str) -> int:
        bead = snapshot.bead(bead_id)
        return 1 + sum(map(every_path, bead.depends_on if bead else ()))

    with pytest.raises(AssertionError, match="again and again"):
        every_path(name(120))
