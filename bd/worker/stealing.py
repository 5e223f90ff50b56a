"""An agent that found nothing to do asks for work that waits in the queues of overloaded agents, where the hub allows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bd.operations.base import asked
from bd.operations.work_stealing import Rebalance
from bd.policy import stealing

if TYPE_CHECKING:
    from bd.store import Clone


def steal(hub: Clone, agent: str) -> tuple[str, ...]:
    """Move beads of others to the agent, and return them; none if the hub does not allow it. Raises TryAgain and its subclasses."""
    snapshot = hub.snapshot()
    if not stealing.is_allowed_to_polls(snapshot) or not stealing.cycle(snapshot, hub.runtime.now(), to=agent).moves:
        return ()
    change = hub.publish(Rebalance(**asked(hub.runtime, f"agent:{agent}", to=agent))).change
    return change.touched if change is not None else ()
