"""Notes while working: kept in the clone until the attempt ends, the latest told beside the branch.

The last 20 ride into the bead in the commit that ends the attempt.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bd.core import times
from bd.core.json_shapes import MAYBE_TEXT, fits

if TYPE_CHECKING:
    from typing import Any

    from bd.store import Clone

LIMIT = 20
TEXT_LIMIT = 1000
_SHAPE = {"at": str, "agent": MAYBE_TEXT, "text": str}


def _name(bead_id: str) -> str:
    return f"progress/{bead_id}.json"


def noted(hub: Clone, agent: str, bead_id: str, text: str) -> dict[str, Any]:
    """Note a line about a bead, and give what the agent's record says of it: {progress: [...]}."""
    note = {"at": times.time_text(hub.runtime.now()), "agent": agent, "text": text.strip()[:TEXT_LIMIT]}
    notes = [*kept(hub, bead_id), note][-LIMIT:]
    hub.note_json(_name(bead_id), notes)
    return {"progress": [{"at": one["at"], "bead": bead_id, "text": one["text"]} for one in notes[-3:]]}


def kept(hub: Clone, bead_id: str) -> list[dict[str, Any]]:
    """The notes of the attempt under way, the oldest first."""
    return [note for note in hub.noted_json(_name(bead_id), list) or () if fits(note, _SHAPE)]


def forget(hub: Clone, bead_id: str) -> None:
    """The attempt has ended: its notes are in the bead."""
    hub.drop_note(_name(bead_id))
