"""Undo: the last write is taken back as long as it is the last word."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bd.core.errors import DoesNotFit, StaleToken, WrongState
from bd.core.schema import agent_path
from bd.operations.beads import Comment, Delete, Update
from bd.operations.claims import Claim
from bd.operations.close import Close
from bd.operations.create import Create
from bd.operations.undo import Undo
from tests.memory import MemoryStore, held, make_bead
from tests.operations.asking import by

if TYPE_CHECKING:
    from bd.operations.base import Operation


def undoing(store: MemoryStore, operation: Operation) -> Undo:
    """Publish an operation; what takes it back."""
    before = store.tip
    change = store.publish(operation)
    beads = {}
    for bead_id in change.beads:
        versions = (before.bead(bead_id), store.tip.bead(bead_id))
        beads[bead_id] = {
            name: dict(bead.fields) if bead else None for name, bead in zip(("before", "after"), versions, strict=True)
        }
    return Undo(words=change.subject, beads=beads, **by())


def a_store() -> MemoryStore:
    return MemoryStore(
        make_bead(labels=["x"]), make_bead("hub-b", depends_on=["hub-a"]), records={agent_path("coder"): {"name": "coder"}}
    )


@pytest.mark.parametrize(
    "operation",
    [
        Update(ids=["hub-a"], set={"title": "Other"}, add={"labels": ["y"]}, **by()),
        Update(ids=["hub-a"], status="closed", **by()),
        Comment(ids=["hub-a"], text="x", **by()),
        Close(ids=["hub-a"], **by()),
        Delete(ids=["hub-a"], **by()),
        Create(beads=[{"title": "New", "deps": ["blocks:hub-b"]}], **by()),
    ],
)
def test_everything_but_the_stamp_is_as_it_was(operation: Operation) -> None:
    store = a_store()
    before = {bead.id: store.bead(bead.id) for bead in store.tip.every()}
    undo = undoing(store, operation)
    stamps = {bead.id: bead.updated_at for bead in store.tip.every()}
    change = store.publish(undo)
    assert change.result == {"undone": undo.args["words"]}
    assert {bead.id for bead in store.tip.every()} == before.keys()
    for bead_id, bead in before.items():
        now = store.bead(bead_id)
        assert now.evolve(updated_at=None) == bead.evolve(updated_at=None)
        if bead_id in change.beads and bead_id in stamps:
            assert now.updated_at > stamps[bead_id], "the undo is a change of its own"


def test_an_undone_claim_stays_counted_and_is_forgiven() -> None:
    store = a_store()
    undo = undoing(store, Claim(agent="coder", ids=["hub-a"], **by()))
    claim = store.bead("hub-a").claim
    assert claim is not None
    store.publish(Undo(**undo.args, **by(hub_a=claim.token)))
    bead = store.bead("hub-a")
    assert (bead.status, bead.claim, bead.owner) == ("open", None, None)
    assert (bead.attempts, bead.attempts_counted) == (1, 0)
    assert store.tip.capacity("coder")["current_tasks"] == 0


def test_what_was_changed_since_is_not_taken_back() -> None:
    store = a_store()
    undo = undoing(store, Update(ids=["hub-a"], set={"title": "Other"}, **by()))
    before = store.tip
    store.publish(Comment(ids=["hub-a"], text="Somebody else", **by("other")))
    after = store.tip
    with pytest.raises(WrongState, match="can't be undone any more"):
        store.publish(undo)
    assert store.tip is after is not before


def test_a_change_that_comes_between_two_decisions_is_seen() -> None:
    store = a_store()
    undo = undoing(store, Update(ids=["hub-a"], set={"title": "Other"}, **by()))
    with pytest.raises(WrongState):
        store.publish(undo, overtaken_by=lambda: store.put(store.bead("hub-a").evolve(notes="new")))


def test_an_undo_is_taken_back_only_once() -> None:
    store = a_store()
    undo = undoing(store, Update(ids=["hub-a"], set={"title": "Other"}, **by()))
    store.publish(undo)
    with pytest.raises(WrongState):
        store.publish(undo)


def test_another_does_not_take_back_a_claim() -> None:
    store = a_store()
    undo = undoing(store, Claim(agent="coder", ids=["hub-a"], **by()))
    before = store.tip
    with pytest.raises(StaleToken):
        store.publish(undo)
    assert store.tip is before


def test_who_does_not_hold_a_bead_takes_back_what_is_free_to_change() -> None:
    store = MemoryStore(held())
    store.publish(undoing(store, Update(ids=["hub-a"], set={"priority": 0}, **by("other"))))
    assert store.bead("hub-a").priority == 2


def test_a_bead_that_others_name_by_now_is_not_taken_back() -> None:
    store = a_store()
    undo = undoing(store, Create(beads=[{"title": "New"}], **by()))
    (made,) = undo.args["beads"]
    store.publish(Create(beads=[{"title": "Waits", "deps": [made]}], **by()))
    with pytest.raises(WrongState, match="is referred to by"):
        store.publish(undo)
    assert store.bead(made).title == "New"


def test_a_claim_does_not_come_back_beside_another_of_its_exclusive_name() -> None:
    store = MemoryStore(held(exclusive="site"), make_bead("hub-b", exclusive="site"))
    undo = undoing(store, Close(ids=["hub-a"], **by(hub_a="01TOKEN")))
    assert undo.needs_remote
    store.publish(Claim(agent="other", ids=["hub-b"], **by("other")))
    with pytest.raises(DoesNotFit, match="shares site with hub-b"):
        store.publish(undo)


def test_an_undo_that_brings_no_claim_back_needs_no_remote() -> None:
    store = MemoryStore(held())
    assert not undoing(store, Update(ids=["hub-a"], set={"priority": 0}, **by())).needs_remote
