"""Which bead a write hits: never another one than was meant, and of several exactly those that could be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.race.seeds import seed
from tests.truth import commits, tip, tip_bead, tip_paths

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.running import Clone

    Clones = Callable[[str], Clone]

pytestmark = pytest.mark.one_in(4)


def status_of(hub: Path, bead_id: str) -> str:
    bead = tip_bead(hub, bead_id)
    assert bead is not None
    return bead.status


@pytest.mark.parametrize("end", [["close", "--reason", "done"], ["delete", "--force"]], ids=lambda end: end[0])
def test_a_title_used_again_is_another_bead_everywhere(end: list[str], clone: Clones, hub: Path) -> None:
    alice, bob = clone("alice"), clone("bob")
    first = alice.here("create", "Build parser", "--json").json["id"]
    alice.here(end[0], first, *end[1:])
    second = alice.here("create", "Build parser", "--json").json["id"]
    assert first != second
    for each in (alice, bob, clone("carol")):
        each.here("sync")
        assert each.here("show", second, "--json").json[0]["status"] == "open"
    assert (f"beads/{first}.yaml" in tip_paths(hub)) == (end[0] == "close")


def test_an_exact_id_wins_and_a_beginning_must_be_unique(clone: Clones, hub: Path) -> None:
    alice = clone("alice")
    seed(alice, "q-dv7", "q-dv78", "q-xdv7")
    before = tip(hub)
    result = alice.here("close", "q-dv", "--reason", "done", "--json", code=2)
    assert result.json["candidates"] == ["q-dv7", "q-dv78"]
    assert "q-xdv7" not in result.out
    assert tip(hub) == before
    alice.here("close", "q-dv7", "--reason", "done")
    assert [status_of(hub, bead_id) for bead_id in ("q-dv7", "q-dv78", "q-xdv7")] == ["closed", "open", "open"]
    alice.here("reopen", "  q-dv7 ")
    assert status_of(hub, "q-dv7") == "open"
    alice.here("close", "v7", "--reason", "done", code=4)
    alice.here("close", "xdv", "--reason", "done")
    assert status_of(hub, "q-xdv7") == "closed"


def test_of_several_beads_those_that_can_be_are_changed_in_one_commit(clone: Clones, hub: Path) -> None:
    alice = clone("alice")
    seed(alice, "hub-good1", "hub-good2")
    before = len(commits(hub))
    result = alice.here("update", "hub-good1", "hub-bogus", "hub-good2", "--priority", "1", "--json", code=4)
    assert [entry["id"] for entry in result.json] == ["hub-good1", "hub-good2", "hub-bogus"]
    assert "error" in result.json[2]
    assert all("error" not in entry for entry in result.json[:2])
    assert len(commits(hub)) == before + 1
    for bead_id in ("hub-good1", "hub-good2"):
        bead = tip_bead(hub, bead_id)
        assert bead is not None
        assert bead.priority == 1


def test_when_none_of_several_can_be_nothing_is_written(clone: Clones, hub: Path) -> None:
    alice = clone("alice")
    seed(alice, "hub-a")
    before = tip(hub)
    alice.here("update", "hub-x", "hub-y", "--priority", "1", code=4)
    assert tip(hub) == before


def test_what_is_no_id_is_a_mistake_in_the_call(clone: Clones, hub: Path) -> None:
    alice = clone("alice")
    seed(alice, "hub-good1")
    before = tip(hub)
    assert "'a=1' is not an id" in alice.here("update", "hub-good1", "a=1", "b=2", "--priority", "1", code=2).err
    assert tip(hub) == before


def test_a_bead_named_twice_is_changed_once(clone: Clones, hub: Path) -> None:
    alice = clone("alice")
    seed(alice, "hub-abc")
    alice.here("note", "hub-abc", "once")
    shown = alice.here("update", "hub-abc", "abc", "hub-ab", "--append-notes", "twice", "--json").json
    assert [bead["id"] for bead in shown] == ["hub-abc"]
    bead = tip_bead(hub, "hub-abc")
    assert bead is not None
    assert bead.get("notes") == "once\ntwice"
