"""The Runtime of real life: the machine's clocks, its random numbers, and steps that nobody follows."""

from __future__ import annotations

from bd.core import ids, times

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime


class SystemRuntime:
    """This machine."""

    def now(self) -> datetime:
        return times.now()

    def monotonic(self) -> float:
        return times.monotonic()

    def uptime(self) -> float:
        return times.uptime()

    def boot_id(self) -> str:
        return times.boot_id()

    def sleep(self, seconds: float) -> None:
        times.sleep(seconds)

    def random(self) -> float:
        import random  # it takes long to import, and few commands draw

        return random.random()

    def new_id(self) -> str:
        return ids.mint()

    def on_step(self, name: str) -> None:
        pass
