"""Freeing stalled claims: observe, judge, and free by compare-and-swap. Any agent's poll may do it."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.operations.base import asked
from bd.operations.heartbeat import Reassign
from bd.policy.liveness import overdue_claims
from bd.worker.fleet_state import LOOK_EVERY_S, look

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bd.core.errors import NothingReady
    from bd.core.runtime import Runtime
    from bd.policy.liveness import Stall
    from bd.store import CachedSnapshot, Clone, Outcome

# The most claims freed at once: a poll's chores are bounded.
AT_ONCE = 50


def freeing(stalls: Sequence[Stall], by: str, runtime: Runtime) -> Reassign:
    """Return the operation that frees these claims, or as many of them as are freed at once."""
    return Reassign(**asked(runtime, by, stalls=[stall.as_dict() for stall in stalls[:AT_ONCE]]))


def reassign(hub: Clone, stalls: Sequence[Stall], by: str) -> Outcome | None:
    """Free these claims in one commit; None if there are none. Raises TryAgain and its subclasses."""
    return hub.publish(freeing(stalls, by, hub.runtime)) if stalls else None


def is_due(hub: Clone, snapshot: CachedSnapshot) -> bool:
    """Return whether an observation is worth its cost: a claim's stamps are too old, and none was made just now."""
    if next(overdue_claims(snapshot, hub.runtime.now(), hub.settings(snapshot)), None) is None:
        return False
    ago_s = hub.last_look_s()
    return ago_s is None or ago_s >= LOOK_EVERY_S


def recover(hub: Clone, by: str) -> Outcome | None:
    """Observe, and free the claims that have stalled."""
    return reassign(hub, look(hub, by).abandoned, by)


def freed_for(hub: Clone, nothing: NothingReady, by: str) -> tuple[str, ...]:
    """Free stalled claims if that may get an agent work that was told there is none. Return the freed beads."""
    snapshot = hub.snapshot()
    may_help = nothing.data.get("reason") in (None, "busy", "pool_full")
    if not may_help or not hub.settings(snapshot).recover or not is_due(hub, snapshot):
        return ()
    outcome = recover(hub, by)
    return outcome.change.touched if outcome and outcome.change else ()
