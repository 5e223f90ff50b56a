"""Edges that block, and cycles among them."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bd.policy.dag import Graph, ancestors, awaited, find_cycle, find_parent_loop, is_under
from tests.memory import MemorySnapshot, make_bead

if TYPE_CHECKING:
    from bd.core.model import Bead


def graph(*rows: str) -> MemorySnapshot:
    """Beads from rows: `a` alone, `a -> b c` waits, `a ^ p` a parent, `a ~ b` a waiting link; signs may be joined by `;`."""
    fields: dict[str, dict[str, object]] = {}
    for row in rows:
        for part in row.split(";"):
            words = part.split()
            bead = fields.setdefault(words[0], {})
            for name in words[2:]:
                fields.setdefault(name, {})
            if "->" in words:
                bead["depends_on"] = words[2:]
            elif "^" in words:
                bead["parent"] = words[2]
            elif "~" in words:
                bead["links"] = [{"type": "waits-for", "id": words[2]}]
    return MemorySnapshot([make_bead(name, **given) for name, given in fields.items()])


@pytest.mark.parametrize(
    ("rows", "is_cycle"),
    [
        (["a -> b", "b -> c"], False),
        (["a -> b", "b -> a"], True),
        (["a -> a"], True),
        (["a -> b", "b -> c", "c -> a"], True),
        (["a ~ b", "b -> a"], True),
        (["a ~ b", "b ~ a"], True),
        (["a -> b c", "b -> d", "c -> d"], False),
        # an epic may wait for its own children, and children need no edge back
        (["epic -> one two", "one ^ epic", "two ^ epic"], False),
        # a child that waits for a bead which waits for the epic's other child
        (["epic -> x", "one ^ epic", "x -> one"], True),
        # the loop mixes kinds: the child inherits the epic's wait for x, and x waits for the child
        (["epic ~ x", "one ^ epic", "x ~ one"], True),
        # inherited over two levels
        (["top -> x", "mid ^ top", "one ^ mid", "x -> one"], True),
        # x waits for the epic itself, which waits for its own child only
        (["epic -> one", "one ^ epic", "x -> epic"], False),
        # a child that waits for its own epic can never start once the epic waits for it
        (["epic -> one", "one ^ epic; one -> epic"], True),
        # siblings under two epics that wait for one another's children
        (["e1 -> b", "e2 -> a", "a ^ e1", "b ^ e2"], True),
        (["e1 -> b", "a ^ e1", "b ^ e2"], False),
    ],
)
def test_cycles_over_the_union_of_all_edges(rows: list[str], is_cycle: bool) -> None:
    snapshot = graph(*rows)
    cycle = find_cycle([bead.id for bead in snapshot.every()], snapshot)
    assert (cycle is not None) == is_cycle
    if cycle:
        assert cycle[0] == cycle[-1]
        for bead_id, target in pairwise(cycle):
            bead = snapshot.bead(bead_id)
            assert bead is not None
            assert target in Graph(snapshot).waits_on(bead)


def test_only_cycles_that_the_starts_reach_are_found() -> None:
    snapshot = graph("a -> b", "c -> d", "d -> c", "e -> c")
    assert find_cycle(["a"], snapshot) is None
    assert find_cycle(["a", "e"], snapshot) == ["c", "d", "c"]


def test_a_missing_bead_ends_the_search() -> None:
    assert find_cycle(["a", "none"], MemorySnapshot([make_bead("a", depends_on=["b"])])) is None


def test_long_chains_need_no_recursion() -> None:
    length = 5000
    beads = [make_bead(f"n{i}", depends_on=[f"n{i + 1}"]) for i in range(length)]
    assert find_cycle(["n0"], MemorySnapshot(beads)) is None
    closing = make_bead(f"n{length}", depends_on=["n0"])
    cycle = find_cycle(["n0"], MemorySnapshot([*beads, closing]))
    assert cycle is not None
    assert len(cycle) == length + 2


@pytest.mark.parametrize(
    ("rows", "loop"),
    [
        (["a ^ b", "b ^ c"], None),
        (["a ^ a"], ["a", "a"]),
        (["a ^ b", "b ^ a"], ["a", "b", "a"]),
        (["a ^ b", "b ^ c", "c ^ b"], None),  # a loop, but not through a
    ],
)
def test_loops_of_parents(rows: list[str], loop: list[str] | None) -> None:
    snapshot = graph(*rows)
    bead = snapshot.bead("a")
    assert bead is not None
    assert find_parent_loop(bead, snapshot) == loop


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


NODES = list("abcdefgh")


@given(
    st.dictionaries(
        st.sampled_from(NODES),
        st.tuples(st.lists(st.sampled_from(NODES), max_size=3), st.one_of(st.none(), st.sampled_from(NODES))),
        min_size=1,
    )
)
def test_a_cycle_is_found_exactly_when_no_order_of_work_exists(rows: dict[str, tuple[list[str], str | None]]) -> None:
    """Against another algorithm: strike out what waits on nothing (Kahn); what is left over is in or behind a cycle."""
    snapshot = MemorySnapshot([make_bead(name, depends_on=targets, parent=parent) for name, (targets, parent) in rows.items()])
    waits = {bead.id: {t for t in Graph(snapshot).waits_on(bead) if snapshot.bead(t)} for bead in snapshot.every()}
    while True:
        free = [name for name, targets in waits.items() if not targets & waits.keys()]
        if not free:
            break
        for name in free:
            del waits[name]
    assert (find_cycle(rows, snapshot) is not None) == bool(waits)
