"""Whose turn it is to publish for everybody who waits (docs/protocol.md, "Many writers at once"). Pure.

The order depends on the tip and on the operations' uids alone, so that everybody who sees the same works out the same
order without a word, and no clock, name or clone is favoured: at the next tip it is another one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bd.store.object_names import name_of

if TYPE_CHECKING:
    from collections.abc import Iterable

# The k-th in the order goes after k of these push times at an unchanged tip, and nobody waits for more than `MOST`.
PUSH_TIMES = 1.5
MOST = 8
# Who has asked leaves the others this part of a push time to ask too, so that the first one carries more along.
GATHERING = 0.5
# Who waits lists the names again after this part of a push time, and looks properly after so many of them.
AGAIN = 0.5
WATCHED = 3
# Nobody looks more often than this while it waits.
PAUSE_S = 0.02


def order(tip: str, uids: Iterable[str]) -> list[str]:
    """The uids of the operations in the order in which they are decided on this tip."""
    return sorted(uids, key=lambda uid: name_of(b"blob", f"{tip} {uid}".encode(), len(tip)))


def place(tip: str, own: Iterable[str], others: Iterable[str]) -> int:
    """The first place of this clone's operations in the order at this tip (0: its turn)."""
    ours = {*own}
    return next(place for place, uid in enumerate(order(tip, {*ours, *others})) if uid in ours)


def patience_s(place: int, push_s: float) -> float:
    """How long who is at this place (0: the first) leaves the push to those before it, in seconds."""
    return min(place, MOST) * PUSH_TIMES * push_s
