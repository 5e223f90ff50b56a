"""The same fleet again and again with one number changed: what it can carry, and where that ends."""

from __future__ import annotations

from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.simulation.run import simulate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from bd.simulation.figures import Figures
    from bd.simulation.scenario import Scenario

HOLDS, FALLS_BEHIND, OVER_LIMIT, WAITS_LONG = "holds", "falls behind", "over limit", "waits long"
# Between the last value that holds and the first that does not, so many more are tried.
_CLOSER = 3
# What can be swept, by the name of its option: the key of the scenario.
SWEPT = {
    "agents": "agents",
    "arrivals": "arrivals",
    "load": "load",
    "burst": "burst",
    "interval": "intervals_s",
    "peek": "peek_s",
    "service": "service_s",
    "fetch-time": "fetch_s",
    "push-time": "push_s",
    "heartbeat": "heartbeat_s",
}
WHOLE = ("agents", "burst")


class Bounds(NamedTuple):
    """What a run must keep to: pushes a minute in 95 % of the minutes, and the p95 of the wait. None: no bound."""

    pushes_per_minute: float | None = None
    wait_s: float | None = None

    def verdict(self, figures: Figures) -> str:
        """Whether it holds, or what does not."""
        if not figures.is_steady:
            return FALLS_BEHIND
        if self.pushes_per_minute is not None and figures.pushes_per_minute_p95 > self.pushes_per_minute:
            return OVER_LIMIT
        if self.wait_s is not None and figures.wait_p95_s > self.wait_s:
            return WAITS_LONG
        return HOLDS


class Run(NamedTuple):
    """One run of a sweep."""

    value: float
    figures: Figures
    verdict: str

    def as_json(self) -> dict[str, Any]:
        return {"value": self.value, "verdict": self.verdict, **self.figures.as_json()}


class Sweep(NamedTuple):
    """Which number is changed, by the name of its option, and between which bounds."""

    name: str
    low: float
    high: float

    def runs(self, scenario: Scenario, bounds: Bounds, tell: Callable[[float], None]) -> list[Run]:
        """Double the number from low to high, up to the first that no longer holds after one that did; then look closer.

        In the order of the numbers. `tell` hears of each before it is tried.
        """
        done: list[Run] = []

        def run(value: float) -> bool:
            tell(value)
            figures = simulate(self._with(scenario, value))
            done.append(Run(value, figures, bounds.verdict(figures)))
            return done[-1].verdict == HOLDS

        held: float | None = None
        for value in self._doubled():
            if run(value):
                held = value
            elif held is not None:
                failed = value
                for _ in range(_CLOSER):
                    middle = self._rounded((held * failed) ** 0.5)
                    if middle in (held, failed):
                        break
                    held, failed = (middle, failed) if run(middle) else (held, middle)
                break
        return sorted(done)

    def _doubled(self) -> Iterator[float]:
        value = self.low
        while value < self.high:
            yield value
            value *= 2
        yield self.high

    def _rounded(self, value: float) -> float:
        return round(value) if self.name in WHOLE else float(f"{value:.2g}")

    def _with(self, scenario: Scenario, value: float) -> Scenario:
        """The scenario with the number. Arrivals that are set by the load stay so."""
        changed: Any = (value,) if self.name == "interval" else value
        rest = {"load": 0.0} if self.name == "arrivals" else {}
        return scenario._replace(**{SWEPT[self.name]: changed, **rest})


def held(runs: list[Run]) -> tuple[float, float] | None:
    """The smallest and the largest number that held; None when none did."""
    values = [run.value for run in runs if run.verdict == HOLDS]
    return (values[0], values[-1]) if values else None
