"""A mapping that never changes: a changed copy shares with it everything that is the same.

For what grows with a hub and is kept for many commits at once. A copy costs the part that a changed key lies in, not the whole.
"""

from __future__ import annotations

from typing import Generic, TypeVar
from zlib import crc32

from bd import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

V = TypeVar("V")
_PARTS = 256


class PersistentMap(Generic[V]):
    """Texts to values. The order is that of the parts, and the same in every process."""

    __slots__ = ("_parts", "_size")

    def __init__(self, parts: tuple[dict[str, V], ...] = ({},) * _PARTS, size: int = 0) -> None:
        """Begin with nothing; `parts` are what `after` has made."""
        self._parts = parts
        self._size = size

    def __len__(self) -> int:
        return self._size

    def __contains__(self, key: str) -> bool:
        return key in self._parts[_part(key)]

    def get(self, key: str) -> V | None:
        """Return the value of a key; None if there is none."""
        return self._parts[_part(key)].get(key)

    def __iter__(self) -> Iterator[str]:
        return (key for part in self._parts for key in part)

    def values(self) -> Iterator[V]:
        """Yield every value."""
        return (value for part in self._parts for value in part.values())

    def after(self, changes: Mapping[str, V | None]) -> PersistentMap[V]:
        """Return the mapping with these values; None removes a key."""
        parts = list(self._parts)
        size = self._size
        for key, value in changes.items():
            number = _part(key)
            if parts[number] is self._parts[number]:
                parts[number] = dict(parts[number])
            part = parts[number]
            size -= key in part
            if value is None:
                part.pop(key, None)
            else:
                part[key] = value
                size += 1
        return PersistentMap(tuple(parts), size)

    def differing(self, other: PersistentMap[V]) -> set[str]:
        """Return the keys that only one of both has, or whose values differ."""
        found: set[str] = set()
        for mine, theirs in zip(self._parts, other._parts, strict=True):
            if mine is not theirs:
                found.update(key for key in mine.keys() | theirs.keys() if mine.get(key) != theirs.get(key))
        return found


def _part(key: str) -> int:
    return crc32(key.encode("utf-8", "surrogateescape")) & (_PARTS - 1)
