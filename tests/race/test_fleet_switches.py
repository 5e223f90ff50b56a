"""What a whole fleet may do, with real processes and a real hub: pauses, limits, and the one probe of an overloaded agent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from bd.core.schema import CAPACITY_FIELDS
from bd.store.yaml import codec
from tests.race.history import beads_at, most_held, subjects
from tests.race.processes import at_once
from tests.race.seeds import limit, put, seed
from tests.truth import commits, git, tip, tip_file

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.running import Clone

    Clones = Callable[[str], Clone]

pytestmark = pytest.mark.one_in(24)


def capacity_at(hub: Path, commit: str, agent: str) -> dict[str, Any]:
    """An agent's capacity file at a commit; empty where there is none."""
    text = git(hub, "show", f"{commit}:.agent-status/{agent}.yaml", check=False)
    return dict(codec.parse(text.encode(), CAPACITY_FIELDS).fields) if text else {}


def assert_files_repeat_the_claims(hub: Path, agent: str) -> None:
    """At every commit the capacity file names exactly what the agent holds."""
    for commit in commits(hub):
        held = sorted(bead.id for bead in beads_at(hub, commit).values() if bead.claim and bead.claim.agent == agent)
        record = capacity_at(hub, commit, agent)
        assert (record.get("beads", []), record.get("current_tasks", 0)) == (held, len(held)), commit


@pytest.mark.slow
def test_a_paused_fleet_claims_nothing(clone: Clones, hub: Path) -> None:
    chief, *agents = clone("chief"), *(clone(f"a{number}") for number in range(4))
    seed(chief, *(f"hub-n{number}" for number in range(6)))
    for agent in agents:
        agent.bd("claim", "--next", "--agent", agent.path.name)
    chief.bd("pause", "--reason", "moving house", "--agent", "chief")
    paused = tip(hub)
    commands = [(agent.path, ["claim", "--next", "--json", "--agent", agent.path.name]) for agent in agents]
    for result in at_once(commands):
        assert (result.code, result.json["code"], result.json["reason"]) == (3, "agent_busy", "paused")
        assert "moving house" in result.json["error"]
        assert result.json["retry_after_s"] > 0
    assert tip(hub) == paused
    first, *others = agents
    held = first.bd("list", "--assignee", "a0", "--json").json[0]["id"]
    closed = first.bd("close", held, "--reason", "done", "--next", "--agent", "a0")
    assert "the fleet is paused" in closed.err, "what is in work is finished, and no next one begun"
    assert len(subjects(hub, "claim")) == 4
    chief.bd("resume", "--agent", "chief")
    assert [result.code for result in at_once((a.path, ["claim", "--next", "--agent", a.path.name]) for a in others)].count(
        0
    ) == 2


@pytest.mark.slow
def test_two_processes_of_one_agent_never_hold_more_than_it_may_at_any_commit(clone: Clones, hub: Path) -> None:
    """Two clones work under one name with room for two: each takes, finishes and takes the next, all at once."""
    writer, *workers = clone("writer"), clone("w1"), clone("w2")
    limit(writer, "pair", 2)
    seed(writer, *(f"hub-n{number}" for number in range(8)))
    held: dict[str, list[str]] = {worker.path.name: [] for worker in workers}
    for _ in range(3):
        results = at_once((w.path, ["claim", "--next", "--count", "2", "--json", "--agent", "pair"]) for w in workers)
        assert {result.code for result in results} <= {0, 3}
        for worker, result in zip(workers, results, strict=True):
            held[worker.path.name] += [bead["id"] for bead in result.json] if result.code == 0 else []
        assert sum(map(len, held.values())) == 2
        commands = [
            (worker.path, ["close", *held[worker.path.name], "--reason", "done", "--next", "--json", "--agent", "pair"])
            for worker in workers
            if held[worker.path.name]
        ]
        for (path, _), result in zip(commands, at_once(commands), strict=True):
            assert result.code == 0, result
            held[path.name] = [bead["id"] for bead in result.json if bead["status"] == "in_progress"]
        for worker in workers:
            for bead_id in held[worker.path.name]:
                worker.bd("close", bead_id, "--reason", "done", "--agent", "pair")
            held[worker.path.name] = []
        if len(subjects(hub, "close")) >= 6:
            break
    assert most_held(hub, "pair") == 2
    assert_files_repeat_the_claims(hub, "pair")


def test_an_overloaded_agent_tries_one_bead_however_many_processes_ask(clone: Clones, hub: Path) -> None:
    writer, *workers = clone("writer"), *(clone(f"w{number}") for number in range(4))
    limit(writer, "trio", 3)
    seed(writer, *(f"hub-n{number}" for number in range(6)))
    file = writer.path / ".agent-status" / "trio.yaml"
    file.parent.mkdir(exist_ok=True)
    file.write_text("agent: trio\nstatus: overloaded\nrecent: [failed, stalled]\noverloaded_at: 2026-02-21T09:00:00Z\n")
    put(writer, ".agent-status", "failures")
    results = at_once((worker.path, ["claim", "--next", "--json", "--agent", "trio"]) for worker in workers)
    assert sorted(result.code for result in results) == [0, 3, 3, 3], "\n".join(map(str, results))
    assert {result.json["reason"] for result in results if result.code == 3} == {"overloaded"}
    winner = next(worker for worker, result in zip(workers, results, strict=True) if result.code == 0)
    [bead] = next(result.json for result in results if result.code == 0)
    winner.bd("close", bead["id"], "--reason", "done", "--agent", "trio")
    record = capacity_at(hub, tip(hub), "trio")
    assert (record["status"], record["failed_tasks"], record.get("recent")) == ("available", 0, None)
    results = at_once((worker.path, ["claim", "--next", "--agent", "trio"]) for worker in workers)
    assert sorted(result.code for result in results) == [0, 0, 0, 3]
    assert most_held(hub, "trio") == 3
    assert tip_file(hub, ".agent-status/trio.yaml")
