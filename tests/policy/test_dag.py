"""Edges that block."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bd.policy.dag import Graph, ancestors, awaited, is_under, parent_loops
from tests.policy.graphs import graph

if TYPE_CHECKING:
    from bd.core.model import Bead
    from tests.memory import MemorySnapshot


def test_loops_of_parents_are_each_found_once() -> None:
    snapshot = graph("a ^ b", "b ^ c", "c ^ b", "d ^ d", "e ^ a", "f ^ none")
    assert [*parent_loops("aebcfd", snapshot)] == [["b", "c", "b"], ["d", "d"]]
    assert [*parent_loops("f", snapshot)] == []


def test_ancestors_nearest_first() -> None:
    snapshot = graph("a ^ b", "b ^ c", "c ^ d")
    assert [bead.id for bead in ancestors(_bead(snapshot, "a"), snapshot)] == ["b", "c", "d"]
    assert is_under("a", "d", snapshot)
    assert is_under("a", "a", snapshot)
    assert not is_under("d", "a", snapshot)
    assert not is_under("none", "a", snapshot)


def test_a_wait_for_the_own_tree_is_not_handed_down() -> None:
    snapshot = graph("epic -> one deep x", "one ^ epic", "two ^ epic", "deep ^ two", "x")
    epic = _bead(snapshot, "epic")
    assert awaited(epic) == ["one", "deep", "x"]
    assert Graph(snapshot).inherited(epic) == ["x"]
    assert Graph(snapshot).waits_on(_bead(snapshot, "deep")) == ["x"]


def _bead(snapshot: MemorySnapshot, bead_id: str) -> Bead:
    bead = snapshot.bead(bead_id)
    assert bead is not None
    return bead
