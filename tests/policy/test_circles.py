"""Circles: beads that have to wait for each other, by what each waits for and by when a parent closes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from bd.core.model import Change, Overlay
from bd.policy.circles import circles, new_circle
from tests.memory import MemorySnapshot, make_bead
from tests.policy.graphs import graph

if TYPE_CHECKING:
    from bd.core.model import Bead


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (["a -> b", "b -> c"], None),
        (["a -> b", "b -> a"], "a waits for b, which waits for a"),
        (["a -> a"], "a waits for a"),
        (["a ^ a"], "a is a child of a"),
        (["a ^ b", "b ^ a"], "a is a child of b, which is a child of a"),
        (["a -> b", "b -> c", "c -> a"], "a waits for b, which waits for c, which waits for a"),
        (["a ~ b", "b -> a"], "a waits for b, which waits for a"),
        (["a ~ b", "b ~ a"], "a waits for b, which waits for a"),
        (["a -> b c", "b -> d", "c -> d"], None),
        # an epic may wait for its own children, and children need no edge back
        (["epic -> one two", "one ^ epic", "two ^ epic"], None),
        # a child can't wait for the one that closes after it
        (["one ^ epic; one -> epic"], "epic closes after its child one, which waits for epic"),
        (["two ^ one", "one ^ epic; two -> epic"], "epic closes after its child one, which closes after its child two, which"),
        # but for one that spawned it, which may end first, unless that one waits
        (["one * epic; one -> epic"], None),
        (["one * epic; one -> epic", "epic -> one"], "epic waits for one, which waits for epic"),
        # a child inherits the epic's wait for x, and x waits for the child
        (["epic -> x", "one ^ epic", "x -> one"], "epic waits for x, which waits for one, which is a child of epic"),
        (["epic ~ x", "one ^ epic", "x ~ one"], "epic waits for x, which waits for one, which is a child of epic"),
        (["top -> x", "mid ^ top", "one ^ mid", "x -> one"], "mid is a child of top, which waits for x, which waits for one"),
        # x waits for the epic itself, which waits for its own child only
        (["epic -> one", "one ^ epic", "x -> epic"], None),
        # a bead of an epic's child waits for the one whose work is below that epic, three levels in all
        (["e -> c", "c ^ e", "g ^ c; g -> e"], "closes after its child"),
        # siblings under two epics that wait for one another's children
        (["e1 -> b", "e2 -> a", "a ^ e1", "b ^ e2"], "a is a child of e1, which waits for b, which is a child of e2"),
        (["e1 -> b", "a ^ e1", "b ^ e2"], None),
        (["e1 -> e2", "b ^ e2; b -> a", "a ^ e1"], "a is a child of e1, which waits for e2, which closes after its child b"),
    ],
)
def test_circles_over_the_union_of_all_edges(rows: list[str], said: str | None) -> None:
    snapshot = graph(*rows)
    found = circles(snapshot)
    assert len(found) == bool(said)
    for circle in found:
        assert said is not None
        assert said in circle.words()
        assert circle.ids[0] == circle.ids[-1]
        assert {*circle.ids} <= {bead.id for bead in snapshot.every()}


def test_what_is_done_waits_for_nothing() -> None:
    waiting = graph("a -> b", "b -> a", "one ^ epic; one -> epic")
    done = [bead.evolve(status="closed") if bead.id in ("b", "one") else bead for bead in waiting.every()]
    assert [circle.ids for circle in circles(waiting)] == [["a", "b", "a"], ["epic", "one", "epic"]]
    assert circles(MemorySnapshot(done)) == []


def test_only_new_circles_are_news() -> None:
    before = graph("a -> b", "b -> a", "c -> a", "d")
    after = graph("a -> b", "b -> a", "c -> a d", "d")
    assert new_circle(before, after, ["c"]) is None
    closing = graph("a -> b", "b -> a", "c -> a d", "d -> c")
    assert new_circle(after, closing, ["d"]) is not None
    longer = graph("a -> b", "b -> a c", "c -> a d", "d")  # a new one through beads that were in one before
    circle = new_circle(after, longer, ["b"])
    assert circle is not None
    assert circle.ids == ["b", "c", "a", "b"]


def test_who_moves_out_of_a_tree_is_waited_for_by_all_of_it() -> None:
    inside = graph("top -> deep", "deep ^ mid; deep -> one", "mid * top", "one ^ top")
    outside = graph("top -> deep", "deep ^ mid; deep -> one", "mid", "one ^ top")
    assert circles(inside) == []
    circle = new_circle(inside, outside, ["mid"])
    assert circle is not None
    assert circle.words() == "top waits for deep, which waits for one, which is a child of top"


def test_a_missing_bead_ends_the_search() -> None:
    snapshot = MemorySnapshot([make_bead("a", depends_on=["b"], parent="c")])
    assert circles(snapshot) == []
    assert new_circle(MemorySnapshot(), snapshot, ["a", "none"]) is None


@pytest.mark.parametrize("kind", ["depends_on", "parent"])
def test_long_chains_need_no_recursion_and_are_not_told_in_full(kind: str) -> None:
    length = 5000

    def beads(last: str | None) -> MemorySnapshot:
        targets = [*(f"n{i + 1}" for i in range(length)), last]
        return MemorySnapshot([make_bead(f"n{i}", **{kind: _as(kind, target)}) for i, target in enumerate(targets)])

    chain, closed = beads(None), beads("n0")
    assert circles(chain) == []
    circle = new_circle(chain, closed, [f"n{length}"])
    assert circle is not None
    assert len(circle.ids) == length + 2
    assert "over 4992 others" in circle.words()
    assert len(circle.words()) < 400


def _as(kind: str, target: str | None) -> object:
    return [target] if kind == "depends_on" and target else target


class Walked(dict[str, "Bead | None"]):
    """Beads of a change that count how often somebody goes through all of them."""

    walks = 0

    def values(self) -> Any:
        self.walks += 1
        return super().values()


def test_a_large_plan_is_gone_through_as_often_as_a_small_one() -> None:
    walks = []
    for size in (3, 30):
        plan = Walked({f"hub-{i}": make_bead(f"hub-{i}", parent=f"hub-{i - 1}" if i else None) for i in range(size)})
        assert new_circle(MemorySnapshot(), Overlay(MemorySnapshot(), Change(plan, "")), plan) is None
        walks.append(plan.walks)
    assert walks[0] == walks[1]
