"""Rests of accounts: which name rests after which failure, until when, whom it holds back, and who tries first."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from bd.core.schema import CAPACITY_DIR, agent_path, capacity_path
from bd.core.times import instant_of, time_text
from bd.policy import account_rest, stealing
from bd.policy.account_rest import Hold, Rest, Rests, name_for, names_of, next_rest
from bd.policy.eligibility import Eligibility
from tests.clocks import START
from tests.memory import MemorySnapshot, held, make_bead

KIT = "kit@build-1/ada"


def after(seconds: float) -> Any:
    return START + timedelta(seconds=seconds)


def at(seconds: float) -> str:
    return time_text(after(seconds))


def rest(account: str = "red", reason: str = "rate_limit", since_s: float = 0.0, until_s: float = 60.0) -> dict[str, str]:
    return Rest(account, reason, at(since_s), at(until_s)).as_json()


def hold_of(agent: str, snapshot: MemorySnapshot, now: Any, given: str = "") -> Hold | None:
    return Rests(snapshot, now).hold_of(agent, given)


def is_on_trial(agent: str, snapshot: MemorySnapshot, now: Any) -> bool:
    return Rests(snapshot, now).is_on_trial(agent)


def a_fleet(*beads: Any, **rests: dict[str, str]) -> MemorySnapshot:
    """Ann and bob work on the account red, cid where no account is stated, dan on blue; the swarm is a pool on red."""
    accounts = {"ann": "red", "bob": "red", "dan": "blue"}
    files: dict[str, dict[str, Any]] = {name: {"name": name, "account": account} for name, account in accounts.items()}
    files |= {"cid": {"name": "cid"}, "swarm": {"name": "swarm", "pool": {"max": 3}, "account": "red"}}
    records: dict[str, Any] = {agent_path(name): file for name, file in files.items()}
    records |= {capacity_path(name): {"agent": name, "account": KIT} for name in ("ann", "cid")}
    for name, one in rests.items():
        records[capacity_path(name)] = {**records.get(capacity_path(name), {"agent": name}), "rest": one}
    return MemorySnapshot([make_bead("hub-free"), *beads], records)


@pytest.mark.parametrize(
    ("agent", "kind", "name"),
    [
        ("ann", "rate_limit", "red"),
        ("ann", "quota", "red"),
        ("ann", "auth_failure", "red"),
        ("ann", "agent_crash", KIT),
        ("bob", "agent_crash", "agent:bob"),
        ("cid", "rate_limit", KIT),
        ("cid", "provider_error", KIT),
        ("cid", "agent_crash", KIT),
        ("cid", "auth_failure", "agent:cid"),
        ("dan", "overloaded", "blue"),
        ("swarm-2", "overloaded", "red"),
        ("swarm-2", "agent_crash", "agent:swarm"),
        ("stranger", "rate_limit", "agent:stranger"),
    ],
)
def test_what_rests_after_a_failure(agent: str, kind: str, name: str) -> None:
    snapshot = a_fleet()
    assert name_for(kind, agent, snapshot) == name
    assert name in names_of(agent, snapshot), "whatever rests, it concerns the agent itself"


def test_a_rest_holds_back_everybody_on_the_account_and_nobody_else() -> None:
    snapshot = a_fleet(ann=rest())
    resting = {name for name in ("ann", "bob", "cid", "dan", "swarm-1", "stranger") if hold_of(name, snapshot, after(30))}
    assert resting == {"ann", "bob", "swarm-1"}
    answer = Eligibility(snapshot, "bob", after(30))
    reason = answer.idle()
    assert reason is not None
    assert (reason.code, reason.text) == ("resting", "the account red rests for 30s after rate_limit")
    assert answer.retry_after_s(reason) == 30
    assert list(answer.beads()) == []


def test_a_fresh_agent_of_the_installation_is_held_back_by_what_its_worker_says() -> None:
    snapshot = a_fleet(cid=rest(KIT))
    assert hold_of("new", snapshot, after(30)) is None
    assert hold_of("new", snapshot, after(30), KIT) is not None


def test_after_the_rest_one_agent_takes_one_bead() -> None:
    snapshot = a_fleet(ann=rest())
    assert hold_of("bob", snapshot, after(60)) is None
    assert is_on_trial("bob", snapshot, after(60))
    assert Eligibility(snapshot, "bob", after(60)).room() == 1
    assert not is_on_trial("dan", snapshot, after(60))
    trial = held("hub-trial", "ann", claim={"claimed_at": at(61)})
    snapshot = a_fleet(trial, ann=rest())
    hold = hold_of("bob", snapshot, after(62))
    assert hold is not None
    assert hold.text == "the account red is tried with hub-trial first, after rate_limit"
    assert hold_of("bob", snapshot, after(61 + account_rest.LONGEST_S)) is None, "a long bead keeps nobody waiting for its end"


def test_work_from_before_the_outage_is_no_trial() -> None:
    before = held("hub-long", "ann", claim={"claimed_at": at(-500)})
    assert hold_of("bob", a_fleet(before, ann=rest()), after(61)) is None


def test_a_trial_of_another_account_holds_nobody_back() -> None:
    other = held("hub-other", "dan", claim={"claimed_at": at(61)})
    assert hold_of("bob", a_fleet(other, ann=rest()), after(62)) is None


def test_an_old_rest_is_forgotten_unless_a_person_is_needed() -> None:
    late = after(60 + account_rest.FORGOTTEN_S + 1)
    assert not is_on_trial("bob", a_fleet(ann=rest()), late)
    assert is_on_trial("bob", a_fleet(ann=rest(reason="quota")), late)


@pytest.mark.parametrize("wrong", ["soon", {}, {"account": "red"}, {"until": at(60)}, [1]])
def test_a_rest_that_cannot_be_read_is_none(wrong: Any) -> None:
    assert hold_of("bob", a_fleet(ann=wrong), START) is None


# --- how long ---------------------------------------------------------------------------------


def test_rests_grow_up_to_half_an_hour() -> None:
    rests, before, now = [], None, START
    for _ in range(8):
        before = next_rest("red", "overloaded", before, now)
        rests.append((instant_of(before.until) - now).total_seconds())
        now = instant_of(before.until)
    assert rests == [60, 120, 240, 480, 960, 1800, 1800, 1800]
    assert before is not None
    assert before.since == at(0)


@pytest.mark.parametrize("kind", ["auth_failure", "quota"])
def test_where_a_person_is_needed_it_is_tried_once_an_hour_and_less(kind: str) -> None:
    first = next_rest("red", kind, None, START)
    assert (instant_of(first.until), first.needs_person) == (after(3600), True)
    second = next_rest("red", kind, first, after(3600))
    assert instant_of(second.until) == after(3600 + 7200)


def test_failures_of_attempts_that_began_before_the_rest_make_it_hardly_longer() -> None:
    before = next_rest("red", "rate_limit", None, START)
    for second in range(1, 6):
        before = next_rest("red", "rate_limit", before, after(second))
    assert instant_of(before.until) <= after(70)


@pytest.mark.parametrize(
    ("stated_s", "rest_s"), [(-5, 60), (0, 60), (61, 61), (3600, 3600), (7 * 86400, 7 * 86400), (9e6, 7 * 86400)]
)
@pytest.mark.parametrize("kind", ["rate_limit", "quota"])
def test_a_stated_time_is_believed_from_a_minute_to_a_week(stated_s: float, rest_s: float, kind: str) -> None:
    found = next_rest("red", kind, None, START, after(stated_s))
    assert instant_of(found.until) == after(rest_s)


def test_a_longer_rest_stays() -> None:
    long = next_rest("red", "quota", None, START, after(7200))
    assert next_rest("red", "rate_limit", long, after(5)) == long


# --- who else asks ----------------------------------------------------------------------------


def test_an_agent_that_rests_is_given_no_work_of_others() -> None:
    idle = {"idle": True, "idle_since": at(-3600), "last_heartbeat": at(0)}
    for resting, words in ((None, ""), (rest(until_s=600), "the account red rests for 10m after rate_limit")):
        records: dict[str, Any] = {
            agent_path("bob"): {"name": "bob", "account": "red"},
            capacity_path("bob"): {"agent": "bob", **idle},
            capacity_path("ann"): {"agent": "ann", "account": KIT, **({"rest": resting} if resting else {})},
        }
        snapshot = MemorySnapshot([make_bead("hub-free")], records)
        assert stealing.cycle(snapshot, START).not_idle.get("bob", "") == words


def test_a_fallback_agent_does_not_wait_for_agents_that_rest() -> None:
    def codes(**rests: dict[str, str]) -> list[str]:
        records: dict[str, Any] = {
            agent_path("ann"): {"name": "ann", "account": "red", "interval": "48h"},
            agent_path("over"): {"name": "over", "fallback": True, "interval": "1h"},
            **{capacity_path(name): {"agent": name, "last_heartbeat": at(0), "rest": one} for name, one in rests.items()},
        }
        bead = make_bead("hub-free")
        return [reason.code for reason in Eligibility(MemorySnapshot([bead], records), "over", after(30)).reasons(bead)]

    assert codes() == ["fallback"]
    assert codes(ann=rest()) == []


class Counted(MemorySnapshot):
    """Counts how often all the capacity files are read."""

    reads = 0

    def records(self, folder: str) -> Any:
        self.reads += folder == CAPACITY_DIR
        return super().records(folder)


@pytest.mark.parametrize("name", ["ann", "over"])
def test_the_rests_are_read_once_for_a_decision_however_many_agents_and_beads_there_are(name: str) -> None:
    files: dict[str, Any] = {agent_path(f"a{number}"): {"account": "red"} for number in range(9)}
    files |= {agent_path("ann"): {}, agent_path("over"): {"fallback": True}}
    files |= {capacity_path(f"a{number}"): {"agent": f"a{number}", "last_heartbeat": at(0)} for number in range(9)}
    snapshot = Counted([make_bead(f"hub-{number}") for number in range(9)], files)
    list(Eligibility(snapshot, name, START).beads())
    assert snapshot.reads == 1
