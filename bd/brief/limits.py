"""The size of a brief: what is cut when it is too long.

What machines wrote goes first, what people answered never. Every part that is cut says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bd.brief.part import ALWAYS, keep_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bd.brief.part import Part

# The bytes of all texts together: about 16,000 tokens.
LIMIT = 64_000
# A text that is cut keeps at least its beginning.
_BEGINNING = 400


def fitted(parts: Sequence[Part], limit: int = LIMIT) -> list[Part]:
    """Return the parts cut to `limit` bytes of text in all, in their order.

    The least important are cut first, the oldest of them first. More than the limit is returned where what is never cut is longer.
    """
    found = list(parts)
    over = sum(part.size for part in found) - limit
    last = {part.kind: place for place, part in enumerate(found)}
    ranked = sorted(range(len(found)), key=lambda place: keep_of(found[place], is_last=last[found[place].kind] == place))
    for place in ranked:
        part = found[place]
        if over <= 0 or keep_of(part, is_last=last[part.kind] == place) >= ALWAYS:
            break
        found[place] = _cut(part, max(_BEGINNING, part.size - over))
        over -= part.size - found[place].size
    return found


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
