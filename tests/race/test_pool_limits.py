"""What the members of a pool may hold together, with real processes: at no commit more, and no longer than they live."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.race.history import assert_one_owner, states, subjects
from tests.race.processes import at_once
from tests.race.seeds import put, seed
from tests.truth import all_beads, git

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.race.interleaving import Interleaving
    from tests.running import Clone

    Clones = Callable[[str], Clone]

pytestmark = pytest.mark.one_in(3)


def limit_pool(writer: Clone, members: int, claims: int) -> list[str]:
    """A pool of workers that together may hold so many beads; the members' names."""
    file = writer.path / ".beads" / "agents" / "worker.yaml"
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"name: worker\npool: {{max: {members}, max_claims: {claims}}}\n", encoding="utf-8")
    put(writer, ".beads/agents", "pool")
    return [f"worker-{number}" for number in range(1, members + 1)]


def most_claims(hub: Path) -> int:
    """The most beads that were claimed at one commit."""
    return max(sum(1 for bead in state.values() if bead.claim) for state in states(hub))


def race_for_a_place(clone: Clones, hub: Path, rounds: int) -> None:
    """Six members want one of five beads each, and two may have one."""
    writer = clone("writer")
    names = limit_pool(writer, 6, 2)
    clones = [clone(name) for name in names]
    for turn in range(rounds):
        git(writer.path, "pull", "--quiet")
        seed(writer, *(f"hub-r{turn}n{number}" for number in range(5)))
        results = at_once((one.path, ["claim", "--next", "--json", "--agent", one.path.name]) for one in clones)
        assert sorted(result.code for result in results) == [0, 0, 3, 3, 3, 3], "\n".join(map(str, results))
        for one, result in zip(clones, results, strict=True):
            if result.code == 3:
                assert (result.json["code"], result.json["reason"]) == ("agent_busy", "pool_full")
            else:
                one.bd("close", result.json[0]["id"], "--reason", "done", "--agent", one.path.name)
    assert most_claims(hub) == 2
    assert_one_owner(hub)


@pytest.mark.slow
def test_the_members_of_a_pool_never_hold_more_than_it_may_together(clone: Clones, hub: Path) -> None:
    race_for_a_place(clone, hub, rounds=2)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(3))
def test_the_members_of_a_pool_never_hold_more_than_it_may_together_in_thirty_rounds(clone: Clones, hub: Path, part: int) -> None:
    race_for_a_place(clone, hub, rounds=10)


def test_places_that_dead_members_have_are_free_again_by_anybodys_poll(clone: Clones, hub: Path) -> None:
    first, second, third = clone("first"), clone("second"), clone("third")
    limit_pool(first, 3, 2)
    beads = seed(first, "hub-a", "hub-b", "hub-c")
    first.bd("claim", "hub-a", "--agent", "worker-1", "--reserve")
    second.bd("claim", "hub-b", "--agent", "worker-2", "--reserve")
    full = third.bd("claim", "--next", "--agent", "worker-3", "--json", code=3)
    assert full.json["reason"] == "pool_full"
    much_later = {"BD_TEST_CLOCK_OFFSET_S": "7200"}
    first.here("comment", "hub-c", "confirms the clock of who polls", env=much_later)
    poll = third.bd("poll", "--agent", "worker-3", "--json", env=much_later).json
    assert sorted(poll["freed"]) == ["hub-a", "hub-b"]
    assert poll["ready"] > 0
    assert len(subjects(hub, "reassign")) == 1
    assert third.bd("claim", "--next", "--agent", "worker-3", "--json", env=much_later).json[0]["id"] in beads
    failures = {bead.id: [one["reason"] for one in bead.get("failures") or []] for bead in all_beads(hub)}
    assert failures == {"hub-a": ["stalled"], "hub-b": ["stalled"], "hub-c": []}
    assert most_claims(hub) == 2


def test_a_full_pool_frees_what_its_dead_members_hold_by_the_claim_itself(clone: Clones, hub: Path) -> None:
    first, third = clone("first"), clone("third")
    limit_pool(first, 3, 1)
    seed(first, "hub-a", "hub-c")
    first.bd("claim", "hub-a", "--agent", "worker-1", "--reserve")
    assert third.bd("claim", "--next", "--agent", "worker-3", "--json", code=3).json["reason"] == "pool_full"
    much_later = {"BD_TEST_CLOCK_OFFSET_S": "7200"}
    first.here("comment", "hub-c", "confirms the clock of who claims", env=much_later)
    taken = third.bd("claim", "--next", "--agent", "worker-3", "--json", env=much_later).json
    assert [bead["id"] for bead in taken] == ["hub-c"]


def test_what_is_started_as_a_drain_begins_knows_it_from_its_start(
    clone: Clones, hub: Path, tmp_path: Path, steps: Interleaving, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The drain comes between the claim and its command: the bead is in hand and is finished, and it is the last."""
    worker = clone("worker")
    seed(worker, "hub-a", "hub-b")
    drain, said = tmp_path / "drain", tmp_path / "said"
    monkeypatch.setenv("BD_DRAIN_FILE", str(drain))
    steps.at("pushed", drain.touch)
    worker.here("work", "--agent", "coder", "--", "sh", "-c", f'echo "$BD_DRAIN_FILE ${{BD_DRAIN-none}}" >> {said}')
    assert said.read_text().split() == [str(drain), "1"]
    assert sorted(bead.status for bead in all_beads(hub)) == ["closed", "open"]
    assert not [bead for bead in all_beads(hub) if bead.claim]
