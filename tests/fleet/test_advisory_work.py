"""Workers at advisory beads: each under a claim of its own, which counts for as long as the work takes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from bd.core.times import instant_of
from tests.clocks import bd_ahead, move_ahead
from tests.fleet.test_work import make, start
from tests.truth import git, tip_bead
from tests.waiting import PATIENCE_S, until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.running import Clone

    Clones = Callable[[str], Clone]

pytestmark = pytest.mark.one_in(9)


def holders(hub: Path) -> list[str]:
    bead = tip_bead(hub, "hub-a")
    return bead.holders if bead else []


def test_a_worker_drains_an_advisory_hub(clone: Clones, hub: Path) -> None:
    alice = clone("alice")
    make(alice, "hub-a", "hub-b")
    alice.bd("config", "set", "claim_mode", "advisory")
    done = alice.bd("work", "--agent", "coder", "--once", "--json", "--", "sh", "-c", "echo did $BD_BEAD_ID").json
    assert [(one["id"], one["outcome"]) for one in done] == [("hub-a", "done"), ("hub-b", "done")]
    bead = tip_bead(hub, "hub-a")
    assert bead is not None
    assert (bead.status, bead.get("claim_mode"), bead.claims) == ("closed", "advisory", [])
    assert git(hub, "for-each-ref", "refs/bd/claims") == ""


def test_two_workers_are_at_one_bead_until_one_has_done_it(clone: Clones, hub: Path, tmp_path: Path) -> None:
    alice, bob = clone("alice"), clone("bob")
    make(alice, "hub-a")
    alice.bd("config", "set", "claim_mode", "advisory")
    slow = start(alice, "--agent", "ann", "--max-tasks", "1", "--json", "--", "sleep", "86400", log=tmp_path / "log")
    until(lambda: holders(hub) == ["ann"])
    [quick] = bob.bd("work", "--agent", "ben", "--max-tasks", "1", "--json", "--", "true").json
    assert quick["outcome"] == "done"
    out, _ = slow.communicate(timeout=PATIENCE_S)
    assert [one["outcome"] for one in json.loads(out)] == ["lost"], "its claim ended with the close"


def test_a_claim_is_renewed_while_its_work_goes_on(clone: Clones, hub: Path, tmp_path: Path) -> None:
    """The worker's clocks stand half-way to the claim's end when the test says so, and not when the machine is slow."""
    alice, bob = clone("alice"), clone("bob")
    make(alice, "hub-a")
    alice.bd("update", "hub-a", "--claim-mode", "advisory", "--expected", "2h")
    ahead, begun, go = tmp_path / "ahead", tmp_path / "begun", tmp_path / "go"
    script = f"touch {begun}; while [ ! -e {go} ]; do sleep 0.1; done"
    words = ("--agent", "ann", "--max-tasks", "1", "--json", "--", "sh", "-c", script)
    worker = start(alice, *words, log=tmp_path / "log", bd=bd_ahead(ahead))
    until(begun.exists)  # from here on the worker counts the time to the next renewal
    assert holders(hub) == ["ann"]
    first = tip_bead(hub, "hub-a").claims[0]
    span_s = (instant_of(first["expires_at"]) - instant_of(first["started_at"])).total_seconds()
    move_ahead(ahead, span_s / 2 + 60)
    until(lambda: tip_bead(hub, "hub-a").claims[0]["expires_at"] > first["expires_at"])
    [later] = tip_bead(hub, "hub-a").claims
    assert (instant_of(later["expires_at"]) - instant_of(first["expires_at"])).total_seconds() >= span_s / 2
    bob.bd("claim", "hub-a", "--agent", "ben")
    go.touch()
    out, _ = worker.communicate(timeout=PATIENCE_S)
    assert [one["outcome"] for one in json.loads(out)] == ["done"]
    assert tip_bead(hub, "hub-a").attempts_counted == 0


def test_a_sign_by_hand_renews_it_half_way(clone: Clones, hub: Path) -> None:
    alice = clone("alice")
    make(alice, "hub-a")
    alice.bd("update", "hub-a", "--claim-mode", "advisory", "--expected", "10m")
    alice.bd("claim", "hub-a", "--agent", "ann")
    first = tip_bead(hub, "hub-a").claims[0]
    alice.bd("heartbeat", "--agent", "ann")
    assert tip_bead(hub, "hub-a").claims == [first], "not half-way yet"
    alice.bd("heartbeat", "--agent", "ann", env={"BD_TEST_CLOCK_OFFSET_S": "660"})
    [later] = tip_bead(hub, "hub-a").claims
    assert (instant_of(later["expires_at"]) - instant_of(first["expires_at"])).total_seconds() >= 600
    assert later["token"] == first["token"]


def test_an_agent_that_leaves_gives_back_its_own_claims_only(clone: Clones, hub: Path) -> None:
    alice = clone("alice")
    make(alice, "hub-a")
    alice.bd("config", "set", "claim_mode", "advisory")
    for name in ("ann", "ben"):
        alice.here("agent", "add", name)
        alice.bd("claim", "hub-a", "--agent", name)
    alice.here("agent", "remove", "ann", "--release")
    assert holders(hub) == ["ben"]
