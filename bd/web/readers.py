"""The reader: one thread with a clone. Calls that come while it is busy share one view of the hub, taken after they came.

So under load the hub is opened once for many answers, and no answer is older than the moment at which it was asked for.
"""

from __future__ import annotations

import asyncio
from threading import Lock

from bd import TYPE_CHECKING
from bd.core.errors import BdError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    from bd.store import Clone
    from bd.web.hub_thread import Room

    V = TypeVar("V")
    R = TypeVar("R")

# The most answers from one view: the time of the view passes meanwhile.
_TOGETHER = 32


class Broken(Exception):
    """An answer failed by a bug, or the clone did: its room opens another one."""


class Reader:
    """Runs functions on views of the hub in a room's thread. `view_of` makes a view of the clone as it is now."""

    def __init__(self, room: Room, view_of: Callable[[Clone], Any]) -> None:
        self._room, self._view_of = room, view_of
        self._lock = Lock()
        self._waiting: list[tuple[Callable[[Any], Any], asyncio.Future[Any]]] = []
        self._running: asyncio.Task[None] | None = None

    async def do(self, function: Callable[[Any], R]) -> R:
        """Call the function with a view that is not older than this call, and return its result."""
        done: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        with self._lock:
            self._waiting.append((function, done))
        if self._running is None or self._running.done():
            self._running = asyncio.create_task(self._run())
        return await done

    async def _run(self) -> None:
        """Let the thread answer until nobody waits; each caller gets its own result or error."""
        loop = asyncio.get_running_loop()
        while self._waiting:
            try:
                await self._room.do(self._answer, loop)
            except Broken:
                continue
            except BaseException as error:  # noqa: BLE001  the clone can't be opened: everybody who waits is told
                self._fail_all(error)

    def _answer(self, hub: Clone, loop: asyncio.AbstractEventLoop) -> None:
        """Answer some of those that wait, in the thread. Raises Broken if the clone may be in any state."""
        with self._lock:
            taken, self._waiting = self._waiting[:_TOGETHER], self._waiting[_TOGETHER:]
        view, is_broken = None, False
        for function, done in taken:
            try:
                view = self._view_of(hub) if view is None else view
                result = function(view)
            except Exception as error:  # noqa: BLE001  it is this caller's
                is_broken = is_broken or not isinstance(error, BdError)
                loop.call_soon_threadsafe(_fail, done, error)
            else:
                loop.call_soon_threadsafe(_settle, done, result)
        if is_broken:
            raise Broken

    def _fail_all(self, error: BaseException) -> None:
        with self._lock:
            taken, self._waiting = self._waiting, []
        for _, done in taken:
            _fail(done, error)


def _settle(done: asyncio.Future[Any], result: Any) -> None:
    if not done.done():  # else its caller has gone
        done.set_result(result)


def _fail(done: asyncio.Future[Any], error: BaseException) -> None:
    if not done.done():
        done.set_exception(error)
