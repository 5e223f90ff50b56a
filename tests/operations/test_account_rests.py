"""An attempt's end begins or ends the rest of an account, in the same commit: on the store in memory."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from bd.core.errors import AgentBusy, BdError
from bd.core.schema import agent_path, capacity_path
from bd.core.times import time_text
from bd.operations.agents import WakeAgent
from bd.operations.claims import Claim, Release
from bd.operations.close import Close
from bd.operations.fail import Fail
from bd.operations.pools import Retire
from bd.policy import failure_kinds
from bd.policy.account_rest import Rests
from bd.report.doctor import stale_capacity
from tests.clocks import START
from tests.memory import MemoryStore, make_bead
from tests.operations.asking import by

OUTAGES = sorted(failure_kinds.NOT_OF_THE_BEAD)


def a_store(**accounts: str) -> MemoryStore:
    agents = accounts or {"ann": "red", "bob": "red", "cid": "red", "dan": "blue"}
    files = {agent_path(name): {"name": name, "account": account, "max_concurrent": 3} for name, account in agents.items()}
    return MemoryStore(*(make_bead(f"hub-{letter}") for letter in "abcdefgh"), records=files)


def now(store: MemoryStore, seconds: float) -> None:
    store.now = START + timedelta(seconds=seconds)


def claim(store: MemoryStore, agent: str, **more: Any) -> list[tuple[str, str]]:
    """Claim the best bead; tokens and beads."""
    change = store.publish(Claim(agent=agent, next=True, **{"count": 1, **more}, **by(agent, time_text(store.now))))
    return list(change.tokens)


def end(store: MemoryStore, agent: str, held: tuple[str, str], kind: Any, **args: Any) -> Any:
    token, bead = held
    who = by(agent, time_text(store.now), **{bead.replace("-", "_"): token})
    return store.publish(kind(ids=[bead], reason=args.pop("reason", "Done"), **args, **who))


def fail(store: MemoryStore, agent: str, held: tuple[str, str], kind: str = "rate_limit", **args: Any) -> Any:
    return end(store, agent, held, Fail, reason=kind, error=args.pop("error", "429"), **args)


def resting(store: MemoryStore) -> dict[str, str]:
    """The accounts that rest, and until when."""
    return {name: one.until for name, one in Rests(store.tip, store.now).by_account.items()}


@pytest.mark.parametrize("kind", OUTAGES)
def test_the_bead_is_free_at_once_and_the_account_rests_in_one_commit(kind: str) -> None:
    store = a_store()
    [held] = claim(store, "ann")
    change = fail(store, "ann", held, kind)
    bead = store.bead(held[1])
    assert (bead.status, bead.attempts, bead.attempts_counted, bead.get("retry_at")) == ("open", 1, 0, None)
    record = store.tip.record(capacity_path("ann"))
    assert record is not None
    assert record["rest"]["reason"] == kind
    assert capacity_path("ann") in change.records, "both are in this change"
    assert (record["status"], record.get("recent"), record["current_tasks"]) == ("available", None, 0)
    assert claim(store, "dan")[0][1] == held[1], "another account takes it at once"


def test_nobody_of_the_account_claims_neither_the_next_nor_a_named_one_nor_by_force() -> None:
    store = a_store()
    fail(store, "ann", claim(store, "ann")[0])
    for args in ({"next": True, "count": 1}, {"ids": ["hub-b"]}, {"ids": ["hub-b"], "force": True}):
        with pytest.raises(AgentBusy) as refusal:
            store.publish(Claim(agent="bob", **args, **by("bob", time_text(store.now))))
        data = refusal.value.as_json()
        assert (refusal.value.exit_code, data["reason"], data["retry_after_s"]) == (3, "resting", 60)
        assert "bd agent wake bob" in data["hint"]


def test_a_success_lets_the_others_in_and_one_bead_is_tried_first() -> None:
    store = a_store()
    fail(store, "ann", claim(store, "ann")[0])
    now(store, 61)
    held = claim(store, "bob", count=3)
    assert len(held) == 1, "one bead is enough to try"
    with pytest.raises(AgentBusy, match="is tried with hub-a first"):
        claim(store, "cid")
    end(store, "bob", held[0], Close, next={"agent": "bob"})
    assert resting(store) == {}
    assert not any(record.get("rest") for record in store.tip.records(".agent-status/").values())
    assert claim(store, "cid")


def test_what_was_begun_before_the_outage_says_nothing_about_its_end() -> None:
    store = a_store()
    [old] = claim(store, "bob")
    now(store, 100)
    fail(store, "ann", claim(store, "ann")[0])
    now(store, 110)
    end(store, "bob", old, Close)
    assert resting(store)


def test_a_trial_that_fails_makes_the_rest_longer_and_one_that_is_given_back_leaves_it_to_the_next() -> None:
    store = a_store()
    fail(store, "ann", claim(store, "ann")[0])
    now(store, 60)
    [held] = claim(store, "bob")
    end(store, "bob", held, Release)
    fail(store, "cid", claim(store, "cid")[0])
    assert resting(store) == {"red": time_text(START + timedelta(seconds=180))}
    there = [name for name, record in store.tip.records(".agent-status/").items() if record.get("rest")]
    assert there == ["cid"], "an account's rest is in one file"


@pytest.mark.parametrize("kind", ["auth_failure", "quota"])
def test_a_person_ends_a_rest_for_all(kind: str) -> None:
    store = a_store()
    fail(store, "ann", claim(store, "ann")[0], kind)
    now(store, 1800)
    with pytest.raises(AgentBusy):
        claim(store, "bob")
    change = store.publish(WakeAgent(agent="bob", **by("Ada", time_text(store.now))))
    assert (change.subject, change.result) == ("agent-wake: bob by Ada", {"agent": "bob", "accounts": ["red"]})
    for name in ("ann", "bob", "cid"):
        assert claim(store, name)
    assert store.publish(WakeAgent(agent="bob", **by("Ada"))).notes == ("no account that bob is known to work on rests",)


def test_who_wakes_another_agent_than_the_one_that_was_refused_is_told_which() -> None:
    store = a_store()
    fail(store, "ann", claim(store, "ann")[0])
    [note] = store.publish(WakeAgent(agent="dan", **by("Ada"))).notes
    assert note.endswith("rests; red does (`bd agent wake ann`)")


def test_the_agent_that_was_refused_wakes_its_account_from_wherever_it_works_now() -> None:
    store = a_store(ann="")
    fail(store, "ann", claim(store, "ann", account="kit@build-1/ada")[0])
    claim(store, "ann", account="kit@build-2/ada")
    store.publish(WakeAgent(agent="ann", **by("Ada", time_text(store.now))))
    assert resting(store) == {}


def test_an_agent_with_a_broken_login_rests_alone_where_no_account_is_stated() -> None:
    store = a_store(ann="", bob="")
    kit = {"account": "kit@build-1/ada"}
    fail(store, "ann", claim(store, "ann", **kit)[0], "auth_failure")
    with pytest.raises(AgentBusy):
        claim(store, "ann", **kit)
    [held] = claim(store, "bob", **kit)
    fail(store, "bob", held, "rate_limit")
    now(store, 59)
    with pytest.raises(AgentBusy, match="kit@build-1/ada rests"):
        claim(store, "new", **kit)
    assert claim(store, "new", account="other@build-1/ada")


def test_a_stated_time_counts_from_data_or_from_the_words() -> None:
    for args, until in (
        ({"resets_at": "2026-02-21T18:00:00Z"}, "2026-02-21T18:00:00Z"),
        ({"resets_at": "2026-12-01T00:00:00Z"}, "2026-02-28T15:00:00Z"),
        ({"error": "limit reached, resets 2026-02-21T16:30:00Z"}, "2026-02-21T16:30:00Z"),
        ({"error": "resets 2026-02-21T16:30:00Z", "resets_at": "2026-02-21T18:00:00Z"}, "2026-02-21T18:00:00Z"),
        ({"error": "limit reached, resets 5pm"}, "2026-02-21T15:01:00Z"),
    ):
        store = a_store()
        fail(store, "ann", claim(store, "ann")[0], **args)
        assert resting(store) == {"red": until}


def test_a_bead_that_everybody_may_take_advisorily_is_given_back_by_one() -> None:
    shared = MemoryStore(
        make_bead("hub-a", claim_mode="advisory"),
        records={agent_path(name): {"name": name, "account": name} for name in ("ann", "bob")},
    )
    [ann], _ = claim(shared, "ann"), claim(shared, "bob")
    fail(shared, "ann", ann)
    bead = shared.bead("hub-a")
    assert [one["agent"] for one in bead.claims] == ["bob"]
    assert set(resting(shared)) == {"ann"}


def test_whatever_the_order_every_bead_is_done_and_no_attempt_is_used() -> None:
    """Six agents on one account claim as soon as they may; the provider is away for ten minutes."""
    store = a_store(**{f"red-{number}": "red" for number in range(6)})
    claims = 0
    for second in range(0, 1800, 15):
        now(store, second)
        for number in range(6):
            name = f"red-{number}"
            try:
                [held] = claim(store, name)
            except BdError:
                continue
            claims += second < 600
            fail(store, name, held) if second < 600 else end(store, name, held, Close)
    beads = [store.bead(f"hub-{letter}") for letter in "abcdefgh"]
    assert [(bead.status, bead.attempts_counted) for bead in beads] == [("closed", 1)] * 8
    assert claims <= 5


@pytest.mark.parametrize("member", ["swarm-1", "toast", "swarm"])
@pytest.mark.parametrize("has_its_own", [False, True])
def test_a_member_of_a_pool_that_ends_leaves_the_rest_to_the_others(member: str, has_its_own: bool) -> None:
    pool = {"name": "swarm", "account": "red", "pool": {"max": 3, "names": ["toast"]}}
    own = {capacity_path("swarm"): {"agent": "swarm", "idle": True}} if has_its_own else {}
    store = MemoryStore(make_bead("hub-a"), records={agent_path("swarm"): pool, **own})
    fail(store, member, claim(store, member)[0])
    store.publish(Retire(agent=member, reason="it ended", **by("pool", time_text(store.now))))
    assert resting(store) == {"red": "2026-02-21T15:01:00Z"}
    assert [name for name, one in store.tip.records(".agent-status/").items() if one.get("rest")] == ["swarm"]
    assert stale_capacity(store.tip, store.now) == {}
    with pytest.raises(AgentBusy):
        claim(store, "swarm-2")
