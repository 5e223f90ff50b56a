"""What is simulated: the fleet, its work, and the connection to the hub. Values, and the numbers drawn from them."""

from __future__ import annotations

import math
from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.core.settings import KEYS
from bd.policy.liveness import FAR_INTERVAL_S
from bd.policy.pacing import PEEK_FAR_S
from bd.policy.roles import DEFAULT_INTERVAL_S

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping
    from typing import Any

RETRIES = ("combining", "plain")
SERVICE_TIMES = ("fixed", "uniform", "exponential", "lognormal")
# The shape of lognormal service: most beads are short, one in twenty takes three times the mean.
_SIGMA = 1.0


class Group(NamedTuple):
    """Agents of one kind. `file` has the fields of their agent files; none: they are known by their names alone.

    `interval_s`: how often they look when idle; None: as their files and roles say. `cron`: they are started every interval, and
    do not wait in between. `jobs` beads are worked on at once. Of the beads that they begin, the part `fails` fails as `failure`,
    and with the part `dies` the agent dies; it is back after `back_s` (None: never). They work `speed` times as fast.
    """

    name: str
    size: int
    file: Mapping[str, Any] = {}
    interval_s: float | None = None
    cron: bool = False
    jobs: int = 1
    fails: float = 0.0
    failure: str = "crash"
    dies: float = 0.0
    back_s: float | None = 600.0
    speed: float = 1.0
    usd_per_hour: float = 0.0
    usd_per_look: float = 0.0

    @property
    def is_pool(self) -> bool:
        return "pool" in self.file

    @property
    def are_equal(self) -> bool:
        """Whether the agents get the same answer at the same tip, whatever each has done."""
        return not (self.file.get("budget") or self.file.get("fallback") or self.file.get("role") == "overseer")

    @property
    def names(self) -> tuple[str, ...]:
        """The agents' names."""
        return tuple(f"{self.name}-{number}" for number in range(1, self.size + 1))


class Work(NamedTuple):
    """Beads of one kind. `rate` is in beads a second, `burst` of them are made at once; `backlog` are there at the start.

    `arrives_s` are known times of bursts, in place of the rate. `services_s` are known durations, in place of random ones: the first
    bead that is made takes the first of them, the next one the next, and so on, over and over.

    `fields` are those that a bead is created with, besides its title. `fails`: the part of the attempts that fails, whoever works.
    """

    name: str = "work"
    rate: float = 0.0
    burst: int = 1
    backlog: int = 0
    service_s: float = 1200.0
    service_times: str = "exponential"
    fields: Mapping[str, Any] = {}
    title: str = ""
    fails: float = 0.0
    failure: str = "crash"
    usd: float = 0.0
    arrives_s: tuple[float, ...] = ()
    services_s: tuple[float, ...] = ()


class Outage(NamedTuple):
    """A time in which the models of some groups can't be reached (all groups, if none is named): attempts fail as `failure`."""

    starts_s: float
    ends_s: float
    groups: tuple[str, ...] = ()
    failure: str = "rate_limit"
    after_s: float = 30.0


class Dispatch(NamedTuple):
    """A central process that hands out the work. `how`: it claims for agents that are free (`claim`), or routes beads (`assign`).

    It does so every `every_s`; 0: at once, when a bead is made or an agent is free. It is away during `away_s`.
    """

    how: str = "claim"
    every_s: float = 0.0
    away_s: tuple[float, float] | None = None


class Scenario(NamedTuple):
    """A simulated fleet. Times are seconds, rates are beads a second.

    `load` sets the arrivals by the agents there are: the part of the time that the work keeps them busy. Beads arrive
    `burst` at a time; `backlog` of them are there at the start. `intervals_s` go round the agents. Agents wait as `bd work` does,
    peeking at the hub, or (`cron`) are started every interval. Agents start within `starts_s`; None: at any time of a fleet that
    has run before. `heartbeat_s` 0: nobody sends heartbeats.

    `groups` and `work`, from a scenario file, take the place of all that says the same for a fleet of equals.
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
    groups: tuple[Group, ...] = ()
    work: tuple[Work, ...] = ()
    outages: tuple[Outage, ...] = ()
    dispatch: Dispatch | None = None
    rebalance_s: float = 0.0
    hub_settings: Mapping[str, Any] = {}

    @property
    def rate(self) -> float:
        """Beads a second."""
        if self.work:
            return sum(map(self._rate_of, self.work))
        return self.load * self.agents / self.service_s if self.load else self.arrivals

    def _rate_of(self, work: Work) -> float:
        return work.rate + work.burst * sum(at_s < self.duration_s for at_s in work.arrives_s) / self.duration_s

    @property
    def fleet(self) -> tuple[Group, ...]:
        """The groups of agents: those of the file, or one for each interval."""
        if self.groups:
            return self.groups
        kinds = len(self.intervals_s)
        names = ["agent"] if kinds == 1 else [f"agent-{letter}" for letter in map(_letter, range(kinds))]
        sizes = [self.agents // kinds + (number < self.agents % kinds) for number in range(kinds)]
        return tuple(
            Group(name, size, interval_s=interval_s, cron=self.cron)
            for name, size, interval_s in zip(names, sizes, self.intervals_s, strict=True)
            if size
        )

    @property
    def kinds_of_work(self) -> tuple[Work, ...]:
        """The kinds of beads: those of the file, or one."""
        if self.work:
            return self.work
        return (Work("work", self.rate, self.burst, self.backlog, self.service_s, self.service_times),)

    @property
    def holds_back(self) -> bool:
        """Whether an agent may get nothing because of what it did: after failures, or while a claim of a dead one is still its own."""
        can_end_badly = any(one.fails or one.dies for one in self.fleet) or any(one.fails for one in self.kinds_of_work)
        return can_end_badly or bool(self.outages)

    @property
    def takes_side_refs(self) -> bool:
        return self.retry != "plain"

    @property
    def local_settings(self) -> dict[str, str]:
        """The settings of every clone."""
        return {"fresh_time": f"{self.fresh_s:g}s", "retry_time": f"{self.retry_time_s:g}s"}

    @property
    def agent_files(self) -> dict[str, dict[str, Any]]:
        """The agents' files, by name."""
        return {
            name: {"name": name, **group.file}
            for group in self.fleet
            if group.file
            for name in ((group.name,) if group.is_pool else group.names)
        }

    @property
    def apart(self) -> frozenset[str]:
        """The groups whose agents are asked one by one."""
        stealing = self.hub_settings.get("stealing")
        if isinstance(stealing, dict) and stealing.get("on_poll"):  # what one finds depends on its own queue
            return frozenset(group.name for group in self.fleet)
        routes = bool(self.dispatch and self.dispatch.how == "assign") or any("assignee" in work.fields for work in self.work)
        return frozenset(group.name for group in self.fleet if routes or not group.are_equal)

    def as_json(self) -> dict[str, Any]:
        """Everything, with the rate in beads an hour."""
        left_out = ("arrivals", "load", "groups", "work", "outages", "dispatch", "rebalance_s", "hub_settings")
        fields = {key: value for key, value in self._asdict().items() if key not in left_out and value is not None}
        found = {**fields, "intervals_s": list(self.intervals_s), "beads_per_hour": round(self.rate * 3600, 3)}
        if not self.groups:
            return found
        agents = {group.name: None if group.is_pool else group.size for group in self.groups}
        return {**found, "groups": agents, "work": {work.name: round(self._rate_of(work) * 3600, 3) for work in self.work}}


def _letter(number: int) -> str:
    return chr(ord("a") + number % 26) + (str(number // 26) if number >= 26 else "")


class Draws:
    """The random numbers of one run: the same for the same seed."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng

    def until_arrival_s(self, work: Work) -> float:
        """Return the seconds until beads arrive again: a Poisson process."""
        return self._rng.expovariate(work.rate / work.burst)

    def service_s(self, work: Work, number: int = 0) -> float:
        """Return how long a bead takes; `number` of its kind were made before it."""
        if work.services_s:
            return work.services_s[number % len(work.services_s)]
        mean_s, rng = work.service_s, self._rng
        match work.service_times:
            case "exponential":
                return rng.expovariate(1 / mean_s)
            case "uniform":
                return rng.uniform(0.5, 1.5) * mean_s
            case "lognormal":
                return rng.lognormvariate(math.log(mean_s) - _SIGMA**2 / 2, _SIGMA)
        return mean_s

    def spread(self) -> float:
        """Return a number from 0 to 1."""
        return self._rng.random()

    def happens(self, part: float) -> bool:
        """Return whether what happens in this part of the cases happens now."""
        return part > 0 and self._rng.random() < part
