"""An agent that found nothing to do asks for work that waits in the queues of overloaded agents, where the hub allows it."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.operations.base import asked
from bd.operations.work_stealing import Rebalance
from bd.policy import stealing

if TYPE_CHECKING:
    from collections.abc import Collection

    from bd.store import Clone


def steal(hub: Clone, agent: str, without_repos: Collection[str] = ()) -> tuple[str, ...]:
    """Move beads of others to the agent, and return them; none if the hub does not allow it. Raises TryAgain and its subclasses.

    None either if one of them is about one of the repositories `without_repos`: the agent would never begin it.
    """
    snapshot = hub.snapshot()
    moves = stealing.moves_on_poll(agent, snapshot, hub.runtime.now())
    if not moves or any(bead.get("repo") in without_repos for bead in snapshot.heads(move.id for move in moves)):
        return ()
    change = hub.publish(Rebalance(**asked(hub.runtime, f"agent:{agent}", to=agent))).change
    return change.touched if change is not None else ()
