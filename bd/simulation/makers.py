"""Who makes the beads of a simulation: each burst is one write by somebody with a clone."""

from __future__ import annotations

from collections import Counter

from bd import TYPE_CHECKING
from bd.operations.base import asked
from bd.operations.create import Create
from bd.policy.pacing import AGAIN_S
from bd.simulation.jobs import KIND, NUMBER

if TYPE_CHECKING:
    from collections.abc import Generator
    from typing import Any

    from bd.simulation.clone import SimulatedClone
    from bd.simulation.hub import Hub
    from bd.simulation.scenario import Draws, Scenario, Work

    Process = Generator[float, None, None]


class Makers:
    """People and programs that create beads. A clone that is not writing is used again."""

    def __init__(self, hub: Hub, scenario: Scenario, draws: Draws) -> None:
        self._hub = hub
        self._scenario = scenario
        self._draws = draws
        self._free: list[SimulatedClone] = []
        self._made: Counter[str] = Counter()

    def begin(self) -> None:
        """Make the beads that are there at the start, without taking time; and let others arrive."""
        for work in self._scenario.kinds_of_work:
            if work.backlog:
                clone = self._clone()
                clone.publish(self._create(clone, work, work.backlog))
                clone.virtual.settle()
                self._free.append(clone)
        self._hub.reset()
        for work in self._scenario.kinds_of_work:
            if work.rate:
                self._hub.events.start(self._arrive(work))
            for at_s in work.arrives_s:
                self._hub.events.start(self._make(work), after_s=at_s)

    def _arrive(self, work: Work) -> Process:
        """Beads of one kind arrive for ever."""
        while True:
            yield self._draws.until_arrival_s(work)
            self._hub.events.start(self._make(work))

    def _make(self, work: Work) -> Process:
        clone = self._clone()
        operation = self._create(clone, work, work.burst)
        while (yield from clone.tried(operation)).error is not None:
            yield AGAIN_S
        self._free.append(clone)

    def _clone(self) -> SimulatedClone:
        if self._free:
            return self._free.pop()
        clone = self._hub.clone(takes_side_refs=self._scenario.takes_side_refs)
        clone.writes_beads = True
        return clone

    def _create(self, clone: SimulatedClone, work: Work, count: int) -> Create:
        beads: list[dict[str, Any]] = []
        for _ in range(count):
            number = {NUMBER: self._made[work.name]} if work.services_s else {}
            self._made[work.name] += 1
            title = work.title or f"{work.name.capitalize()} {self._made.total()}"
            beads.append({"title": title, "metadata": {KIND: work.name, **number}, **work.fields})
        # What arrives for an agent waits in its queue, even while the agent is dead.
        return Create(**asked(clone.virtual, "human:maker", beads=beads, force=True))
