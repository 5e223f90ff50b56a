"""What moves a bead's priority: its base and tier, its deadline, the attention it gets."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bd.core.schema import BASE_OF_PRIORITY, CONFIG_PATH
from bd.core.times import instant_of, time_text
from bd.policy.priority import (
    COLD,
    HEAT,
    base_priority,
    deadline_points,
    half_life_of,
    heated,
    priority_of_base,
    temperature_at,
    tier_of,
)
from bd.policy.ranking import Ranking
from tests.clocks import START
from tests.memory import MemorySnapshot, make_bead

DAY_S = 86400.0
RANKING = Ranking(MemorySnapshot(), START)


def at(hours: float) -> str:
    """The text of an instant that many hours from START."""
    return time_text(START + timedelta(hours=hours), exact=True)


def warm(bead_id: str = "hub-a", /, temperature: float = 40, hours: float = 0, **fields: Any) -> Any:
    """A bead that was heated that many hours from START."""
    return make_bead(bead_id, temperature=temperature, heated_at=at(hours), **fields)


@pytest.mark.parametrize(
    ("fields", "base"),
    [
        ({"priority": 0}, 5),
        ({"priority": 1}, 20),
        ({"priority": 2}, 50),
        ({"priority": 3}, 70),
        ({"priority": 4}, 90),
        ({"priority": None}, 50),
        ({"priority": 4, "base_priority": 0}, 0),
        ({"priority": 0, "base_priority": 33.5}, 33.5),
    ],
)
def test_the_base(fields: dict[str, Any], base: float) -> None:
    assert base_priority(make_bead(**fields)) == base


@pytest.mark.parametrize(
    ("base", "priority"),
    [(0, 0), (9, 0), (10, 1), (29, 1), (30, 2), (59, 2), (60, 3), (79, 3), (80, 4), (100, 4), (9.5, 1), (250, 4)],
)
def test_the_range_a_base_belongs_to(base: float, priority: int) -> None:
    assert priority_of_base(base) == priority


def test_what_a_priority_stands_for_lies_in_its_own_range() -> None:
    assert [priority_of_base(base) for base in BASE_OF_PRIORITY] == [0, 1, 2, 3, 4]


def test_the_tiers() -> None:
    assert [tier_of(base) for base in BASE_OF_PRIORITY] == ["critical", "high", "normal", "low", "background"]
    assert (tier_of(9), tier_of(9.5), tier_of(10), tier_of(79), tier_of(80)) == ("critical", "high", "high", "low", "background")


@pytest.mark.parametrize(
    ("hours", "points"),
    [(60, 0), (48, 0.156), (24, 2.5), (12, 10), (6, 20), (3, 28.284), (1, 35.636), (0, 40), (-1, 40), (-1000, 40)],
)
def test_urgency_doubles_every_six_hours_up_to_the_deadline(hours: float, points: float) -> None:
    assert deadline_points(make_bead(deadline=at(hours)), START) == pytest.approx(points, abs=0.001)
    assert deadline_points(make_bead(), START) == 0


# --- temperature ----------------------------------------------------------------------------

amounts = st.one_of(st.sampled_from([*HEAT.values(), 25, 100, -10, -100]), st.floats(-100, 100))
hours = st.floats(-2000, 2000)
half_lives = st.floats(1, 30 * DAY_S)


@pytest.mark.parametrize(
    ("fields", "temperature"),
    [
        ({}, 0),
        ({"temperature": 0, "heated_at": at(0)}, 0),
        ({"temperature": 40, "heated_at": at(0)}, 40),
        ({"temperature": 40, "heated_at": at(-24)}, 20),
        ({"temperature": 40, "heated_at": at(-48)}, 10),
        ({"temperature": 40, "heated_at": at(1)}, 40),
        ({"temperature": 40, "updated_at": at(-24)}, 20),
        ({"temperature": 40, "updated_at": None, "created_at": None}, 40),
        ({"temperature": 100, "heated_at": at(-24 * 12)}, 0),
        ({"temperature": 1, "heated_at": "1970-01-01T00:00:00Z"}, 0),
        ({"temperature": 5000, "heated_at": at(0)}, 100),
        ({"temperature": -40, "heated_at": at(0)}, 0),
        ({"temperature": float("nan"), "heated_at": at(0)}, 0),
    ],
)
def test_the_temperature_now(fields: dict[str, Any], temperature: float) -> None:
    assert RANKING.temperature(make_bead(**fields)) == pytest.approx(temperature)


@pytest.mark.parametrize(
    ("config", "seconds"),
    [
        ({}, DAY_S),
        ({"heat_half_life": "12h"}, DAY_S / 2),
        ({"defaults": {"heat_half_life": "2d"}}, 2 * DAY_S),
        ({"heat_half_life": 3600, "defaults": {"heat_half_life": "2d"}}, 3600),
        *(({"heat_half_life": bad}, DAY_S) for bad in list[Any](["soon", 0, "0h", -5, [], {"a": 1}, True, "", None])),
        ({"defaults": "none"}, DAY_S),
    ],
)
def test_the_half_life_is_the_hubs(config: dict[str, Any], seconds: float) -> None:
    snapshot = MemorySnapshot(records={CONFIG_PATH: config})
    assert half_life_of(snapshot) == seconds
    bead = warm(temperature=40)
    assert Ranking(snapshot, START + timedelta(seconds=seconds)).temperature(bead) == pytest.approx(20)


@given(st.lists(st.tuples(amounts, hours), max_size=12), st.floats(-1e9, 1e9), hours, half_lives)
def test_the_temperature_never_leaves_its_range(
    heats: list[tuple[float, float]], stored: float, then: float, half_life: float
) -> None:
    """Whatever was stored, however it is heated, in whatever order the heatings arrive."""
    bead = make_bead(temperature=stored, heated_at=at(then))
    for by, hour in heats:
        when = START + timedelta(hours=hour)
        bead = heated(bead, by, when, half_life, now=when)
        assert COLD <= bead.get("temperature", COLD) <= 100
        assert ("temperature" in bead.fields) == ("heated_at" in bead.fields), "what is cold has neither"
        for later in (-1000, 0, 1, 1000):
            assert 0 <= temperature_at(bead, when + timedelta(hours=later), half_life) <= 100


@given(st.floats(0, 100), st.lists(hours, min_size=2, max_size=8), half_lives)
def test_it_only_cools_by_itself(stored: float, times: list[float], half_life: float) -> None:
    bead = warm(temperature=stored)
    seen = [temperature_at(bead, START + timedelta(hours=hour), half_life) for hour in sorted(times)]
    assert all(before >= after for before, after in pairwise(seen))


@given(st.floats(1, 100), st.floats(1, 100))
def test_heating_adds_to_what_is_left(before: float, by: float) -> None:
    bead = heated(warm(temperature=before, hours=-24), by, START, DAY_S, now=START)
    assert bead.get("temperature") == pytest.approx(min(100, before / 2 + by), abs=0.006)
    assert bead.get("heated_at") == at(0)


def test_heating_says_it_in_short_numbers() -> None:
    assert heated(make_bead(), 10, START, DAY_S, now=START).get("temperature") == 10
    third = heated(warm(temperature=10, hours=-1), 0.0, START, DAY_S, now=START).get("temperature")
    assert third == 9.72


@given(amounts, amounts, st.floats(0, 100))
def test_what_arrives_late_has_cooled_on_its_way(one: float, two: float, hours: float) -> None:
    """Two heatings make the same of a bead in either order."""
    assume(one > 0 and two > 0 and one + two <= 100)
    first, then = START, START + timedelta(hours=hours)
    in_order = heated(heated(make_bead(), one, first, DAY_S, now=first), two, then, DAY_S, now=then)
    turned = heated(heated(make_bead(), two, then, DAY_S, now=then), one, first, DAY_S, now=then)
    assert temperature_at(turned, then, DAY_S) == pytest.approx(temperature_at(in_order, then, DAY_S), abs=0.11)


def test_a_stamp_of_a_clock_that_was_ahead_is_brought_back() -> None:
    bead = heated(warm(temperature=40, hours=9000), -30, START, DAY_S, now=START)
    assert (bead.get("temperature"), bead.get("heated_at")) == (10, at(0))


def test_what_has_cooled_down_is_cold() -> None:
    cold = heated(warm(temperature=40), -40, START, DAY_S, now=START)
    assert "temperature" not in cold.fields
    assert "heated_at" not in cold.fields
    assert heated(cold, -10, START, DAY_S, now=START) == cold


def test_every_kind_of_attention_has_its_figure() -> None:
    assert HEAT == {"asked": 10, "comment": 5, "link": 3, "reopening": 10}
    assert [priority_of_base(base - 10) for base in BASE_OF_PRIORITY[1:]] == [1, 2, 3, 4], "heat stays within P0..P4"
    assert instant_of(at(0)) == START
