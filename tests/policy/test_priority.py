"""The order of work: total, stable, the same everywhere; and how attention moves it."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bd.clock import instant_of, time_text
from bd.fields import BASE_OF_PRIORITY, CONFIG_PATH
from bd.policy.priority import (
    COLD,
    HEAT,
    Ranking,
    base_priority,
    half_life_of,
    heated,
    priority_of_base,
    temperature_at,
)
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


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"priority": 0}, {"priority": 1}),
        ({"priority": 0, "created_at": "2026-02-21T00:00:00Z"}, {"priority": 1, "created_at": "2020-01-01T00:00:00Z"}),
        ({"base_priority": 21}, {"base_priority": 22}),
        ({"base_priority": 49}, {"priority": 2}),
        ({"created_at": "2026-02-20T09:00:00Z"}, {"created_at": "2026-02-20T09:00:01Z"}),
        ({"created_at": "2026-02-20T09:00:00Z"}, {"created_at": "2026-02-20T09:00:00.5Z"}),
        ({"created_at": "2026-02-20T09:00:00.25Z"}, {"created_at": "2026-02-20T09:00:00.3Z"}),
        ({"id": "hub-a"}, {"id": "hub-b"}),
    ],
)
def test_first_by_priority_then_by_age_then_by_id(first: dict[str, Any], second: dict[str, Any]) -> None:
    one, two = make_bead("hub-m", **first), make_bead("hub-n", **second)
    assert sorted([two, one], key=RANKING.key) == [one, two]


beads = st.builds(
    lambda number, priority, base, second, temperature, hours: make_bead(
        f"hub-{number}",
        temperature=temperature,
        heated_at=at(hours),
        priority=priority,
        base_priority=base,
        created_at=f"2026-02-20T09:00:{second:02d}Z",
    ),
    st.integers(0, 10**6),
    st.integers(0, 4),
    st.one_of(st.none(), st.integers(0, 100)),
    st.integers(0, 3),
    st.one_of(st.none(), st.integers(0, 100)),
    st.integers(-72, 2),
)


@given(st.lists(beads, unique_by=lambda bead: bead.id, max_size=30), st.randoms(use_true_random=False))
def test_the_order_is_total_and_does_not_depend_on_where_it_starts(found: list[Any], random: Any) -> None:
    keys = [RANKING.key(bead) for bead in found]
    assert len(set(keys)) == len(keys)
    mixed = list(found)
    random.shuffle(mixed)
    ordered = sorted(mixed, key=RANKING.key)
    assert ordered == sorted(found, key=RANKING.key)
    assert [RANKING.effective(bead) for bead in ordered] == sorted(RANKING.effective(bead) for bead in found)


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
        *(({"heat_half_life": bad}, DAY_S) for bad in ("soon", 0, "0h", -5, [], {"a": 1}, True, "", None)),
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


# --- the temperature in the order -------------------------------------------------------------


def test_a_temperature_of_100_counts_for_10_points() -> None:
    assert RANKING.effective(warm(temperature=100)) == 40
    assert RANKING.parts(warm(temperature=100)) == {"base": 50, "temperature": -10}
    assert RANKING.parts(make_bead(priority=0)) == {"base": 5}


@given(beads)
def test_the_effective_priority_is_the_sum_of_its_parts(bead: Any) -> None:
    assert RANKING.effective(bead) == sum(RANKING.parts(bead).values())


@given(beads, beads)
def test_the_hotter_of_two_of_one_base_is_first(one: Any, two: Any) -> None:
    two = two.evolve(base_priority=base_priority(one))
    one = one.evolve(base_priority=base_priority(one))
    assume(RANKING.temperature(one) > RANKING.temperature(two) + 1e-9)
    assert RANKING.key(one) < RANKING.key(two)


@given(beads, beads)
def test_no_heat_lifts_a_bead_over_one_more_than_ten_points_before_it(one: Any, two: Any) -> None:
    assume(base_priority(one) + 10 < base_priority(two))
    assert RANKING.key(one) < RANKING.key(two)


@given(st.lists(beads, unique_by=lambda bead: bead.id, max_size=10), st.floats(0, 48))
def test_time_alone_never_turns_two_warm_beads_of_one_base_around(found: list[Any], hours: float) -> None:
    """All cool by the same part, so the order of equals stays until they are cold."""
    found = [bead.evolve(base_priority=50) for bead in found if RANKING.temperature(bead) >= 1]
    found = [bead for bead in found if instant_of(bead.get("heated_at")) <= START]
    later = Ranking(MemorySnapshot(), START + timedelta(hours=hours))
    for one, two in pairwise(sorted(found, key=RANKING.key)):
        if RANKING.temperature(one) > RANKING.temperature(two) + 1e-6 and later.temperature(two) > 0:
            assert later.key(one) < later.key(two)


def test_a_cold_bead_asks_for_no_settings() -> None:
    class Unread(MemorySnapshot):
        def config(self) -> Any:
            raise AssertionError("nobody needs the half-life")

    assert Ranking(Unread(), START).key(make_bead())[0] == 50


def test_every_kind_of_attention_has_its_figure() -> None:
    assert HEAT == {"asked": 10, "comment": 5, "link": 3, "reopening": 10}
    assert [priority_of_base(base - 10) for base in BASE_OF_PRIORITY[1:]] == [1, 2, 3, 4], "heat stays within P0..P4"
    assert instant_of(at(0)) == START
