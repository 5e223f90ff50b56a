"""When a claim is stalled: every rule, clocks that are off, observers that are blind or were away."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bd.core.settings import merge
from bd.core.times import time_text
from bd.policy import liveness
from bd.policy.liveness import STAMPS_ALONE, Sight
from tests.clocks import START
from tests.memory import MemorySnapshot, held, make_bead

if TYPE_CHECKING:
    from bd.core.model import Bead

SETTINGS = merge([])
HOUR = 3600.0
BEATS = {"heartbeat_interval_s": 30, "heartbeat_by": "ref"}


def at(seconds_ago: float) -> str:
    return time_text(START - timedelta(seconds=seconds_ago))


def claimed(ago_s: float = 60, *, started: bool = True, **claim: Any) -> Bead:
    """A task claimed so long ago."""
    stamps = {"claimed_at": at(ago_s), "started_at": at(ago_s) if started else None}
    return held("hub-a", "coder", "T", claim={**stamps, **claim})


def why(bead: Bead, sight: Sight | None = None) -> str | None:
    stall = liveness.stall_of(bead, bead.get("claim"), sight or STAMPS_ALONE, START, SETTINGS)
    return stall.why if stall else None


@pytest.mark.parametrize(
    ("bead", "sight", "expected"),
    [
        # reserved and never started: the ttl is 15 minutes
        (claimed(20 * 60, started=False), Sight(same_s=14 * 60), None),
        (claimed(20 * 60, started=False), Sight(same_s=16 * 60), "never_started"),
        (claimed(40 * 60, started=False), STAMPS_ALONE, None),  # by its stamp alone: 30 minutes for the clocks
        (claimed(46 * 60, started=False), STAMPS_ALONE, "never_started"),
        # beats every 30 s: three of them missing
        (claimed(HOUR * 9, **BEATS), Sight("b", 20.0, 20.0), None),
        (claimed(HOUR * 9, **BEATS), Sight("b", 20.0, 89.0), None),
        (claimed(HOUR * 9, **BEATS), Sight("b", 500.0, 91.0), "silent"),
        (claimed(HOUR * 9, **BEATS), Sight("b", 9 * HOUR, 0.0), None),  # a first look: whatever its stamp says
        (claimed(HOUR * 9, **BEATS), Sight("b", 1800.0, 0.0), None),
        (claimed(HOUR * 9, **BEATS), Sight("b", -600.0, 10.0), None),  # its clock is ahead
        (claimed(HOUR * 9, **BEATS), Sight("b", None, 10.0), None),  # a beat that tells no time
        # blind: the beat should be there and is not, so that only commits count
        (claimed(600, **BEATS), Sight(None, None, 500.0), None),
        (claimed(HOUR * 3, **BEATS), Sight(None, None, 2 * HOUR + 1), "overdue"),
        (claimed(HOUR * 9, heartbeat_by="ref"), Sight("b", 9 * HOUR, 9 * HOUR), "overdue"),  # it says not how often it beats
        # signs on the branch, every 15 minutes
        (claimed(HOUR * 9, heartbeat_interval_s=900, heartbeat_by="branch", heartbeat_at=at(60)), Sight(same_s=60), None),
        (claimed(HOUR * 9, heartbeat_interval_s=900, heartbeat_by="branch", heartbeat_at=at(60)), Sight(same_s=2701), "silent"),
        # no signs promised: twice the expected time
        (claimed(HOUR), Sight(same_s=HOUR), None),
        (claimed(2 * HOUR + 60), Sight(same_s=2 * HOUR + 1), "overdue"),
        (claimed(2 * HOUR + 60), Sight(same_s=0), None),
        (claimed(2.6 * HOUR), STAMPS_ALONE, "overdue"),
        (claimed(2 * HOUR + 1800.5), STAMPS_ALONE, None),  # its stamp was cut to a second
        (claimed(2 * HOUR + 1801.5), STAMPS_ALONE, "overdue"),
        (claimed(9 * HOUR), Sight(), None),  # clocks that differ: only what was seen counts
        (claimed(9 * HOUR), Sight(same_s=2 * HOUR + 1), "overdue"),
        (claimed(9 * HOUR, heartbeat_at=at(30)), STAMPS_ALONE, None),  # a write under its token is a sign
    ],
)
def test_when_a_claim_is_stalled(bead: Bead, sight: Sight, expected: str | None) -> None:
    assert why(bead, sight) == expected


def test_a_longer_expected_time_waits_longer() -> None:
    bead = claimed(5 * HOUR).evolve(expected="4h")
    assert why(bead, Sight(same_s=5 * HOUR)) is None
    assert why(bead, Sight(same_s=8 * HOUR + 1)) == "overdue"


@pytest.mark.parametrize(("factor", "words"), [(2.0, "over twice its"), (5.0, "over 5 times its"), (1.5, "over 1.5 times its")])
def test_the_reason_names_the_factor_that_is_set(factor: float, words: str) -> None:
    settings = merge([("hub", {"stall_factor": factor})])
    bead = claimed(20 * HOUR)
    stall = liveness.stall_of(bead, bead.get("claim"), Sight(same_s=20 * HOUR), START, settings)
    assert stall is not None
    assert words in stall.text


def test_a_validation_that_died_says_so() -> None:
    bead = claimed(9 * HOUR).evolve(status="validating")
    assert why(bead, Sight(same_s=3 * HOUR)) == "validating"


def test_a_stamp_from_the_future_is_no_negative_age() -> None:
    bead = claimed(-3 * HOUR)
    assert why(bead) is None
    assert liveness.is_ahead(at(-3 * HOUR), START)
    assert not liveness.is_ahead(at(-900), START)


@given(st.floats(0, 86400), st.floats(0, 86400), st.floats(-900, 900), st.floats(-900, 900))
def test_two_clocks_fifteen_minutes_apart_steal_nothing(work_s: float, ago_s: float, mine_s: float, theirs_s: float) -> None:
    """A holder who beats in time, judged by an observer whose clock is off by as much as its own."""
    bead = claimed(work_s + ago_s - theirs_s, **BEATS)
    beat_age_s = min(ago_s, 60.0) + mine_s - theirs_s
    assert why(bead, Sight("b", beat_age_s, min(ago_s, 60.0))) is None


def test_stalls_are_listed_the_longest_silent_first() -> None:
    old = held("hub-old", "a", "T1", claim={"claimed_at": at(20 * HOUR), "started_at": at(20 * HOUR)})
    new = held("hub-new", "b", "T2", claim={"claimed_at": at(9 * HOUR), "started_at": at(9 * HOUR)})
    by_hand = make_bead("hub-hand", status="in_progress", assignee="ada", updated_at=at(30 * HOUR))
    fresh = held("hub-fresh", "c", "T3", claim={"claimed_at": at(60), "started_at": at(60)})
    found = liveness.stalls(MemorySnapshot([new, old, by_hand, fresh]), {}, START, SETTINGS)
    assert [(stall.id, stall.token) for stall in found] == [("hub-hand", ""), ("hub-old", "T1"), ("hub-new", "T2")]


def test_beads_that_are_parked_do_not_stall() -> None:
    parked = make_bead("hub-a", status="blocked", waiting_on="human", updated_at=at(900 * HOUR))
    assert liveness.stalls(MemorySnapshot([parked]), {}, START, SETTINGS) == []


def test_overdue_claims_are_found_by_their_stamps_alone() -> None:
    beats = held("hub-a", "a", "T1", claim={"claimed_at": at(600), "started_at": at(600), **BEATS})
    bare = held("hub-b", "b", "T2", claim={"claimed_at": at(600), "started_at": at(600)})
    assert [bead.id for bead in liveness.overdue_claims(MemorySnapshot([beats, bare]), START, SETTINGS)] == ["hub-a"]
