"""Columns of a terminal: measuring a text, cutting it, and the widths of a table. Pure."""

from __future__ import annotations

from bd import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

GAP = 2
# No column is cut to less than this: what is left would say nothing.
_LEAST = 4


def cells(text: str) -> int:
    """Return the number of terminal columns that a text takes: two for a CJK character or an emoji, none for a combining accent."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def cut(text: str, width: int) -> str:
    """Cut the text to at most `width` columns; an ellipsis replaces the rest."""
    if cells(text) <= width:
        return text
    kept, room = "", width - 1
    for character in text:
        room -= cells(character)
        if room < 0:
            break
        kept += character
    return f"{kept}…"


def padded(text: str, width: int) -> str:
    """Pad the text with blanks to `width` columns."""
    return text + " " * (width - cells(text))


def widths(rows: Sequence[Sequence[str]], room: int) -> list[int]:
    """Return the width of each column of a table that has to fit into `room` columns; the header is one of the rows.

    The widest columns shrink first, down to a common width, so that short values stay whole. The first column, which names the row,
    shrinks last.
    """
    natural = [max(map(cells, column)) for column in zip(*rows, strict=True)]
    room -= GAP * (len(natural) - 1)
    for gives in (natural[1:], natural):
        fixed = sum(natural) - sum(gives)
        limit = _common_limit(gives, room - fixed)
        if limit >= _LEAST or gives is natural:
            limit = max(limit, _LEAST)
            kept = len(natural) - len(gives)
            return [*natural[:kept], *(min(width, limit) for width in gives)]
    return natural


def _common_limit(natural: Sequence[int], room: int) -> int:
    """Return the largest common limit with which these columns fit; 0 if there is none."""
    if sum(natural) <= room:
        return max(natural, default=0)
    left = room
    for place, width in enumerate(sorted(natural)):
        share = left // (len(natural) - place)
        if width > share:
            return max(0, share)
        left -= width
    return 0
