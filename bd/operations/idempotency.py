"""Idempotency keys that outlive their beads: what was made with a key is never made again, even after it is deleted."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.schema import CONFIG_PATH, SPENT_KEYS

if TYPE_CHECKING:
    from bd.core.model import Change, Snapshot


def with_spent(change: Change, snapshot: Snapshot, start: str = "") -> Change:
    """Return the change with the keys of the beads that it deletes kept in the hub's configuration: those with this start."""
    gone = (snapshot.bead(bead_id) for bead_id, bead in change.beads.items() if bead is None)
    keys = {str(bead.get("idempotency_key") or ""): bead.id for bead in gone if bead is not None}
    spent = {key: bead_id for key, bead_id in keys.items() if key and key.startswith(start)}
    if not spent:
        return change
    config = change.records.get(CONFIG_PATH) or snapshot.config()
    kept = {**config, SPENT_KEYS: {**(config.get(SPENT_KEYS) or {}), **spent}}
    return change.replace(records={**change.records, CONFIG_PATH: kept})
