"""What is put down on paper: the fleet, its work, and the line to the hub. Values, and the numbers drawn from them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from bd.core.settings import KEYS
from bd.policy.liveness import FAR_INTERVAL_S
from bd.policy.pacing import PEEK_FAR_S
from bd.policy.roles import DEFAULT_INTERVAL_S

if TYPE_CHECKING:
    import random
    from typing import Any

RETRIES = ("combining", "plain")
SERVICE_TIMES = ("fixed", "uniform", "exponential", "lognormal")
# A line is not the same every time: a fetch and a push take from so much less to so much more than their time.
_UNSTEADY = 0.2
# The shape of lognormal service: most beads are short, one in twenty takes three times the mean.
_SIGMA = 1.0


class Scenario(NamedTuple):
    """A fleet on paper. Times are seconds, rates are beads a second.

    `load` sets the arrivals by the agents there are: the part of the time that the work keeps them busy. Beads arrive
    `burst` at a time; `backlog` of them are there at the start. `intervals_s` go round the agents. Agents wait as `bd work` does, peeking at the hub, or (`cron`) are
    started every interval. Agents start within `starts_s`; None: at any time of a fleet that has run before.
    `heartbeat_s` 0: nobody sends heartbeats.
    """

    agents: int = 20
    intervals_s: tuple[float, ...] = (DEFAULT_INTERVAL_S,)
    cron: bool = False
    peek_s: float = PEEK_FAR_S
    starts_s: float | None = None
    arrivals: float = 30 / 3600
    load: float = 0.0
    burst: int = 1
    backlog: int = 0
    service_s: float = 1200.0
    service_times: str = "exponential"
    fetch_s: float = 0.5
    push_s: float = 1.0
    retry: str = RETRIES[0]
    fresh_s: float = KEYS["fresh_time"].default
    retry_time_s: float = KEYS["retry_time"].default
    heartbeat_s: float = FAR_INTERVAL_S
    duration_s: float = 8 * 3600.0
    seed: int = 1

    @property
    def rate(self) -> float:
        """Beads a second."""
        return self.load * self.agents / self.service_s if self.load else self.arrivals

    def as_json(self) -> dict[str, Any]:
        """Everything, with the rate in beads an hour."""
        left_out = ("arrivals", "load")
        fields = {key: value for key, value in self._asdict().items() if key not in left_out and value is not None}
        return {**fields, "intervals_s": list(self.intervals_s), "beads_per_hour": round(self.rate * 3600, 3)}


class Draws:
    """The random numbers of one run: the same for the same seed."""

    def __init__(self, scenario: Scenario, rng: random.Random) -> None:
        self._scenario = scenario
        self._rng = rng

    def until_arrival_s(self) -> float:
        """Seconds until beads arrive again: a Poisson process."""
        return self._rng.expovariate(self._scenario.rate / self._scenario.burst)

    def service_s(self) -> float:
        """How long a bead takes."""
        mean_s, rng = self._scenario.service_s, self._rng
        match self._scenario.service_times:
            case "exponential":
                return rng.expovariate(1 / mean_s)
            case "uniform":
                return rng.uniform(0.5, 1.5) * mean_s
            case "lognormal":
                return rng.lognormvariate(math.log(mean_s) - _SIGMA**2 / 2, _SIGMA)
        return mean_s

    def fetch_s(self) -> float:
        """How long a fetch takes, until the next step can be decided."""
        return self._scenario.fetch_s * self._rng.uniform(1 - _UNSTEADY, 1 + _UNSTEADY)

    def push_s(self) -> float:
        """How long a push takes, until the hub has it."""
        return self._scenario.push_s * self._rng.uniform(1 - _UNSTEADY, 1 + _UNSTEADY)

    def spread(self) -> float:
        """From 0 to 1."""
        return self._rng.random()

    def below(self, limit_s: float) -> float:
        """Full jitter: anything from 0 to the limit."""
        return self._rng.uniform(0, limit_s)
