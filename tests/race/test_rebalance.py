"""Rebalancers on a real hub: one cycle does what the source says, and any number of them at once do no harm."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from bd.store.hub_location import locate
from bd.worker.stealing import steal
from tests.race.history import subjects
from tests.race.processes import at_once
from tests.race.seeds import seed
from tests.runtime import RUNTIME, open_clone
from tests.truth import all_beads, tip, tip_bead

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.race.interleaving import Interleaving
    from tests.running import Clone

    Clones = Callable[[str], Clone]

pytestmark = pytest.mark.one_in(6)

EARLIER = {"BD_TEST_CLOCK_OFFSET_S": "-240"}


@pytest.fixture
def fleet(clone: Clones) -> Clone:
    """Twelve beads wait for iris; loom looked four minutes ago, found nothing, and said so."""
    ada = clone("ada")
    for name in ("iris", "loom"):
        ada.bd("agent", "add", name)
    seed(ada, *(f"hub-n{number:02}" for number in range(12)), assignee="iris")
    assert ada.bd("poll", "--agent", "loom", env=EARLIER, code=3).out.startswith("No work for loom")
    return ada


def test_one_cycle_gives_the_idle_agent_three_of_the_twelve(fleet: Clone, hub: Path) -> None:
    before = tip(hub)
    dry = fleet.bd("rebalance", "--dry-run", "--json").json
    assert [(move["from"], move["to"]) for move in dry] == [("iris", "loom")] * 3
    assert tip(hub) == before
    record = next(one for one in fleet.bd("agent", "status", "--json").json if one["agent"] == "loom")
    assert (record["idle"], record["pending_count"]) == (True, 0)
    assert record["idle_since"]
    moved = fleet.bd("rebalance", "--json").json
    assert {bead["id"] for bead in moved} == {move["id"] for move in dry}
    assert subjects(hub, "rebalance") == ["rebalance: 3 beads by Test Person"], "one commit for a cycle"
    assert fleet.bd("claim", "--next", "--agent", "loom", "--json").json[0]["id"] in {bead["id"] for bead in moved}
    assert "nothing to move" in fleet.bd("rebalance").err
    table = fleet.bd("rebalance", "status").out
    assert "loom holds 1 of 1 beads" in table
    assert "nobody is idle" in table


def test_rebalancers_at_once_move_as_much_as_one(fleet: Clone, clone: Clones, hub: Path) -> None:
    others = [clone(f"r{number}") for number in range(3)]
    results = at_once((one.path, ["rebalance", "--json"]) for one in (fleet, *others))
    assert [result.code for result in results] == [0] * 4, results
    assert sorted(len(result.json) for result in results) == [0, 0, 0, 3]
    taken = [bead for bead in all_beads(hub) if bead.assignee == "loom"]
    assert len(taken) == 3
    assert all(bead.get("metadata")["stolen_from"] == "iris" for bead in taken)
    assert len(subjects(hub, "rebalance")) == 1


def test_a_bead_that_is_claimed_meanwhile_is_not_moved(fleet: Clone, clone: Clones, hub: Path, steps: Interleaving) -> None:
    iris = clone("iris")
    [first, *_] = [move["id"] for move in fleet.bd("rebalance", "--dry-run", "--json").json]
    steps.at("push", lambda: iris.bd("claim", first, "--agent", "iris"))
    moved = [bead["id"] for bead in fleet.here("rebalance", "--json").json]
    assert first not in moved
    assert len(moved) == 3, "decided again, another one took its place"
    assert tip_bead(hub, first).assignee == "iris"


def test_a_loop_goes_round_every_five_minutes(local_hub: Clone, monkeypatch: pytest.MonkeyPatch) -> None:
    local_hub.here("agent", "add", "iris")
    local_hub.here("agent", "add", "loom")
    local_hub.here("poll", "--agent", "loom", env=EARLIER, code=3)
    pauses: list[float] = []

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 2:
            raise KeyboardInterrupt
        seed(local_hub, *(f"hub-n{number:02}" for number in range(12)), assignee="iris")

    monkeypatch.setattr(RUNTIME, "sleep", sleep)
    looped = local_hub.here("rebalance", "--loop", code=130)
    assert pauses == [300.0, 300.0]
    assert looped.out.count("from iris to loom") == 3, "they waited when it looked for the second time"


def test_an_agent_that_finds_nothing_steals_at_once_where_the_hub_allows_it(fleet: Clone, hub: Path) -> None:
    """Nobody rebalances, and it has not been idle: spark never looked before."""
    fleet.here("agent", "add", "spark")
    assert fleet.here("poll", "--agent", "spark", "--json", code=3).json["reason"] == "nothing_fits"
    assert subjects(hub, "rebalance") == []
    fleet.here("config", "set", "stealing.on_poll", "true")
    polled = fleet.here("poll", "--agent", "spark", "--json").json
    assert (len(polled["stolen"]), polled["ready"], polled["empty_cycles"]) == (3, 3, 0)
    assert subjects(hub, "rebalance") == ["rebalance: 3 beads by spark"]
    assert "stolen" not in fleet.here("poll", "--agent", "spark", "--json").json, "it has work of its own now"
    worked = fleet.bd("work", "--agent", "loom", "--once", "--", "true")
    assert "from the queues of others" in worked.err
    waiting = [bead.assignee for bead in all_beads(hub) if bead.status == "open"]
    assert (waiting.count("iris"), waiting.count("spark")) == (5, 3), "iris keeps what is no overload"


def test_an_agent_takes_over_nothing_that_it_would_never_begin(clone: Clones, hub: Path) -> None:
    """Beads about a code repository that is not trusted in this clone would wait in its queue, and more with each poll."""
    ada = clone("ada")
    for name in ("iris", "spark"):
        ada.here("agent", "add", name)
    ada.here("config", "set", "stealing.on_poll", "true")
    seed(ada, *(f"hub-n{number:02}" for number in range(12)), assignee="iris", repo="relay")
    with closing(open_clone(locate(str(ada.path)))) as opened:
        before = tip(hub)
        assert steal(opened, "spark", ["relay"]) == ()
        assert tip(hub) == before
        assert len(steal(opened, "spark", ["other"])) == 3
