"""How a worker is told to end: the file that `BD_DRAIN_FILE` names appears, or `BD_DRAIN` is set from the start.

What is in hand is finished, and nothing more is claimed. Does not belong here: who tells it (session.py), and what it
does then (loop.py).
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from threading import Event, Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_LOOK_EVERY_S = 0.5


def is_asked() -> bool:
    """Whether this process is to end as soon as it may."""
    path = os.environ.get("BD_DRAIN_FILE")
    return bool(os.environ.get("BD_DRAIN")) or bool(path and os.path.exists(path))


def environment() -> dict[str, str]:
    """What a child that is started now is told from its start; an earlier one has only the file to look at."""
    return {"BD_DRAIN": "1"} if is_asked() else {}


@contextmanager
def watched(wake: Callable[[], None]) -> Iterator[None]:
    """Within the block `wake` is called once, by another thread, when the file appears: a waiting worker ends at once then."""
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
