"""An agent's status by rule, its room, and whether it is still there: tables of cases."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bd.core.errors import AgentOffline
from bd.core.schema import CONFIG_PATH, agent_path, capacity_path
from bd.core.times import time_text
from bd.policy import overload
from bd.policy.capacity import (
    current_interval_s,
    is_away,
    is_presumed_offline,
    refuse_away,
    room,
    status_of,
)
from bd.policy.eligibility import Eligibility
from bd.policy.overload import Ending
from tests.clocks import START, FakeClock
from tests.memory import MemorySnapshot, held, make_bead

AGO = FakeClock().text  # AGO(minutes=-5): the text of an instant
RULES = overload.Rules()
TWO_FAILED = {"recent": ["failed", "stalled"], "overloaded_at": AGO(minutes=-10)}


def fleet(
    *holds: str, agent: dict[str, Any] | None = None, record: dict[str, Any] | None = None, paused: Any = None
) -> MemorySnapshot:
    """The agent coder (30m, room for 2) that holds these beads, with this capacity file."""
    records: dict[str, dict[str, Any]] = {agent_path("coder"): {"role": "coding", "max_concurrent": 2, **(agent or {})}}
    if record is not None:
        records[capacity_path("coder")] = {"agent": "coder", **record}
    if paused:
        records[CONFIG_PATH] = {"paused": paused}
    return MemorySnapshot([held(bead_id, "coder") for bead_id in holds], records)


@pytest.mark.parametrize(
    ("holds", "record", "status"),
    [
        ((), None, "available"),
        ((), {}, "available"),
        (("hub-a",), {}, "available"),
        (("hub-a", "hub-b"), {}, "busy"),
        ((), {"status": "busy", "current_tasks": 9}, "available"),
        (("hub-a", "hub-b"), {"status": "available"}, "busy"),
        ((), {"status": "draining"}, "draining"),
        ((), {"status": "offline"}, "offline"),
        (("hub-a", "hub-b"), {"status": "draining"}, "draining"),
        ((), {"status": "overloaded"}, "available"),
        ((), {"recent": ["failed"]}, "available"),
        ((), {"recent": ["failed", "done", "done", "done", "done"]}, "available"),
        ((), {"recent": ["failed", "stalled"]}, "overloaded"),
        ((), {"recent": ["failed", "done", "done", "done", "stalled"]}, "overloaded"),
        ((), {"recent": ["failed", "failed", "done", "done", "done", "done"]}, "available"),
        (("hub-a", "hub-b"), TWO_FAILED, "overloaded"),
        ((), {**TWO_FAILED, "status": "draining"}, "draining"),
        ((), {**TWO_FAILED, "status": "offline"}, "offline"),
    ],
)
def test_the_status_is_a_rule(holds: tuple[str, ...], record: dict[str, Any] | None, status: str) -> None:
    assert status_of("coder", fleet(*holds, record=record), START) == status


def test_what_nothing_limits_is_never_busy() -> None:
    assert status_of("coder", MemorySnapshot([held("hub-a", "coder"), held("hub-b", "coder")]), START) == "available"


def test_a_sign_of_life_does_not_lift_what_the_agent_was_told() -> None:
    """It was set offline by a commit; what it said of itself beside the branch since is older news about that."""
    snapshot = fleet(record={"status": "offline", "last_heartbeat": AGO(hours=-1)})
    snapshot.heard = {"coder": {"agent": "coder", "status": "available", "last_heartbeat": AGO(minutes=-1)}}
    assert status_of("coder", snapshot, START) == "offline"


# --- overloaded -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "outcome", "after"),
    [
        ({}, "done", {"recent": ["done"], "failed_tasks": 0}),
        ({}, "failed", {"recent": ["failed"], "failed_tasks": 1}),
        ({"recent": ["failed"]}, "stalled", {"recent": ["failed", "stalled"], "failed_tasks": 2, "overloaded_at": AGO()}),
        (
            {"recent": ["done"] * 5},
            "failed",
            {"recent": ["done", "done", "done", "done", "failed"], "failed_tasks": 1},
        ),
        # a bead that was in hand already: the failures still count
        (TWO_FAILED, "done", {"recent": ["failed", "stalled", "done"], "failed_tasks": 2, "overloaded_at": AGO(minutes=-10)}),
        # a probe that failed renews it
        (
            {**TWO_FAILED, "overloaded_at": AGO(hours=-2)},
            "failed",
            {"recent": ["failed", "stalled", "failed"], "failed_tasks": 3, "overloaded_at": AGO()},
        ),
        # a probe that was done ends it
        ({**TWO_FAILED, "overloaded_at": AGO(hours=-1)}, "done", {"failed_tasks": 0}),
        ({"recent": ["failed", "failed"]}, "done", {"failed_tasks": 0}),
        # the failures have gone by
        (
            {"recent": ["failed", "failed", "done", "done", "done"], "overloaded_at": AGO(minutes=-1)},
            "done",
            {"recent": ["failed", "done", "done", "done", "done"], "failed_tasks": 1},
        ),
    ],
)
def test_how_attempts_ended_is_kept(before: dict[str, Any], outcome: str, after: dict[str, Any]) -> None:
    changed = overload.after(before, Ending("coder", outcome, ""), START, 1800, RULES)
    assert {key: value for key, value in changed.items() if value is not None} == after


ENDINGS = st.builds(
    Ending, st.just("coder"), st.sampled_from(["done", "failed", "stalled"]), st.sampled_from(["", "hub-a", "hub-b", "hub-c"])
)


@given(st.lists(ENDINGS), st.integers(0, 4), st.integers(1, 6))
def test_overloaded_at_is_set_exactly_while_too_many_beads_failed(endings: list[Ending], failures: int, attempts: int) -> None:
    rules, record, kept = overload.Rules(failures, attempts), dict[str, Any](), list[Ending]()
    for ending in endings:
        record |= overload.after(record, ending, START, 1800, rules)
        record = {key: value for key, value in record.items() if value is not None}
        kept = [*kept, ending][-attempts:] if record.get("recent") else []
        failed = [one.bead for one in kept if one.what != "done"]
        assert overload.words_of(record) == [one.what for one in kept]
        assert record["failed_tasks"] == len(failed)
        different = len({bead for bead in failed if bead}) + failed.count("")
        assert ("overloaded_at" in record) == (0 < failures <= different)


@pytest.mark.parametrize(
    ("recent", "status"),
    [
        (["failed hub-a", "failed hub-a", "failed hub-a", "stalled hub-a"], "available"),
        (["failed hub-a", "failed hub-b"], "overloaded"),
        (["failed hub-a", "done", "failed hub-a", "done", "stalled hub-b"], "overloaded"),
        (["failed", "failed hub-a"], "overloaded"),
    ],
)
def test_failures_of_one_bead_say_nothing_about_the_agent(recent: list[str], status: str) -> None:
    assert status_of("coder", fleet(record={"recent": recent}), START) == status


@pytest.mark.parametrize(
    ("rule", "failed", "status"),
    [
        ({"failures": 3}, 2, "available"),
        ({"failures": 3}, 3, "overloaded"),
        ({"failures": 0}, 5, "available"),
        ({"attempts": 1}, 2, "available"),
        ({"failures": 6, "attempts": 8}, 6, "overloaded"),
        ({"failures": "many"}, 2, "overloaded"),
    ],
)
def test_the_rule_is_the_hubs(rule: dict[str, Any], failed: int, status: str) -> None:
    records = {CONFIG_PATH: {"overload": rule}, agent_path("coder"): {}}
    snapshot = MemorySnapshot([], records | {capacity_path("coder"): {"recent": [f"failed hub-{n}" for n in range(failed)]}})
    assert status_of("coder", snapshot, START) == status


RESTS = {"recent": ["failed hub-a", "failed hub-b"], "overloaded_at": AGO(minutes=-1)}


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        ({}, ["hub-a"]),
        ({"tester": {"role": "testing"}}, ["hub-a"]),
        ({"other": {"role": "building"}}, []),
        ({"other": {"role": "building", "away": True}}, ["hub-a"]),
    ],
)
def test_alone_in_its_role_it_retries_what_it_failed_when_that_is_due(others: dict[str, Any], expected: list[str]) -> None:
    """And nothing else: a broken agent does not go through the whole queue."""
    beads = [
        make_bead("hub-a", retry_at=AGO(minutes=-1), attempts=1),
        make_bead("hub-b", retry_at=AGO(minutes=2), attempts=1),
        make_bead("hub-c", priority=0),
    ]
    records = {agent_path("coder"): {"role": "building"}, capacity_path("coder"): RESTS}
    for name, file in others.items():
        records |= {agent_path(name): file, capacity_path(name): {"status": "offline" if file.get("away") else "available"}}
    answer = Eligibility(MemorySnapshot(beads, records), "coder", START)
    assert [bead.id for bead in answer.beads()] == expected
    assert (answer.idle() is None) == bool(expected)


def test_alone_it_waits_for_its_retry_or_its_probe_whichever_is_first() -> None:
    beads = [make_bead("hub-a", retry_at=AGO(minutes=2), attempts=1)]
    records = {agent_path("coder"): {"role": "building"}, capacity_path("coder"): RESTS}
    answer = Eligibility(MemorySnapshot(beads, records), "coder", START)
    reason = answer.idle()
    assert reason is not None
    assert (reason.code, answer.retry_after_s(reason)) == ("overloaded", 120)


def test_a_retry_that_is_done_ends_the_overload() -> None:
    assert overload.after(RESTS, Ending("coder", "done", "hub-a"), START, 1800, RULES)["recent"] is None
    assert overload.after(RESTS, Ending("coder", "done", "hub-c"), START, 1800, RULES)["recent"] is not None


@pytest.mark.parametrize(
    ("since", "holds", "left", "text"),
    [
        (AGO(minutes=-10), (), 0, "it may try one in 50m"),
        (AGO(minutes=-59), (), 0, "it may try one in 1m"),
        (AGO(minutes=-60), (), 1, None),
        (AGO(hours=-9), ("hub-a",), 0, "it has to finish its beads first: hub-a"),
        (AGO(minutes=-10), ("hub-a",), 0, "it may try one in 50m"),
    ],
)
def test_an_overloaded_agent_probes_with_one_bead_after_two_intervals(
    since: str, holds: tuple[str, ...], left: int, text: str | None
) -> None:
    snapshot = fleet(*holds, record={**TWO_FAILED, "overloaded_at": since})
    assert room("coder", snapshot, START) == left
    reason = Eligibility(snapshot, "coder", START).idle()
    assert (reason.code if reason else None) == ("overloaded" if text else None)
    if reason:
        assert (text or "") in reason.text


def test_the_probe_waits_for_the_intervals_of_the_file_not_for_those_of_idle_polls() -> None:
    snapshot = fleet(record={**TWO_FAILED, "overloaded_at": AGO(minutes=-60), "interval_s": 7200})
    assert room("coder", snapshot, START) == 1


def test_without_a_file_an_overloaded_agent_probes_with_one_bead_too() -> None:
    for minutes, left in ((-59, 0), (-60, 1)):
        record = {**TWO_FAILED, "overloaded_at": AGO(minutes=minutes)}
        assert room("coder", MemorySnapshot([], {capacity_path("coder"): record}), START) == left


# --- why it gets nothing ----------------------------------------------------------------------

PAUSE = {"by": "human:Ada", "at": "2026-02-21T14:00:00Z", "reason": "moving house"}


@pytest.mark.parametrize(
    ("snapshot", "code", "wait_s"),
    [
        (fleet(paused=PAUSE), "paused", 1800),
        (fleet("hub-a", "hub-b", paused=PAUSE, record={"status": "draining"}), "paused", 1800),
        (fleet(record={"status": "offline"}), "offline", 1800),
        (fleet(record={"status": "draining"}, agent={"interval": "5m"}), "draining", 300),
        (fleet(record=TWO_FAILED), "overloaded", 3000),
        (fleet("hub-a", record={**TWO_FAILED, "overloaded_at": AGO(hours=-3)}), "overloaded", 1800),
        (fleet("hub-a", "hub-b"), "busy", 1800),
    ],
)
def test_the_reason_says_when_to_come_again(snapshot: MemorySnapshot, code: str, wait_s: int) -> None:
    reason = Eligibility(snapshot, "coder", START).idle()
    assert reason is not None
    assert (reason.code, Eligibility(snapshot, "coder", START).retry_after_s(reason)) == (code, wait_s)


def test_a_pause_says_who_when_and_why() -> None:
    reason = Eligibility(fleet(paused=PAUSE), "coder", START).idle()
    assert reason is not None
    assert reason.text == "the fleet is paused by Ada since 2026-02-21T14:00:00Z: moving house"


# --- is it there ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("record", "agent", "presumed"),
    [
        (None, {}, False),
        ({}, {}, False),
        # coding, 30m: three intervals and the 30 minutes that clocks may differ by
        ({"last_heartbeat": AGO(minutes=-120)}, {}, False),
        ({"last_heartbeat": AGO(minutes=-120, seconds=-1)}, {}, True),
        ({"last_heartbeat": AGO(minutes=-46)}, {"interval": "5m"}, True),
        # the interval it now follows counts
        ({"last_heartbeat": AGO(minutes=-390), "interval_s": 7200}, {}, False),
        ({"last_heartbeat": AGO(minutes=-391), "interval_s": 7200}, {}, True),
        # a stamp from the future is no silence
        ({"last_heartbeat": AGO(hours=9)}, {}, False),
    ],
)
def test_silence(record: dict[str, Any] | None, agent: dict[str, Any], presumed: bool) -> None:
    snapshot = fleet(record=record, agent=agent)
    assert is_presumed_offline("coder", snapshot, START) is presumed
    assert is_away("coder", snapshot, START) is presumed


def test_who_follows_no_interval_is_never_presumed_offline() -> None:
    """A person who claimed once, or an agent without a file: nobody knows when it will look again."""
    said = {"agent": "ada", "last_heartbeat": AGO(days=-9)}
    assert not is_presumed_offline("ada", MemorySnapshot([], {capacity_path("ada"): said}), START)
    assert is_presumed_offline("ada", MemorySnapshot([], {capacity_path("ada"): {**said, "interval_s": 1800}}), START)


def test_what_was_heard_beside_the_branch_counts() -> None:
    snapshot = fleet(record={"last_heartbeat": AGO(hours=-9)})
    snapshot.heard = {"coder": {"last_heartbeat": AGO(minutes=-1), "interval_s": 3600}}
    assert not is_presumed_offline("coder", snapshot, START)
    assert current_interval_s("coder", snapshot) == 3600


def test_a_clone_that_did_not_listen_heard_no_silence() -> None:
    snapshot = fleet(record={"last_heartbeat": AGO(hours=-9)})
    for listened, presumed in ((AGO(hours=-8), False), (AGO(), True)):
        snapshot.listened_at = listened  # type: ignore[attr-defined, unused-ignore]
        assert is_presumed_offline("coder", snapshot, START) is presumed


AWAY = [{"status": "offline"}, {"last_heartbeat": AGO(hours=-9)}]


@pytest.mark.parametrize("record", AWAY)
def test_what_an_absent_agent_was_assigned_is_open_to_everyone(record: dict[str, Any]) -> None:
    bead = make_bead(title="Fix it", assignee="coder")
    assert Eligibility(fleet(record=record), "other", START).reasons(bead) == []
    assert Eligibility(fleet(record=record), "coder", START).reasons(bead) == []


@pytest.mark.parametrize("record", [None, {"status": "draining"}, {"last_heartbeat": AGO(minutes=-1)}])
def test_what_a_present_agent_was_assigned_is_its_own(record: dict[str, Any] | None) -> None:
    bead = make_bead(title="Fix it", assignee="coder")
    assert [reason.code for reason in Eligibility(fleet(record=record), "other", START).reasons(bead)] == ["routed"]


@pytest.mark.parametrize("record", AWAY)
def test_nothing_is_assigned_to_an_absent_agent(record: dict[str, Any]) -> None:
    with pytest.raises(AgentOffline, match=r"coder is (presumed )?offline"):
        refuse_away("coder", fleet(record=record), START)


@pytest.mark.parametrize("name", ["coder", "Ada Lovelace", "", None])
def test_people_and_present_agents_are_assigned_to(name: str | None) -> None:
    refuse_away(name, fleet(record={"last_heartbeat": time_text(START)}), START)
