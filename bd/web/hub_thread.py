"""A thread with a clone of its own that runs all calls on that clone, one after another."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

from bd import TYPE_CHECKING
from bd.core.errors import BdError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Concatenate, ParamSpec, TypeVar

    from bd.store import Clone

    P = ParamSpec("P")
    R = TypeVar("R")


class Room:
    """A clone and its thread: a clone must be used in one thread.

    `open_hub` is called there, at first use and after a failure.
    """

    def __init__(self, name: str, open_hub: Callable[[], Clone]) -> None:
        self._open_hub = open_hub
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._hub: Clone | None = None

    async def do(self, function: Callable[Concatenate[Clone, P], R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the function with the clone in the thread and return its result. Calls run in the order in which they come."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, lambda: self._do(function, *args, **kwargs))

    def _do(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        if self._hub is None:
            self._hub = self._open_hub()
        try:
            return function(self._hub, *args, **kwargs)
        except BdError:
            raise
        except BaseException:
            self._leave()  # the clone may be in any state, so the next call opens a new one
            raise

    def _leave(self) -> None:
        hub, self._hub = self._hub, None
        if hub is not None:
            hub.close()

    def renew(self) -> None:
        """Reopen the clone before its next use: it caches some files per process that may have changed."""
        self._thread.submit(self._leave)

    def close(self, *, waits: bool = True) -> None:
        """Close the clone after the current call; `waits` for that call to finish, as a write needs."""
        self._thread.submit(self._leave)
        self._thread.shutdown(wait=waits)
