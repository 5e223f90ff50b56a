"""Progress notes: kept in the clone until the attempt ends; the latest are reported in side refs.

The last 20 are stored in the bead by the commit that ends the attempt.
"""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core import times
from bd.core.json_shapes import MAYBE_TEXT, fits

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from bd.store import Clone

LIMIT = 20
TEXT_LIMIT = 1000
_SHAPE = {"at": str, "agent": MAYBE_TEXT, "text": str}


def _name(bead_id: str) -> str:
    return f"progress/{bead_id}.json"


def noted(hub: Clone, agent: str, bead_id: str, text: str) -> dict[str, Any]:
    """Note a line about a bead. Return its part of the agent's record: {progress: [...]}."""
    note = {"at": times.time_text(hub.runtime.now()), "agent": agent, "text": text.strip()[:TEXT_LIMIT]}
    notes = [*kept(hub, bead_id), note][-LIMIT:]
    hub.note_json(_name(bead_id), notes)
    return {"progress": [{"at": one["at"], "bead": bead_id, "text": one["text"]} for one in notes[-3:]]}


def kept(hub: Clone, bead_id: str) -> list[dict[str, Any]]:
    """Return the notes of the current attempt, the oldest first."""
    return [note for note in hub.noted_json(_name(bead_id), list) or () if fits(note, _SHAPE)]


def at_end(hub: Clone, agent: str, bead_id: str, texts: Iterable[str]) -> list[dict[str, Any]]:
    """Return the notes of the attempt that ends now, with these as the last ones."""
    at = times.time_text(hub.runtime.now())
    last = [{"at": at, "agent": agent, "text": text.strip()[:TEXT_LIMIT]} for text in texts]
    return [*kept(hub, bead_id), *last][-LIMIT:]


def forget(hub: Clone, bead_id: str) -> None:
    """Drop the notes of an attempt that has ended: the bead has them."""
    hub.drop_note(_name(bead_id))
