"""Volumes of the archive: many beads in one file, each a document that readers see as a file.

`beads/archive/2026-10-001.yaml` is a volume, and `beads/archive/2026-10-001.yaml/hub-a.yaml` the path of a bead in it. This
module knows the form of a volume, and lists its beads; operations/archive.py decides which beads go there.

A server goes through every file name of the previous tree on each push, so beads that nobody works on should be in few files.
Each document is preceded by its length, so that it comes out byte for byte as it went in, whatever it contains. If a person
edited one, it ends where the next document's header begins.
"""

from __future__ import annotations

import re
from functools import cache

from bd import TYPE_CHECKING
from bd.core.schema import is_volume, volume_of
from bd.core.value import Value
from bd.store.contract import Entry
from bd.store.object_names import is_oid, name_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from bd.store.contract import Objects

# bd writes none that large; a larger one is not read.
LIMIT = 64_000_000
# How many parsed volumes are kept: beads are requested one after the other.
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


class Volume(Value):
    """The documents of a volume by bead, and its fault (None: it has none)."""

    documents: dict[str, bytes]
    fault: str | None = None


EMPTY = Volume({})


def parse(data: bytes) -> Volume:
    """Split a volume into its documents. A part that can't be separated is a fault, and is in no document."""
    if len(data) > LIMIT:
        return Volume({}, f"is larger than {LIMIT // 1_000_000} MB")
    documents: dict[str, bytes] = {}
    fault, place = None, 0
    while place < len(data):
        head = _head().match(data, place)
        if head is None:
            fault = "is a volume of the archive, and has no line such as `--- # hub-7k3q` in front of its first bead"
            break
        start = head.end()
        end, place = _end(data, start, head[2])
        name = head[1].decode("ascii")
        if name in documents:
            fault = f"holds {name} twice"
        documents.setdefault(name, data[start:end])
    return Volume(documents, fault)


def _end(data: bytes, start: int, size: bytes | None) -> tuple[int, int]:
    """Return where a document ends, and where the next one's header begins."""
    if size is not None:
        end = start + int(size)
        # A document without a final line end was given one.
        for place in (end, end + 1 if data[end : end + 1] == b"\n" else end):
            if place == len(data) or (place < len(data) and data[place - 1 : place] == b"\n" and _head().match(data, place)):
                return end, place
    found = _next().search(data, start)
    end = found.start() if found else len(data)
    return end, end


def compose(documents: Mapping[str, bytes]) -> bytes:
    """Compose a volume from documents: the same bytes whoever wrote them, in whatever order."""
    pieces: list[bytes] = []
    for name, document in sorted(documents.items()):
        pieces.append(b"--- # %s, %d bytes\n%s" % (name.encode("ascii"), len(document), document))
        if not document.endswith(b"\n"):
            pieces.append(b"\n")
    return b"".join(pieces)


class Shelf:
    """The listed volumes of one repository: documents by the object name that they would have as files."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._volumes: dict[str, Volume] = {}
        # The location of a document: the volume's object, and the bead.
        self.places: dict[str, tuple[str, str]] = {}

    def volume(self, name: str) -> Volume:
        """Return the volume of an object, or of a file `<commit>:<path>`; empty if there is no such file.

        Raises Damaged if the object is missing.
        """
        known = self._volumes.get(name)
        if known is not None:
            return known
        # An object that a tree names has to exist: as an empty volume, its beads would seem deleted.
        read = self._objects.known if is_oid(name) else self._objects.read
        data = read(name, at_most=LIMIT + 1)
        if data is None:  # it may still be fetched
            return EMPTY
        while len(self._volumes) >= _KEPT:
            del self._volumes[next(iter(self._volumes))]
        known = self._volumes[name] = parse(data)
        return known

    def at(self, commit: str, path: str, bead_id: str) -> bytes | None:
        """Return a bead's document in the volume at a commit's path; None if there is none."""
        return self.volume(f"{commit}:{path}").documents.get(bead_id)

    def document(self, oid: str, at_most: int | None = None) -> bytes | None:
        """Return a document by the object name that it would have as a file, or its first `at_most` bytes."""
        volume, bead_id = self.places[oid]
        document = self.volume(volume).documents.get(bead_id)
        return document[:at_most] if document is not None else None

    def listed(self, volume: str | None) -> dict[str, str]:
        """Return the beads of a volume, given by its object, with the object name of each document."""
        if volume is None:
            return {}
        found: dict[str, str] = {}
        for bead_id, document in self.volume(volume).documents.items():
            oid = found[bead_id] = name_of(b"blob", document, len(volume))
            self.places.setdefault(oid, (volume, bead_id))
        return found


def shelf_of(objects: Objects) -> Shelf:
    """Return the shelf of a repository's reader."""
    shelf: Shelf | None = objects.shelf
    if shelf is None:
        shelf = objects.shelf = Shelf(objects)
    return shelf


def looked_into(objects: Objects, entries: Iterable[Entry]) -> list[Entry]:
    """Replace each volume in a listing by its beads; a volume itself is listed only if it has a fault."""
    shelf, found = shelf_of(objects), []
    for entry in entries:
        if volume_of(entry.path) is not None:  # a folder with a volume's name
            found.append(entry.replace(mode="040000"))
        elif not is_volume(entry.path):
            found.append(entry)
        elif entry.oid is None or entry.mode in _FILE_MODES:
            found += _beads_of(shelf, entry)
        else:  # a link, where there may have been a file
            found += [*_beads_of(shelf, entry.replace(oid=None)), entry]
    # Removals come first: a file may have replaced a folder, or the reverse.
    return sorted(found, key=lambda entry: entry.oid is not None)


def _beads_of(shelf: Shelf, entry: Entry) -> Iterable[Entry]:
    old, new = shelf.listed(entry.old), shelf.listed(entry.oid)
    for bead_id in {**old, **new}:
        was, now = old.get(bead_id), new.get(bead_id)
        if was != now:
            yield Entry(f"{entry.path}/{bead_id}.yaml", now, entry.mode, was)
    is_broken = entry.oid is not None and shelf.volume(entry.oid).fault is not None
    if is_broken or (entry.old is not None and shelf.volume(entry.old).fault is not None):
        yield entry if is_broken else entry.replace(oid=None)
