"""Times and durations: one parser, UTC whatever the machine's zone, no clock but one."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bd.cli.runtime import SystemRuntime
from bd.core import times
from bd.core.errors import BadInput
from tests.runtime import RUNTIME

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.one_in(2)

PRESENT = datetime(2026, 2, 21, 15, 30, 45, tzinfo=UTC)


@pytest.fixture(params=["UTC", "America/Denver", "Asia/Kolkata", "Pacific/Kiritimati"])
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The machine's zone."""
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield request.param
    monkeypatch.undo()
    time.tzset()


# --- stored times -----------------------------------------------------------------------------

STORED = [
    ("2026-02-21T15:30:45Z", "2026-02-21T15:30:45Z"),
    ("2026-02-21T15:30:45.5Z", "2026-02-21T15:30:45.5Z"),
    ("2026-02-21T15:30:45.123456Z", "2026-02-21T15:30:45.123456Z"),
    ("  2026-02-21T15:30:45Z\n", "2026-02-21T15:30:45Z"),
    ("2026-02-21T15:30:45+00:00", "2026-02-21T15:30:45Z"),
    ("2026-02-21T08:30:45-07:00", "2026-02-21T15:30:45Z"),
    ("2026-02-21T21:00:45+05:30", "2026-02-21T15:30:45Z"),
    ("2026-02-21T08:30:45.25-07:00", "2026-02-21T15:30:45.25Z"),
    ("2026-02-22T00:30:00+14:00", "2026-02-21T10:30:00Z"),
    ("2026-02-21 15:30:45Z", "2026-02-21T15:30:45Z"),
    ("2026-02-21 08:30:45-07:00", "2026-02-21T15:30:45Z"),
    ("2026-02-21T15:30", "2026-02-21T15:30:00Z"),
    ("2026-02-21T15:30Z", "2026-02-21T15:30:00Z"),
    ("2026-02-21", "2026-02-21T00:00:00Z"),
    ("2026-02-21T15:30:45", "2026-02-21T15:30:45Z"),
]


@pytest.mark.parametrize(("text", "canonical"), STORED)
def test_one_canonical_form_in_every_zone(text: str, canonical: str, zone: str) -> None:
    assert times.canonical_time(text) == canonical
    assert times.canonical_time(canonical) == canonical


@pytest.mark.parametrize(
    "text",
    [
        "",
        "soon",
        "2026-13-01",
        "2026-02-30T00:00:00Z",
        "2026-02-21T25:00:00Z",
        "15:30",
        "12",
        "2026-02-21T15:30:45Zx",
        "tomorrow",
    ],
)
def test_what_is_no_stored_time(text: str) -> None:
    with pytest.raises(ValueError):
        times.canonical_time(text)


instants = st.datetimes(timezones=st.just(UTC)).filter(lambda instant: 2 <= instant.year <= 9998)
offsets = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@given(instants, offsets)
def test_every_offset_names_the_same_instant(instant: datetime, offset: timezone) -> None:
    text = times.canonical_time(instant.astimezone(offset).isoformat())
    assert text.endswith("Z")
    assert times.instant_of(text) == instant
    assert times.instant_of(times.time_text(instant, exact=True)) == instant
    assert times.instant_of(times.time_text(instant)) == instant.replace(microsecond=0)


@given(instants, instants)
def test_texts_of_one_exactness_sort_as_their_instants(one: datetime, two: datetime) -> None:
    if one != two:
        assert (times.time_text(one, exact=True) < times.time_text(two, exact=True)) == (one < two)


# --- typed times ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("now", "2026-02-21T15:30:45Z"),
        ("today", "2026-02-21T00:00:00Z"),
        ("tomorrow", "2026-02-22T00:00:00Z"),
        ("Tomorrow ", "2026-02-22T00:00:00Z"),
        ("next week", "2026-02-28T00:00:00Z"),
        ("2h", "2026-02-21T17:30:45Z"),
        ("+2h", "2026-02-21T17:30:45Z"),
        ("+3d", "2026-02-24T15:30:45Z"),
        ("1h30m", "2026-02-21T17:00:45Z"),
        ("90s", "2026-02-21T15:32:15Z"),
        ("2026-03-01", "2026-03-01T00:00:00Z"),
        ("2026-03-01T08:00-07:00", "2026-03-01T15:00:00Z"),
        ("2026-03-01 08:00", "2026-03-01T08:00:00Z"),
    ],
)
def test_what_a_person_means(typed: str, meant: str, zone: str) -> None:
    assert times.typed_time(typed, PRESENT) == meant


def test_tomorrow_is_counted_in_utc_wherever_the_person_is() -> None:
    denver = timezone(timedelta(hours=-7))
    evening = datetime(2026, 2, 21, 20, 0, tzinfo=denver)  # 03:00 on the 22nd, UTC
    assert times.typed_time("tomorrow", evening) == "2026-02-23T00:00:00Z"
    assert times.typed_time("1h", evening) == "2026-02-22T04:00:00Z"


@pytest.mark.parametrize("typed", ["", "soon", "2 fortnights", "2026-02-30", "-2h", "h", "99:99"])
def test_what_nobody_means(typed: str) -> None:
    with pytest.raises(BadInput, match="is not a time"):
        times.typed_time(typed, PRESENT)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("2h", "2026-02-21T13:30:45Z"),
        ("2h ago", "2026-02-21T13:30:45Z"),
        ("1d 2h ago", None),
        ("+3d", "2026-02-18T15:30:45Z"),
        ("yesterday", "2026-02-20T00:00:00Z"),
        ("today", "2026-02-21T00:00:00Z"),
        ("now", "2026-02-21T15:30:45Z"),
        ("2026-02-01", "2026-02-01T00:00:00Z"),
        ("tomorrow", None),
        ("2026-02-22", None),
        ("ago", None),
    ],
)
def test_what_a_person_means_by_the_past(typed: str, meant: str | None) -> None:
    if meant is None:
        with pytest.raises(BadInput) as refused:
            times.past_instant(typed, PRESENT)
        assert "yesterday" in (refused.value.hint or "")
    else:
        assert times.time_text(times.past_instant(typed, PRESENT)) == meant


@pytest.mark.parametrize("typed", ["9999999999d", "999999999999999999999s"])
def test_a_time_beyond_the_calendar_is_bad_input(typed: str) -> None:
    with pytest.raises(BadInput, match="longer than a century"):
        times.typed_time(typed, PRESENT)


# --- durations --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90s", 90),
        ("45m", 2700),
        ("2h", 7200),
        ("1d", 86400),
        ("1w", 604800),
        ("1h30m", 5400),
        ("1.5h", 5400),
        ("2 h", 7200),
        (" 2H ", 7200),
        ("90", 90),
        ("0.5", 0.5),
        ("36525d", 36525 * 86400),
        ("0s", 0),
        ("0", 0),
    ],
)
def test_durations(text: str, seconds: float) -> None:
    assert times.duration_s(text) == seconds


@pytest.mark.parametrize("text", ["", "h", "2x", "-2h", "2h-", "h2", "1h 30", "two hours", "1e3s", "²", "2h\n3"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(BadInput, match="is not a duration"):
        times.duration_s(text)


@pytest.mark.parametrize("text", ["36526d", "9" * 400, "9" * 400 + "d", "9" * 5000 + "s"])
def test_no_duration_is_longer_than_a_century(text: str) -> None:
    with pytest.raises(BadInput, match="longer than a century"):
        times.duration_s(text)


@given(st.integers(0, 10**9))
def test_a_durations_text_is_exact(seconds: int) -> None:
    assert times.duration_s(times.duration_text(seconds)) == seconds


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0s"), (90, "90s"), (60, "1m"), (2700, "45m"), (7200, "2h"), (5400, "90m"), (86400, "1d")]
)
def test_the_shortest_exact_text(seconds: float, text: str) -> None:
    assert times.duration_text(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0s"), (59.9, "59s"), (60, "1m"), (3599, "59m"), (3600, "1h"), (86399, "23h"), (86400, "1d"), (-600, "0s")],
)
def test_ages(seconds: float, text: str) -> None:
    assert times.age_text(seconds) == text


# --- now --------------------------------------------------------------------------------------


def test_now_is_aware_utc_in_every_zone(zone: str) -> None:
    present = SystemRuntime().now()
    assert present.tzinfo is UTC
    assert abs(present.timestamp() - time.time()) < 60


@pytest.mark.parametrize("offset_s", [600, -600])
def test_a_skewed_clock_for_tests(offset_s: int, monkeypatch: pytest.MonkeyPatch) -> None:
    straight = RUNTIME.now()
    monkeypatch.setenv("BD_TEST_CLOCK_OFFSET_S", str(offset_s))
    assert abs((RUNTIME.now() - straight).total_seconds() - offset_s) < 60


def test_a_wait_into_the_past_is_none() -> None:
    SystemRuntime().sleep(-5)
