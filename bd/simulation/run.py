"""One run of a simulated fleet: the scenario in, the figures out, the same for the same seed."""

from __future__ import annotations

import random
from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.simulation.agent import Agent
from bd.simulation.central import Dispatcher, Rebalancer
from bd.simulation.figures import figures_of
from bd.simulation.hub import Hub
from bd.simulation.jobs import Jobs
from bd.simulation.makers import Makers
from bd.simulation.pools import PoolController
from bd.simulation.scenario import Draws

if TYPE_CHECKING:
    from collections.abc import Generator

    from bd.simulation.figures import Figures
    from bd.simulation.scenario import Scenario

# A fleet that is far beyond what the hub can carry does little but lose: its run ends early.
LOST_LIMIT = 10_000
_SAMPLES = 240


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
    pools = [PoolController(hub, scenario, group, jobs) for group in scenario.fleet if group.is_pool]
    agents = [Agent(hub, scenario, group, name, jobs) for group in scenario.fleet if not group.is_pool for name in group.names]
    makers.begin()
    for clone in (*(agent.clone for agent in agents), *(pool.clone for pool in pools)):
        hub.show(clone)
    dispatch = scenario.dispatch
    if dispatch is None or dispatch.how == "assign":
        for agent in agents:
            hub.events.start(agent.live())
    for pool in pools:
        hub.events.start(pool.live())
    if dispatch is not None:
        hub.events.start(Dispatcher(hub, dispatch, agents).live())
    if scenario.rebalance_s:
        hub.events.start(Rebalancer(hub, scenario.rebalance_s).live())
    hub.events.start(_watch(hub))
    hub.events.start(_sample(hub, scenario.duration_s / _SAMPLES))
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


def _sample(hub: Hub, every_s: float) -> Generator[float, None, None]:
    """Take a sample of the run, again and again, for its chart."""
    while True:
        yield every_s
        hub.count()
        hub.tally.sample(hub.events.now_s, every_s)
