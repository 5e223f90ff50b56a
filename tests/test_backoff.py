"""Waits that grow."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bd.core.backoff import grown_s


def test_a_wait_doubles_up_to_its_longest() -> None:
    assert [grown_s(1.0, failures, 10.0) for failures in (-1, 0, 1, 2, 3, 4, 10**9)] == [1.0, 1.0, 2.0, 4.0, 8.0, 10.0, 10.0]
    assert grown_s(1.0, 2, 10.0, factor=3.0) == 9.0
    assert grown_s(20.0, 0, 10.0) == 10.0


@given(st.floats(0.01, 1e6), st.integers(0, 10**6), st.floats(0.01, 1e6))
def test_it_never_shrinks_and_never_ends_its_bounds(first_s: float, failures: int, longest_s: float) -> None:
    wait_s = grown_s(first_s, failures, longest_s)
    assert min(first_s, longest_s) <= wait_s <= longest_s
    assert wait_s <= grown_s(first_s, failures + 1, longest_s)
