"""Columns of a terminal: how many a text takes, cutting it to some, and what the columns of a table get of them. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

GAP = 2
# No column is cut to less than this: what is left would say nothing.
_LEAST = 4


def cells(text: str) -> int:
    """How many columns of a terminal a text takes: a CJK character or an emoji takes two, a combining accent none."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def cut(text: str, width: int) -> str:
    """The text in at most so many columns; an ellipsis stands for what does not fit."""
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
    """The text with blanks up to so many columns."""
    return text + " " * (width - cells(text))


def widths(rows: Sequence[Sequence[str]], room: int) -> list[int]:
    """The width of each column of a table that fits into so many columns, its header among the rows.

    The widest columns give first, down to one common width, so that short values stay whole, and the first column, which says what
    a row is about, gives last.
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
    """The largest width to which columns can be cut so that they fit together; 0 for none."""
    if sum(natural) <= room:
        return max(natural, default=0)
    left = room
    for place, width in enumerate(sorted(natural)):
        share = left // (len(natural) - place)
        if width > share:
            return max(0, share)
        left -= width
    return 0
