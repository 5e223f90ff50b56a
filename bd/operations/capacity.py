"""An agent's capacity file, computed from the live claims of a snapshot.

Whoever changes a claim rewrites its owner's file in the same commit: `with_capacity` adds
that to a change. The file only repeats what the claims say; nothing decides by it.
"""

from __future__ import annotations

from bd import __version__
from bd.clock import time_text
from bd.fields import capacity_path
from bd.model import Overlay
from bd.policy.fit import held_by

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime
    from typing import Any

    from bd.model import Change, Snapshot

KEPT_STATUSES = frozenset({"draining", "offline", "overloaded"})


def capacity_of(name: str, snapshot: Snapshot, at: datetime, *, sign_of_life: bool) -> dict[str, Any]:
    """The capacity fields of an agent as the snapshot's claims have them; `at` is stamped only as a sign of life."""
    before: Mapping[str, Any] = snapshot.capacity(name) or {}
    agent = snapshot.agent(name) or {}
    held = [bead.id for bead in held_by(name, snapshot)]
    limit = agent.get("max_concurrent", before.get("max_concurrent", 1))
    status = before.get("status", "available")
    if status not in KEPT_STATUSES:
        status = "busy" if len(held) >= limit else "available"
    fields: dict[str, Any] = {
        **before,
        "agent": name,
        "status": status,
        "current_tasks": len(held),
        "max_concurrent": limit,
        "beads": sorted(held),
        "version": __version__,
    }
    if not held:
        del fields["beads"]  # an empty list is an unset one
    if held:
        fields["idle"] = False
        fields.pop("idle_since", None)
    if sign_of_life:
        fields["last_heartbeat"] = time_text(at)
    return fields


def with_capacity(
    change: Change, snapshot: Snapshot, names: Iterable[str | None], at: datetime, *, alive: str | None = None
) -> Change:
    """The change with the capacity files of these agents rewritten; `alive` names the one that acts."""
    after = Overlay(snapshot, change)
    records = dict(change.records)
    for name in sorted({name for name in names if name}):
        records[capacity_path(name)] = capacity_of(name, after, at, sign_of_life=name == alive)
    return change._replace(records=records)
