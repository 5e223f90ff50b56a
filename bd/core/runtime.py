"""The interface to the machine: time, sleep, random numbers, new ids, and a hook for the steps of a write.

Nothing below `cli/` reads a clock, sleeps, draws a random number or mints an id except through the Runtime it was given.
`cli/runtime.py` is the real one; tests and simulations pass in their own.
"""

from __future__ import annotations

from bd import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime
    from typing import Protocol

    class Runtime(Protocol):
        """One machine, as one process sees it. Durations are in seconds. Threads may share it."""

        def now(self) -> datetime:
            """Return the current instant, aware, UTC. This clock may be set."""
            ...

        def monotonic(self) -> float:
            """Return seconds on a clock that never goes back, for durations within this process."""
            ...

        def uptime(self) -> float:
            """Return seconds on the machine's boot-time clock, which can't be set and continues during sleep.

            Processes may compare its values as long as `boot_id` is the same.
            """
            ...

        def boot_id(self) -> str:
            """Return an identifier of the current boot of the machine; "" if there is none."""
            ...

        def sleep(self, seconds: float) -> None:
            """Sleep for this long; not at all if it is not positive."""
            ...

        def random(self) -> float:
            """Return a random number, at least 0 and less than 1."""
            ...

        def new_id(self) -> str:
            """Return a new ULID, 26 characters, upper case: 48 bits of milliseconds since 1970, then 80 random bits."""
            ...

        def on_step(self, name: str) -> None:
            """Called when a write reaches a step (docs/architecture.md, "Tests"). Does nothing in production; tests act here."""
            ...
