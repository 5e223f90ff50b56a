"""The real Runtime: the machine's clocks, its random numbers, and steps that nobody follows.

The only module that reads a clock, sleeps, or draws random numbers; tests/test_architecture.py lists the few exceptions.
"""

from __future__ import annotations

import os
import time

from bd import TYPE_CHECKING
from bd.core import ids, times

if TYPE_CHECKING:
    from datetime import datetime


class SystemRuntime:
    """This machine."""

    def now(self) -> datetime:
        return times.at_seconds(time.time())

    def monotonic(self) -> float:
        return time.monotonic()

    def uptime(self) -> float:
        source = getattr(time, "CLOCK_BOOTTIME", None)
        return time.clock_gettime(source) if source is not None else time.monotonic()

    def boot_id(self) -> str:
        try:
            with open("/proc/sys/kernel/random/boot_id", encoding="utf-8") as file:
                return file.read().strip()
        except OSError:
            return ""

    def sleep(self, seconds: float) -> None:
        time.sleep(max(0.0, seconds))

    def random(self) -> float:
        import random  # noqa: PLC0415  few commands need random numbers

        return random.random()

    def new_id(self) -> str:
        return ids.ulid(int(time.time() * 1000), os.urandom(10))

    def on_step(self, name: str) -> None:
        pass
