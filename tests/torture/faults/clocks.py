"""Clocks that are wrong, by as much as the clocks of a fleet may be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.torture.faults.registry import of_a_history

if TYPE_CHECKING:
    from tests.torture.yard import Yard

WRONG_S = 900


@of_a_history("clocks off by 15 minutes")
def clocks_off(yard: Yard) -> None:
    """One clone ahead, one behind, the others right."""
    names = yard.rng.sample(yard.clones, k=min(2, len(yard.clones)))
    for name, offset_s in zip(names, (WRONG_S, -WRONG_S), strict=False):
        yard.more_env.setdefault(name, {})["BD_TEST_CLOCK_OFFSET_S"] = str(offset_s)
