"""Git's index file of the plain kind: entries replaced in its bytes, however many others there are.

Belongs here: the format (git's index-format documentation), as far as one changed file needs it. What
is not of the plain kind raises Unfit, and is git's to deal with. Does not belong here: files and locks
(plain_update.py, checkout.py).

An entry is found by its path, without reading the ones before it: the path with its closing NUL stands
in the file once, and what stands before it has to be the entry's object name, mode and flags.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

_FIXED = 40  # times, device, inode, mode, owner, size: ten numbers before the object name
_PLAIN_FILE = 0o100644
_NAME_LIMIT = 0xFFF
_WHOLE = 0xFFFFFFFF


class Unfit(Exception):
    """Not of the plain kind; never leaves store/."""


class Item(NamedTuple):
    """A plain file of the index: its path, and its object before (None: it is new) and after."""

    path: bytes
    old: bytes | None
    new: bytes


class Folder(NamedTuple):
    """What becomes of a folder's tree: its object before and after, and how many files it gains."""

    old: bytes
    new: bytes
    gained: int


class Index:
    """The content of an index file. `oid_size` is the length of a raw object name. Raises Unfit."""

    def __init__(self, data: bytes, oid_size: int) -> None:
        if data[:4] != b"DIRC" or data[4:8] not in (b"\0\0\0\2", b"\0\0\0\3") or not any(data[-oid_size:]):
            raise Unfit("a version without whole names, or without a checksum")
        if b"gitattributes\0" in data:
            raise Unfit("attributes may change what is written")
        self._data = data
        self._oid_size = oid_size
        self._head = _FIXED + oid_size + 2
        self._end = len(data) - oid_size
        self._tree = self._find_tree()

    def places(self, items: Mapping[bytes, Item], before: Mapping[bytes, bytes]) -> dict[bytes, tuple[int, int]]:
        """Where the entry of each item stands, or would: `before` names the file that a new one follows. Raises Unfit."""
        found: dict[bytes, tuple[int, int]] = {}
        for path, item in items.items():
            if item.old is not None:
                start = self._find(path, item.old)
                found[path] = start, start + self._length(path)
            else:
                place = self._place_behind(before[path], path)
                found[path] = place, place
        return found

    def edited(
        self,
        items: Mapping[bytes, Item],
        places: Mapping[bytes, tuple[int, int]],
        stats: Mapping[bytes, os.stat_result],
        folders: Mapping[bytes, Folder],
    ) -> bytes:
        """The index with the items' entries as these stats say, without its checksum."""
        pieces: list[bytes] = []
        done = 0
        for path in sorted(items):
            start, end = places[path]
            pieces += (self._data[done:start], _entry(items[path], stats[path]))
            done = end
        at, behind = self._tree
        trees = _with_folders(self._data[at + 8 : behind], self._oid_size, folders)
        pieces += (self._data[done:at], b"TREE" + len(trees).to_bytes(4, "big") + trees, self._data[behind : self._end])
        number = int.from_bytes(self._data[8:12], "big") + sum(item.old is None for item in items.values())
        pieces[0] = pieces[0][:8] + number.to_bytes(4, "big") + pieces[0][12:]
        return b"".join(pieces)

    def _find(self, path: bytes, oid: bytes) -> int:
        """Where the entry of a file with this object starts. Raises Unfit."""
        data = self._data
        at = data.find(path + b"\0")
        start = at - self._head
        if start < 12 or data.find(path + b"\0", at + 1) >= 0:
            raise Unfit(f"{path!r} stands nowhere, or twice")
        flags = int.from_bytes(data[at - 2 : at], "big")
        mode = int.from_bytes(data[start + 24 : start + 28], "big")
        if flags != len(path) or mode != _PLAIN_FILE or data[start + _FIXED : at - 2] != oid:
            raise Unfit(f"{path!r} is not as it was committed")
        return start

    def _place_behind(self, neighbour: bytes, path: bytes) -> int:
        """Where a new file's entry goes: right behind that of the file before it. Raises Unfit."""
        data = self._data
        at = data.find(neighbour + b"\0")
        start = at - self._head
        if start < 12 or data.find(neighbour + b"\0", at + 1) >= 0 or data.find(path + b"\0") >= 0:
            raise Unfit(f"{neighbour!r} stands nowhere, or twice")
        if int.from_bytes(data[at - 2 : at], "big") != len(neighbour):
            raise Unfit(f"{neighbour!r} is not as it was committed")
        place = start + self._length(neighbour)
        if place == self._tree[0]:
            return place
        flags = int.from_bytes(data[place + self._head - 2 : place + self._head], "big")
        following = data[place + self._head : data.index(0, place + self._head)]
        if flags != len(following) or not neighbour < path < following:
            raise Unfit(f"{following!r} is not as it was committed")
        return place

    def _length(self, path: bytes) -> int:
        """How long the entry of a path is: filled up with NULs, at least one, to a multiple of eight."""
        if len(path) >= _NAME_LIMIT:
            raise Unfit("a long path")
        return (self._head + len(path) + 8) & ~7

    def _find_tree(self) -> tuple[int, int]:
        """Where the extension with the trees begins and ends; behind it nothing may stand but known ones. Raises Unfit."""
        at = self._data.rfind(b"TREE", 12, self._end)
        place = behind = at
        while 0 <= place < self._end:
            if self._data[place : place + 4] not in (b"TREE", b"REUC", b"sdir"):
                break
            place += 8 + int.from_bytes(self._data[place + 4 : place + 8], "big")
            behind = place if behind == at else behind
        if at < 0 or place != self._end:
            raise Unfit("no trees, or other extensions")
        return at, behind


def _entry(item: Item, stat: os.stat_result) -> bytes:
    """An entry of a plain file as it lies there."""
    times: list[int] = []
    for at_ns in (stat.st_ctime_ns, stat.st_mtime_ns):
        times += divmod(at_ns, 1_000_000_000)
    numbers = (*times, stat.st_dev, stat.st_ino, _PLAIN_FILE, stat.st_uid, stat.st_gid, stat.st_size)
    head = b"".join((number & _WHOLE).to_bytes(4, "big") for number in numbers)
    raw = head + item.new + len(item.path).to_bytes(2, "big") + item.path
    return raw + b"\0" * (8 - len(raw) % 8)


def _with_folders(trees: bytes, oid_size: int, folders: Mapping[bytes, Folder]) -> bytes:
    """The extension with the trees, brought along: where it said what a folder was, it says what that is now.

    What it said otherwise is unsaid. Raises Unfit where it can't be read.
    """
    pieces: list[bytes] = []
    # The folders around the one that is read: each one's path, and how many folders are still to come in it.
    around: list[tuple[bytes, int]] = []
    place = 0
    while place < len(trees):
        closed, line = trees.index(0, place), trees.index(b"\n", place)
        name = trees[place:closed]
        count, inner = (int(word) for word in trees[closed + 1 : line].split(b" "))
        place = line + 1 + (oid_size if count >= 0 else 0)
        oid = trees[line + 1 : place]
        path = around[-1][0] + name + b"/" if around else b""
        change = folders.get(path)
        if change is not None and count >= 0:
            count, oid = (count + change.gained, change.new) if oid == change.old else (-1, b"")
        pieces.append(b"%s\0%d %d\n%s" % (name, count, inner, oid))
        if around:
            around[-1] = around[-1][0], around[-1][1] - 1
        around.append((path, inner))
        while around and not around[-1][1]:
            around.pop()
    if around:
        raise Unfit("trees that are cut off")
    return b"".join(pieces)
