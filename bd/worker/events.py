"""The events of a worker: added by any thread or signal handler, read by the worker's own."""

from __future__ import annotations

import queue

from bd import TYPE_CHECKING

if TYPE_CHECKING:
    from bd.core.runtime import Runtime

# Two signals at once may both be handled in another thread and wake nobody: waits are therefore limited to this.
_SIGNALS_S = 1.0


class Events:
    """A queue of words, in the order in which they came."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._words: queue.SimpleQueue[str] = queue.SimpleQueue()

    def put(self, word: str) -> None:
        """Add an event. May be called at any time, including from a signal handler."""
        self._words.put(word)

    def next(self, seconds: float) -> str:
        """Return the next event; "" if none comes in time."""
        until_s = self._runtime.monotonic() + seconds
        while (rest_s := until_s - self._runtime.monotonic()) > 0:
            try:
                return self._words.get(timeout=min(rest_s, _SIGNALS_S))
            except queue.Empty:
                continue
        return ""
