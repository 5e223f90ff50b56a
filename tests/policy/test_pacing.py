"""How an agent paces its polls: the source paper's figures, and that no clock puts it to sleep for good."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bd.core.times import instant_of
from bd.policy.pacing import LONGEST_S, PEEK_FAR_S, PEEK_NEAR_S, Pace, interval_s, pace_of, peek_pause_s
from tests.clocks import START


@pytest.mark.parametrize(("empty", "minutes"), [(0, 30), (2, 30), (3, 60), (5, 60), (6, 120), (9, 120), (1000, 120)])
def test_three_empty_cycles_double_the_interval_up_to_two_hours(empty: int, minutes: int) -> None:
    assert interval_s(1800, empty) == minutes * 60


def test_an_interval_that_is_longer_than_two_hours_stays() -> None:
    assert interval_s(4 * 3600, 9) == 4 * 3600


def test_work_brings_the_interval_back_and_a_finished_bead_means_at_once() -> None:
    tired = Pace(1800, 7, "2026-02-21T12:00:00Z", "2026-02-21T08:00:00Z")
    fresh = tired.found_work(START)
    assert fresh == Pace(1800)
    assert fresh.is_due(START)
    assert not tired.found_work(START, cool_down_s=600).is_due(START)


def test_an_agent_keeps_since_when_it_is_idle() -> None:
    first = Pace(900).found_nothing(START, 0.5)
    second = first.found_nothing(START + timedelta(seconds=900), 0.5)
    assert first.idle_since == second.idle_since is not None
    assert second.empty_cycles == 2


def test_cron_that_comes_a_little_early_is_in_time() -> None:
    pace = Pace(1800).found_nothing(START, 0.5)
    assert not pace.is_due(START + timedelta(seconds=1700))
    assert pace.is_due(START + timedelta(seconds=1745))


@pytest.mark.parametrize("kept", [None, {}, {"empty_cycles": "x"}, {"next_poll_at": "soon"}, {"empty_cycles": -4}])
def test_a_pace_that_can_not_be_read_is_a_fresh_one(kept: dict[str, object] | None) -> None:
    assert pace_of(kept, 900) == Pace(900)


@given(st.integers(0, 10_000), st.floats(1, 20_000), st.floats(0, 1), st.floats(-1e7, 1e7))
def test_no_agent_sleeps_longer_than_its_interval(empty: int, base_s: float, spread: float, set_back_s: float) -> None:
    """Whatever a clock does meanwhile."""
    pace = Pace(base_s, empty).found_nothing(START, spread)
    wait_s = pace.wait_s(START + timedelta(seconds=set_back_s))
    assert 0 <= wait_s <= max(base_s, LONGEST_S) * 1.1
    assert pace.next_poll_at is not None
    assert instant_of(pace.next_poll_at) > START - timedelta(seconds=1)


def test_who_waits_near_the_hub_peeks_regularly_and_elsewhere_ever_more_rarely() -> None:
    assert {peek_pause_s(PEEK_NEAR_S, peeks, 1800, 0.9) for peeks in range(9)} == {PEEK_NEAR_S}
    pauses = [peek_pause_s(PEEK_FAR_S, peeks, 1800, 0.5) for peeks in (0, 1, 2, 20, 10_000)]
    assert pauses == pytest.approx([30, 45, 67.5, 1800, 1800])
    assert peek_pause_s(PEEK_FAR_S, 0, 1800, 0.0) == pytest.approx(24)
    assert peek_pause_s(PEEK_FAR_S, 0, 1800, 1.0) == pytest.approx(36)
