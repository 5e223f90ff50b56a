"""A pool of a simulated fleet: its controller decides as the product's does, and its members are simulated agents."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.pools import pool_of
from bd.policy.scaling import Member, Memory, planned
from bd.pool import decisions, desired_size
from bd.pool.decisions import Progress
from bd.simulation.agent import Agent

if TYPE_CHECKING:
    from collections.abc import Generator

    from bd.simulation.hub import Hub
    from bd.simulation.jobs import Jobs
    from bd.simulation.scenario import Group, Scenario


class PoolController:
    """The controller of one pool on a host. It looks every `scale_interval`, as `bd pool run` does."""

    def __init__(self, hub: Hub, scenario: Scenario, group: Group, jobs: Jobs) -> None:
        self._hub = hub
        self._scenario = scenario
        self._group = group
        self._jobs = jobs
        self._pool = pool_of(group.name, group.file)
        self.clone = hub.clone(takes_side_refs=scenario.takes_side_refs)
        self._progress = Progress()
        self._memory = Memory()
        self._members: dict[str, Agent] = {}
        self._since_s: dict[str, float] = {}
        self._drained_s: dict[str, float] = {}

    def live(self) -> Generator[float, None, None]:
        """Run round after round."""
        while True:
            self.clone.fetch()
            yield self.clone.virtual.settle()
            self._round()
            self._progress = self._progress.looked(self._pool.name, self._hub.events.now_s)
            yield decisions.next_round_in_s(self._progress, [self._pool], self._hub.events.now_s)

    def _round(self) -> None:
        snapshot, now, now_s = self.clone.snapshot(), self.clone.virtual.now(), self._hub.events.now_s
        self._members = {name: agent for name, agent in self._members.items() if not agent.is_gone}
        wanted = desired_size.wanted(self._pool, snapshot, "", now, None, is_fresh=True)
        does = planned(self._pool, wanted.number, self._running(), self._memory, snapshot, now, now_s)
        for name in does.start:
            agent = Agent(self._hub, self._scenario, self._group, name, self._jobs)
            self._members[name], self._since_s[name] = agent, now_s
            self._drained_s.pop(name, None)
            self._hub.events.start(agent.live(starts_s=0.0))
        for name, _ in does.drain:
            self._members[name].is_draining = True
            self._drained_s[name] = now_s
        up_s = now_s if does.start else self._memory.up_s
        down_s = now_s if does.drain else self._memory.down_s
        self._memory = self._memory._replace(up_s=up_s, down_s=down_s)
        self._hub.tally.count_members(self._pool.name, len(self._members), now_s)

    def _running(self) -> list[Member]:
        return [
            Member(name, max(self._since_s[name], agent.active_s), not agent.is_busy, self._drained_s.get(name))
            for name, agent in self._members.items()
        ]
