"""Edges between beads: added once, removed however they were made, and never in a circle."""

from __future__ import annotations

import pytest

from bd.core.errors import BadInput, BdError, NoSuchBead, WouldCycle, WrongState
from bd.operations.dependencies import DepAdd, DepRemove
from tests.memory import MemoryStore, make_bead
from tests.operations.asking import STAMP, by


def add(bead: str, target: str, kind: str | None = None) -> DepAdd:
    return DepAdd(ids=[bead, target], kind=kind, **by())


def remove(bead: str, target: str) -> DepRemove:
    return DepRemove(ids=[bead, target], **by())


@pytest.mark.parametrize("kind", [None, "blocks", "depends-on", "blocked-by", "Blocks", " depends_on "])
def test_waiting(kind: str | None) -> None:
    store = MemoryStore(make_bead("hub-a"), make_bead("hub-b"))
    change = store.publish(add("a", "b", kind))
    assert store.bead("hub-a").depends_on == ["hub-b"]
    assert change.touched == ("hub-a", "hub-b")
    assert store.publish(add("hub-a", "hub-b", kind)).is_empty, "a second time changes nothing"


@pytest.mark.parametrize(
    ("kind", "added", "removed"),
    [
        (None, "hub-a waits for hub-b", "hub-a no longer waits for hub-b"),
        ("depends-on", "hub-a waits for hub-b", "hub-a no longer waits for hub-b"),
        ("parent", "hub-a is a child of hub-b", "hub-a is no longer a child of hub-b"),
        ("discovered-from", "hub-a discovered-from hub-b", "hub-a is no longer linked to hub-b"),
    ],
)
def test_the_subject_says_the_direction_as_the_command_does(kind: str | None, added: str, removed: str) -> None:
    store = MemoryStore(make_bead("hub-a"), make_bead("hub-b"))
    assert store.publish(add("a", "b", kind)).subject.startswith(f"dep-add: {added} by ")
    assert store.publish(remove("a", "b")).subject.startswith(f"dep-remove: {removed} by ")


@pytest.mark.parametrize("kind", ["parent-child", "parent", "PARENT_CHILD"])
def test_becoming_a_child(kind: str) -> None:
    store = MemoryStore(make_bead("hub-a"), make_bead("hub-b"))
    store.publish(add("a", "b", kind))
    assert store.bead("hub-a").parent == "hub-b"


@pytest.mark.parametrize("kind", ["related", "discovered-from", "waits-for", "anything-else"])
def test_links(kind: str) -> None:
    store = MemoryStore(make_bead("hub-a"), make_bead("hub-b"))
    store.publish(add("a", "b", kind))
    assert store.bead("hub-a").get("links") == [{"type": kind, "id": "hub-b", "created_at": STAMP, "created_by": "coder"}]
    assert store.publish(add("a", "b", kind)).is_empty


@pytest.mark.parametrize(
    ("first", "second", "error"),
    [
        ("blocks", "related", WrongState),
        ("related", "blocks", WrongState),
        ("related", "tracks", WrongState),
        ("parent-child", "blocks", WouldCycle),
    ],
)
def test_one_kind_of_edge_for_one_pair(first: str, second: str, error: type[BdError]) -> None:
    store = MemoryStore(make_bead("hub-a"), make_bead("hub-b"))
    store.publish(add("a", "b", first))
    with pytest.raises(error):
        store.publish(add("a", "b", second))


@pytest.mark.parametrize(
    ("bead", "target", "error"),
    [("hub-a", "hub-a", WouldCycle), ("hub-a", "hub-none", NoSuchBead), ("hub-none", "hub-a", NoSuchBead)],
)
def test_edges_that_can_not_be(bead: str, target: str, error: type[BdError]) -> None:
    with pytest.raises(error):
        MemoryStore(make_bead("hub-a")).publish(add(bead, target))


@pytest.mark.parametrize("kind", ["x" * 51, " "])
def test_kinds_that_can_not_be(kind: str) -> None:
    with pytest.raises(BadInput):
        MemoryStore(make_bead("hub-a"), make_bead("hub-b")).publish(add("a", "b", kind))


@pytest.mark.parametrize(
    ("there", "new"),
    [
        ([("a", "b", "blocks")], ("b", "a", "blocks")),
        ([("a", "b", "blocks"), ("b", "c", "blocks")], ("c", "a", "blocks")),
        ([("a", "b", "waits-for")], ("b", "a", "blocks")),
        ([("a", "b", "parent-child")], ("b", "a", "parent-child")),
        ([("a", "b", "parent-child")], ("a", "b", "blocks")),
        ([("b", "a", "parent-child"), ("c", "b", "parent-child")], ("c", "a", "waits-for")),
        ([("a", "b", "parent-child"), ("b", "c", "blocks")], ("c", "a", "blocks")),
        ([("a", "b", "blocks"), ("c", "a", "parent-child")], ("b", "c", "waits-for")),
    ],
)
def test_circles_are_refused_whatever_the_edges(there: list[tuple[str, str, str]], new: tuple[str, str, str]) -> None:
    store = MemoryStore(*[make_bead(f"hub-{name}") for name in "abc"])
    for edge in there:
        store.publish(add(*edge))
    before = store.tip
    with pytest.raises(WouldCycle) as refusal:
        store.publish(add(*new))
    cycle = refusal.value.data["cycle"]
    assert cycle[0] == cycle[-1]
    assert {*cycle} <= {"hub-a", "hub-b", "hub-c"}
    assert all(bead_id in str(refusal.value) for bead_id in cycle)
    assert store.tip is before


def test_an_epic_may_wait_for_its_own_children() -> None:
    store = MemoryStore(make_bead("hub-epic", type="epic"), make_bead("hub-kid", parent="hub-epic"))
    store.publish(add("hub-epic", "hub-kid"))
    assert store.bead("hub-epic").depends_on == ["hub-kid"]


def test_links_that_only_inform_may_go_in_circles() -> None:
    store = MemoryStore(make_bead("hub-a"), make_bead("hub-b"))
    store.publish(add("a", "b", "related"))
    store.publish(add("b", "a", "related"))


def test_two_edges_at_once_that_close_a_circle_together() -> None:
    store = MemoryStore(make_bead("hub-a"), make_bead("hub-b"))
    with pytest.raises(WouldCycle):
        store.publish(add("a", "b"), overtaken_by=lambda: store.publish(add("b", "a")))
    assert store.bead("hub-a").depends_on == []


def test_two_edges_at_once_are_both_kept() -> None:
    store = MemoryStore(*[make_bead(f"hub-{name}") for name in "abc"])
    store.publish(add("a", "b"), overtaken_by=lambda: store.publish(add("a", "c")))
    assert store.bead("hub-a").depends_on == ["hub-c", "hub-b"]


@pytest.mark.parametrize("kind", ["blocks", "parent-child", "related", "waits-for"])
def test_removing(kind: str) -> None:
    store = MemoryStore(make_bead("hub-a", depends_on=["hub-c"]), make_bead("hub-b"), make_bead("hub-c"))
    store.publish(add("a", "b", kind))
    store.publish(remove("a", "b"))
    bead = store.bead("hub-a")
    assert (bead.depends_on, bead.links, bead.parent) == (["hub-c"], [], None)
    assert store.publish(remove("a", "b")).is_empty, "an absent edge is fine"


def test_an_edge_to_what_is_gone_can_be_removed() -> None:
    store = MemoryStore(make_bead("hub-a", depends_on=["hub-gone"]))
    store.publish(remove("a", "hub-gone"))
    assert store.bead("hub-a").depends_on == []


def test_removing_an_edge_to_what_never_was() -> None:
    with pytest.raises(NoSuchBead):
        MemoryStore(make_bead("hub-a")).publish(remove("a", "hub-none"))
