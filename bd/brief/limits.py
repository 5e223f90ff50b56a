"""The size of a brief: what is cut when it is too long.

What machines wrote goes first, what people answered never. Every part that is cut says so, and whole parts that are left out are
counted.
"""

from __future__ import annotations

from collections import Counter

from bd import TYPE_CHECKING
from bd.brief.part import ALWAYS, keep_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bd.brief.part import Part

# The bytes of all texts together: about 16,000 tokens.
LIMIT = 64_000
# A text that is cut keeps at least its beginning.
_BEGINNING = 400
# The parts that may be cut, at most: their beginnings fit into the limit together.
_MOST_PARTS = 150


def chosen(parts: Sequence[Part]) -> tuple[list[Part], Mapping[str, int]]:
    """Return the parts that a brief has room for, in their order, and how many others there are of each kind.

    The least important are left out, the oldest of them first, as a bead may have any number of comments.
    """
    out = set(_ranked(parts)[:-_MOST_PARTS])
    kept = [part for place, part in enumerate(parts) if place not in out]
    return kept, Counter(parts[place].kind for place in sorted(out))


def fitted(parts: Sequence[Part], limit: int = LIMIT) -> list[Part]:
    """Return the parts cut to `limit` bytes of text in all, in their order.

    The least important are cut first, the oldest of them first. More than the limit is returned where what is never cut is longer.
    """
    found = list(parts)
    over = sum(part.size for part in found) - limit
    for place in _ranked(found):
        part = found[place]
        if over <= 0:
            break
        found[place] = _cut(part, max(_BEGINNING, part.size - over))
        over -= part.size - found[place].size
    return found


def _ranked(parts: Sequence[Part]) -> list[int]:
    """Return the places of the parts that may be cut, the least important first."""
    last = {part.kind: place for place, part in enumerate(parts)}
    keeps = [keep_of(part, is_last=last[part.kind] == place) for place, part in enumerate(parts)]
    return sorted((place for place, keep in enumerate(keeps) if keep < ALWAYS), key=keeps.__getitem__)


def _cut(part: Part, size: int) -> Part:
    """Return a part of at most `size` bytes: its beginning, to the end of a line where one is near."""
    data = part.text.encode()
    if len(data) <= size:
        return part
    kept = data[:size].decode(errors="ignore")
    line = kept.rfind("\n")
    if line > len(kept) * 3 // 4:
        kept = kept[:line]
    return part._replace(text=kept, cut=part.cut + len(data) - len(kept.encode()))
