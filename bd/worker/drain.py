"""Draining: a worker ends when the file named by `BD_DRAIN_FILE` appears, or if `BD_DRAIN` is set at its start.

Current work is finished, and nothing more is claimed. pool/session.py asks for it, loop.py acts on it.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from threading import Event, Thread

from bd import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_LOOK_EVERY_S = 0.5


def is_asked() -> bool:
    """Return whether this process is to end as soon as it may."""
    path = os.environ.get("BD_DRAIN_FILE")
    return bool(os.environ.get("BD_DRAIN")) or bool(path and os.path.exists(path))


def environment() -> dict[str, str]:
    """Return the variables that tell a new child that it is draining; earlier children can only see the file."""
    return {"BD_DRAIN": "1"} if is_asked() else {}


@contextmanager
def watched(wake: Callable[[], None]) -> Iterator[None]:
    """Within the block, call `wake` once, from another thread, when the file appears, so that a waiting worker ends."""
    is_over = Event()

    def look() -> None:
        while not is_asked():
            if is_over.wait(_LOOK_EVERY_S):
                return
        wake()

    thread = Thread(target=look, name="bd drain", daemon=True)
    if os.environ.get("BD_DRAIN_FILE"):
        thread.start()
    try:
        yield
    finally:
        is_over.set()
        if thread.ident is not None:
            thread.join()
