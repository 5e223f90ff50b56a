"""Reservations of ready beads, after an answer or after the subtasks that they waited for: for whom, and until when."""

from __future__ import annotations

from datetime import timedelta

from bd import TYPE_CHECKING
from bd.core.times import instant_of, time_text
from bd.policy.roles import interval_of

if TYPE_CHECKING:
    from bd.core.model import Bead, Snapshot
    from bd.policy.readiness import Readiness

# For how many of its intervals a bead is reserved for its previous agent.
KEPT_INTERVALS = 2


def kept_s(name: str, snapshot: Snapshot) -> float:
    """Return for how many seconds a bead is reserved for an agent."""
    return KEPT_INTERVALS * interval_of(snapshot.agent(name) or {})


def kept_until(bead: Bead, readiness: Readiness) -> str | None:
    """Return until when it is offered only to its preferred agent: its own time, else counted from when it became ready."""
    preferred = bead.get("prefer_agent")
    if not preferred or bead.get("prefer_until"):
        return bead.get("prefer_until") if preferred else None
    since = readiness.since(bead)
    return time_text(instant_of(since) + timedelta(seconds=kept_s(preferred, readiness.snapshot))) if since else None
