"""The order in which waiting writers publish for everybody (docs/protocol.md, "Many writers at once"). Pure.

The order depends only on the tip and the operations' uids, so every clone computes the same one without communication. It changes
with every tip, so it favours no clock, name or clone.
"""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.store.object_names import name_of

if TYPE_CHECKING:
    from collections.abc import Iterable

# The k-th writer waits for k of these push times at an unchanged tip; nobody waits for more than `MOST`.
PUSH_TIMES = 1.5
MOST = 8
# After asking, a writer gives others this part of a push time to ask too, so that the first to push carries more.
GATHERING = 0.5
# A waiting writer lists the requests again after AGAIN of a push time, and fetches after WATCHED of them.
AGAIN = 0.5
WATCHED = 3
# The shortest pause between two listings.
PAUSE_S = 0.02


def order(tip: str, uids: Iterable[str]) -> list[str]:
    """Return the operations' uids in the order in which they are decided on this tip."""
    return sorted(uids, key=lambda uid: name_of(b"blob", f"{tip} {uid}".encode(), len(tip)))


def place(tip: str, own: Iterable[str], others: Iterable[str]) -> int:
    """Return the first place of this clone's operations in the order at this tip (0: its turn)."""
    ours = {*own}
    return next(place for place, uid in enumerate(order(tip, {*ours, *others})) if uid in ours)


def patience_s(place: int, push_s: float) -> float:
    """Return how long a writer at this place (0: the first) leaves the push to those before it, in seconds."""
    return min(place, MOST) * PUSH_TIMES * push_s
