"""A mapping that never changes: a changed copy shares with it everything that is the same.

For what grows with a hub and is kept for many commits at once. A copy costs the part that a changed key lies in, not the whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar, cast
from zlib import crc32

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

V = TypeVar("V")
# A map has 256 parts in 16 rows. A small one has few rows that are not this empty one: whatever goes over the rows skips the others
# by identity.
_ROWS = 16
_EMPTY: tuple[dict[str, object], ...] = ({},) * _ROWS


class PersistentMap(Generic[V]):
    """Texts to values. The order is that of the parts, and the same in every process."""

    __slots__ = ("_rows", "_size")

    def __init__(self, rows: tuple[tuple[dict[str, V], ...], ...] | None = None, size: int = 0) -> None:
        """Begin with nothing; `rows` are what `after` has made."""
        self._rows = cast("tuple[tuple[dict[str, V], ...], ...]", (_EMPTY,) * _ROWS) if rows is None else rows
        self._size = size

    def __len__(self) -> int:
        return self._size

    def __contains__(self, key: str) -> bool:
        row, column = _place(key)
        return key in self._rows[row][column]

    def get(self, key: str) -> V | None:
        """Return the value of a key; None if there is none."""
        row, column = _place(key)
        return self._rows[row][column].get(key)

    def __iter__(self) -> Iterator[str]:
        return (key for row in self._rows if row is not _EMPTY for part in row for key in part)

    def values(self) -> Iterator[V]:
        """Yield every value."""
        return (value for row in self._rows if row is not _EMPTY for part in row if part for value in part.values())

    def after(self, changes: Mapping[str, V | None]) -> PersistentMap[V]:
        """Return the mapping with these values; None removes a key."""
        changed: dict[int, list[dict[str, V]]] = {}
        size = self._size
        for key, value in changes.items():
            number, column = _place(key)
            row = changed.setdefault(number, [*self._rows[number]])
            if row[column] is self._rows[number][column]:
                row[column] = dict(row[column])
            part = row[column]
            size -= key in part
            if value is None:
                part.pop(key, None)
            else:
                part[key] = value
                size += 1
        rows = list(self._rows)
        for number, row in changed.items():
            rows[number] = tuple(row)
        return PersistentMap(tuple(rows), size)

    def differing(self, other: PersistentMap[V]) -> set[str]:
        """Return the keys that only one of both has, or whose values differ."""
        found: set[str] = set()
        for row, its in zip(self._rows, other._rows, strict=True):
            if row is its:
                continue
            for mine, theirs in zip(row, its, strict=True):
                if mine is not theirs:
                    found.update(key for key in mine.keys() | theirs.keys() if mine.get(key) != theirs.get(key))
        return found


def _place(key: str) -> tuple[int, int]:
    """Return the row and the column of a key's part."""
    return divmod(crc32(key.encode("utf-8", "surrogateescape")) & (_ROWS * _ROWS - 1), _ROWS)
