"""While a provider is away its account rests, and nothing else is different: fleets in memory, on a virtual clock."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from bd.core.pools import Pool
from bd.policy.capacity import is_overloaded
from bd.policy.scaling import Memory, demand, planned
from bd.report.attention import gather
from bd.simulation.machine import START
from tests.histories.outages import INTERVAL_S, Fleet

if TYPE_CHECKING:
    from bd.core.model import Snapshot

pytestmark = pytest.mark.one_in(6)

AWAY_S = 600.0


def size_of(pool: Pool, snapshot: Snapshot, at_s: float) -> int:
    """How many members a controller would start now, where none is running."""
    now = START + timedelta(seconds=at_s)
    return len(planned(pool, demand(pool, snapshot, now), [], Memory(), snapshot, now, at_s).start)


@pytest.mark.parametrize("kind", ["rate_limit", "overloaded", "provider_error"])
@pytest.mark.parametrize("apart_s", [20.0, 100.0])
def test_six_agents_of_one_account_and_a_provider_that_is_away_for_ten_minutes(kind: str, apart_s: float) -> None:
    fleet = Fleet({"red": 6}, 8, away="red", from_s=0.0, until_s=AWAY_S, kind=kind)
    fleet.run(AWAY_S, apart_s=apart_s)
    assert 2 <= sum(one.what == "claim" for one in fleet.done) <= 5
    assert len(fleet.commits()) <= 12
    during = fleet.snapshot()
    found = gather(during, [], [], [], START + timedelta(seconds=AWAY_S))
    assert [(one["account"], one["reason"]) for one in found.outages] == [("red", kind)]
    assert found.total == 1, "one line for the outage, and no bead"
    assert [bead.status for bead in during.every()].count("open") >= 7
    fleet.events.run(AWAY_S + INTERVAL_S)
    after = fleet.snapshot()
    for bead in after.wholes([bead.id for bead in after.every()]):
        assert (bead.status, bead.attempts_counted, bead.get("poison_pill")) == ("closed", 1, None)
    assert gather(after, [], [], [], START + timedelta(seconds=AWAY_S + INTERVAL_S)).total == 0
    assert not any(is_overloaded(name, after) for name, _ in fleet.agents)


def test_agents_that_all_work_when_it_goes_away() -> None:
    fleet = Fleet({"red": 6}, 8, away="red", from_s=3.0, until_s=3.0 + AWAY_S, kind="rate_limit")
    fleet.run(3.0 + AWAY_S, apart_s=0.3)
    claims = [one.at_s for one in fleet.done if one.what == "claim"]
    assert sum(at > 60 for at in claims) <= 4, "what is tried once it is known"
    assert len([at for at, subject in fleet.commits() if at > 60]) <= 8
    fleet.events.run(3.0 + AWAY_S + INTERVAL_S)
    assert {bead.status for bead in fleet.snapshot().every()} == {"closed"}


def test_another_account_goes_on_as_if_nothing_had_happened() -> None:
    def blue(*, away: bool) -> list[tuple[float, str]]:
        fleet = Fleet({"red": 3, "blue": 2}, 40, away="red", from_s=0.0, until_s=AWAY_S if away else 0.0, kind="rate_limit")
        fleet.run(AWAY_S, apart_s=20.0)
        return [(round(one.at_s, -1), one.what) for one in fleet.done if one.agent.startswith("blue")]

    busy, alone = blue(away=True), blue(away=False)
    assert len(busy) == len(alone) > 20
    assert {what for _, what in busy} == {"claim", "close"}


def test_a_pool_starts_nobody_on_an_account_that_rests_and_one_member_after_it() -> None:
    fleet = Fleet({"red": 1}, 8, away="red", from_s=0.0, until_s=AWAY_S, kind="rate_limit")
    fleet.run(30.0, apart_s=0.0)
    snapshot, pool = fleet.snapshot(), Pool("red-0", 0, 3)
    assert size_of(pool, snapshot, 30.0) == 0
    assert size_of(pool, snapshot, 75.0) == 1, "the first rest is over, and nobody has tried"
    assert size_of(Pool("other", 0, 3), snapshot, 30.0) == 3


def test_the_longer_an_outage_lasts_the_less_often_it_is_tried() -> None:
    fleet = Fleet({"red": 6}, 8, away="red", from_s=0.0, until_s=86400.0, kind="provider_error")
    fleet.run(86400.0, apart_s=20.0)
    tries = sum(one.what == "claim" for one in fleet.done)
    assert 24 <= tries <= 56, "at the latest every half an hour"
    bead = fleet.snapshot().bead(fleet.done[-1].bead)
    assert bead is not None
    assert len(bead.get("failures")) == 1, "a day of it is one entry"
    assert bead.get("failures")[0]["times"] == bead.attempts > 20
