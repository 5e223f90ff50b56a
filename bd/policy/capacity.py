"""An agent's capacity for work now: its status, its room, and whether it is online.

An agent's tracked capacity file says whether it was set offline or draining, and how its attempts ended. What it holds is counted
from the live claims of the snapshot. It was last seen at the later time of the file and of its record in side refs.
eligibility.py decides whether a bead fits.
"""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.errors import AgentOffline
from bd.core.pools import pool_of, template_of
from bd.core.schema import AGENTS_DIR, capacity_path
from bd.core.times import SKEW_S, age_text, instant_of
from bd.policy import advisory_claims, overload
from bd.policy.roles import interval_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from typing import Any

    from bd.core.model import Bead, Snapshot

DUTIES = ("offline", "draining")
SILENT_INTERVALS = 3


def held_by(name: str, snapshot: Snapshot, now: datetime | None = None) -> list[Bead]:
    """Return the beads that this agent has claimed. Without an instant, expired advisory claims count."""
    return [
        bead
        for bead in snapshot.claimed(name)
        if (bead.get("claim") or {}).get("agent") == name or (bead.get("claims") and is_at(bead, name, now))
    ]


def is_at(bead: Bead, name: str, now: datetime | None) -> bool:
    """Return whether the agent has a live advisory claim on the bead."""
    return advisory_claims.claim_of(bead, name, now) is not None


def limit_of(name: str, snapshot: Snapshot) -> int | None:
    """Return how many beads the agent may hold at once; None if there is no limit.

    An agent without a file may have its limit in its capacity file, as in the source paper.
    """
    agent = snapshot.agent(name)
    if agent is not None:
        return int(agent.get("max_concurrent", 1))
    typed = tracked(name, snapshot).get("max_concurrent")
    return None if typed is None else int(typed)


def is_known(name: str, snapshot: Snapshot) -> bool:
    """Return whether this is an agent of the hub: it has a file, or a record of its work. Other names are people."""
    return snapshot.agent(name) is not None or snapshot.capacity(name) is not None


def tracked(name: str, snapshot: Snapshot) -> Mapping[str, Any]:
    """Return the agent's capacity file on the branch; empty if there is none."""
    return snapshot.record(capacity_path(name)) or {}


# --- status -----------------------------------------------------------------------------------


def duty_of(name: str, snapshot: Snapshot) -> str | None:
    """Return `offline` or `draining` if somebody set the agent so. Its own later heartbeats do not change that."""
    status = tracked(name, snapshot).get("status")
    return status if status in DUTIES else None


def status_of(name: str, snapshot: Snapshot, now: datetime) -> str:
    """Return offline, draining, overloaded, busy or available; the first that applies."""
    held = len(held_by(name, snapshot, now))
    return status_by(tracked(name, snapshot), held, limit_of(name, snapshot), overload.rules_of(snapshot))


def status_by(record: Mapping[str, Any], held: int, limit: int | None, rules: overload.Rules) -> str:
    """Return the status for a capacity record, a number of held beads, and a limit."""
    if record.get("status") in DUTIES:
        return str(record["status"])
    if overload.is_overloaded(record, rules):
        return "overloaded"
    return "busy" if limit is not None and held >= limit else "available"


# --- overload ---------------------------------------------------------------------------------


def is_overloaded(name: str, snapshot: Snapshot) -> bool:
    return overload.is_overloaded(tracked(name, snapshot), overload.rules_of(snapshot))


def waits_for_probe(name: str, snapshot: Snapshot, now: datetime) -> bool:
    """Return whether an overloaded agent has to wait until it may try any bead."""
    return is_overloaded(name, snapshot) and _probe_in_s(name, snapshot, now) > 0


def probe_in_s(name: str, snapshot: Snapshot, now: datetime) -> float:
    """Return the seconds until the overloaded agent may try one bead; 0 if it may now.

    It may retry the beads that it failed as soon as they are due, if no other agent of its role is there to do so.
    """
    waits_s = [_probe_in_s(name, snapshot, now), *(_wait_s(bead, now) for bead in own_retries(name, snapshot, now))]
    return max(0.0, min(waits_s))


def own_retries(name: str, snapshot: Snapshot, now: datetime) -> list[Bead]:
    """Return the open beads that this overloaded agent failed and that no other agent of its role could retry."""
    ids = overload.failed_beads(tracked(name, snapshot), overload.rules_of(snapshot))
    if _has_peers(name, snapshot, now):
        return []
    return [bead for bead_id in ids if bead_id and (bead := snapshot.head(bead_id)) is not None and bead.status == "open"]


def _has_peers(name: str, snapshot: Snapshot, now: datetime) -> bool:
    """Return whether another agent of the same role is there, such as another member of a pool."""
    own = template_of(name, snapshot)
    files = snapshot.records(AGENTS_DIR)
    role = files.get(own, {}).get("role") if own else None
    for other, file in files.items():
        members = [one for one in pool_of(other, file).members if one != name] if other == own else [other]
        if file.get("role") == role and any(not is_away(one, snapshot, now) for one in members):
            return True
    return False


def _probe_in_s(name: str, snapshot: Snapshot, now: datetime) -> float:
    return overload.probe_in_s(tracked(name, snapshot), now, interval_of(snapshot.agent(name) or {}))


def _wait_s(bead: Bead, now: datetime) -> float:
    due = bead.get("retry_at")
    return (instant_of(due) - now).total_seconds() if due else 0.0


# --- room -------------------------------------------------------------------------------------


def room(name: str, snapshot: Snapshot, now: datetime) -> int | None:
    """Return how many more beads the agent may take at this commit; None if there is no limit.

    An overloaded agent may hold one bead at a time, and only once its probe is due.
    """
    limit = limit_of(name, snapshot)
    if is_overloaded(name, snapshot):
        probes = 0 if probe_in_s(name, snapshot, now) > 0 else 1
        limit = probes if limit is None else min(limit, probes)
    own = None if limit is None else max(0, limit - len(held_by(name, snapshot, now)))
    pool = pool_room(name, snapshot, now)
    return own if pool is None else pool if own is None else min(own, pool)


def pool_room(name: str, snapshot: Snapshot, now: datetime) -> int | None:
    """Return how many more beads the agent's pool may take in all (`max_claims`); None if there is no limit."""
    file = snapshot.agent(name) or {}
    limit = pool_of(name, file).max_claims if file.get("pool") else None
    if limit is None:
        return None
    pool = template_of(name, snapshot)
    holders = {holder for bead in snapshot.claimed() for holder in bead.holders}
    members = [holder for holder in holders if template_of(holder, snapshot) == pool]
    return max(0, limit - sum(len(held_by(member, snapshot, now)) for member in members))


# --- is it online -----------------------------------------------------------------------------


def current_interval_s(name: str, snapshot: Snapshot) -> float:
    """Return the seconds between two polls: the agent's current pace, else the interval in its file."""
    paced = (snapshot.capacity(name) or {}).get("interval_s")
    return float(paced) if paced else interval_of(snapshot.agent(name) or {})


def silence_s(name: str, snapshot: Snapshot, now: datetime) -> float | None:
    """Return for how many seconds this clone has heard nothing of the agent; None if it was never heard of."""
    said = (snapshot.capacity(name) or {}).get("last_heartbeat")
    if not said:
        return None
    # This clone can't know what was said after it last fetched side refs.
    listened = getattr(snapshot, "listened_at", None)
    looked = min(now, instant_of(listened)) if listened else now
    return max(0.0, (looked - instant_of(said)).total_seconds())


def is_presumed_offline(name: str, snapshot: Snapshot, now: datetime) -> bool:
    """Return whether the agent has been silent for 3 of its current intervals, allowing for clock differences.

    A name without a file and a pace, such as a person's, does not poll: its silence means nothing.
    """
    paced = snapshot.agent(name) is not None or (snapshot.capacity(name) or {}).get("interval_s")
    silent = silence_s(name, snapshot, now) if paced else None
    return silent is not None and silent > SILENT_INTERVALS * current_interval_s(name, snapshot) + SKEW_S


def is_away(name: str, snapshot: Snapshot, now: datetime) -> bool:
    """Return whether nothing should wait for this agent: it was set offline, or is presumed so."""
    return duty_of(name, snapshot) == "offline" or is_presumed_offline(name, snapshot, now)


def refuse_away(name: str | None, snapshot: Snapshot, now: datetime) -> None:
    """Refuse to assign work to an agent that is away. Raises AgentOffline."""
    if not name or not is_away(name, snapshot, now):
        return
    words = f"{name} is offline"
    if duty_of(name, snapshot) != "offline":
        words = f"{name} is presumed offline: no heartbeat for {age_text(silence_s(name, snapshot, now) or 0)}"
    hint = f"`bd agent status` shows who is online; `bd online {name}` brings it back, --force assigns it anyway"
    raise AgentOffline(words, hint=hint, agent=name)
