"""Volumes of the archive: many beads in one file, each a document of its own, which everybody else takes for a file of its own.

`beads/archive/2026-10-001.yaml` is a volume, and `beads/archive/2026-10-001.yaml/hub-a.yaml` the path of a bead in it. Belongs
here: the form of a volume, and seeing its beads in what git lists. Does not belong here: which beads go there (operations/archive.py).

A server that is pushed to looks through every file name of the tree that was there before, and what it costs grows with them:
what nobody works on any more should be few files. In front of each document stands how long it is, so that it comes out
byte for byte as it went in, whatever is in it; where a person has edited one, the next document's beginning ends it.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from bd.core.schema import is_volume, volume_of
from bd.store.contract import Entry
from bd.store.object_names import is_oid, name_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from bd.store.contract import Objects

# What is larger is none of bd's making, and is not read.
LIMIT = 64_000_000
# Volumes that are kept taken apart: beads are asked for one after the other.
_KEPT = 8
_FILE_MODES = frozenset({"100644", "100755"})
_ID = rb"[A-Za-z0-9][A-Za-z0-9_.-]{0,119}"


# Compiled when a volume is first read: most commands read none.
@cache
def _head() -> re.Pattern[bytes]:
    return re.compile(rb"--- # (" + _ID + rb")(?:, (\d{1,9})\d* bytes)?\r?\n")  # a longer number is larger than any file


@cache
def _next() -> re.Pattern[bytes]:
    return re.compile(rb"(?m)^--- # " + _ID + rb"(?:, \d+ bytes)?\r?$")


class Volume(NamedTuple):
    """The documents of a volume by bead, and what is wrong with it (None: nothing)."""

    documents: dict[str, bytes]
    fault: str | None = None


EMPTY = Volume({})


def parse(data: bytes) -> Volume:
    """A volume's documents. What can't be told apart is a fault, and is in none of them."""
    if len(data) > LIMIT:
        return Volume({}, f"is larger than {LIMIT // 1_000_000} MB")
    documents: dict[str, bytes] = {}
    fault, place = None, 0
    while place < len(data):
        head = _head().match(data, place)
        if head is None:
            fault = "is a volume of the archive, and lacks a line such as `--- # hub-7k3q` in front of its first bead"
            break
        start = head.end()
        end, place = _end(data, start, head[2])
        name = head[1].decode("ascii")
        if name in documents:
            fault = f"holds {name} twice"
        documents.setdefault(name, data[start:end])
    return Volume(documents, fault)


def _end(data: bytes, start: int, size: bytes | None) -> tuple[int, int]:
    """Where a document ends, and where the next one's head begins."""
    if size is not None:
        end = start + int(size)
        # A document without a line end at its end was given one.
        for place in (end, end + 1 if data[end : end + 1] == b"\n" else end):
            if place == len(data) or (place < len(data) and data[place - 1 : place] == b"\n" and _head().match(data, place)):
                return end, place
    found = _next().search(data, start)
    end = found.start() if found else len(data)
    return end, end


def compose(documents: Mapping[str, bytes]) -> bytes:
    """The file of a volume with these documents: the same whoever wrote them in whatever order."""
    pieces: list[bytes] = []
    for name, document in sorted(documents.items()):
        pieces.append(b"--- # %s, %d bytes\n%s" % (name.encode("ascii"), len(document), document))
        if not document.endswith(b"\n"):
            pieces.append(b"\n")
    return b"".join(pieces)


class Shelf:
    """The volumes of one repository, as far as they were looked into: documents by the name that they would have as files."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._volumes: dict[str, Volume] = {}
        # Where a document is: the volume's object, and the bead.
        self.places: dict[str, tuple[str, str]] = {}

    def volume(self, name: str) -> Volume:
        """The volume that an object is, or the file `<commit>:<path>`; an empty one for no file. Raises Damaged for no object."""
        known = self._volumes.get(name)
        if known is not None:
            return known
        # What a tree names has to be there: taken for empty, its beads would seem to be gone.
        read = self._objects.known if is_oid(name) else self._objects.read
        data = read(name, at_most=LIMIT + 1)
        if data is None:  # which may still be fetched
            return EMPTY
        while len(self._volumes) >= _KEPT:
            del self._volumes[next(iter(self._volumes))]
        known = self._volumes[name] = parse(data)
        return known

    def at(self, commit: str, path: str, bead_id: str) -> bytes | None:
        """A bead's document in the volume at a path of a commit; None where there is none."""
        return self.volume(f"{commit}:{path}").documents.get(bead_id)

    def document(self, oid: str, at_most: int | None = None) -> bytes | None:
        """A document by the name that it would have as a file, or its first `at_most` bytes."""
        volume, bead_id = self.places[oid]
        document = self.volume(volume).documents.get(bead_id)
        return document[:at_most] if document is not None else None

    def listed(self, volume: str | None) -> dict[str, str]:
        """The beads of a volume, given by its object, and the name of each one's document."""
        if volume is None:
            return {}
        found: dict[str, str] = {}
        for bead_id, document in self.volume(volume).documents.items():
            oid = found[bead_id] = name_of(b"blob", document, len(volume))
            self.places.setdefault(oid, (volume, bead_id))
        return found


def shelf_of(objects: Objects) -> Shelf:
    """The one shelf of a repository's reader."""
    shelf: Shelf | None = objects.shelf
    if shelf is None:
        shelf = objects.shelf = Shelf(objects)
    return shelf


def looked_into(objects: Objects, entries: Iterable[Entry]) -> list[Entry]:
    """What git lists, with the beads of each volume in its place; a volume itself only where something is wrong with it."""
    shelf, found = shelf_of(objects), []
    for entry in entries:
        if volume_of(entry.path) is not None:  # a folder that has a volume's name
            found.append(entry._replace(mode="040000"))
        elif not is_volume(entry.path):
            found.append(entry)
        elif entry.oid is None or entry.mode in _FILE_MODES:
            found += _beads_of(shelf, entry)
        else:  # a link, where there may have been a file
            found += [*_beads_of(shelf, entry._replace(oid=None)), entry]
    # What goes comes first: where a folder was there may be a file now, and the reverse.
    return sorted(found, key=lambda entry: entry.oid is not None)


def _beads_of(shelf: Shelf, entry: Entry) -> Iterable[Entry]:
    old, new = shelf.listed(entry.old), shelf.listed(entry.oid)
    for bead_id in {**old, **new}:
        was, now = old.get(bead_id), new.get(bead_id)
        if was != now:
            yield Entry(f"{entry.path}/{bead_id}.yaml", now, entry.mode, was)
    is_broken = entry.oid is not None and shelf.volume(entry.oid).fault is not None
    if is_broken or (entry.old is not None and shelf.volume(entry.old).fault is not None):
        yield entry if is_broken else entry._replace(oid=None)
