"""Trees as git stores them: entries are found and replaced in the bytes, however many others there are.

Belongs here: the format of one tree. Does not belong here: reading and writing objects (objects.py).
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

FOLDER = b"40000"


class TreeEntry(NamedTuple):
    """What a name stands for: git's mode in octal, and the raw name of the object."""

    mode: bytes
    oid: bytes


class Tree:
    """The content of a tree; `oid_size` is the length of a raw object name in it. Asking it raises ValueError where it is cut off."""

    def __init__(self, raw: bytes, oid_size: int) -> None:
        self.raw = raw
        self._oid_size = oid_size

    @cached_property
    def _starts(self) -> list[int]:
        """Where the entries start."""
        starts: list[int] = []
        index, behind_name, place, end = self.raw.index, self._oid_size + 1, 0, len(self.raw)
        while place < end:
            starts.append(place)
            place = index(0, place) + behind_name
        if place > end:
            raise ValueError("a tree that is cut off")
        return starts

    def entry(self, name: bytes) -> TreeEntry | None:
        """What a name stands for here; None when it is not here."""
        start = self._find(name)
        if start is None:
            return None
        return self._read(start)[1]

    def name_before(self, name: bytes) -> bytes | None:
        """The name of the entry before this one, unless that is a folder; None at the beginning."""
        start = self._find(name)
        place = self._starts.index(start) if start is not None else 0
        if not place:
            return None
        before, entry = self._read(self._starts[place - 1])
        return None if entry.mode == FOLDER else before

    def differences(self, old: Tree) -> dict[bytes, tuple[TreeEntry | None, TreeEntry | None]]:
        """The names that stand for something else than in an older tree: what for there, and what for here. Raises ValueError."""
        head, tail = _common_ends(self.raw, old.raw)
        # Both have to agree on where entries start: bytes that are the same may be parts of different ones.
        first = min(self._start_up_to(head), old._start_up_to(head))
        ours, theirs = self._start_from(len(self.raw) - tail), old._start_from(len(old.raw) - tail)
        if len(self.raw) - ours != len(old.raw) - theirs:
            ours, theirs = len(self.raw), len(old.raw)
        now, was = self._within(first, ours), old._within(first, theirs)
        return {name: (was.get(name), now.get(name)) for name in {**was, **now} if was.get(name) != now.get(name)}

    def _within(self, first: int, end: int) -> dict[bytes, TreeEntry]:
        """The entries that start between two places. Raises ValueError where a name stands twice."""
        starts = self._starts[self._count_before(first) : self._count_before(end)]
        found = dict(self._read(start) for start in starts)
        if len(found) < len(starts):
            raise ValueError("a tree with a name twice in it")
        return found

    def _start_up_to(self, place: int) -> int:
        """The last start of an entry that is not behind a place; the beginning where there is none."""
        return self._starts[max(self._count_before(place + 1), 1) - 1] if self._starts else 0

    def _start_from(self, place: int) -> int:
        """The first start of an entry that is not before a place; the end where there is none."""
        count = self._count_before(place)
        return self._starts[count] if count < len(self._starts) else len(self.raw)

    def _count_before(self, place: int) -> int:
        """How many entries start before a place."""
        starts = self._starts
        return _longest(len(starts), lambda size: starts[size - 1] < place)

    def _read(self, start: int) -> tuple[bytes, TreeEntry]:
        blank, end = self.raw.index(b" ", start), self.raw.index(0, start)
        return self.raw[blank + 1 : end], TreeEntry(self.raw[start:blank], self.raw[end + 1 : end + 1 + self._oid_size])

    def edited(self, changes: Mapping[bytes, TreeEntry | None]) -> bytes:
        """The tree's content with these names set or (None) removed."""
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
        """Where the entry of a name starts. The same bytes may stand in another's name or object name, and are no entry there."""
        raw, starts, wanted = self.raw, self._starts, b" " + name + b"\0"
        at = raw.find(wanted)
        while at >= 0:
            for start in (at - 6, at - 5):  # modes have six figures, a folder's five
                if start in starts and raw.index(b" ", start) == at:
                    return start
            at = raw.find(wanted, at + 1)
        return None

    def _end(self, start: int) -> int:
        return self.raw.index(0, start) + 1 + self._oid_size

    def _place_for(self, key: bytes) -> int:
        """Where an entry with this sort key has to start."""
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


def _common_ends(one: bytes, other: bytes) -> tuple[int, int]:
    """How many bytes are the same at the beginning, and how many others at the end."""
    head = _longest(min(len(one), len(other)), lambda size: one[:size] == other[:size])
    rest = min(len(one), len(other)) - head
    return head, _longest(rest, lambda size: one[len(one) - size :] == other[len(other) - size :])


def _longest(limit: int, holds: Callable[[int], bool]) -> int:
    """The largest size that holds, where every smaller one does."""
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        if holds(middle):
            low = middle
        else:
            high = middle - 1
    return low


def _key(mode: bytes, name: bytes) -> bytes:
    """Git sorts a tree as if its folders' names ended in a slash."""
    return name + b"/" if mode == FOLDER else name
