"""Frozen values: made, compared, changed into others."""

from __future__ import annotations

from typing import Any

import pytest

from bd.core.value import Value


class Point(Value):
    x: int
    y: int = 2


class Other(Value):
    x: int
    y: int = 2


def test_fields_are_given_in_order_or_by_name() -> None:
    assert Point(1) == Point(x=1) == Point(1, 2) == Point(y=2, x=1)
    assert (Point(1).x, Point(1).y) == (1, 2)
    assert repr(Point(1)) == "Point(x=1, y=2)"


@pytest.mark.parametrize(("values", "named"), [((), {}), ((1, 2, 3), {}), ((1,), {"z": 3}), ((1,), {"x": 3}), ((), {"z": 3})])
def test_other_fields_are_a_mistake(values: tuple[int, ...], named: dict[str, Any]) -> None:
    with pytest.raises((TypeError, AttributeError)):
        Point(*values, **named)


def test_a_value_is_frozen_and_another_one_is_made_of_it() -> None:
    point = Point(1)
    with pytest.raises(AttributeError):
        point.x = 3  # type: ignore[misc]
    assert (point.replace(y=3), point) == (Point(1, 3), Point(1, 2))
    with pytest.raises(TypeError):
        point.replace(z=1)


def test_equal_values_are_of_one_class() -> None:
    assert Point(1) != Other(1)
    assert len({Point(1), Point(1), Point(2), Other(1)}) == 3
    assert len({Point(1, 3), Point(y=3, x=1), Point(1).replace(y=3)}) == 1


def test_its_fields_are_told_in_their_order() -> None:
    for point in (Point(1), Point(y=3, x=1), Point(1).replace(y=3)):
        assert list(point.as_dict()) == ["x", "y"]
    assert Point(y=3, x=1).as_dict() == {"x": 1, "y": 3}
