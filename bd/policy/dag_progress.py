"""A DAG as a whole: the beads below a root, their progress, and the state of the DAG that follows from it.

Edges and cycles are in dag.py, the readiness of one bead in readiness.py. Nothing here is stored: a DAG is its root and what is
below it.
"""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter
from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.core.queries import made_of
from bd.policy.dag import Graph, awaited
from bd.policy.readiness import Readiness

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from bd.core.model import Bead, Snapshot

# The link from a spawned subtask to the bead it was spawned from, which is also its parent.
SPAWNED = "discovered-from"
STATUSES = ("pending", "running", "completed", "failed", "cancelled")
# Phases in which a bead is not done and waits for no other bead: it will move.
_MOVING = frozenset({"ready", "claimed", "running", "validating", "retrying", "parked"})


class Member(NamedTuple):
    """A bead below the root, and the number of parents in between."""

    bead: Bead
    depth: int


class Dag(NamedTuple):
    """A root and the beads below it, parents before their children; `phases` has their phases, by id."""

    root: Bead
    members: list[Member]
    phases: dict[str, str]
    status: str

    @property
    def tasks(self) -> list[Bead]:
        """The work of the DAG: the beads below the root, or a root that stands alone."""
        return [member.bead for member in self.members] or [self.root]

    @property
    def done(self) -> int:
        return sum(task.is_done for task in self.tasks)


def is_spawned(child: Bead, parent: Bead) -> bool:
    """Return whether the parent has spawned the child as a subtask: such a parent may end first, unless it waits for it."""
    return any(link.type == SPAWNED and link.id == parent.id for link in child.links)


def children_by_parent(snapshot: Snapshot) -> dict[str, list[Bead]]:
    """Return the children of each bead that has some, including archived ones, in the order of creation."""
    found: dict[str, list[Bead]] = {}
    for bead in snapshot.every():
        if bead.parent:
            found.setdefault(bead.parent, []).append(bead)
    for beads in found.values():
        beads.sort(key=lambda bead: (made_of(bead.fields), bead.id))
    return found


def roots(snapshot: Snapshot, children: Mapping[str, list[Bead]]) -> list[Bead]:
    """Return the beads that have something below them and nothing above."""
    heads = snapshot.heads(sorted(children))
    return [bead for bead in heads if not bead.parent or not snapshot.exists(bead.parent)]


def _in_order(beads: list[Bead]) -> list[Bead]:
    """Sort siblings into an order in which they can be done; unchanged if they wait for each other."""
    by_id = {bead.id: bead for bead in beads}
    sorter = TopologicalSorter({bead.id: [one for one in awaited(bead) if one in by_id] for bead in beads})
    try:
        return [by_id[bead_id] for bead_id in sorter.static_order()]
    except CycleError:
        return beads


def below(root: Bead, children: Mapping[str, list[Bead]]) -> list[Member]:
    """Return everything below a bead, parents before their children; stops at a loop of parents."""
    found: list[Member] = []
    seen = {root.id}
    stack = [Member(child, 0) for child in reversed(_in_order(children.get(root.id, [])))]
    while stack:
        member = stack.pop()
        if member.bead.id in seen:
            continue
        seen.add(member.bead.id)
        found.append(member)
        stack.extend(Member(child, member.depth + 1) for child in reversed(_in_order(children.get(member.bead.id, []))))
    return found


class Dags:
    """The DAGs of one snapshot at one instant: made once for a decision, then asked about many roots."""

    __slots__ = ("_can_run", "_children", "readiness", "snapshot")

    def __init__(self, snapshot: Snapshot, now: datetime) -> None:
        self.snapshot = snapshot
        self.readiness = Readiness(snapshot, now)
        self._children: dict[str, list[Bead]] | None = None
        # By id of a waiting bead: chains of several DAGs may meet.
        self._can_run: dict[str, bool] = {}

    @property
    def children(self) -> Mapping[str, list[Bead]]:
        """The children of each bead that has some."""
        if self._children is None:
            self._children = children_by_parent(self.snapshot)
        return self._children

    def every(self) -> list[Dag]:
        """Return every DAG, by the ids of their roots."""
        return [self.of(root) for root in roots(self.snapshot, self.children)]

    def of(self, root: Bead) -> Dag:
        """Return the DAG under a root."""
        members = below(root, self.children)
        phases = {bead.id: self.readiness.phase(bead) for bead in [root, *(member.bead for member in members)]}
        dag = Dag(root, members, phases, "")
        return dag._replace(status=self._status(dag))

    def _status(self, dag: Dag) -> str:
        """Return pending, running, completed, cancelled, or failed (nothing can run, and something was given up or cancelled)."""
        phases = [dag.phases[task.id] for task in dag.tasks]
        if dag.root.status == "cancelled" or all(phase == "cancelled" for phase in phases):
            return "cancelled"
        if all(phase in ("completed", "cancelled") for phase in phases):
            return "completed"
        if not any(self._runs(task, dag.phases[task.id]) for task in dag.tasks):
            ended = {"dead_lettered", "cancelled"} & {*phases, dag.phases[dag.root.id]}
            if ended or any(self._waits_for_ended(task) for task in dag.tasks if not task.is_done):
                return "failed"
        is_begun = any(task.attempts or dag.phases[task.id] not in ("pending", "ready", "cancelled") for task in dag.tasks)
        return "running" if is_begun else "pending"

    def _runs(self, bead: Bead, phase: str) -> bool:
        """Return whether the bead will move, now or once what it waits for is closed: nothing in its chain has ended unclosed."""
        if phase != "pending":
            return phase in _MOVING
        known, readiness = self._can_run, self.readiness
        stack, on_path = [bead], {bead.id}
        while stack:
            current = stack[-1]
            phase = readiness.phase(current)
            waits = [hold for hold in readiness.holds(current) if hold.code != "deferred"] if phase == "pending" else []
            others = [hold.other for hold in waits if hold.other is not None]
            unknown = next((other for other in others if other.id not in known and other.id not in on_path), None)
            if unknown is not None and current.id not in known and len(others) == len(waits):
                stack.append(unknown)
                on_path.add(unknown.id)
                continue
            stack.pop()
            on_path.discard(current.id)
            if phase == "pending":
                known[current.id] = len(others) == len(waits) and all(known.get(other.id, False) for other in others)
            else:
                known[current.id] = phase in _MOVING
        return known[bead.id]

    def _waits_for_ended(self, bead: Bead) -> bool:
        return any(hold.code in ("dependency_ended", "parent_cancelled") for hold in self.readiness.holds(bead))


def dag_of(root: Bead, snapshot: Snapshot, now: datetime) -> Dag:
    """Return the DAG under a root. For several roots make `Dags`."""
    return Dags(snapshot, now).of(root)


# --- its shape ------------------------------------------------------------------------------


class Shape(NamedTuple):
    """The shape of a DAG: which tasks wait for which, its entries and exits, and the critical path.

    `critical` are the unfinished tasks on the longest path, in order, and `critical_s` is how long they should take.
    """

    edges: dict[str, list[str]]
    roots: list[str]
    leaves: list[str]
    critical: list[str]
    critical_s: float


def shape_of(dag: Dag, snapshot: Snapshot, expected_s: Callable[[Bead], float]) -> Shape:
    """Return the shape of a DAG; `expected_s` gives how long one bead should take."""
    tasks, graph = {task.id: task for task in dag.tasks}, Graph(snapshot)
    edges = {task.id: [one for one in dict.fromkeys(graph.waits_on(task)) if one in tasks] for task in tasks.values()}
    containers = {task.parent for task in tasks.values() if task.parent}
    waited_for = {target for task, targets in edges.items() if task not in containers for target in targets}
    work = [task for task in tasks if task not in containers] or list(tasks)
    critical, critical_s = _longest(tasks, edges, expected_s)
    return Shape(
        edges, [task for task in work if not edges[task]], [task for task in work if task not in waited_for], critical, critical_s
    )


def _longest(
    tasks: Mapping[str, Bead], edges: Mapping[str, list[str]], expected_s: Callable[[Bead], float]
) -> tuple[list[str], float]:
    """Return the longest path through what is still to be done, weighted by expected time; a cycle is walked once."""
    known: dict[str, tuple[float, str | None]] = {}
    for start in tasks:
        stack, on_path = [start], {start}
        while stack:
            current = stack[-1]
            open_ones = [one for one in edges[current] if not tasks[one].is_done]
            unknown = next((one for one in open_ones if one not in known and one not in on_path), None)
            if unknown is not None and current not in known:
                stack.append(unknown)
                on_path.add(unknown)
                continue
            stack.pop()
            on_path.discard(current)
            if current not in known and not tasks[current].is_done:
                before = max(((known[one][0], one) for one in open_ones if one in known), default=(0.0, None))
                known[current] = (before[0] + expected_s(tasks[current]), before[1])
    if not known:
        return [], 0.0
    last: str | None = max(known, key=lambda one: known[one][0])
    total = known[last][0] if last else 0.0
    way: list[str] = []
    while last is not None:
        way.append(last)
        last = known[last][1]
    return way[::-1], total
