"""Failing, giving back again and again, and trying dead letters once more: on the store in memory."""

from __future__ import annotations

from typing import Any

import pytest

from bd.core.errors import AlreadyClaimed, BadInput, StaleToken, WrongState
from bd.core.schema import CONFIG_PATH, agent_path, capacity_path
from bd.core.times import instant_of, time_text
from bd.operations.beads import Update
from bd.operations.claims import Claim, Release
from bd.operations.close import Reopen
from bd.operations.fail import DlqRetry, Fail
from tests.clocks import START
from tests.memory import MemoryStore, held, make_bead
from tests.operations.asking import AT, by, form_of, revived


def fail(*ids: str, reason: str = "crash", error: str = "It broke.", who: str = "coder", at: str = AT, **args: Any) -> Fail:
    tokens = args.pop("tokens", {"hub_a": "01TOKEN"})
    return Fail(ids=list(ids or ("hub-a",)), reason=reason, error=error, **args, **by(who, at, **tokens))


def claim(store: MemoryStore, agent: str = "coder", bead_id: str = "hub-a") -> str:
    """Claim a bead now; the token."""
    change = store.publish(Claim(agent=agent, ids=[bead_id], **by(agent, time_text(store.now))))
    return change.tokens[0][0]


def test_a_failure_frees_the_bead_and_its_holder() -> None:
    store = MemoryStore(
        held(claim={"started_at": "2026-02-21T14:59:00Z"}),
        records={capacity_path("coder"): {"agent": "coder", "status": "busy", "current_tasks": 1, "max_concurrent": 1}},
    )
    operation = fail(jitter=0.5, cost_usd=0.25)
    change = store.publish(operation)
    assert change.subject == "fail: hub-a by coder"
    bead = store.bead("hub-a")
    assert (bead.status, bead.claim, bead.owner, bead.assignee) == ("open", None, None, None)
    assert bead.get("retry_at") == "2026-02-21T15:00:10Z"
    [entry] = bead.get("failures")
    assert (entry["duration_s"], entry["cost_usd"], entry["agent"], entry["attempt"]) == (60.0, 0.25, "coder", 1)
    capacity = store.tip.capacity("coder")
    assert capacity is not None
    assert (capacity["status"], capacity["current_tasks"], capacity.get("beads")) == ("available", 0, None)


def test_the_jitter_is_minted_once_and_rides_in_the_commit() -> None:
    operation = fail()
    assert 0 <= operation.args["jitter"] <= 1
    assert len({fail().args["jitter"] for _ in range(50)}) > 10
    store = MemoryStore(held())
    change = store.decide(operation)
    again = revived(operation.pinned(change, store.tip))
    assert again.args["jitter"] == operation.args["jitter"]
    assert store.decide(again).beads == change.beads
    store.now = START.replace(hour=23)
    assert store.decide(again).beads == change.beads, "replayed hours later it is the same"


def test_several_fail_at_once_and_one_of_them_is_anothers() -> None:
    store = MemoryStore(held(), held("hub-b", "other", "t-b"), held("hub-c", "coder", "t-c"))
    change = store.publish(fail("hub-a", "hub-b", "hub-c", tokens={"hub_a": "01TOKEN", "hub_c": "t-c"}))
    assert change.touched == ("hub-a", "hub-c")
    assert [(one["id"], one["code"]) for one in change.failures] == [("hub-b", "stale_token")]
    assert store.bead("hub-b").claim is not None


@pytest.mark.parametrize(
    ("args", "error"),
    [
        ({"reason": "boom"}, BadInput),
        ({"reason": ""}, BadInput),
        ({"error": " "}, BadInput),
        ({"error": None}, BadInput),
        ({"tokens": {"hub_a": "old"}}, StaleToken),
        ({"tokens": {}}, StaleToken),
    ],
)
def test_refusals(args: dict[str, Any], error: type[Exception]) -> None:
    store = MemoryStore(held())
    with pytest.raises(error):
        store.publish(fail(**args))
    assert store.tip.commit == "c0"


@pytest.mark.parametrize("bead", [make_bead(), make_bead(status="closed"), make_bead(status="in_progress", assignee="Ada")])
def test_what_nobody_claimed_does_not_fail(bead: Any) -> None:
    with pytest.raises(WrongState) as refusal:
        MemoryStore(bead).publish(fail(tokens={}))
    assert refusal.value.exit_code == 5
    assert refusal.value.hint


def test_another_may_say_so_by_force() -> None:
    store = MemoryStore(held())
    store.publish(fail(who="overseer", tokens={}, force=True, reason="stalled", error="no heartbeat"))
    bead = store.bead("hub-a")
    assert bead.status == "open"
    assert bead.get("failures")[0]["agent"] == "coder", "whose attempt it was"
    assert store.tip.capacity("coder") is not None
    assert store.tip.capacity("overseer") is None


def test_a_failure_that_landed_is_not_done_again() -> None:
    store, operation = MemoryStore(held()), fail()
    store.publish(operation)
    assert store.decide(operation).is_empty
    store.now = store.now.replace(minute=5)
    claim(store, "other")
    assert store.decide(operation).is_empty, "also when another has it by now"
    assert store.bead("hub-a").claim is not None


def test_the_same_words_of_the_next_attempt_are_another_failure() -> None:
    """Tried again at once, and failed again within the second."""
    store = MemoryStore(make_bead(retry={"strategy": "immediate"}))
    for number in (1, 2):
        store.publish(fail(tokens={"hub_a": claim(store)}))
        assert len(store.bead("hub-a").get("failures")) == number


def test_a_bead_is_hidden_until_its_time_and_then_anybodys() -> None:
    store = MemoryStore(held())
    store.publish(fail())
    with pytest.raises(WrongState, match="tried again in"):
        claim(store, "other")
    store.now = instant_of(store.bead("hub-a").get("retry_at"))
    claim(store, "other")
    assert store.bead("hub-a").get("retry_at") is None


def test_three_failures_are_a_dead_letter_and_a_retry_begins_anew() -> None:
    store = MemoryStore(make_bead(), records={agent_path("coder"): {"name": "coder", "max_concurrent": 1}})
    for _ in range(3):
        token = claim(store)
        store.publish(fail(tokens={"hub_a": token}, at=time_text(store.now)))
        store.now = store.now.replace(hour=store.now.hour + 1)
    dead = store.bead("hub-a")
    assert (dead.status, dead.attempts, dead.get("poison_pill"), dead.get("retry_at")) == ("dead_letter", 3, None, None)
    with pytest.raises(WrongState, match="given up after 3 attempts"):
        claim(store)
    store.publish(DlqRetry(ids=["hub-a"], reason="mended", **by("overseer", time_text(store.now))))
    opened = store.bead("hub-a")
    assert (opened.status, opened.attempts, opened.attempts_counted) == ("open", 3, 0)
    assert opened.get("dead_lettered_at") is None
    assert len(opened.get("failures")) == 3
    assert opened.comments[-1]["text"] == "mended"
    store.publish(fail(tokens={"hub_a": claim(store)}, at=time_text(store.now)))
    again = store.bead("hub-a")
    assert (again.status, again.get("failures")[-1]["attempt"]) == ("open", 4)


def test_a_hub_has_a_limit_of_its_own() -> None:
    store = MemoryStore(held(), records={CONFIG_PATH: {"format": 1, "prefix": "hub", "max_attempts": 1}})
    store.publish(fail())
    assert store.bead("hub-a").status == "dead_letter"


@pytest.mark.parametrize("bead", [make_bead(), make_bead(status="closed"), held()])
def test_only_a_dead_letter_is_retried(bead: Any) -> None:
    with pytest.raises(WrongState, match="not a dead letter"):
        MemoryStore(bead).publish(DlqRetry(ids=["hub-a"], **by()))


@pytest.mark.parametrize(
    "operation",
    [
        lambda: Reopen(ids=["hub-a"], **by()),
        lambda: Update(ids=["hub-a"], status="open", **by()),
        lambda: DlqRetry(ids=["hub-a"], **by()),
    ],
)
def test_however_a_dead_letter_is_opened_it_can_be_claimed(operation: Any) -> None:
    store = MemoryStore(make_bead(status="dead_letter", attempts=3, poison_pill=True, dead_lettered_at="2026-02-21T14:00:00Z"))
    store.publish(operation())
    claim(store)
    bead = store.bead("hub-a")
    assert (bead.attempts, bead.attempts_counted) == (4, 1)
    assert bead.get("poison_pill") is None


def test_a_failure_decides_again_when_the_bead_was_taken_meanwhile() -> None:
    store = MemoryStore(held())

    def taken() -> None:
        store.put(held("hub-a", "other", "newer", attempts=2, claim={"attempt": 2}))

    with pytest.raises(StaleToken):
        store.publish(fail(), overtaken_by=taken)
    assert store.bead("hub-a").get("failures") is None


def test_deciding_changes_nothing_about_the_operation() -> None:
    operation = fail()
    form = form_of(operation)
    MemoryStore(held()).decide(operation)
    assert form_of(operation) == form


# --- giving back again and again --------------------------------------------------------------


def release(store: MemoryStore, who: str = "coder", **args: Any) -> Any:
    return store.publish(Release(ids=["hub-a"], reason="not mine", **args, **by(who, time_text(store.now))))


def test_who_gives_back_again_and_again_waits_longer_each_time() -> None:
    store, waits = MemoryStore(make_bead()), []
    for _ in range(4):
        token = claim(store)
        operation = Release(ids=["hub-a"], reason="not mine", **by("coder", time_text(store.now), hub_a=token))
        change = store.publish(operation)
        due = store.bead("hub-a").get("retry_at")
        waits.append((instant_of(due) - store.now).total_seconds() if due else 0)
        assert bool(change.notes) == bool(due)
        store.now = instant_of(due) if due else store.now
    assert waits == [0, 10, 20, 40]
    assert store.bead("hub-a").attempts_counted == 0


@pytest.mark.parametrize("how", ["force", "status"])
def test_who_takes_it_from_the_holder_frees_it_at_once(how: str) -> None:
    store = MemoryStore(make_bead())
    for _ in range(3):
        claim(store)
        if how == "force":
            release(store, "overseer", force=True)
        else:
            store.publish(Update(ids=["hub-a"], status="open", force=True, reason="x", **by("overseer", time_text(store.now))))
        assert store.bead("hub-a").get("retry_at") is None


def test_a_bead_that_is_claimed_again_is_somebody_elses() -> None:
    store = MemoryStore(held())
    with pytest.raises(AlreadyClaimed):
        claim(store, "other")
