"""Waits for the hub to move: woken by the hub's files if they can be watched, else by peeking at one ref.

Used by everything that waits (wait.py, loop.py, follow.py). Costs no commit.
"""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.worker.pacing_state import Peeking, tip_or_none
from bd.worker.wakeup import Alarm

if TYPE_CHECKING:
    from collections.abc import Callable

    from bd.core.runtime import Runtime
    from bd.store import Clone

# A watched hub is also peeked at by the clock: a watch can miss what another machine does on a shared disk.
WATCHED_S = 10.0


class Lookout:
    """`on_ring` is called by another thread when the hub's files change."""

    def __init__(self, runtime: Runtime, on_ring: Callable[[], None] | None = None) -> None:
        self._runtime = runtime
        self._on_ring = on_ring
        self._alarm: Alarm | None = None
        self._peeking: Peeking | None = None
        self._is_settled = False

    def begin(self, hub: Clone, longest_s: float, *, anew: bool = False) -> None:
        """Start watching, unless it is running.

        `anew` resets the pace; a remote hub is peeked at no less often than `longest_s`.
        """
        if self._alarm is None:
            self._alarm, self._is_settled = Alarm(hub, self._on_ring), False
        if self._peeking is None or anew:
            self._peeking = Peeking(hub, longest_s)

    def pause_s(self) -> float:
        """Return the seconds until the next peek. The first is soon, for changes made before the files were watched."""
        if self._alarm is None or self._peeking is None:
            return WATCHED_S
        pause_s, was_settled = self._peeking.next_s(), self._is_settled
        self._is_settled = True
        return max(pause_s, WATCHED_S) if was_settled and self._alarm.is_watching else pause_s

    def wait(self, seconds: float) -> bool:
        """Wait up to this long. Return whether the hub's files have changed."""
        if self._alarm is not None and self._alarm.is_watching:
            return self._alarm.wait(seconds)
        self._runtime.sleep(seconds)
        return False

    def has_moved(self, hub: Clone, known: str) -> bool:
        """Check the one ref."""
        tip = tip_or_none(hub)
        return bool(tip) and tip != known

    def end(self) -> None:
        if self._alarm is not None:
            self._alarm.close()
        self._alarm = self._peeking = None
