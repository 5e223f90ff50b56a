"""The progress notes of a bead: as its agents report them while they work, and from the bead once the attempt has ended. Pure."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from bd.core.model import Bead, Snapshot


class LiveNote(Value):
    """A note that an agent has reported on a bead that it holds."""

    bead: str
    agent: str
    at: str
    text: str

    def as_json(self) -> dict[str, Any]:
        return {"at": self.at, "agent": self.agent, "text": self.text}


def notes_of(bead: Bead, snapshot: Snapshot) -> list[dict[str, Any]]:
    """Return the notes of the attempt in hand as far as they were heard, else those of the last one: {at, agent, text}."""
    live = [note.as_json() for note in reported_on(bead, snapshot)]
    return live or [note for note in bead.get("progress") or [] if isinstance(note, dict)]


def last_note(bead: Bead, snapshot: Snapshot) -> str:
    """Return the latest note of the attempt in hand; "" if there is none."""
    return max(reported_on(bead, snapshot), key=lambda note: note.at, default=LiveNote("", "", "", "")).text


def reported(snapshot: Snapshot) -> list[LiveNote]:
    """Return every note on a bead in progress, the oldest first."""
    return sorted((note for bead in snapshot.claimed() for note in reported_on(bead, snapshot)), key=lambda note: note.at)


def reported_under(claim: Mapping[str, Any], bead_id: str, snapshot: Snapshot) -> Iterator[LiveNote]:
    """Yield what a claim's holder has reported on the bead since it claimed it."""
    agent = str(claim.get("agent") or "")
    since = (claim.get("claimed_at") or "")[: len("2026-01-01T00:00:00")]
    for note in (snapshot.capacity(agent) or {}).get("progress") or ():
        at, text = str(note.get("at") or ""), str(note.get("text") or "")
        if note.get("bead") == bead_id and text and at >= since:
            yield LiveNote(bead_id, agent, at, text)


def reported_on(bead: Bead, snapshot: Snapshot) -> Iterator[LiveNote]:
    """Yield the notes of the attempt in hand."""
    return (note for claim in bead.claims for note in reported_under(claim, bead.id, snapshot))
