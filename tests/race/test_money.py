"""Clones that claim at once together never reserve more than a ceiling or a budget has left."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.race.processes import at_once
from tests.truth import tip_bead

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.running import Clone

    Clones = Callable[[str], Clone]

pytestmark = pytest.mark.one_in(2)


def reserved(hub: Path) -> list[float]:
    beads = [tip_bead(hub, f"hub-p{number}") for number in range(4)]
    return [bead.get("claim")["reserved_usd"] for bead in beads if bead is not None and bead.claim]


def test_two_clones_stay_below_a_dags_ceiling(clone: Clones, hub: Path) -> None:
    writer = clone("writer")
    writer.bd("create", "The DAG", "--id", "hub-root", "--type", "epic", "--needs", "nobody", "--budget-ceiling", "5")
    for number in range(4):
        writer.bd("create", f"Part {number}", "--id", f"hub-p{number}", "--parent", "hub-root", "--max-cost", "2")
    agents = [clone("a0"), clone("a1")]
    results = at_once((agent.path, ["claim", "--next", "--count", "2", "--agent", agent.path.name]) for agent in agents)
    assert {result.code for result in results} <= {0, 3}, "\n".join(map(str, results))
    assert reserved(hub) == [2, 2]
    refused = agents[0].bd("claim", "hub-p3", "--agent", "a9", "--force", code=5)
    assert "hub-root has $1.00 left of $5" in refused.err


def test_two_clones_of_one_agent_stay_within_its_budget(clone: Clones, hub: Path) -> None:
    writer = clone("writer")
    writer.bd("agent", "add", "coder", "--max", "9", "--budget", "5", "--budget-per", "day")
    for number in range(4):
        writer.bd("create", f"Part {number}", "--id", f"hub-p{number}", "--max-cost", "2")
    agents = [clone("a0"), clone("a1")]
    at_once((agent.path, ["claim", "--next", "--count", "2", "--agent", "coder"]) for agent in agents)
    assert reserved(hub) == [2, 2]
    record = agents[0].bd("agent", "status", "coder", "--json").json[0]
    assert record["budget_remaining_usd"] == 1
