"""Circles: beads that have to wait for each other, so that none of them can ever be done.

A bead starts after everything that it and its parents wait for is closed, and it closes after its children. Both are
edges, between steps of beads. What a parent waits for below itself holds up only its close. Belongs here: the order of the
steps, and what goes round in it. Does not belong here: whether a bead is ready now (readiness.py), and who may make an edge.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.policy.dag import awaited
from bd.policy.dag_progress import children_by_parent, is_spawned

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from bd.core.model import Bead, Link, Snapshot

# People see this many edges of a longer circle; programs get them all.
_SHOWN = 8
_STARTS, WAITS_FOR, _HAS_CHILD, _IS_CHILD = "starts before", "waits for", "closes after its child", "is a child of"


class Step(NamedTuple):
    """A bead's close, or else its start."""

    id: str
    is_close: bool


class Circle(NamedTuple):
    """Edges between beads, each from where the last one led to; the last leads back to the first bead."""

    edges: tuple[tuple[str, str, str], ...]

    @property
    def ids(self) -> list[str]:
        """The beads as a closed path."""
        return [self.edges[0][0], *(target for _, _, target in self.edges)]

    def words(self, names: Mapping[str, str] | None = None) -> str:
        """The edges as a sentence; `names` are what beads are called by the caller."""
        known = names or {}
        edges, half = list(self.edges), _SHOWN // 2
        others = len(edges) - _SHOWN - 1
        if others > 0:
            edges[half:-half] = [(edges[half][0], f"waits, over {others} others, for", edges[-half][0])]
        first = edges[0][0]
        return f"{known.get(first, first)} {', which '.join(f'{verb} {known.get(target, target)}' for _, verb, target in edges)}"


class Order:
    """Which steps come before which among the beads of one snapshot: made once for a decision.

    Without `children` (by parent) the snapshot is asked for them bead by bead. With `unfinished` closes that are done come
    before nothing, as for a report; otherwise a wait counts whether it is over or not, since beads are opened again.
    """

    def __init__(self, snapshot: Snapshot, children: Mapping[str, list[Bead]] | None = None, unfinished: bool = False) -> None:
        self._snapshot = snapshot
        self._children = children
        self._unfinished = unfinished
        self._before: dict[Step, dict[Step, str]] = {}
        self._parents: dict[str, str | None] = {}

    def before(self, step: Step) -> Mapping[Step, str]:
        """The steps that come before one, and the edge to each in words."""
        if step not in self._before:
            bead = self._snapshot.head(step.id)
            self._before[step] = {} if bead is None else self._of_close(bead) if step.is_close else self._of_start(bead)
        return self._before[step]

    def forget(self, bead_id: str) -> None:
        """Take note that what a bead waits for has changed; parents may not."""
        for is_close in (False, True):
            self._before.pop(Step(bead_id, is_close), None)

    def _of_close(self, bead: Bead) -> dict[Step, str]:
        if bead.is_done and self._unfinished:
            return {}
        found = {Step(bead.id, False): _STARTS, **dict.fromkeys(self._waits(bead, inside=True), WAITS_FOR)}
        for child in () if bead.is_done else self._children_of(bead.id):
            if not child.is_done and not is_spawned(child, bead):
                found[Step(child.id, True)] = _HAS_CHILD
        return found

    def _of_start(self, bead: Bead) -> dict[Step, str]:
        found = dict.fromkeys(self._waits(bead, inside=False), WAITS_FOR)
        return {**found, Step(bead.parent, False): _IS_CHILD} if bead.parent else found

    def _waits(self, bead: Bead, *, inside: bool) -> list[Step]:
        """The closes that a bead waits for inside its own tree, or outside of it."""
        return [Step(target, True) for target in awaited(bead) if self._is_under(target, bead.id) == inside]

    def _is_under(self, bead_id: str, root_id: str) -> bool:
        above: str | None = bead_id
        seen: set[str] = set()
        while above and above != root_id and above not in seen:
            seen.add(above)
            if above not in self._parents:
                bead = self._snapshot.head(above)
                self._parents[above] = bead.parent if bead else None
            above = self._parents[above]
        return above == root_id

    def _children_of(self, bead_id: str) -> list[Bead]:
        return self._snapshot.children_of(bead_id) if self._children is None else self._children.get(bead_id, [])

    def knots(self, starts: Iterable[Step], within: Collection[Step] | None = None) -> Iterator[list[Step]]:
        """The steps that can't be put in order, as far as the starts reach: the strongly connected components of the steps.

        In each, every step comes before every other. Tarjan's algorithm without recursion: every step and edge is looked at once.
        """
        index: dict[Step, int] = {}
        low: dict[Step, int] = {}
        open_steps: dict[Step, None] = {}  # an ordered set
        for start in starts:
            path = [] if start in index else [(start, iter(self.before(start)))]
            while path:
                step, rest = path[-1]
                if step not in index:
                    index[step] = low[step] = len(index)
                    open_steps[step] = None
                target = next((one for one in rest if within is None or one in within), None)
                if target is None:
                    path.pop()
                    if path:
                        low[path[-1][0]] = min(low[path[-1][0]], low[step])
                    if low[step] == index[step]:
                        knot = _taken(open_steps, step)
                        if len(knot) > 1 or step in self.before(step):
                            yield knot
                elif target not in index:
                    path.append((target, iter(self.before(target))))
                elif target in open_steps:
                    low[step] = min(low[step], index[target])


def shortest_circle(order: Order, knot: Collection[Step], edge: tuple[Step, Step] | None = None) -> Circle:
    """The shortest circle of a knot through one of its edges; without one, through an edge of its first bead."""
    inside = set(knot)
    first = min(inside)
    step, target = edge or (first, next(one for one in order.before(first) if one in inside))
    came: dict[Step, Step] = {}
    level = [target]
    while step != target and step not in came:
        level = [
            following
            for one in level
            for following in order.before(one)
            if following in inside and came.setdefault(following, one) is one
        ]
    way = [step]
    while way[-1] != target:
        way.append(came[way[-1]])
    steps = [step, *way[::-1]]
    edges = [(one.id, order.before(one)[other], other.id) for one, other in pairwise(steps)]
    return Circle(tuple(edge for edge in edges if edge[1] != _STARTS))


def _taken(open_steps: dict[Step, None], last: Step) -> list[Step]:
    """The newest steps down to one, which are open no more."""
    taken = [open_steps.popitem()[0]]
    while taken[-1] != last:
        taken.append(open_steps.popitem()[0])
    return taken


def new_circle(before: Snapshot, after: Snapshot, changed: Iterable[str]) -> Circle | None:
    """A circle that the changed beads close; one that was there before is no news. None when there is none."""
    was, will = Order(before), Order(after)
    for knot in will.knots(_affected(before, after, changed)):
        inside = set(knot)
        for step in sorted(knot):
            target = next((one for one in will.before(step) if one in inside and one not in was.before(step)), None)
            if target is not None:
                return shortest_circle(will, knot, (step, target))
    return None


def _affected(before: Snapshot, after: Snapshot, changed: Iterable[str]) -> list[Step]:
    """The steps that every circle closed by the changed beads goes through one of.

    Under another parent also those below: what is waited for from above or from outside may have changed sides.
    """
    found: dict[str, None] = {}
    for bead_id in changed:
        old, new = before.head(bead_id), after.head(bead_id)
        if new is None or (old is not None and _edges(old) == _edges(new)):
            continue
        moved = [bead_id] if old is None or old.parent != new.parent else []
        found[bead_id] = None
        while moved:
            below = [child.id for child in after.children_of(moved.pop()) if child.id not in found]
            found.update(dict.fromkeys(below))
            moved += below
    return [Step(bead_id, True) for bead_id in found]


def _edges(bead: Bead) -> tuple[list[str], str | None, list[Link], bool]:
    return bead.depends_on, bead.parent, bead.links, bead.is_done


def circles(snapshot: Snapshot) -> list[Circle]:
    """A circle of each knot among beads that are not done, by id; beads that are tied up twice are named once."""
    order = Order(snapshot, children_by_parent(snapshot), unfinished=True)
    knots = order.knots([Step(bead.id, True) for bead in snapshot.live()])
    found: dict[frozenset[str], Circle] = {}
    for knot in knots:
        circle = shortest_circle(order, knot)
        found.setdefault(frozenset(circle.ids), circle)
    return sorted(found.values(), key=lambda circle: circle.ids)
