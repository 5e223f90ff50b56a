"""A lookout: waiting for the hub to move. Rung by the hub's files where they can be watched, else by looks at one ref.

Used by whoever waits (wait.py, loop.py, follow.py). Costs no commit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bd.worker.pacing_state import Peeking, tip_or_none
from bd.worker.wakeup import Alarm

if TYPE_CHECKING:
    from collections.abc import Callable

    from bd.core.runtime import Runtime
    from bd.store import Clone

# A hub whose files are watched is looked at by the clock, too: a watch can miss what another machine does to a shared disk.
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
        """Look out from now on, if not already; `anew`: as often as at first. A far hub is looked at no more rarely than `longest_s`."""
        if self._alarm is None:
            self._alarm, self._is_settled = Alarm(hub, self._on_ring), False
        if self._peeking is None or anew:
            self._peeking = Peeking(hub, longest_s)

    def pause_s(self) -> float:
        """Seconds until the next look. The first one comes soon: files that changed before they were watched are not missed."""
        if self._alarm is None or self._peeking is None:
            return WATCHED_S
        pause_s, was_settled = self._peeking.next_s(), self._is_settled
        self._is_settled = True
        return max(pause_s, WATCHED_S) if was_settled and self._alarm.is_watching else pause_s

    def wait(self, seconds: float) -> bool:
        """Wait at most so long; whether the hub's files have changed."""
        if self._alarm is not None and self._alarm.is_watching:
            return self._alarm.wait(seconds)
        self._runtime.sleep(seconds)
        return False

    def has_moved(self, hub: Clone, known: str) -> bool:
        """Look at the one ref."""
        tip = tip_or_none(hub)
        return bool(tip) and tip != known

    def end(self) -> None:
        if self._alarm is not None:
            self._alarm.close()
        self._alarm = self._peeking = None
