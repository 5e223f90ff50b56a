"""Simulated time: processes that say how long they rest, and the order in which they go on.

A process is a generator of seconds. That is all a fleet on paper needs of a simulation library; the general ones bring
resources, conditions and interruptions, and take twice the time for rests alone.
"""

from __future__ import annotations

import heapq

from bd import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator


class Events:
    """The processes of one run, and the time on its clock. Of two that are due at once, the one that was put down first goes on."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.is_stopped = False
        self._count = 0
        self._due: list[tuple[float, int, Generator[float, None, None]]] = []

    def start(self, process: Generator[float, None, None], after_s: float = 0.0) -> None:
        """Let a process begin after so long."""
        self._count += 1
        heapq.heappush(self._due, (self.now_s + after_s, self._count, process))

    def run(self, until_s: float) -> None:
        """Go on until that time, or until somebody stops it."""
        due = self._due
        while due and due[0][0] <= until_s:
            if self.is_stopped:
                return
            self.now_s, _, process = due[0]
            rest_s = next(process, None)
            # The process may have started others. It is still the first in the heap: they are not due before now.
            if rest_s is None:
                heapq.heappop(due)
            else:
                self._count += 1
                heapq.heapreplace(due, (self.now_s + rest_s, self._count, process))
        self.now_s = until_s
