"""Following the hub: every new tip of its branch, as it comes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bd.core.errors import BdError
from bd.worker.watcher import Lookout

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bd.store import Clone

# How long the wait between two looks at a hub that is far away may get.
LONGEST_S = 60.0


def tips(hub: Clone, known: str, longest_s: float = LONGEST_S, on_trouble: Callable[[str], None] | None = None) -> Iterator[str]:
    """Each tip that the hub has after `known`, fetched; for ever. One ref is asked for, often where that costs nothing.

    A hub that can't be reached is tried again, and `on_trouble` hears of it once.
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
