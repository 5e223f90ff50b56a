"""The order of work: total, stable, the same everywhere."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bd.policy.priority import BASE_OF_PRIORITY, base_priority, effective_priority, order_key, priority_of_base
from tests.memory import make_bead


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
    assert sorted([two, one], key=order_key) == [one, two]


beads = st.builds(
    lambda number, priority, base, second: make_bead(
        f"hub-{number}",
        priority=priority,
        base_priority=base,
        created_at=f"2026-02-20T09:00:{second:02d}Z",
    ),
    st.integers(0, 10**6),
    st.integers(0, 4),
    st.one_of(st.none(), st.integers(0, 100)),
    st.integers(0, 3),
)


@given(st.lists(beads, unique_by=lambda bead: bead.id, max_size=30), st.randoms(use_true_random=False))
def test_the_order_is_total_and_does_not_depend_on_where_it_starts(found: list[Any], random: Any) -> None:
    keys = [order_key(bead) for bead in found]
    assert len(set(keys)) == len(keys)
    mixed = list(found)
    random.shuffle(mixed)
    ordered = sorted(mixed, key=order_key)
    assert ordered == sorted(found, key=order_key)
    assert [effective_priority(bead) for bead in ordered] == sorted(effective_priority(bead) for bead in found)
