"""One run of a simulated fleet: the scenario in, the figures out, the same for the same seed."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, NamedTuple

from bd.simulation.agent import Agent
from bd.simulation.figures import figures_of
from bd.simulation.hub import Hub
from bd.simulation.jobs import Jobs
from bd.simulation.makers import Makers
from bd.simulation.scenario import Draws

if TYPE_CHECKING:
    from collections.abc import Generator

    from bd.simulation.figures import Figures
    from bd.simulation.scenario import Scenario

# A fleet that is far beyond what the hub can carry does little but lose: its run ends early.
LOST_LIMIT = 10_000


class Run(NamedTuple):
    """The end of a run: its figures, and the hub as it is then."""

    figures: Figures
    hub: Hub


def simulate(scenario: Scenario) -> Figures:
    """Let the fleet of a scenario work for its duration."""
    return run(scenario).figures


def run(scenario: Scenario) -> Run:
    """The same, with everything that happened."""
    hub = Hub(scenario, random.Random(scenario.seed))
    draws = Draws(hub.rng)
    jobs = Jobs(scenario, draws)
    makers = Makers(hub, scenario, draws)
    agents = [Agent(hub, scenario, group, name, jobs) for group in scenario.fleet for name in group.names]
    makers.begin()
    for agent in agents:
        hub.show(agent.clone)
        hub.events.start(agent.live())
    hub.events.start(_watch(hub))
    hub.events.run(scenario.duration_s / 2)
    hub.count()
    half = (hub.tally.arrived, hub.tally.waiting)
    hub.events.run(scenario.duration_s)
    hub.count()
    return Run(figures_of(scenario, hub, half), hub)


def _watch(hub: Hub) -> Generator[float, None, None]:
    """End the run once the fleet does nothing but try again."""
    while True:
        yield 60.0
        hub.events.is_stopped = hub.tally.lost >= LOST_LIMIT
