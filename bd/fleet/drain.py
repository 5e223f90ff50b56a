"""How a worker is told to end: the file that `BD_DRAIN_FILE` names appears, or `BD_DRAIN` is set from the start.

What is in hand is finished, and nothing more is claimed. Does not belong here: who tells it (session.py), and what it
does then (worker.py).
"""

from __future__ import annotations

import os
from threading import Thread

from bd import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_LOOK_EVERY_S = 0.5


def is_asked() -> bool:
    """Whether this process is to end as soon as it may."""
    path = os.environ.get("BD_DRAIN_FILE")
    return bool(os.environ.get("BD_DRAIN")) or bool(path and os.path.exists(path))


def environment() -> dict[str, str]:
    """What a child that is started now is told from its start; an earlier one has only the file to look at."""
    return {"BD_DRAIN": "1"} if is_asked() else {}


def watch(wake: Callable[[], None]) -> None:
    """Call `wake` once, from a thread of its own, when the file appears; a waiting worker ends at once then."""

    def look() -> None:
        while not is_asked():
            clock.sleep(_LOOK_EVERY_S)
        wake()

    if os.environ.get("BD_DRAIN_FILE"):
        Thread(target=look, daemon=True).start()
