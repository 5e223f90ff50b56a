"""What an agent has noted while it worked is in the bead after every ending, and in the next attempt's brief."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.truth import tip_bead

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.running import Clone

pytestmark = pytest.mark.one_in(6)

OWN = {
    "close": ("close", "hub-a", "--reason", "done"),
    "release": ("release", "hub-a", "--reason", "later"),
    "fail": ("fail", "hub-a", "--reason", "crash", "--error", "x"),
    "wait-human": ("wait-human", "hub-a", "--reason", "which?"),
    "spawn": ("spawn", "hub-a", "A part", "--wait"),
    "handoff": ("handoff", "hub-a", "--to", "agent:bob", "--title", "Go on", "--note", "go on"),
}
OF_OTHERS = {
    "release": ("release", "hub-a", "--force", "--reason", "it hangs"),
    "cancel": ("cancel", "hub-a", "--force", "--reason", "not needed"),
    "close": ("close", "hub-a", "--force", "--reason", "done by hand"),
    "fail": ("fail", "hub-a", "--force", "--reason", "crash", "--error", "it is gone"),
    "update": ("update", "hub-a", "--status", "open", "--force", "--reason", "again"),
}


def noted(clone: Clone) -> None:
    clone.here("agent", "add", "ann")
    clone.here("agent", "add", "bob")
    clone.here("create", "Do it", "--id", "hub-a")
    clone.here("claim", "hub-a", "--agent", "ann")
    for text in ("read the parser", "the parser is fine"):
        clone.here("progress", "hub-a", text, "--agent", "ann")


@pytest.mark.parametrize("typed", OWN.values(), ids=OWN)
def test_own_endings_keep_every_note(clone: Callable[[str], Clone], hub: Path, typed: tuple[str, ...]) -> None:
    alice = clone("alice")
    noted(alice)
    alice.here(*typed, "--agent", "ann")
    assert [note["text"] for note in tip_bead(hub, "hub-a").get("progress")] == ["read the parser", "the parser is fine"]


@pytest.mark.parametrize("typed", OF_OTHERS.values(), ids=OF_OTHERS)
def test_endings_by_others_keep_what_was_reported(clone: Callable[[str], Clone], hub: Path, typed: tuple[str, ...]) -> None:
    noted(clone("alice"))
    bob = clone("bob")
    bob.here(*typed)
    bead = tip_bead(hub, "hub-a")
    assert [(note["agent"], note["text"]) for note in bead.get("progress")] == [
        ("ann", "read the parser"),
        ("ann", "the parser is fine"),
    ]
    assert "the parser is fine" in bob.here("brief", "hub-a").out
