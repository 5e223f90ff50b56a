"""Heartbeats as commits, and freeing stalled claims: only if nothing has happened since they were found stalled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from bd.core.errors import StaleToken, WrongState
from bd.core.operation import DecisionContext
from bd.core.schema import capacity_path
from bd.operations.heartbeat import Heartbeat, Reassign
from tests.memory import CREATED_AT, MemoryStore, held, make_bead
from tests.operations.asking import by

if TYPE_CHECKING:
    from bd.core.model import Bead

STALL = {
    "id": "hub-a",
    "owner": "coder@hub",
    "token": "01TOKEN",
    "attempt": 1,
    "why": "silent",
    "text": "sends no heartbeats any more",
    "since": CREATED_AT,
    "beat": None,
}


def reassign(**changes: Any) -> Reassign:
    return Reassign(stalls=[{**STALL, **changes}], **by("other"))


def test_a_stalled_claim_is_freed_and_the_failure_is_kept() -> None:
    store = MemoryStore(held("hub-a"))
    change = store.publish(reassign())
    bead = store.bead("hub-a")
    assert change.touched == ("hub-a",)
    assert bead.status == "open"
    assert bead.claim is bead.owner is bead.assignee is None
    (failure,) = bead.get("failures")
    assert (failure["reason"], failure["agent"], failure["attempt"]) == ("stalled", "coder", 1)
    assert failure["duration_s"] > 0
    assert store.tip.capacity("coder")["current_tasks"] == 0
    assert capacity_path("coder") in change.records


def test_what_others_are_at_by_advisory_claims_meanwhile_is_left_alone() -> None:
    claim = {"agent": "ann", "token": "T", "attempt": 1, "claimed_at": CREATED_AT}
    bead = make_bead("hub-a", status="in_progress", started_at=CREATED_AT, claim_mode="advisory", claims=[claim])
    store = MemoryStore(bead)
    change = store.publish(reassign(token=None))
    assert change.is_empty
    assert change.notes == ("hub-a was not freed: ann claimed it meanwhile",)
    assert store.bead("hub-a") == bead


def test_after_the_last_attempt_it_is_a_dead_letter() -> None:
    store = MemoryStore(held("hub-a", attempts=3, claim={"attempt": 3}))
    store.publish(reassign(attempt=3))
    assert store.bead("hub-a").status == "dead_letter"


@pytest.mark.parametrize(
    "now",
    [
        make_bead("hub-a", status="closed"),
        make_bead("hub-a"),
        held("hub-a", "other", "02TOKEN", attempts=2, claim={"attempt": 2}),
        held("hub-a", claim={"heartbeat_at": "2026-02-20T10:00:00Z"}),
        held("hub-a", "coder", "03RESUMED"),
    ],
    ids=["closed", "released", "claimed again", "a sign on the branch", "resumed"],
)
def test_whoever_is_back_in_time_keeps_the_bead(now: Bead) -> None:
    """The world changed between the look and the push."""
    store = MemoryStore(held("hub-a"))
    change = store.publish(reassign(), overtaken_by=lambda: store.put(now))
    assert change.is_empty
    assert "not freed" in change.notes[0]
    assert store.bead("hub-a") == now


def test_a_beat_that_moved_since_keeps_the_claim() -> None:
    store = MemoryStore(held("hub-a"))
    operation = reassign(beat="b1")
    context = store.context
    assert operation.decide(store.tip, DecisionContext(context.now, context.settings, {"01TOKEN": "b2"})).is_empty
    assert not operation.decide(store.tip, DecisionContext(context.now, context.settings, {"01TOKEN": "b1"})).is_empty
    assert reassign(beat=None).decide(store.tip, DecisionContext(context.now, context.settings, {"01TOKEN": "b1"})).is_empty


def test_a_bead_that_is_gone_does_not_stop_the_others() -> None:
    store = MemoryStore(held("hub-a"))
    operation = Reassign(stalls=[{**STALL, "id": "hub-gone"}, STALL], **by("other"))
    change = store.publish(operation)
    assert change.touched == ("hub-a",)
    assert len(change.notes) == 1


def test_work_under_nobodys_claim_is_opened_only_as_it_was_seen() -> None:
    bead = make_bead("hub-a", status="in_progress", assignee="ada")
    store = MemoryStore(bead)
    store.publish(reassign(token="", attempt=0, since=CREATED_AT))
    assert store.bead("hub-a").status == "open"
    store = MemoryStore(bead.evolve(updated_at="2026-02-20T11:00:00Z"))
    assert store.publish(reassign(token="", attempt=0, since=CREATED_AT)).is_empty


def test_a_sign_on_the_branch_moves_the_claim_and_the_agents_file() -> None:
    store = MemoryStore(held("hub-a"))
    store.publish(Heartbeat(ids=["hub-a"], **by("coder", hub_a="01TOKEN")))
    assert store.bead("hub-a").get("claim")["heartbeat_at"] > CREATED_AT
    assert store.tip.capacity("coder")["last_heartbeat"] > CREATED_AT


def test_a_sign_needs_the_token() -> None:
    store = MemoryStore(held("hub-a"), make_bead("hub-b"))
    with pytest.raises(StaleToken):
        store.publish(Heartbeat(ids=["hub-a"], **by("coder", hub_a="old")))
    with pytest.raises(WrongState):
        store.publish(Heartbeat(ids=["hub-b"], **by("coder")))
