"""A lock that shows that a worker of an agent runs in this clone. It goes with its process, however that ends."""

from __future__ import annotations

import contextlib
import os

from bd import TYPE_CHECKING
from bd.store.local.lock import CloneLock

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bd.store import Clone


@contextlib.contextmanager
def shown(hub: Clone, agent: str) -> Iterator[bool]:
    """Hold the agent's lock meanwhile. Yield whether no other worker of the agent holds it."""
    lock = CloneLock(os.path.join(hub.place.folder, "workers", f"{agent}.lock"), 0, hub.runtime)
    is_first = lock.try_enter()
    try:
        yield is_first
    finally:
        if is_first:
            lock.__exit__()
