"""What happens to a worker, one event after another: put in by any thread or signal handler, waited for by its own."""

from __future__ import annotations

import queue
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bd.core.runtime import Runtime

# Two signals at once may both be taken by another thread, and wake nobody: so soon they are heard of in any case.
_SIGNALS_S = 1.0


class Events:
    """Words, in the order in which they came."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._words: queue.SimpleQueue[str] = queue.SimpleQueue()

    def put(self, word: str) -> None:
        """May be called at any time, also by a signal handler."""
        self._words.put(word)

    def next(self, seconds: float) -> str:
        """The next one; empty when none comes within the time."""
        until_s = self._runtime.monotonic() + seconds
        while (rest_s := until_s - self._runtime.monotonic()) > 0:
            try:
                return self._words.get(timeout=min(rest_s, _SIGNALS_S))
            except queue.Empty:
                continue
        return ""
