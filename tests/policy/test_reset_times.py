"""What providers say about when they work again: data first, words only with a zone or as a duration."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bd.policy.reset_times import stated_reset, stated_time

NOW = datetime(2026, 2, 20, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("You've hit your limit - resets 3pm (America/Los_Angeles)", "2026-02-20T23:00:00"),
        ("session limit reached, resets 11:30am (UTC)", "2026-02-21T11:30:00"),
        ("usage limit reached|1771600000", "2026-02-20T15:06:40"),
        ("Please try again in 20s.", "2026-02-20T12:00:20"),
        ("429: retry in 32.5s", "2026-02-20T12:00:32.500000"),
        ("retry after 6m0s", "2026-02-20T12:06:00"),
        ("try again in 3 days 4 hours 10 minutes", "2026-02-23T16:10:00"),
        ("try again in 1 hour and 5 minutes", "2026-02-20T13:05:00"),
        ("the limit resets at 2026-02-20T14:00:00Z", "2026-02-20T14:00:00"),
        ("resets at 2026-02-20 14:00 +0200", "2026-02-20T12:00:00"),
        ("resets Feb 23, 3:30pm (Europe/Berlin)", "2026-02-23T14:30:00"),
        ("not available until 15:00 UTC", "2026-02-20T15:00:00"),
        ("resets Jan 2 at 9am (UTC)", "2027-01-02T09:00:00"),
    ],
)
def test_words(text: str, at: str) -> None:
    found = stated_reset(text, NOW)
    assert found is not None
    assert found.astimezone(UTC) == datetime.fromisoformat(at).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "rate limited",
        "resets 3pm",
        "try again at 3:05 PM",
        "resets 25:99 (UTC)",
        "resets 13pm (UTC)",
        "resets Feb 31, 3pm (UTC)",
        "resets 3pm (Mars/Base)",
        "resets 3pm (../etc/passwd)",
        "built at 2026-02-20T14:00:00Z",
        "took 20s",
        "resets 15 (UTC)",
    ],
)
def test_words_that_say_nothing_reliable(text: str) -> None:
    assert stated_reset(text, NOW) is None


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        (1771600000, 1771600000),
        (1771600000.5, 1771600000.5),
        (1771600000000, 1771600000),
        ("1771600000", 1771600000),
        ("2026-02-20T15:06:40Z", 1771600000),
        ("2026-02-20T16:06:40+01:00", 1771600000),
        ("2026-02-20T15:06:40", None),
        ("3pm", None),
        (True, None),
        (float("nan"), None),
        (1e300, None),
        ("2026-99-20T15:06:40Z", None),
        ([1], None),
        (None, None),
    ],
)
def test_data(said: Any, seconds: float | None) -> None:
    found = stated_time(said)
    assert (None if found is None else found.timestamp()) == seconds


@given(st.text(), st.one_of(st.text(), st.integers(), st.floats()))
def test_nothing_that_a_provider_says_is_an_error(text: str, said: Any) -> None:
    for found in (stated_reset(f"resets {text}", NOW), stated_time(said)):
        assert found is None or found.tzinfo is not None
