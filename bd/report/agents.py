"""The state of each agent of the fleet: its last capacity record, with what is derived now."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.schema import AGENTS_DIR, CAPACITY_DIR, CAPACITY_FIELDS
from bd.core.times import instant_of
from bd.policy import overload, reputation
from bd.policy.budget import remaining
from bd.policy.capacity import current_interval_s, held_by, is_presumed_offline, limit_of, status_of, tracked
from bd.policy.roles import ROLES, interval_of, is_fallback, misspelt_skills, role_of, skills_of
from bd.policy.stealing import queues

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from typing import Any

    from bd.core.model import Snapshot

# Only the tracked file counts for these: a heartbeat repeats them as its sender last knew them.
_TRACKED = ("recent", "failed_tasks", "overloaded_at", "account", "rest")


def names_of(snapshot: Snapshot) -> list[str]:
    """Return every agent: those with a file, and those that ever claimed or sent a heartbeat."""
    return sorted({*snapshot.records(AGENTS_DIR), *snapshot.records(CAPACITY_DIR), *snapshot.heard})


def records_of(snapshot: Snapshot, now: datetime, names: list[str]) -> list[dict[str, Any]]:
    """Return a record for each of these agents, with its current status, beads and counts."""
    waiting = queues(snapshot, now)
    return [_record(name, snapshot, now, len(waiting.get(name, ()))) for name in names]


def _record(name: str, snapshot: Snapshot, now: datetime, pending: int) -> dict[str, Any]:
    agent, said = snapshot.agent(name) or {}, dict(snapshot.capacity(name) or {})
    held = sorted(bead.id for bead in held_by(name, snapshot))
    heartbeat = said.get("last_heartbeat")
    left = remaining(name, snapshot, now)
    record: dict[str, Any] = {
        "agent": name,
        "name": name,
        "role": agent.get("role", ""),
        **{key: said[key] for key in CAPACITY_FIELDS if key in said},
        **{key: tracked(name, snapshot).get(key) for key in _TRACKED},
        "recent": overload.words_of(tracked(name, snapshot)) or None,
        "status": status_of(name, snapshot, now),
        "presumed_offline": is_presumed_offline(name, snapshot, now),
        "budget_remaining_usd": None if left is None else round(left, 4),
        "current_tasks": len(held),
        "max_concurrent": limit_of(name, snapshot),
        "beads": held,
        "pending_count": pending,
        "interval_s": int(current_interval_s(name, snapshot)),
        "heartbeat_age_s": max(0, int((now - instant_of(heartbeat)).total_seconds())) if heartbeat else None,
    }
    return {key: value for key, value in record.items() if value is not None}


def description_of(name: str, snapshot: Snapshot) -> dict[str, Any]:
    """Return an agent's file, with its role's presets for unset fields; empty if it has no file.

    `misspelt_skills` is there only if the agent matches nothing because of that key.
    """
    agent = snapshot.agent(name)
    if agent is None:
        return {}
    wrong = misspelt_skills(agent)
    return {
        "name": name,
        "role": "",
        **agent,
        "interval_s": int(interval_of(agent)),
        "max_concurrent": limit_of(name, snapshot),
        "skills": {rule: list(words) for rule, words in (skills_of(agent) or {}).items() if words},
        "fallback": is_fallback(agent),
        "from_role": from_role(agent),
        **({"misspelt_skills": wrong} if wrong else {}),
    }


def from_role(agent: Mapping[str, Any]) -> list[str]:
    """Return what the agent's file leaves to its role, and the role brings."""
    role = role_of(agent)
    brought = {
        "skills": role.skills and not misspelt_skills(agent),
        "interval": agent.get("role") in ROLES,
        "fallback": role.is_fallback,
    }
    return [key for key, value in brought.items() if value and agent.get(key) is None]


def reputation_of(name: str, snapshot: Snapshot) -> dict[str, dict[str, Any]]:
    """Return how many of an agent's attempts succeeded, by type of bead."""
    records = reputation.records_of(name, snapshot)
    return {kind: {**one.as_dict(), "rate": round(one.rate, 3)} for kind, one in records.items()}
