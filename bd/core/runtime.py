"""What bd takes from the machine while it works: time, sleep, chance, new names, and who follows its steps.

Nothing below `cli/` reads a clock, sleeps, draws a random number or mints a name in another way than through a Runtime that
it was given. `cli/runtime.py` is the one of real life; tests and simulations hand in their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime
    from typing import Protocol

    class Runtime(Protocol):
        """One machine, as one process sees it. Every duration is in seconds. Threads may share it."""

        def now(self) -> datetime:
            """The present instant, aware, UTC. Somebody may set this clock."""
            ...

        def monotonic(self) -> float:
            """Seconds on a clock that never goes back, for durations within this process."""
            ...

        def uptime(self) -> float:
            """Seconds on the machine's boot-time clock, which nobody sets and which goes on while the machine sleeps.

            Processes may compare what they read there, as long as `boot_id` is the same.
            """
            ...

        def boot_id(self) -> str:
            """What tells one run of the machine from another; empty where it has no such name."""
            ...

        def sleep(self, seconds: float) -> None:
            """Wait for so long; not at all below 0."""
            ...

        def random(self) -> float:
            """A random number, at least 0 and less than 1."""
            ...

        def new_id(self) -> str:
            """A new ULID, 26 characters, upper case: 48 bits of milliseconds since 1970, then 80 random bits."""
            ...

        def on_step(self, name: str) -> None:
            """Hear that a write reached this step (docs/protocol.md). Nothing happens in real life; tests act here."""
            ...
