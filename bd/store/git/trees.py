"""Trees as git stores them: entries are found and replaced in the bytes, without parsing the whole tree.

The format of one tree; objects.py reads and writes objects.
"""

from __future__ import annotations

from functools import cached_property

from bd import TYPE_CHECKING
from bd.core.value import Value

if TYPE_CHECKING:
    from collections.abc import Mapping

FOLDER = b"40000"


class TreeEntry(Value):
    """An entry of a tree: git's mode in octal, and the raw name of the object."""

    mode: bytes
    oid: bytes


class Tree:
    """The content of a tree. `oid_size` is the length of a raw object name. Methods raise ValueError for truncated content."""

    def __init__(self, raw: bytes, oid_size: int) -> None:
        self.raw = raw
        self._oid_size = oid_size

    @cached_property
    def _starts(self) -> list[int]:
        """The offsets at which entries start."""
        starts: list[int] = []
        index, behind_name, place, end = self.raw.index, self._oid_size + 1, 0, len(self.raw)
        while place < end:
            starts.append(place)
            place = index(0, place) + behind_name
        if place > end:
            raise ValueError("a tree that is cut off")
        return starts

    def entry(self, name: bytes) -> TreeEntry | None:
        """Return the entry of a name; None if there is none."""
        start = self._find(name)
        if start is None:
            return None
        return self._read(start)[1]

    def names(self) -> list[bytes]:
        """The names of all entries, in their order."""
        return [self._read(start)[0] for start in self._starts]

    def _read(self, start: int) -> tuple[bytes, TreeEntry]:
        blank, end = self.raw.index(b" ", start), self.raw.index(0, start)
        return self.raw[blank + 1 : end], TreeEntry(self.raw[start:blank], self.raw[end + 1 : end + 1 + self._oid_size])

    def edited(self, changes: Mapping[bytes, TreeEntry | None]) -> bytes:
        """Return the tree's content with these names set or (None) removed."""
        edits: list[tuple[int, int, bytes, bytes]] = []
        for name, new in changes.items():
            start = self._find(name)
            if start is not None:
                edits.append((start, self._end(start), b"", b""))
            if new is not None:
                place = self._place_for(_key(new.mode, name))
                edits.append((place, place, _key(new.mode, name), new.mode + b" " + name + b"\0" + new.oid))
        edits.sort()
        pieces: list[bytes] = []
        done = 0
        for start, end, _, put in edits:
            pieces += (self.raw[done:start], put)
            done = max(done, end)
        return b"".join([*pieces, self.raw[done:]])

    def _find(self, name: bytes) -> int | None:
        """Return the offset of a name's entry. The same bytes in another name or object name don't count."""
        raw, starts, wanted = self.raw, self._starts, b" " + name + b"\0"
        at = raw.find(wanted)
        while at >= 0:
            for start in (at - 6, at - 5):  # a mode has six digits, a folder's five
                if start in starts and raw.index(b" ", start) == at:
                    return start
            at = raw.find(wanted, at + 1)
        return None

    def _end(self, start: int) -> int:
        return self.raw.index(0, start) + 1 + self._oid_size

    def _place_for(self, key: bytes) -> int:
        """Return the offset at which an entry with this sort key belongs."""
        low, high = 0, len(self._starts)
        while low < high:
            middle = (low + high) // 2
            start = self._starts[middle]
            mode, _, name = self.raw[start : self.raw.index(0, start)].partition(b" ")
            if _key(mode, name) < key:
                low = middle + 1
            else:
                high = middle
        return self._starts[low] if low < len(self._starts) else len(self.raw)


def _key(mode: bytes, name: bytes) -> bytes:
    """Return the sort key: git sorts folders as if their names ended in a slash."""
    return name + b"/" if mode == FOLDER else name
