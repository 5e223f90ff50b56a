"""Notes of progress: of the attempt in hand as its agents report them, else of the last one."""

from __future__ import annotations

from typing import Any

from bd.core.schema import capacity_path
from bd.policy.live_notes import last_note, notes_of, reported
from tests.memory import MemoryStore, held, make_bead

T = "2026-02-20T09:00:0"
OLD = {"at": f"{T}0Z", "agent": "ann", "text": "of the attempt before"}


def note(at: int, text: str, bead: str = "hub-a") -> dict[str, Any]:
    return {"at": f"{T}{at}Z", "bead": bead, "text": text}


def store(*notes: dict[str, Any], **fields: Any) -> MemoryStore:
    records = {capacity_path("coder"): {"agent": "coder", "progress": list(notes)}}
    return MemoryStore(held("hub-a", "coder", progress=[OLD], **fields), make_bead("hub-b", progress=[OLD]), records=records)


def test_the_attempt_in_hand_goes_before_the_last_one() -> None:
    snapshot = store(note(1, "half"), note(2, "of another", "hub-c"), note(3, "most")).tip
    bead, other = snapshot.bead("hub-a"), snapshot.bead("hub-b")
    assert bead
    assert other
    assert [one["text"] for one in notes_of(bead, snapshot)] == ["half", "most"]
    assert last_note(bead, snapshot) == "most"
    assert notes_of(other, snapshot) == [OLD]
    assert last_note(other, snapshot) == ""
    assert [(one.bead, one.agent, one.text) for one in reported(snapshot)] == [
        ("hub-a", "coder", "half"),
        ("hub-a", "coder", "most"),
    ]


def test_without_a_note_of_this_attempt_the_last_one_s_are_shown() -> None:
    earlier = {"claim": {"claimed_at": f"{T}5.25Z"}}
    snapshot = store(note(1, "of an earlier claim"), {"bead": "hub-a"}, **earlier).tip
    bead = snapshot.bead("hub-a")
    assert bead
    assert notes_of(bead, snapshot) == [OLD]
    assert reported(store(note(5, "in the same second"), **earlier).tip)
