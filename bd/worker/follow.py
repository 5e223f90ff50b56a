"""Following the hub: yields every new tip of its branch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bd.core.errors import BdError
from bd.worker.watcher import Lookout

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bd.store import Clone

# The longest wait between two peeks at a hub on another machine.
LONGEST_S = 60.0


def tips(hub: Clone, known: str, longest_s: float = LONGEST_S, on_trouble: Callable[[str], None] | None = None) -> Iterator[str]:
    """Yield each new tip of the hub after `known`, fetched, without end. Peeks at one ref, often if that costs nothing.

    If the hub can't be reached it tries again, and calls `on_trouble` once.
    """
    lookout, is_told = Lookout(hub.runtime), False
    lookout.begin(hub, longest_s)
    try:
        while True:
            if not lookout.wait(lookout.pause_s()) and not lookout.has_moved(hub, known):
                continue
            try:
                hub.fetch()
            except BdError as error:
                if on_trouble and not is_told:
                    on_trouble(f"{error.message}; trying again")
                is_told = True
                continue
            is_told = False
            tip = hub.published() or known
            if tip != known:
                known = tip
                lookout.begin(hub, longest_s, anew=True)
                yield tip
    finally:
        lookout.end()
