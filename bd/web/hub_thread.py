"""A room: one thread with a hub of its own, in which everything about that hub is done, one after another."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from bd.core.errors import BdError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Concatenate, ParamSpec, TypeVar

    from bd.store import Clone

    P = ParamSpec("P")
    R = TypeVar("R")


class Room:
    """An opened hub belongs to its thread. `open_hub` is called in it, when first needed and after a failure."""

    def __init__(self, name: str, open_hub: Callable[[], Clone]) -> None:
        self._open_hub = open_hub
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._hub: Clone | None = None

    async def do(self, function: Callable[Concatenate[Clone, P], R], *args: P.args, **kwargs: P.kwargs) -> R:
        """What the function makes of the hub. It may be called while others are waited for; they go first."""
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
            self._leave()  # in whatever state it is, the next one shall find a sound one
            raise

    def _leave(self) -> None:
        hub, self._hub = self._hub, None
        if hub is not None:
            hub.close()

    def renew(self) -> None:
        """Open the hub anew before it is used again: what it read once a process may have changed."""
        self._thread.submit(self._leave)

    def close(self, *, waits: bool = True) -> None:
        """Let the hub go, after what is being done; `waits` for that, as a write is worth."""
        self._thread.submit(self._leave)
        self._thread.shutdown(wait=waits)
