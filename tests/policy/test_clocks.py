"""Which clocks can be believed: an observer's by what others have just written, a holder's by what it was written onto."""

from __future__ import annotations

from datetime import timedelta

import pytest

from bd.policy import clocks
from bd.policy.clocks import Stamp
from tests.clocks import START

MINUTE = 60.0
HOUR = 3600.0


def stamp(by: str, ago_s: float, after_ago_s: float | None = None) -> Stamp:
    after = None if after_ago_s is None else START - timedelta(seconds=after_ago_s)
    return Stamp(by, START - timedelta(seconds=ago_s), after)


@pytest.mark.parametrize(
    ("stamps", "is_confirmed", "doubted"),
    [
        ([], False, set()),
        ([stamp("me", 0)], False, set()),  # what I wrote myself has my clock's time
        ([stamp("ann", 30 * MINUTE)], True, set()),
        ([stamp("ann", -30 * MINUTE)], True, set()),
        ([stamp("ann", 30 * MINUTE + 1)], False, set()),
        ([stamp("ann", -30 * MINUTE - 1)], False, set()),
        ([stamp("ann", 9 * HOUR), stamp("bob", 60)], True, set()),
        ([stamp("ann", HOUR, 30 * MINUTE)], False, set()),
        ([stamp("ann", HOUR, 30 * MINUTE - 1)], False, {"ann"}),  # dated long before what it follows
        ([stamp("ann", HOUR, 0), stamp("ann", 0)], False, {"ann"}),  # a clock that is not right confirms none
        ([stamp("ann", HOUR, 0), stamp("bob", 0)], True, {"ann"}),
    ],
)
def test_whose_clock_is_believed(stamps: list[Stamp], is_confirmed: bool, doubted: set[str]) -> None:
    found = clocks.judged(stamps, "me", START)
    assert (found.is_confirmed, found.doubted) == (is_confirmed, doubted)
    assert found.trusts("coder") is is_confirmed
    assert not any(found.trusts(name) for name in doubted)
    assert bool(found.words()) is not is_confirmed


def test_a_clock_that_is_not_confirmed_is_named_with_the_closest_stamp_of_others() -> None:
    found = clocks.judged([stamp("me", 0), stamp("ann", 9 * HOUR), stamp("bob", 2 * HOUR)], "me", START)
    assert found.words() == (
        "this machine's clock (2026-02-21T15:00:00Z) and the closest stamp of others on the hub "
        "(2026-02-21T13:00:00Z, by bob) differ by 2h"
    )
    assert "nothing that others wrote" in clocks.judged([], "me", START).words()
