"""Writes at the same time, in clones of their own and in one: none is lost, none is done twice, nobody is sent away."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.race.history import subjects
from tests.race.processes import at_once
from tests.race.seeds import seed
from tests.runtime import RUNTIME
from tests.truth import git, tip, tip_bead, tip_paths

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from bd.core.model import Bead
    from tests.running import Clone

    Clones = Callable[[str], Clone]

pytestmark = pytest.mark.slow  # CI runs them beside the quick ones


def bead_of(repository: Path, bead_id: str) -> Bead:
    found = tip_bead(repository, bead_id)
    assert found is not None
    return found


@pytest.mark.parametrize("shared", [False, True], ids=["two clones", "one clone"])
def test_two_edits_of_one_bead(shared: bool, clone: Clones, hub: Path) -> None:
    alice = clone("alice")
    bob = alice if shared else clone("bob")
    seed(alice, "hub-a")
    edits = [
        (alice.path, ["update", "hub-a", "--status", "blocked", "--reason", "waiting for the key"]),
        (bob.path, ["note", "hub-a", "the key is ordered"]),
    ]
    assert [result.code for result in at_once(edits)] == [0, 0]
    bead = bead_of(hub, "hub-a")
    assert (bead.status, bead.get("status_reason"), bead.get("notes")) == ("blocked", "waiting for the key", "the key is ordered")


@pytest.mark.parametrize("shared", [False, True], ids=["two clones", "one clone"])
def test_two_closes_of_one_bead(shared: bool, clone: Clones, hub: Path) -> None:
    alice = clone("alice")
    bob = alice if shared else clone("bob")
    seed(alice, "hub-a")
    closes = [
        (alice.path, ["close", "hub-a", "--reason", "by alice", "--agent", "alice"]),
        (bob.path, ["close", "hub-a", "--reason", "by bob", "--agent", "bob"]),
    ]
    results = at_once(closes)
    assert [result.code for result in results] == [0, 0]
    [first] = [result for result in results if "already closed" not in result.err]
    bead = bead_of(hub, "hub-a")
    assert bead.get("closed_by") == f"agent:{first.args[-1]}"
    assert bead.get("close_reason") == f"by {first.args[-1]}"
    assert len(subjects(hub, "close")) == 1


def race_of_creates(shared: Clone, repository: Path, count: int) -> None:
    before = len(subjects(repository, "create"))
    results = at_once((shared.path, ["create", f"Part {number}", "--json"]) for number in range(count))
    assert [result.code for result in results] == [0] * count, "\n".join(map(str, results))
    made = {result.json["id"] for result in results}
    assert len(made) == count
    assert {f"beads/{bead_id}.yaml" for bead_id in made} <= set(tip_paths(repository))
    assert len(subjects(repository, "create")) == before + count
    assert git(shared.path, "rev-parse", "HEAD") == tip(repository)
    assert git(shared.path, "status", "--porcelain") == ""


def test_twelve_creates_in_one_clone(clone: Clones, hub: Path) -> None:
    race_of_creates(clone("shared"), hub, 12)


@pytest.mark.slow
def test_thirty_two_creates_in_one_clone(clone: Clones, hub: Path) -> None:
    race_of_creates(clone("shared"), hub, 32)


def test_creates_in_a_hub_without_remote(local_hub: Clone) -> None:
    race_of_creates(local_hub, local_hub.path, 6)


def test_creates_in_several_clones(clone: Clones, hub: Path) -> None:
    clones = [clone(f"c{number}") for number in range(6)]
    results = at_once((each.path, ["create", "The same title", "--json"]) for each in clones)
    assert [result.code for result in results] == [0] * 6
    assert len({result.json["id"] for result in results}) == 6
    assert len([path for path in tip_paths(hub) if path.startswith("beads/")]) == 6


def test_creates_with_one_key_make_one_bead(clone: Clones, hub: Path) -> None:
    clones = [clone(f"c{number}") for number in range(4)]
    results = at_once((each.path, ["create", "Once", "--idempotency-key", "k1", "--json"]) for each in clones)
    assert [result.code for result in results] == [0] * 4
    assert len({result.json["id"] for result in results}) == 1
    assert len([path for path in tip_paths(hub) if path.startswith("beads/")]) == 1


def test_comments_from_several_clones_are_all_there(clone: Clones, hub: Path) -> None:
    clones = [clone(f"c{number}") for number in range(5)]
    seed(clones[0], "hub-a")
    results = at_once((each.path, ["comment", "hub-a", each.path.name]) for each in clones)
    assert [result.code for result in results] == [0] * 5
    assert sorted(comment["text"] for comment in bead_of(hub, "hub-a").comments) == [f"c{number}" for number in range(5)]


def test_two_syncs_of_the_same_hand_edits(clone: Clones, hub: Path) -> None:
    alice = clone("alice")
    seed(alice, "hub-a")
    file = alice.path / "beads" / "hub-a.yaml"
    file.write_text(file.read_text() + "notes: by hand\n")
    (alice.path / "beads" / "hub-new.yaml").write_text("id: hub-new\ntitle: By hand\n")
    results = at_once((alice.path, ["sync", "--json"]) for _ in range(3))
    assert [(result.code, result.json["refused"]) for result in results] == [(0, [])] * 3
    assert bead_of(hub, "hub-a").get("notes") == "by hand"
    assert bead_of(hub, "hub-new").title == "By hand"
    assert len(subjects(hub, "edit")) == 1
    assert git(alice.path, "status", "--porcelain") == ""


def test_a_writer_that_waits_too_long_says_so_and_wrote_nothing(clone: Clones, hub: Path) -> None:
    """The lock goes with its process: there is nothing to remove."""
    from bd.store.local.lock import CloneLock

    shared = clone("shared")
    seed(shared, "hub-a")
    shared.here("list", "--fetch")
    before = tip(hub)
    with CloneLock(str(shared.path / ".git" / "bd" / "lock"), 0, RUNTIME):
        result = shared.bd("claim", "hub-a", "--agent", "coder", "--json", env={"BD_LOCK_TIMEOUT": "0.2"}, code=6)
        assert result.json["code"] == "lock_timeout"
        assert result.json["written"] == "no"
        assert shared.bd("list", "--json").json[0]["id"] == "hub-a"  # reads don't wait
    assert tip(hub) == before
    shared.here("claim", "hub-a", "--agent", "coder")
