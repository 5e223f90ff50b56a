"""The state of a pool: from its host's notes about members, or from the hub's files."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.policy.capacity import duty_of, is_away
from bd.policy.scaling import demand, why_none

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime
    from typing import Any

    from bd.core.model import Snapshot
    from bd.core.pools import Pool


def told_by_files(pool: Pool, snapshot: Snapshot, now: datetime) -> tuple[list[tuple[str, dict[str, Any]]], dict[str, Any]]:
    """Return notes like a host's, made from the hub's files: which members are online, and the size without the check."""
    there = [name for name in pool.members if snapshot.capacity(name) and not is_away(name, snapshot, now)]
    notes = [(name, {"pool": pool.name, "drained_at": duty_of(name, snapshot) == "draining"}) for name in there]
    if not pool.is_explicit:
        return notes, {"wanted": 1, "desired": 1}
    wanted = pool.size if pool.size is not None or pool.check else demand(pool, snapshot, now)
    if wanted is None:
        return notes, {}
    desired = pool.clamped(wanted)
    return notes, {
        "wanted": wanted,
        "desired": desired,
        "why": "" if desired or pool.size == 0 else why_none(pool, snapshot, now),
    }


def status_of(pool: Pool, members: Iterable[tuple[str, Mapping[str, Any]]], note: Mapping[str, Any]) -> dict[str, Any]:
    """Return a pool's status from the notes of all members and the pool's own note."""
    ours = [(name, one) for name, one in members if one.get("pool") == pool.name]
    known = {key: note[key] for key in ("desired", "wanted", "why", "last_check", "waits") if note.get(key) not in (None, "")}
    errors = [str(note[key]) for key in ("check_error", "trouble") if note.get(key)]
    known.update({"last_error": "; ".join(errors)} if errors else {})
    known.update({"flaws": list(pool.flaws)} if pool.flaws else {})
    running = [name for name, one in ours if not one.get("drained_at")]
    draining = [name for name, one in ours if one.get("drained_at")]
    return {"name": pool.name, "min": pool.min, "max": pool.max, "running": running, "draining": draining, **known}
