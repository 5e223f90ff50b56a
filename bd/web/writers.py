"""Writers: several threads with clones of their own on one folder, so that writes at once become few pushes.

The first takes the clone's lock; while it publishes, the others leave their operations in the journal, and the next holder
publishes them all in one push (docs/protocol.md, "Many writers at once").
"""

from __future__ import annotations

import asyncio

from bd import TYPE_CHECKING
from bd.web.hub_thread import Room

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Concatenate, ParamSpec, TypeVar

    from bd.store import Clone

    P = ParamSpec("P")
    R = TypeVar("R")

# The most writes at once; others wait for their turn. More would share a push, but each has a clone to open and to keep.
AT_ONCE = 8


class Writers:
    """A pool of rooms. The one used last is used first, so that a quiet server opens one clone."""

    def __init__(self, open_hub: Callable[[], Clone], number: int = AT_ONCE, name: str = "bd writer") -> None:
        self._rooms = [Room(f"{name} {place}", open_hub) for place in range(number)]
        self._free: list[Room] = list(self._rooms)
        self._turn = asyncio.Semaphore(number)

    async def do(self, function: Callable[Concatenate[Clone, P], R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the function with a clone in a free thread and return its result."""
        async with self._turn:
            room = self._free.pop()
            try:
                return await room.do(function, *args, **kwargs)
            finally:
                self._free.append(room)

    def close(self) -> None:
        """Close the clones after the current writes."""
        for room in self._rooms:
            room.close()
