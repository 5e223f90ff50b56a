"""One run of a fleet on paper: the scenario in, the figures out, the same for the same seed."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from bd.simulation.agent import Agent, Makers
from bd.simulation.figures import figures_of
from bd.simulation.hub import Hub
from bd.simulation.loop import Events
from bd.simulation.scenario import Draws
from bd.simulation.writers import Combining, Retrying

if TYPE_CHECKING:
    from bd.simulation.figures import Figures
    from bd.simulation.scenario import Scenario


def simulate(scenario: Scenario) -> Figures:
    """Let the fleet of a scenario work for its duration."""
    events = Events()
    hub = Hub(events, scenario.duration_s)
    draws = Draws(scenario, random.Random(scenario.seed))
    kind = Retrying if scenario.retry == "plain" else Combining

    def new_writer() -> Retrying:
        return kind(scenario, events, hub, draws)

    for number in range(scenario.agents):
        base_s = scenario.intervals_s[number % len(scenario.intervals_s)]
        events.start(Agent(scenario, events, hub, draws, new_writer(), base_s).run())
    if scenario.backlog:
        hub.land([hub.write(creates=scenario.backlog)])
    if scenario.rate:
        events.start(Makers(events, hub, draws, new_writer, scenario.burst).run())
    events.run(scenario.duration_s / 2)
    half = (hub.tally.arrived, hub.waiting)
    events.run(scenario.duration_s)
    return figures_of(scenario, hub, events.now_s, half)
