"""Whose turn it is to publish for everybody who waits (docs/protocol.md, "Many writers at once"). Pure.

The order depends on the tip and on the operations' uids alone, so that everybody who sees the same works out the same
order without a word, and no clock, name or clone is favoured: at the next tip it is another one.
"""

from __future__ import annotations

from bd.store.object_names import name_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

# The k-th in the order goes after k of these push times at an unchanged tip, and nobody waits for more than `MOST`.
PUSH_TIMES = 1.5
MOST = 8


def order(tip: str, uids: Iterable[str]) -> list[str]:
    """The uids of the operations in the order in which they are decided on this tip."""
    return sorted(uids, key=lambda uid: name_of(b"blob", f"{tip} {uid}".encode(), len(tip)))


def patience_s(place: int, push_s: float) -> float:
    """How long who is at this place (0: the first) leaves the push to those before it, in seconds."""
    return min(place, MOST) * PUSH_TIMES * push_s
