"""The progress notes of an attempt, kept in the bead by whatever ends it.

Who ends its own attempt hands the notes over (`Operation._with_sign`). An end by somebody else, such as a stall, keeps what the
agent has reported beside the branch.
"""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.policy.live_notes import reported_under

if TYPE_CHECKING:
    from typing import Any

    from bd.core.model import Bead, Change, Snapshot


def with_reported_notes(change: Change, snapshot: Snapshot) -> Change:
    """Return the change with the notes that agents have reported on the attempts that it ends, where it hands over no others."""
    kept = {
        bead_id: _kept(snapshot.head(bead_id), after, snapshot) for bead_id, after in change.beads.items() if after is not None
    }
    found = {bead_id: notes for bead_id, notes in kept.items() if notes}
    if not found:
        return change
    beads = {
        bead_id: after.evolve(progress=found[bead_id]) if bead_id in found and after else after
        for bead_id, after in change.beads.items()
    }
    return change.replace(beads=beads)


def _kept(before: Bead | None, after: Bead, snapshot: Snapshot) -> list[dict[str, Any]]:
    """Return what was reported on claims of a bead that are no more; nothing where the bead got notes by this very change."""
    ended = [claim for claim in before.claims if claim.get("token") not in after.tokens] if before else []
    if not ended:
        return []
    there = snapshot.bead(after.id)
    if after.get("progress") != (there.get("progress") if there else None):
        return []
    return [note.as_json() for claim in ended for note in reported_under(claim, after.id, snapshot)]
