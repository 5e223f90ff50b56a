"""Following the hub: every new tip of its branch, as it comes."""

from __future__ import annotations

from bd import clock
from bd.errors import BdError
from bd.fleet.pacer import Peeking, tip_or_none

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bd.store.hub import Hub

# How long the wait between two looks at a hub that is far away may get.
LONGEST_S = 60.0


def tips(hub: Hub, known: str, longest_s: float = LONGEST_S, on_trouble: Callable[[str], None] | None = None) -> Iterator[str]:
    """Each tip that the hub has after `known`, fetched; for ever. One ref is asked for, often where that costs nothing.

    A hub that can't be reached is tried again, and `on_trouble` hears of it once.
    """
    peeking, is_told = Peeking(hub, longest_s), False
    while True:
        clock.sleep(peeking.next_s())
        tip = tip_or_none(hub)
        if tip is None or tip in ("", known):
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
            known, peeking = tip, Peeking(hub, longest_s)
            yield tip
