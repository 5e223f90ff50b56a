"""Circles: what is accepted can be worked off to the end, and what is refused can't."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bd.core.errors import StillBlocked, WouldCycle, WrongState
from bd.core.model import Bead, Change
from bd.operations.beads import Update
from bd.operations.close import Close, Reopen
from bd.operations.create import Create
from bd.operations.dependencies import DepAdd
from bd.operations.import_beads import Import
from bd.operations.undo import Undo
from bd.policy.circles import circles
from bd.policy.dag import parent_loops
from bd.policy.readiness import Readiness
from tests.clocks import START
from tests.memory import MemorySnapshot, MemoryStore, make_bead
from tests.operations.asking import by

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.one_in(3)

NAMES = [f"hub-{name}" for name in "abcdef"]
EDGES = st.tuples(st.sampled_from(NAMES), st.sampled_from(["blocks", "waits-for", "parent-child"]), st.sampled_from(NAMES))
SPAWNED = st.dictionaries(st.sampled_from(NAMES[1:]), st.just(NAMES[0]), max_size=2)


def leftovers(snapshot: MemorySnapshot) -> set[str]:
    """The beads that are still open when an agent has closed whatever was ready and would close, for as long as something did."""
    store = MemoryStore()
    store.tip = snapshot
    moved = True
    while moved:
        moved = False
        for bead in [*store.tip.live()]:
            if Readiness(store.tip, START).phase(bead) == "ready":
                with suppress(StillBlocked):  # its children go first
                    store.publish(Close(ids=[bead.id], **by()))
                    moved = True
    return {bead.id for bead in store.tip.live()}


def forced(bead: Bead, kind: str, target: str) -> Bead:
    """The bead with an edge that nobody asked about."""
    if kind == "parent-child":
        return bead.evolve(parent=target)
    if kind == "blocks":
        return bead.evolve(depends_on=[*bead.depends_on, target])
    return bead.evolve(links=[*bead.get("links", []), {"type": kind, "id": target}])


@settings(max_examples=150)
@given(SPAWNED, st.lists(EDGES, min_size=1, max_size=14))
def test_accepted_work_comes_to_an_end_and_refused_work_does_not(
    spawned: dict[str, str], edges: list[tuple[str, str, str]]
) -> None:
    store = MemoryStore(*(made(name, spawned.get(name)) for name in NAMES))
    for name, kind, target in edges:
        if name == target:  # refused, whatever it would do
            continue
        try:
            store.publish(DepAdd(ids=[name, target], kind=kind, **by()))
        except WouldCycle as refusal:
            cycle = refusal.data["cycle"]
            assert cycle[0] == cycle[-1]
            refused = store.tip.after(Change({name: forced(store.bead(name), kind, target)}, ""))
            assert circles(refused)
            if not [*parent_loops(NAMES, refused)]:  # those are refused even where they would be in nobody's way
                assert {*cycle} <= leftovers(refused)
        except WrongState:
            continue  # another kind of link is there
    assert circles(store.tip) == []
    assert leftovers(store.tip) == set()


def made(name: str, spawned_from: str | None) -> Bead:
    if spawned_from is None:
        return make_bead(name)
    return make_bead(name, parent=spawned_from, links=[{"type": "discovered-from", "id": spawned_from}])


@settings(max_examples=100)
@given(SPAWNED, st.lists(EDGES, min_size=1, max_size=20))
def test_what_is_imported_comes_to_an_end(spawned: dict[str, str], edges: list[tuple[str, str, str]]) -> None:
    """Edges that would close a circle are kept as links, and no more of them than those of circles."""
    beads = {name: made(name, spawned.get(name)) for name in NAMES}
    for name, kind, target in edges:
        if kind == "parent-child" and name == target:  # never a parent, and in nobody's way
            continue
        beads[name] = forced(beads[name], kind, target)
    store = MemoryStore()
    result = store.publish(Import(beads=[dict(bead.fields) for bead in beads.values()], **by())).result
    assert leftovers(store.tip) == set()
    assert bool(result["kept_as_links"]) == bool(circles(MemorySnapshot(beads.values())))


EPIC = [make_bead("hub-e", depends_on=["hub-c"]), make_bead("hub-c", parent="hub-e"), make_bead("hub-g", parent="hub-c")]
X = make_bead("hub-x", depends_on=["hub-e"])
WAYS: dict[str, Callable[[MemoryStore], object]] = {
    "dep add": lambda store: store.publish(DepAdd(ids=["hub-g", "hub-e"], **by())),
    "create": lambda store: store.publish(
        Create(beads=[{"title": "x", "id": "hub-n", "parent": "hub-c", "depends_on": ["hub-e"]}], **by())
    ),
    "create --deps blocks": lambda store: store.publish(
        Create(beads=[{"title": "x", "id": "hub-n", "depends_on": ["hub-e"], "deps": ["blocks:hub-g"]}], **by())
    ),
    "update --parent": lambda store: store.publish(Update(ids=["hub-x"], set={"parent": "hub-g"}, **by())),
    "undo": lambda store: store.publish(
        Undo(words="w", beads={"hub-x": {"before": {**X.fields, "parent": "hub-g"}, "after": dict(X.fields)}}, **by())
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_every_way_to_make_an_edge_sees_that_a_parent_closes_after_its_children(way: str) -> None:
    store = MemoryStore(*EPIC, X)
    with pytest.raises(WouldCycle, match="closes after its child") as refusal:
        WAYS[way](store)
    assert {"hub-e", "hub-c"} <= {*refusal.value.data["cycle"]}


@pytest.mark.parametrize("again", [Reopen(ids=["hub-p"], **by()), Update(ids=["hub-p"], status="open", **by())])
def test_what_is_done_can_be_waited_for_by_its_children_and_stays_done(again: Reopen | Update) -> None:
    store = MemoryStore(make_bead("hub-p", status="closed"), make_bead("hub-c", parent="hub-p"))
    store.publish(DepAdd(ids=["hub-c", "hub-p"], **by()))
    with pytest.raises(WouldCycle, match="hub-p closes after its child hub-c, which waits for hub-p"):
        store.publish(again)
    assert leftovers(store.tip) == set()


def test_a_close_is_not_undone_where_its_children_wait_for_it_by_now() -> None:
    store = MemoryStore(make_bead("hub-p"), make_bead("hub-c", parent="hub-p"))
    opened = dict(store.bead("hub-p").fields)
    store.publish(Close(ids=["hub-p"], force=True, reason="x", **by()))
    closed = dict(store.bead("hub-p").fields)
    store.publish(DepAdd(ids=["hub-c", "hub-p"], **by()))
    with pytest.raises(WouldCycle, match="hub-p closes after its child hub-c, which waits for hub-p"):
        store.publish(Undo(words="w", beads={"hub-p": {"before": opened, "after": closed}}, **by()))
