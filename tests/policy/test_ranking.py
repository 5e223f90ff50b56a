"""The order of work: total, the same everywhere and at all times; who waits moves up, and nobody waits for ever."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bd.core.ids import ulid
from bd.core.operation import DecisionContext
from bd.core.schema import CONFIG_PATH
from bd.core.settings import merge
from bd.core.times import instant_of, time_text
from bd.operations.claims import Claim
from bd.policy import claims, lifecycle
from bd.policy.dag import chains
from bd.policy.priority import base_priority
from bd.policy.ranking import Ranking, longest_waiting_is_due
from bd.policy.work_queue import ready_beads
from tests.clocks import START
from tests.memory import MemorySnapshot, make_bead

EMPTY = MemorySnapshot()
RANKING = Ranking(EMPTY, START)


def at(hours: float) -> str:
    """The text of an instant that many hours from START."""
    return time_text(START + timedelta(hours=hours), exact=True)


def ranking(hours: float = 0, /, *beads: Any, **config: Any) -> Ranking:
    """The order so many hours after START."""
    return Ranking(MemorySnapshot(beads, {CONFIG_PATH: config}), START + timedelta(hours=hours))


def new(bead_id: str = "hub-a", /, hours: float = 0, **fields: Any) -> Any:
    """A bead that was made that many hours from START."""
    return make_bead(bead_id, created_at=at(hours), **fields)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"priority": 0}, {"priority": 1}),
        ({"priority": 0, "created_at": "2026-02-21T00:00:00Z"}, {"priority": 1, "created_at": "2026-02-19T00:00:00Z"}),
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
    seen = [RANKING.effective(bead) for bead in ordered]
    assert all(before <= after + 1e-5 for before, after in pairwise(seen))


# --- age --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("priority", "hours", "effective"),
    [
        (4, 0, 90),
        (4, 5, 60),
        (4, 10, 30),
        (4, 14, 10),
        (4, 72, 10),
        (4, 9000, 10),
        (1, 1, 14),
        (1, 72, 10),
        (0, 0, 5),
        (0, 2, -7),
    ],
)
def test_the_effective_priority_of_who_waits(priority: int, hours: float, effective: float) -> None:
    assert ranking(hours).effective(new(priority=priority)) == pytest.approx(effective)


def test_only_what_is_ready_ages() -> None:
    waits = new("hub-b", depends_on=["hub-a"])
    closed = new("hub-a", status="closed", closed_at=at(10))
    assert ranking(12, waits, new()).parts(waits) == {"base": 50}
    assert ranking(12, waits, closed).parts(waits) == pytest.approx({"base": 50, "age": -12})
    child = new("hub-c", parent="hub-b")
    assert ranking(12, child, waits, closed).parts(child)["age"] == pytest.approx(-12), "its parent waited for it, too"


@pytest.mark.parametrize(
    ("config", "points"), [({}, -6), ({"priority_boost_per_minute": 0}, 0), ({"priority_boost_per_minute": 0.5}, -30)]
)
def test_the_pace_is_the_hubs(config: dict[str, Any], points: float) -> None:
    assert ranking(1, **config).parts(new()).get("age", 0) == pytest.approx(points)


def test_a_bead_may_have_a_pace_of_its_own() -> None:
    assert ranking(1).parts(new(priority_boost_per_minute=0.3))["age"] == pytest.approx(-18)
    assert ranking(1).effective(new(priority_boost_per_minute=0)) == 50
    assert ranking(60).effective(new(priority_boost_per_minute=1000)) == 10, "which lifts it no further than others"


@given(beads, beads, st.floats(0, 3), st.lists(st.floats(0, 2000), min_size=2, max_size=5))
def test_time_alone_turns_no_two_that_age_alike_around(one: Any, two: Any, apart: float, hours: list[float]) -> None:
    one, two = one.evolve(temperature=None), two.evolve(temperature=None, created_at=at(apart))
    assume(one.id != two.id)
    orders = {ranking(hour).ready_key(one) < ranking(hour).ready_key(two) for hour in hours}
    assert len(orders) == 1


@given(st.floats(10, 100), st.lists(st.floats(0, 5000), min_size=2, max_size=8))
def test_who_waits_only_moves_up_and_never_to_the_critical_ones(base: float, hours: list[float]) -> None:
    bead = new(base_priority=base)
    seen = [ranking(hour).effective(bead) for hour in sorted(hours)]
    assert all(before >= after - 1e-5 for before, after in pairwise(seen))
    assert all(effective >= 10 - 1e-5 for effective in seen)


urgent = st.builds(
    lambda base, deadline, temperature, pace: {
        "base_priority": base,
        "deadline": deadline,
        "temperature": temperature,
        "heated_at": at(0),
        "priority_boost_per_minute": pace,
    },
    st.sampled_from([10, 20, 50, 100]),
    st.one_of(st.none(), st.sampled_from([at(-5), at(200)])),
    st.one_of(st.none(), st.just(100)),
    st.one_of(st.none(), st.sampled_from([0, 5, 1000])),
)
uids = st.integers(0, 10**6).map("op-{}".format)
DUE = next(uid for uid in map("op-{}".format, range(1000)) if longest_waiting_is_due(uid))
NOT_DUE = next(uid for uid in map("op-{}".format, range(1000)) if not longest_waiting_is_due(uid))


def taken(uid: str, hours: float, /, *beads: Any, **config: Any) -> str:
    """The bead that a claim with this uid takes."""
    records = {CONFIG_PATH: {"prefix": "hub", **config}}
    context = DecisionContext(START + timedelta(hours=hours), merge([("hub", records[CONFIG_PATH])]), takes_side_refs=True)
    claim = Claim(by="agent:ann", at=at(hours), uid=uid, agent="ann", next=True, new_tokens=["T"])
    return next(iter(claim.decide(MemorySnapshot(beads, records), context).beads))


@given(
    st.lists(st.tuples(urgent, st.floats(0, 200_000)), min_size=1, max_size=6),
    st.floats(0, 9),
    uids,
    st.sampled_from([0, 0.1, 50]),
)
def test_a_critical_bead_is_taken_before_any_backlog(
    backlog: list[tuple[dict[str, Any], float]], base: float, uid: str, pace: float
) -> None:
    """However old, awaited and near its deadline the backlog is (here up to 22 years), and whoever's turn it is."""
    old = [new(f"hub-{number}", -age, **fields) for number, (fields, age) in enumerate(backlog)]
    late = new("hub-z", 1, base_priority=base, priority_boost_per_minute=0)
    assert taken(uid, 1, *old, late, priority_boost_per_minute=pace) == "hub-z"


@given(st.lists(st.tuples(urgent, st.floats(0, 50)), min_size=1, max_size=6), st.floats(51, 90), st.sampled_from([0, 0.1]))
def test_one_claim_in_ten_takes_what_has_waited_longest(
    others: list[tuple[dict[str, Any], float]], age: float, pace: float
) -> None:
    """Whatever lifts the others, and whatever keeps it down: so it waits for a bounded number of claims."""
    newer = [new(f"hub-{number}", -since, **fields) for number, (fields, since) in enumerate(others)]
    oldest = new("hub-old", -age, base_priority=100, priority_boost_per_minute=0)
    assert taken(DUE, 0, *newer, oldest, priority_boost_per_minute=pace) == "hub-old"
    best = next(iter(ready_beads(MemorySnapshot([*newer, oldest], {CONFIG_PATH: {"priority_boost_per_minute": pace}}), START)))
    assert taken(NOT_DUE, 0, *newer, oldest, priority_boost_per_minute=pace) == best.id


def test_about_one_claim_in_ten_is_such_a_turn() -> None:
    turns = sum(longest_waiting_is_due(ulid(number, number.to_bytes(10))) for number in range(10_000))
    assert 900 < turns < 1100


@pytest.mark.parametrize(
    ("limit", "hours", "expected"), [(None, 0.9, "hub-a"), (None, 1.1, "hub-old"), ("9h", 8, "hub-a"), ("9h", 10, "hub-old")]
)
def test_a_bead_gets_its_turn_once_it_starves(limit: str | None, hours: float, expected: str) -> None:
    config = {"starvation_limit": limit} if limit else {}
    assert taken(DUE, hours, new("hub-old", 0, priority=4), new("hub-a", 0.5, priority=1), **config) == expected


# --- what waits for it ------------------------------------------------------------------------


def test_the_longest_chain_that_waits_counts() -> None:
    line = [make_bead(f"hub-{number}", depends_on=[f"hub-{number - 1}"] if number else []) for number in range(8)]
    wide = [make_bead(f"hub-w{number}", depends_on=["hub-6"]) for number in range(20)]
    done = make_bead("hub-done", status="closed", depends_on=["hub-7"])
    snapshot = MemorySnapshot([*line, *wide, done])
    found = chains([bead.id for bead in line], snapshot, 5)
    assert list(found.values()) == [5, 5, 5, 4, 3, 2, 1, 0]
    assert Ranking(snapshot, START).parts(line[0])["critical_path"] == -10
    assert "critical_path" not in Ranking(snapshot, START).parts(line[7]), "what is done waits for nothing"


def test_a_circle_ends_the_count() -> None:
    snapshot = MemorySnapshot([make_bead("hub-a", depends_on=["hub-b"]), make_bead("hub-b", depends_on=["hub-a"])])
    assert chains(["hub-a"], snapshot, 5) == {"hub-a": 5}


def test_what_more_waits_for_is_first_among_equals() -> None:
    beads = [make_bead("hub-a"), make_bead("hub-b"), make_bead("hub-c", depends_on=["hub-b"])]
    assert [bead.id for bead in ready_beads(MemorySnapshot(beads), START)] == ["hub-b", "hub-a"]


# --- the sum ----------------------------------------------------------------------------------


def test_a_temperature_of_100_counts_for_10_points() -> None:
    hot = new(temperature=100, heated_at=at(0))
    assert RANKING.effective(hot) == 40
    assert RANKING.parts(hot) == {"base": 50, "temperature": -10}
    assert RANKING.parts(new(priority=0)) == {"base": 5}


@given(beads)
def test_the_effective_priority_is_the_sum_of_its_parts(bead: Any) -> None:
    assert RANKING.effective(bead) == pytest.approx(sum(RANKING.parts(bead).values()), abs=1e-5)


@given(beads, beads)
def test_the_hotter_of_two_of_one_base_is_listed_first(one: Any, two: Any) -> None:
    two = two.evolve(base_priority=base_priority(one))
    one = one.evolve(base_priority=base_priority(one))
    assume(RANKING.temperature(one) > RANKING.temperature(two) + 1e-9)
    assert RANKING.listed(one) < RANKING.listed(two)


@given(beads, beads)
def test_no_heat_lifts_a_bead_over_one_more_than_ten_points_before_it(one: Any, two: Any) -> None:
    assume(base_priority(one) + 10 < base_priority(two))
    assert RANKING.listed(one) < RANKING.listed(two)


@given(st.lists(beads, unique_by=lambda bead: bead.id, max_size=10), st.floats(0, 48))
def test_time_alone_never_turns_two_warm_beads_of_one_base_around(found: list[Any], hours: float) -> None:
    """All cool by the same part, so the order of equals stays until they are cold."""
    found = [bead.evolve(base_priority=50) for bead in found if RANKING.temperature(bead) >= 1]
    found = [bead for bead in found if instant_of(bead.get("heated_at")) <= START]
    later = Ranking(MemorySnapshot(), START + timedelta(hours=hours))
    for one, two in pairwise(sorted(found, key=RANKING.listed)):
        if RANKING.temperature(one) > RANKING.temperature(two) + 1e-6 and later.temperature(two) > 0:
            assert later.listed(one) < later.listed(two)


# --- what is open again -----------------------------------------------------------------------


DEAD = {"status": "dead_letter", "dead_lettered_at": at(1), "attempts": 3}
BACK = {
    "closed": lambda bead, when: lifecycle.reopened(bead.evolve(status="closed", closed_at=at(1)), when),
    "cancelled": lambda bead, when: lifecycle.reopened(bead.evolve(status="cancelled", closed_at=at(1)), when),
    "dead letter": lambda bead, when: lifecycle.reopened(bead.evolve(**DEAD), when),
    "parked": lambda bead, when: lifecycle.with_status(bead.evolve(status="blocked"), "open", "human:ann", None, when),
    "answered": lambda bead, when: lifecycle.answered(lifecycle.parked_for_human(bead, "which?", START), 60, when),
    "put off": lambda bead, when: lifecycle.undeferred(bead.evolve(status="deferred", defer_until=at(1000)), when),
    "put off, no end": lambda bead, when: lifecycle.with_status(bead.evolve(status="deferred"), "open", "human:ann", None, when),
}


@pytest.mark.parametrize("way", BACK)
def test_what_is_open_again_ages_from_then(way: str) -> None:
    """However long it was made ago: nothing comes back starved."""
    back = BACK[way](new(priority=4), START + timedelta(days=30))
    fresh = new("hub-b", hours=720, priority=4)
    order = ranking(725, back, fresh)
    assert order.effective(back) == pytest.approx(order.effective(fresh))
    assert order.parts(back)["age"] == pytest.approx(-30)


def test_what_is_given_back_keeps_its_age() -> None:
    held = claims.claimed(new(priority=4), {"agent": "ann", "token": "T"}, "ann@hub", START)
    back = lifecycle.released(held, None, START + timedelta(hours=5))
    assert ranking(6, back).parts(back)["age"] == pytest.approx(-36)


def test_what_was_due_again_before_anybody_said_so_ages_from_that() -> None:
    due = new(status="deferred", defer_until=at(2))
    back = lifecycle.undeferred(due, START + timedelta(hours=9))
    order = ranking(10, due, back)
    assert order.parts(back)["age"] == pytest.approx(order.parts(due)["age"]) == pytest.approx(-48)
