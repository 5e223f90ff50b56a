"""Central processes of a simulated fleet: the dispatcher that a pulling fleet is compared with, and the one that moves queued beads.

Both use the product's operations: a dispatcher claims for an agent, or routes beads with `assign`; `rebalance` moves them.
"""

from __future__ import annotations

from datetime import timedelta

from bd import TYPE_CHECKING
from bd.core.times import time_text
from bd.operations.base import asked
from bd.operations.beads import Update
from bd.operations.claims import Claim
from bd.operations.work_stealing import Rebalance
from bd.policy.capacity import is_away
from bd.policy.eligibility import Eligibility
from bd.policy.stealing import queues
from bd.policy.work_queue import ready_beads
from bd.simulation.machine import START

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from bd.simulation.agent import Agent
    from bd.simulation.hub import Hub
    from bd.simulation.scenario import Dispatch

    Process = Generator[float, None, None]

# How often a process that acts at once sees whether something has changed.
_AT_ONCE_S = 1.0


class Central:
    """A process that acts on the whole fleet, in a clone of its own."""

    name = "central"

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._clone = hub.clone()

    def _fetched(self) -> Process:
        self._clone.fetch()
        yield self._clone.virtual.settle()


class Dispatcher(Central):
    """Hands out the work."""

    name = "dispatcher"

    def __init__(self, hub: Hub, dispatch: Dispatch, agents: Sequence[Agent]) -> None:
        super().__init__(hub)
        self._dispatch = dispatch
        self._agents = agents

    def live(self) -> Process:
        """Act every so often, or as soon as something has changed; not while it is away."""
        seen = ("", 0)
        while True:
            yield self._dispatch.every_s or _AT_ONCE_S
            now = self._hub.tip, sum(agent.has_room for agent in self._agents)
            begins_s, ends_s = self._dispatch.away_s or (float("inf"), 0.0)
            if now == seen or begins_s <= self._hub.events.now_s < ends_s:
                continue
            seen = now
            yield from self._claim_for_all() if self._dispatch.how == "claim" else self._route()

    def _claim_for_all(self) -> Process:
        """Claim for each agent that is free, until nothing fits its group."""
        without: set[str] = set()
        for agent in [agent for agent in self._agents if agent.has_room]:
            if agent.group.name in without:
                continue
            claim = Claim(**asked(self._clone.virtual, "agent:dispatcher", next=True, count=1, **agent.claim_args()))
            outcome = (yield from self._clone.tried(claim)).outcome
            if outcome is None or outcome.change is None:
                without.add(agent.group.name)
                continue
            for token, bead_id in outcome.change.tokens:
                self._hub.events.start(agent.attend(token, bead_id, outcome.commit))
            outcome.acknowledge()

    def _route(self) -> Process:
        """Route each ready bead that is nobody's to an agent that it fits, the one with the shortest queue."""
        yield from self._fetched()
        snapshot, now = self._clone.snapshot(), self._clone.virtual.now()
        length = {name: len(beads) for name, beads in queues(snapshot, now).items()}
        there = [agent.name for agent in self._agents if not is_away(agent.name, snapshot, now)]
        answers = [(name, Eligibility(snapshot, name, now)) for name in there]
        for bead in [bead for bead in ready_beads(snapshot, now) if not bead.assignee]:
            fitting = [name for name, answer in answers if not answer.reasons(bead)]
            if not fitting:
                continue
            to = min(fitting, key=lambda name: (length.get(name, 0), name))
            length[to] = length.get(to, 0) + 1
            update = {"set": {"assignee": to}, "verb_words": "assign"}
            yield from self._clone.tried(Update(**asked(self._clone.virtual, "agent:dispatcher", ids=[bead.id], **update)))


class Rebalancer(Central):
    """Moves beads from long queues to idle agents, by the product's rules."""

    name = "rebalancer"

    def __init__(self, hub: Hub, every_s: float) -> None:
        super().__init__(hub)
        self._every_s = every_s

    def live(self) -> Process:
        while True:
            yield self._every_s
            self._hub.heard_at = time_text(START + timedelta(seconds=self._hub.events.now_s))
            yield from self._clone.tried(Rebalance(**asked(self._clone.virtual, "agent:rebalancer")))
