"""DAGs as a whole: their state, their shape, the longest way through them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bd.policy.dag_progress import STATUSES, below, children_by_parent, dag_of, roots, shape_of
from tests.clocks import START
from tests.memory import MemorySnapshot, held, make_bead

if TYPE_CHECKING:
    from bd.core.model import Bead
    from bd.policy.dag_progress import Dag, Shape


def tree(**tasks: dict[str, Any]) -> MemorySnapshot:
    """A root and the tasks below it, each by its fields; `root` says more of the root itself."""
    root = {"type": "epic", **tasks.pop("root", {})}
    made = [make_bead(name, **{"parent": "root", **fields}) for name, fields in tasks.items()]
    return MemorySnapshot([make_bead("root", **root), *made])


def dag(snapshot: MemorySnapshot) -> Dag:
    root = snapshot.head("root")
    assert root is not None
    return dag_of(root, snapshot, START)


def shape(snapshot: MemorySnapshot, **hours: float) -> Shape:
    return shape_of(dag(snapshot), snapshot, lambda bead: hours.get(bead.id, 1.0))


CLOSED, CANCELLED, GIVEN_UP = {"status": "closed"}, {"status": "cancelled"}, {"status": "dead_letter", "attempts": 3}


@pytest.mark.parametrize(
    ("status", "tasks"),
    [
        ("pending", {"a": {}, "b": {"depends_on": ["a"]}}),
        ("pending", {"root": {"depends_on": ["b"]}, "a": {}, "b": {"depends_on": ["a"]}}),
        ("running", {"a": CLOSED, "b": {"depends_on": ["a"]}}),
        ("running", {"a": {"attempts": 1, "attempts_forgiven": 1}}),
        ("running", {"a": {"status": "blocked", "waiting_on": "human"}}),
        ("completed", {"a": CLOSED, "b": CLOSED}),
        ("completed", {"a": CLOSED, "b": CANCELLED}),
        ("cancelled", {"a": CANCELLED, "b": CANCELLED}),
        ("cancelled", {"root": CANCELLED, "a": CLOSED}),
        # what was given up keeps the rest waiting, but something else still moves
        ("running", {"a": GIVEN_UP, "b": {"depends_on": ["a"]}, "c": {}}),
        ("failed", {"a": GIVEN_UP, "b": {"depends_on": ["a"]}, "c": CLOSED}),
        ("failed", {"a": CANCELLED, "b": {"depends_on": ["a"]}, "c": {"depends_on": ["b"]}}),
        ("failed", {"a": GIVEN_UP}),
        # a bead that comes back by itself still moves
        ("running", {"a": GIVEN_UP, "b": {"retry_at": "2099-01-01T00:00:00Z"}}),
        ("running", {"a": GIVEN_UP, "b": {"status": "deferred", "defer_until": "2099-01-01T00:00:00Z"}}),
    ],
)
def test_status_is_worked_out_from_the_beads(status: str, tasks: dict[str, dict[str, Any]]) -> None:
    assert dag(tree(**tasks)).status == status


def test_what_is_outside_counts_as_long_as_it_can_end() -> None:
    waiting = make_bead("a", parent="root", depends_on=["far"])
    gone = make_bead("b", parent="root", **GIVEN_UP)
    root = make_bead("root", type="epic")
    for far, status in ((make_bead("far"), "running"), (make_bead("far", **CANCELLED), "failed"), (held("far"), "running")):
        assert dag(MemorySnapshot([root, waiting, gone, far])).status == status, far


def test_a_bead_alone_is_a_dag_of_itself() -> None:
    alone = dag(MemorySnapshot([make_bead("root")]))
    assert ([task.id for task in alone.tasks], alone.done, alone.status) == (["root"], 0, "pending")
    assert dag(MemorySnapshot([held("root")])).status == "running"


def test_roots_are_below_nothing_and_have_something_below_them() -> None:
    snapshot = MemorySnapshot(
        [
            make_bead("r"),
            make_bead("a", parent="r"),
            make_bead("b", parent="a"),
            make_bead("c", parent="gone"),
            make_bead("d", parent="c"),
        ]
    )
    children = children_by_parent(snapshot)
    assert [bead.id for bead in roots(snapshot, children)] == ["c", "r"]
    root = snapshot.head("r")
    assert root is not None
    assert [(member.bead.id, member.depth) for member in below(root, children)] == [("a", 0), ("b", 1)]


def test_parents_in_a_circle_end_the_walk() -> None:
    snapshot = MemorySnapshot([make_bead("root", parent="a"), make_bead("a", parent="root")])
    assert [member.bead.id for member in dag(snapshot).members] == ["a"]


def test_siblings_come_in_the_order_of_work() -> None:
    snapshot = tree(a={"depends_on": ["c"]}, b={"depends_on": ["a"]}, c={})
    assert [task.id for task in dag(snapshot).tasks] == ["c", "a", "b"]


def test_the_longest_way_is_by_time_and_leaves_out_what_is_done() -> None:
    tasks = {"a": {}, "b": {"depends_on": ["a"]}, "c": {"depends_on": ["b"]}, "slow": {"depends_on": ["a"]}}
    found = shape(tree(**tasks), slow=5.0)
    assert (found.roots, sorted(found.leaves)) == (["a"], ["c", "slow"])
    assert (found.critical, found.critical_s) == (["a", "slow"], 6.0)
    found = shape(tree(**{**tasks, "a": CLOSED, "slow": CLOSED}), slow=5.0)
    assert (found.critical, found.critical_s) == (["b", "c"], 2.0)
    assert shape(tree(a=CLOSED)).critical == []


def test_what_stands_above_others_is_no_entry_and_no_exit() -> None:
    found = shape(tree(mid={"depends_on": ["two"]}, one={"parent": "mid"}, two={"parent": "mid", "depends_on": ["one"]}))
    assert (found.roots, found.leaves) == (["one"], ["two"])
    assert found.critical == ["one", "two", "mid"]


def test_a_circle_of_tasks_is_walked_once() -> None:
    snapshot = tree(a={"depends_on": ["b"]}, b={"depends_on": ["a"]})
    assert set(shape(snapshot).critical) <= {"a", "b"}
    assert dag(snapshot).status == "pending"


NAMES = list("abcdef")
STATES = st.sampled_from([{}, CLOSED, CANCELLED, GIVEN_UP, {"attempts": 1}, {"status": "blocked"}])


@given(st.lists(st.tuples(STATES, st.lists(st.integers(0, 5), max_size=3)), min_size=1, max_size=6))
def test_a_status_says_what_is_so(rows: list[tuple[dict[str, Any], list[int]]]) -> None:
    """Tasks wait only for earlier ones, so what can't run is found by going through them once."""
    tasks = {NAMES[i]: {**state, "depends_on": [NAMES[j] for j in waits if j < i]} for i, (state, waits) in enumerate(rows)}
    found = dag(tree(**tasks))
    lives: dict[str, bool] = {}
    for name, fields in tasks.items():
        status = fields.get("status", "open")
        lives[name] = status in ("open", "blocked", "closed") and all(
            lives[one] for one in fields["depends_on"] if status == "open"
        )
    beads: list[Bead] = found.tasks
    going = [bead for bead in beads if not bead.is_done and lives[bead.id]]
    assert found.status in STATUSES
    assert (found.status in ("completed", "cancelled")) == all(bead.is_done for bead in beads)
    assert (found.status == "failed") == (not going and not all(bead.is_done for bead in beads))
