"""Many agents claim at once: every bead goes to exactly one of them, and nobody is sent away while there is work."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.race.history import most_held, subjects
from tests.race.processes import at_once
from tests.race.seeds import limit, seed
from tests.truth import git, tip_bead

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.running import Clone, Result

    Clones = Callable[[str], Clone]

pytestmark = pytest.mark.slow  # CI runs them beside the quick ones


def fleet(clone: Clones, size: int) -> list[Clone]:
    """Clones of agents a0, a1 ..., each of which has fetched."""
    return [clone(f"a{number}") for number in range(size)]


def check_one_winner(results: list[Result], hub: Path, bead_id: str) -> None:
    winners = [result for result in results if result.code == 0]
    assert len(winners) == 1, "\n".join(map(str, results))
    assert {result.code for result in results} == {0, 5}
    for result in results:
        if result.code == 5:
            assert "already claimed by" in result.err
            assert result.out == ""
    won = tip_bead(hub, bead_id)
    assert won is not None
    assert won.claim is not None
    assert won.claim.agent == winners[0].args[-1]
    assert won.attempts == 1


def race_for_one(clone: Clones, hub: Path, rounds: int) -> None:
    writer, *agents = clone("writer"), *fleet(clone, 8)
    names = seed(writer, *(f"hub-r{number}" for number in range(rounds)))
    for agent in agents:
        agent.bd("list", "--fetch")
    for bead_id in names:
        results = at_once((agent.path, ["claim", bead_id, "--agent", agent.path.name]) for agent in agents)
        check_one_winner(results, hub, bead_id)
    assert len(subjects(hub, "claim")) == rounds


def test_of_eight_clones_that_claim_one_bead_exactly_one_wins(clone: Clones, hub: Path) -> None:
    race_for_one(clone, hub, rounds=2)


@pytest.mark.slow
def test_of_eight_clones_that_claim_one_bead_exactly_one_wins_each_time(clone: Clones, hub: Path) -> None:
    race_for_one(clone, hub, rounds=50)


def test_of_eight_processes_in_one_clone_exactly_one_wins(clone: Clones, hub: Path) -> None:
    shared = clone("shared")
    [bead_id] = seed(shared, "hub-one")
    results = at_once((shared.path, ["claim", bead_id, "--agent", f"a{number}"]) for number in range(8))
    check_one_winner(results, hub, bead_id)
    assert len(subjects(hub, "claim")) == 1


def race_for_the_next(clone: Clones, hub: Path, count: int) -> None:
    writer, *agents = clone("writer"), *fleet(clone, count)
    names = seed(writer, *(f"hub-n{number}" for number in range(count)))
    results = at_once((agent.path, ["claim", "--next", "--json", "--agent", agent.path.name]) for agent in agents)
    assert [result.code for result in results] == [0] * count, "\n".join(map(str, results))
    won = {result.json[0]["id"]: result.args[-1] for result in results}
    assert sorted(won) == sorted(names)
    for bead_id, name in won.items():
        held = tip_bead(hub, bead_id)
        assert held is not None
        assert held.claim is not None
        assert held.claim.agent == name
    assert len(subjects(hub, "claim")) == count


def test_eight_agents_get_eight_beads(clone: Clones, hub: Path) -> None:
    race_for_the_next(clone, hub, 8)


@pytest.mark.slow
def test_sixteen_agents_get_sixteen_beads(clone: Clones, hub: Path) -> None:
    race_for_the_next(clone, hub, 16)


def test_with_fewer_beads_than_agents_the_others_hear_that_there_is_none(clone: Clones, hub: Path) -> None:
    writer, *agents = clone("writer"), *fleet(clone, 5)
    seed(writer, "hub-a", "hub-b", "hub-c")
    results = at_once((agent.path, ["claim", "--next", "--agent", agent.path.name]) for agent in agents)
    assert sorted(result.code for result in results) == [0, 0, 0, 3, 3]
    assert len({result.out.split()[2] for result in results if result.code == 0}) == 3


def test_an_agent_with_room_for_one_never_holds_two_whatever_its_processes_do(clone: Clones, hub: Path) -> None:
    shared = clone("shared")
    limit(shared, "solo", 1)
    seed(shared, *(f"hub-n{number}" for number in range(6)))
    results = at_once((shared.path, ["claim", "--next", "--agent", "solo"]) for _ in range(6))
    assert sorted(result.code for result in results) == [0, 3, 3, 3, 3, 3], "\n".join(map(str, results))
    assert most_held(hub, "solo") == 1


def race_with_limit(clone: Clones, hub: Path, rounds: int) -> None:
    """Six clones work under one name that may hold two beads."""
    writer, *agents = clone("writer"), *fleet(clone, 6)
    limit(writer, "pair", 2)
    for turn in range(rounds):
        git(writer.path, "pull", "--quiet")
        seed(writer, *(f"hub-r{turn}n{number}" for number in range(5)))
        results = at_once((agent.path, ["claim", "--next", "--json", "--agent", "pair"]) for agent in agents)
        assert sorted(result.code for result in results) == [0, 0, 3, 3, 3, 3], "\n".join(map(str, results))
        for result in results:
            if result.code == 3:
                assert result.json["code"] == "agent_busy"
            else:
                token = result.json[0]["claim"]["token"]
                writer.bd("close", result.json[0]["id"], "--agent", "pair", env={"BD_TOKEN": token})
    assert most_held(hub, "pair") == 2


def test_a_name_with_room_for_two_never_holds_three_from_six_clones(clone: Clones, hub: Path) -> None:
    race_with_limit(clone, hub, rounds=1)


@pytest.mark.slow
def test_a_name_with_room_for_two_never_holds_three_in_thirty_rounds(clone: Clones, hub: Path) -> None:
    race_with_limit(clone, hub, rounds=30)


def test_beads_that_exclude_each_other_are_never_claimed_together(clone: Clones, hub: Path) -> None:
    writer, *agents = clone("writer"), *fleet(clone, 4)
    seed(writer, "hub-a", "hub-b", "hub-c", "hub-d", exclusive="repo:site")
    results = at_once((agent.path, ["claim", "--next", "--agent", agent.path.name]) for agent in agents)
    assert sorted(result.code for result in results) == [0, 3, 3, 3], "\n".join(map(str, results))


def test_claims_of_several_beads_at_once_share_them_out(clone: Clones, hub: Path) -> None:
    writer, *agents = clone("writer"), *fleet(clone, 3)
    names = seed(writer, *(f"hub-n{number}" for number in range(6)))
    results = at_once((a.path, ["claim", "--next", "--count", "2", "--json", "--agent", a.path.name]) for a in agents)
    assert [result.code for result in results] == [0, 0, 0]
    won = [bead["id"] for result in results for bead in result.json]
    assert sorted(won) == sorted(names)
    assert len(subjects(hub, "claim")) == 3
