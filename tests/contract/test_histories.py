"""What every author is told of a write is true, and nothing is lost or done twice, whatever fails on the way."""

from __future__ import annotations

import pytest

from tests.contract.histories import History

SEEDS = 24


@pytest.mark.one_in(2)
@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_history_ends_as_it_was_told(seed: int) -> None:
    History(seed).run()
