"""When schedules are due: in their zone, once a tick, the last of those that were missed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bd.core.errors import BadInput
from bd.core.times import instant_of, time_text
from bd.policy.schedules import check, due_tick, next_tick, schedules_of
from tests.memory import MemorySnapshot

MONDAY_NINE = {"cron": "0 9 * * 1", "tz": "Europe/Berlin", "last_tick": "2026-02-01T00:00:00Z"}


def due(schedule: dict[str, Any], at: str) -> str | None:
    tick = due_tick(schedule, instant_of(at))
    return time_text(tick) if tick else None


@pytest.mark.parametrize(
    ("at", "tick"),
    [
        ("2026-02-01T23:00:00Z", None),  # a Sunday
        ("2026-02-02T07:59:59Z", None),
        ("2026-02-02T08:00:00Z", "2026-02-02T08:00:00Z"),  # nine in Berlin, in winter
        ("2026-02-20T12:00:00Z", "2026-02-16T08:00:00Z"),  # three were missed: the last one counts
        ("2026-03-30T07:30:00Z", "2026-03-30T07:00:00Z"),  # nine in Berlin, in summer
    ],
)
def test_due(at: str, tick: str | None) -> None:
    assert due(MONDAY_NINE, at) == tick


def test_what_was_made_is_never_due_again_also_where_a_clock_is_behind() -> None:
    made = {**MONDAY_NINE, "last_tick": "2026-02-16T08:00:00Z"}
    assert due(made, "2026-02-16T08:00:00Z") is None
    assert due(made, "2026-02-10T08:00:00Z") is None
    assert due(made, "2026-02-23T08:00:00Z") == "2026-02-23T08:00:00Z"


def test_next() -> None:
    assert next_tick(MONDAY_NINE, instant_of("2026-02-02T08:00:00Z")) == instant_of("2026-02-09T08:00:00Z")


@pytest.mark.parametrize(
    ("cron", "tz", "says"),
    [
        ("0 9 * *", "UTC", "is not a cron expression"),
        ("61 9 * * *", "UTC", "bad minute"),
        ("0 0 30 2 *", "UTC", "bad|never"),
        ("@daily", "UTC", "is not a cron expression"),
        ("* * * * * *", "UTC", "is not a cron expression"),
        ("*/90 * * * *", "UTC", "the step 90 in .* is longer than the 60 minutes of its field"),
        ("0 */25 * * *", "UTC", "the step 25 in .* is longer than the 24 hours of its field"),
        ("0 0 */32 * *", "UTC", "longer than the 31 days of its field"),
        ("0 0 1 */13 *", "UTC", "longer than the 12 months of its field"),
        ("0 0 * * */8", "UTC", "longer than the 7 weekdays of its field"),
        ("0,5-10/7 * * * *", "UTC", "the step 7 in '5-10/7' is longer than the 6 minutes of its range"),
        ("*/9999999999 * * * *", "UTC", "longer than the 60 minutes of its field"),
        ("²-3/2 * * * *", "UTC", "bad minute"),
        ("1-²/2 * * * *", "UTC", "bad minute"),
        ("*/² * * * *", "UTC", "bad minute"),
        (f"0-{'9' * 5000}/2 * * * *", "UTC", "is not a cron expression"),
        (f"*/{'9' * 5000} * * * *", "UTC", "longer than the 60 minutes of its field"),
        (f"{'9' * 5000} * * * *", "UTC", "is not a cron expression"),
        ("0 9 * * 1", "Europe/Nowhere", "no time zone 'Europe/Nowhere'"),
        ("0 9 * * 1", "../../etc/passwd", "no time zone"),
    ],
)
def test_what_is_no_schedule(cron: str, tz: str, says: str) -> None:
    with pytest.raises(BadInput, match=says):
        check(cron, tz, datetime(2026, 2, 1, tzinfo=UTC))


@pytest.mark.parametrize(
    "cron", ["*/60 */24 */31 */12 */7", "5-10/6 * * * *", "59/15 * * * *", "*/45 * * * *", "0 0 * * MON-FRI/2"]
)
def test_a_step_that_goes_once_through_its_field_is_one(cron: str) -> None:
    check(cron, "UTC", datetime(2026, 2, 1, tzinfo=UTC))


@pytest.mark.parametrize("found", [None, "x", {"a": 1}, [1, {"cron": "* * * * *"}, None]])
def test_what_stands_in_the_configuration_may_be_anything(found: Any) -> None:
    assert schedules_of(MemorySnapshot([], {".beads/config.yaml": {"schedules": found}})) == []


def test_a_stored_expression_is_unreadable_as_a_typed_one_is() -> None:
    with pytest.raises(BadInput, match="is not a cron expression"):
        due_tick({"cron": f"*/{'9' * 5000} * * * *"}, datetime(2026, 2, 1, tzinfo=UTC))


MINUTES = st.integers(0, 60 * 24 * 40)
START = datetime(2026, 3, 10, tzinfo=UTC)


@given(
    st.sampled_from(["*/7 * * * *", "30 2 * * *", "0 9 * * 1", "15 1-3 * * *"]),
    st.sampled_from(["UTC", "Europe/Berlin", "America/New_York"]),
    st.lists(MINUTES, max_size=30),
)
def test_whoever_looks_whenever_each_tick_is_made_once(cron: str, tz: str, looks: list[int]) -> None:
    """Looks in any order, as by clocks that disagree; every tick that is made is one, and none is made twice."""
    schedule = {"cron": cron, "tz": tz, "last_tick": time_text(START)}
    made: list[datetime] = []
    for minutes in looks:
        now = START + timedelta(minutes=minutes, seconds=minutes % 60)
        tick = due_tick(schedule, now)
        if tick is None:
            continue
        assert tick <= now
        assert next_tick(schedule, tick - timedelta(minutes=1)) == tick
        made.append(tick)
        schedule["last_tick"] = time_text(tick)
    assert made == sorted(set(made))
