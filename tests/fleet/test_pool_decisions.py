"""When the controller of pools looks, and what it tells, as values alone."""

from __future__ import annotations

import pytest

from bd.core.pools import Pool
from bd.pool import decisions
from bd.pool.decisions import Progress


def test_a_pool_is_due_at_once_and_then_after_its_interval() -> None:
    pool = Pool("a", 0, 1).replace(scale_interval_s=20.0)
    assert decisions.rest_s(Progress(), pool, 100.0) == 0.0
    looked = Progress().looked("a", 100.0)
    assert decisions.rest_s(looked, pool, 105.0) == 15.0
    assert decisions.next_round_in_s(looked, [pool], 105.0) == 15.0
    assert decisions.next_round_in_s(looked, [pool], 200.0) == 1.0, "never at once"
    assert decisions.next_round_in_s(looked, [pool, Pool("b", 0, 1)], 105.0) == 1.0
    assert decisions.next_round_in_s(looked, [], 105.0) == 30.0


def test_rounds_that_fail_come_ever_more_rarely() -> None:
    progress, rests = Progress(), []
    for _ in range(12):
        progress = progress.failed("away")
        rests.append(decisions.retry_in_s(progress))
    assert rests[:4] == [2.0, 4.0, 8.0, 16.0]
    assert rests[-1] == 300.0
    assert progress.why == "away"
    assert progress.went_well() == Progress()


def test_everything_that_is_wrong_is_told() -> None:
    assert decisions.trouble("", []) == ""
    assert decisions.trouble("no YAML", ["one", "two"]) == "its agent file can't be read: no YAML; one; two"


@pytest.mark.parametrize(
    ("now", "was_resized", "fails", "keeps"),
    [("", True, 0, False), ("", True, 2, True), ("", False, 0, True), ("wrong", False, 0, False)],
)
def test_trouble_stands_until_a_pool_does_well(now: str, was_resized: bool, fails: int, keeps: bool) -> None:
    assert decisions.keeps_old_trouble(now, was_resized=was_resized, fails=fails) == keeps
