"""A simulated machine: the Runtime of one process whose time is virtual and whose chance comes from a seed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from bd import TYPE_CHECKING
from bd.core import ids

if TYPE_CHECKING:
    import random

    from bd.simulation.loop import Events

# When every simulation begins.
START = datetime(2026, 1, 1, tzinfo=UTC)


class SimulatedRuntime:
    """What one process takes from its machine. `ahead_s`: how far its clock is ahead of the true time.

    The product's code runs in an instant. What it would have waited for is owed: whoever runs the process lets that much
    time pass afterwards (`settle`). Until then it already counts on the process's own clocks. `lead_s` is the opposite: time
    that has passed for an effect before it was carried out, such as the way of a push to the server.
    """

    def __init__(self, events: Events, rng: random.Random, ahead_s: float = 0.0) -> None:
        self.events = events
        self.rng = rng
        self.ahead_s = ahead_s
        self.lead_s = 0.0
        self._owed_s = 0.0

    def settle(self) -> float:
        """Return the seconds that have to pass before the process goes on, and owe nothing any more."""
        owed_s, self._owed_s, self.lead_s = self._owed_s, 0.0, 0.0
        return owed_s

    def take(self, seconds: float) -> None:
        """Spend so much time on something, of which `lead_s` has passed already."""
        self._owed_s += max(0.0, seconds - self.lead_s)
        self.lead_s = 0.0

    # --- core.runtime.Runtime ---

    def now(self) -> datetime:
        return START + timedelta(seconds=self.monotonic() + self.ahead_s)

    def monotonic(self) -> float:
        return self.events.now_s - self.lead_s + self._owed_s

    def uptime(self) -> float:
        return self.monotonic()

    def boot_id(self) -> str:
        return "simulated"

    def sleep(self, seconds: float) -> None:
        self._owed_s += max(0.0, seconds)

    def random(self) -> float:
        return self.rng.random()

    def new_id(self) -> str:
        return ids.ulid(int(self.now().timestamp() * 1000), self.rng.randbytes(10))

    def on_step(self, name: str) -> None:
        """Effects are followed instead."""
