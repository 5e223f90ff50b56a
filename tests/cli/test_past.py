"""What was: history, and taking the last write back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.truth import commit_file, git, tip, tip_bead

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.running import Clone


def test_history_tells_who_changed_what_and_when(board: Clone) -> None:
    board.here("release", "hub-work", "--reason", "tired", "--agent", "codemonkey")
    events = board.here("history", "hub-work", "--json").json
    assert [(event["verb"], event["by"], event["at"]) for event in events] == [
        ("create", "Test Person", "2026-02-21T15:07:00Z"),
        ("claim", "codemonkey", "2026-02-21T15:08:00Z"),
        ("release", "codemonkey", "2026-02-21T16:14:00Z"),
    ]
    assert events[1]["changes"]["status"] == {"old": "open", "new": "in_progress"}
    assert events[2]["changes"]["status_reason"] == {"new": "tired"}
    assert "old" not in events[0]["changes"]["title"]
    assert all(len(event["commit"]) == 40 for event in events)
    text = board.here("history", "hub-work", "--limit", "1")
    assert "release" in text.out
    assert "claim  " not in text.out


def test_history_of_hand_edits_and_deleted_beads(board: Clone) -> None:
    text = (board.path / "beads" / "hub-bug.yaml").read_text()
    commit_file(board.path, "beads/hub-bug.yaml", text.replace("priority: 0", "priority: 3"), "by hand")
    board.here("delete", "hub-bug", "--force")
    events = board.here("history", "hub-bug", "--json").json
    assert [event["verb"] for event in events][-2:] == ["by hand", "delete"]
    assert events[-2]["changes"]["priority"] == {"old": 0, "new": 3}


def test_history_as_it_was(board: Clone) -> None:
    assert [event["verb"] for event in board.here("history", "hub-work", "--at", "2026-02-21T15:07:30Z", "--json").json] == [
        "create"
    ]


def test_undo_takes_the_last_write_back(board: Clone) -> None:
    board.here("update", "hub-bug", "--priority", "3", "--title", "Renamed")
    before = tip_bead(board.path, "hub-bug")
    answer = board.here("undo", "--json").json
    after = tip_bead(board.path, "hub-bug")
    assert before is not None
    assert after is not None
    assert (answer[0]["id"], answer[0]["priority"]) == ("hub-bug", 0)
    assert (after.title, after.priority) == ("Fix CORS in the auth middleware", 0)
    assert after.updated_at > before.updated_at
    assert git(board.path, "log", "-1", "--format=%s") == "undo: hub-bug by Test Person"


def test_undo_of_every_kind(board: Clone) -> None:
    def state() -> dict[str, str]:
        found = {}
        for bead in board.here("list", "--all", "--json").json:
            found[bead["id"]] = f"{bead['status']} {bead.get('assignee')} {bead.get('labels')} {bead.get('close_reason')}"
        return found

    before = state()
    for args in (
        ("create", "New"),
        ("close", "hub-bug", "hub-res"),
        ("delete", "hub-kid1", "--force"),
        ("label", "add", "hub-bug", "x"),
        ("cancel", "hub-epic", "--cascade"),
        ("defer", "hub-bug"),
        ("assign", "hub-bug", "bob"),
        ("claim", "hub-bug", "--agent", "bob"),
        ("reopen", "hub-done"),
    ):
        board.here(*args)
        assert state() != before, args
        who = args[args.index("--agent") :] if "--agent" in args else ()
        assert board.here("undo", *who).out.startswith("✓ Taken back: "), args
        assert state() == before, args


def test_an_undone_claim_stays_counted_and_is_forgiven(board: Clone) -> None:
    board.here("claim", "hub-bug", "--agent", "bob")
    assert "is claimed by bob@hub" in board.here("undo", code=5).err  # not anybody's to take back
    board.here("undo", "--agent", "bob")
    bead = tip_bead(board.path, "hub-bug")
    assert bead is not None
    assert bead.claim is None
    assert (bead.attempts, bead.get("attempts_forgiven")) == (1, 1)


def test_undo_is_refused_when_somebody_built_on_it(clone: Callable[[str], Clone], hub: Path) -> None:
    alice, bob = clone("alice"), clone("bob")
    bead_id = alice.here("q", "Shared").out.strip()
    alice.here("update", bead_id, "--priority", "0")
    bob.here("comment", bead_id, "seen")
    before = tip(hub)
    refused = alice.here("undo", "--json", code=5)
    assert refused.json["code"] == "wrong_state"
    assert "was changed since" in refused.err
    assert tip(hub) == before


def test_undo_of_something_else_meanwhile_is_fine(clone: Callable[[str], Clone], hub: Path) -> None:
    alice, bob = clone("alice"), clone("bob")
    bead_id = alice.here("q", "Mine").out.strip()
    alice.here("update", bead_id, "--priority", "0")
    other = bob.here("q", "Another").out.strip()
    alice.here("undo")
    assert tip_bead(hub, bead_id).priority == 2  # type: ignore[union-attr]
    assert tip_bead(hub, other) is not None


def test_undo_twice_is_a_redo(board: Clone) -> None:
    board.here("update", "hub-bug", "--priority", "3")
    board.here("undo")
    board.here("undo")
    assert tip_bead(board.path, "hub-bug").priority == 3  # type: ignore[union-attr]


def test_nothing_to_undo(local_hub: Clone) -> None:
    refused = local_hub.here("undo", "--json", check=False)
    assert refused.code in (4, 5)
    assert refused.err.startswith("Error: ")
    local_hub.here("config", "set", "max_attempts", "5")
    assert "changed no bead" in local_hub.here("undo", code=5).err
