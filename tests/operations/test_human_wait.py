"""Waiting for a person: what parks a bead, who may, and to whom the answer brings it."""

from __future__ import annotations

from typing import Any

import pytest

from bd.core.errors import BadInput, BdError, DoesNotFit, NothingReady, StaleToken, WrongState
from bd.core.schema import agent_path, capacity_path
from bd.operations.claims import Claim
from bd.operations.human_wait import Answer, WaitHuman
from bd.policy import lifecycle
from tests.memory import MemoryStore, held, make_bead
from tests.operations.asking import STAMP, by
from tests.runtime import RUNTIME


def waiting(store: MemoryStore, bead_id: str = "hub-a", reason: str = "Which logo?", **given: Any) -> WaitHuman:
    return WaitHuman(ids=[bead_id], reason=reason, **{**by(), **given})


def test_a_held_bead_is_parked_without_spending_the_attempt() -> None:
    store = MemoryStore(held(assignee="coder", claim={"routed": "coder"}), records={agent_path("coder"): {"name": "coder"}})
    store.publish(waiting(store, **by(hub_a="01TOKEN")))
    bead = store.bead("hub-a")
    assert (bead.status, bead.get("waiting_on"), bead.get("status_reason")) == ("blocked", "human", "Which logo?")
    assert (bead.get("waiting_since"), bead.get("prefer_agent"), bead.get("prefer_until")) == (STAMP, "coder", None)
    assert (bead.claim, bead.owner, bead.assignee) == (None, None, "coder")
    assert (bead.attempts, bead.get("attempts_forgiven")) == (1, 1)
    assert [(entry["author"], entry["text"]) for entry in bead.comments] == [("coder", "Which logo?")]
    capacity = store.tip.record(capacity_path("coder"))
    assert capacity is not None
    assert (capacity["current_tasks"], capacity.get("beads"), capacity["status"]) == (0, None, "available")


def test_an_open_bead_is_parked_by_anybody_and_nobody_had_it() -> None:
    store = MemoryStore(make_bead())
    change = store.publish(waiting(store, **by("other")))
    bead = store.bead("hub-a")
    assert lifecycle.waits_for_human(bead)
    assert bead.get("prefer_agent") is None
    assert not change.records
    with pytest.raises(NothingReady):
        store.publish(Claim(agent="coder", next=True, **by()))
    with pytest.raises(WrongState, match="waiting on human: Which logo"):
        store.publish(Claim(agent="coder", ids=["hub-a"], **by()))


@pytest.mark.parametrize(
    ("tokens", "refusal"),
    [({}, StaleToken), ({"hub_a": "another"}, StaleToken)],
)
def test_only_the_holder_parks_what_is_held(tokens: dict[str, str], refusal: type[BdError]) -> None:
    store = MemoryStore(held())
    with pytest.raises(refusal) as error:
        store.publish(waiting(store, **by(**tokens)))
    assert error.value.exit_code == 5
    store.publish(waiting(store, force=True, **by("overseer")))
    assert store.bead("hub-a").get("prefer_agent") == "coder"


def test_a_question_needs_words() -> None:
    store = MemoryStore(make_bead())
    for operation in (waiting(store, reason=" "), Answer(ids=["hub-a"], text=" ", **by())):
        with pytest.raises(BadInput):
            store.decide(operation)


@pytest.mark.parametrize(
    ("agent", "until"),
    [(None, "2026-02-21T16:00:00Z"), ({"interval": "10m"}, "2026-02-21T15:20:00Z"), ({"role": "research"}, "2026-02-21T17:00:00Z")],
)  # fmt: skip
def test_an_answer_brings_it_back_to_who_had_it_for_two_of_its_intervals(agent: dict[str, Any] | None, until: str) -> None:
    records = {agent_path("coder"): {"name": "coder", "skills": {}, **agent}} if agent is not None else {}
    store = MemoryStore(held(), records=records)
    store.publish(waiting(store, **by(hub_a="01TOKEN")))
    store.publish(Answer(ids=["hub-a"], text=" The blue one. ", by="human:Ada", at=by()["at"], runtime=RUNTIME))
    bead = store.bead("hub-a")
    assert (bead.status, bead.get("waiting_on"), bead.get("waiting_since"), bead.get("status_reason")) == (
        "open",
        None,
        None,
        None,
    )
    assert (bead.get("prefer_agent"), bead.get("prefer_until")) == ("coder", until)
    assert bead.get("temperature"), "somebody cared: it goes before its equals"
    assert [(entry["author"], entry["text"]) for entry in bead.comments] == [("coder", "Which logo?"), ("Ada", "The blue one.")]
    with pytest.raises(DoesNotFit, match="kept for coder"):
        store.decide(Claim(agent="other", ids=["hub-a"], **by("other")))
    store.publish(Claim(agent="coder", next=True, **by()))
    assert store.bead("hub-a").attempts_counted == 1, "the first attempt does not count"


def test_after_that_time_it_is_anybodys() -> None:
    store = MemoryStore(held())
    store.publish(waiting(store, **by(hub_a="01TOKEN")))
    store.publish(Answer(ids=["hub-a"], text="Yes.", **by("chief")))
    store.now = store.now.replace(hour=17)
    assert store.publish(Claim(agent="other", next=True, **by("other"))).touched == ("hub-a",)


def test_who_had_it_last_is_who_is_preferred() -> None:
    """An answered bead that another agent took, and that waits again, comes back to that other agent."""
    store = MemoryStore(held("hub-a", "other", "t", prefer_agent="coder", prefer_until="2026-02-20T00:00:00Z"))
    store.publish(waiting(store, **by("other", hub_a="t")))
    store.publish(Answer(ids=["hub-a"], text="Yes.", **by("chief")))
    assert store.bead("hub-a").get("prefer_agent") == "other"


def test_a_preference_of_an_open_bead_stays_as_it_was() -> None:
    store = MemoryStore(make_bead(prefer_agent="reader", prefer_until="2026-02-21T15:30:00Z"))
    store.publish(waiting(store))
    store.publish(Answer(ids=["hub-a"], text="Yes.", **by("chief")))
    assert store.bead("hub-a").get("prefer_until") == "2026-02-21T15:30:00Z"


@pytest.mark.parametrize("bead", [make_bead(), held(), make_bead(status="blocked"), make_bead(status="closed")])
def test_only_what_waits_is_answered(bead: Any) -> None:
    store = MemoryStore(bead)
    with pytest.raises(WrongState, match="does not wait for a person") as refusal:
        store.decide(Answer(ids=["hub-a"], text="Yes.", **by()))
    assert refusal.value.exit_code == 5


def test_the_same_answer_is_given_once_and_a_second_one_refused() -> None:
    store = MemoryStore(make_bead(status="blocked", waiting_on="human"))
    answer = Answer(ids=["hub-a"], text="Yes.", **by())
    store.publish(answer)
    store.publish(Claim(agent="coder", next=True, **by()))
    assert store.decide(answer).is_empty, "also after the bead has gone on"
    with pytest.raises(WrongState):
        store.decide(Answer(ids=["hub-a"], text="No.", **by()))


def test_a_question_asked_again_after_its_answer_is_not_asked_twice() -> None:
    store = MemoryStore(held())
    question = waiting(store, **by(hub_a="01TOKEN"))
    store.publish(question)
    store.publish(Answer(ids=["hub-a"], text="Yes.", **by("chief")))
    assert store.decide(question).is_empty
    assert store.bead("hub-a").status == "open"


NOTES = [{"at": STAMP, "agent": "coder", "text": "half way"}]


def test_the_notes_made_while_working_ride_along() -> None:
    store = MemoryStore(held(), make_bead("hub-b"))
    store.publish(waiting(store, progress={"hub-a": NOTES}, **by(hub_a="01TOKEN")))
    assert store.bead("hub-a").get("progress") == NOTES
