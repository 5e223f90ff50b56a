"""`bd undo` walks back through this clone's writes, one each time, and never takes back an undo."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.race.seeds import seed
from tests.truth import all_beads, git

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.running import Clone

pytestmark = pytest.mark.one_in(3)

# What an undo does not bring back: when a bead was changed, and that it was tried.
STAMPS = ("updated_at", "attempts", "attempts_forgiven")
WRITES = [
    ("comment", "hub-a", "one"),
    ("update", "hub-a", "--title", "Other"),
    ("create", "More", "--id", "hub-c", "--deps", "hub-b"),
    ("dep", "add", "hub-a", "hub-b"),
    ("update", "hub-a", "hub-b", "--priority", "0"),
    ("claim", "hub-b", "--agent", "coder"),
    ("comment", "hub-b", "two", "--agent", "coder"),
    ("close", "hub-a", "--force"),
    ("delete", "hub-c", "--force"),
]


def state(clone: Clone) -> dict[str, Any]:
    """Every bead as it is, but for its stamps."""
    return {bead.id: {key: value for key, value in bead.fields.items() if key not in STAMPS} for bead in all_beads(clone.path)}


def assert_same(found: dict[str, Any], wanted: dict[str, Any]) -> None:
    assert found.keys() == wanted.keys()
    for bead, fields in wanted.items():
        assert {key: value for key, value in found[bead].items() if fields.get(key) != value} == {}
        assert found[bead].keys() == fields.keys()


def test_each_undo_takes_back_one_write_more(local_hub: Clone) -> None:
    seed(local_hub, "hub-a", "hub-b")
    states = []
    for words in WRITES:
        states.append(state(local_hub))
        local_hub.here(*words)
    while states:
        local_hub.here("undo", "--agent", "coder")
        assert_same(state(local_hub), states.pop())


def test_a_write_after_some_undos_is_the_next_to_be_taken_back(local_hub: Clone) -> None:
    seed(local_hub, "hub-a", "hub-b")
    before = state(local_hub)
    for words in ("one", "two", "three"):
        local_hub.here("comment", "hub-a", words)
    local_hub.here("undo")
    local_hub.here("undo")
    left = state(local_hub)
    assert [one["text"] for one in left["hub-a"]["comments"]] == ["one"]
    local_hub.here("update", "hub-a", "hub-b", "--title", "New")
    assert local_hub.here("undo").out == "✓ Undone: update: hub-a hub-b by Test Person\n"
    assert state(local_hub) == left
    assert local_hub.here("undo").out.startswith("✓ Undone: comment: hub-a")
    assert state(local_hub) == before


def test_when_everything_is_taken_back_there_is_nothing_left_to_take(clone: Callable[[str], Clone]) -> None:
    ada, bob = clone("ada"), clone("bob")
    ada.here("create", "Do it", "--id", "hub-a")
    bob.here("comment", "hub-a", "by another clone", "--fetch")
    refused = ada.here("undo", code=5)
    assert "was changed since" in refused.err
    bob.here("undo")
    ada.here("create", "And this", "--id", "hub-b")
    ada.here("undo")
    tip = git(ada.path, "rev-parse", "HEAD")
    assert "was changed since" in ada.here("undo", code=5).err, "its own write is no longer the last word on that bead"
    gone = bob.here("undo", code=4)
    assert "every write that it remembers has been undone" in gone.err
    assert git(ada.path, "rev-parse", "HEAD") == tip
