"""A workspace of the Go tool in a folder: finds the files with the beads, and lists what else is there.

This module finds and chooses files. jsonl_import.py and table_dumps.py know what the rows mean.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.compat import foreign_trackers, jsonl_import, table_dumps
from bd.core import ids
from bd.core.errors import BadInput, NotFound
from bd.core.schema import STORED_STATUSES, TYPES

if TYPE_CHECKING:
    from collections.abc import Callable

    from bd.compat.jsonl_import import Batch
    from bd.compat.spellings import Words

# Where exports and dumps may be, the most likely first.
_EXPORTS = (".beads/issues.jsonl", ".beads/beads.jsonl", "issues.jsonl", "beads.jsonl")
_DUMPS = (".beads/backup", "backup")
# What the tool keeps in addition; bd does not read it.
_LEFTOVERS = (".beads/dolt", ".beads/embeddeddolt", ".beads/interactions.jsonl", ".beads/backup")
_TABLES = ("dependencies.jsonl", "labels.jsonl", "comments.jsonl", "events.jsonl", "config.jsonl")
_PREFIX = re.compile(r"^issue[-_]prefix:\s*[\"']?([^\"'#\s]+)", re.MULTILINE)


class Workspace(NamedTuple):
    """The contents of a workspace: beads, id prefix, custom types and statuses, and what is left behind."""

    batch: Batch
    prefix: str
    types: list[str]
    statuses: list[str]
    leftovers: list[str]


def sources(place: str) -> list[str]:
    """Return the files and dump folders with beads in a place; the place itself if it is one."""
    if os.path.isfile(place):
        return [place]
    if any(os.path.isfile(os.path.join(place, name)) for name in _TABLES) and _has(place, "issues.jsonl"):
        return [place]
    found = [os.path.join(place, name) for name in _EXPORTS if _has(place, name)]
    return found[:1] + [os.path.join(place, name) for name in _DUMPS if _has(os.path.join(place, name), "issues.jsonl")]


def _has(folder: str, name: str) -> bool:
    """Return whether there is a non-empty file. Links are not followed, because they could lead anywhere."""
    path = os.path.join(folder, name)
    return os.path.isfile(path) and not os.path.islink(path) and os.path.getsize(path) > 0


def read(source: str, on_progress: Callable[[int, int, str], None] | None = None, words: Words | None = None) -> Batch:
    """Read the beads of a file, a folder, or stdin (`-`), in any known format. Raises NotFound and BadInput."""
    if os.path.isdir(source):
        is_dump = any(os.path.isfile(os.path.join(source, name, "issues.jsonl")) for name in ("", *_DUMPS, ".beads"))
        found = None if is_dump else foreign_trackers.read(source, words, on_progress)
        return found or table_dumps.read(source, on_progress, words)
    data = jsonl_import.bytes_of(source)
    found = foreign_trackers.read(source, words, on_progress) or foreign_trackers.of_bytes(data, source, words, on_progress)
    return found or jsonl_import.read(source, on_progress, words, data)


def look(place: str, on_progress: Callable[[int, int, str], None] | None = None, words: Words | None = None) -> Workspace:
    """Read the workspace in a place.

    Of several exports and dumps, the one with the newest change is used; without any, another tracker's. Raises NotFound.
    """
    batches = [read(source, on_progress, words) for source in sources(place)]
    if not batches and (foreign := foreign_trackers.read(place, words, on_progress)):
        batches = [foreign]
    if not batches:
        looked = ", ".join((*_EXPORTS[:3], *_DUMPS))
        raise NotFound(f"nothing to migrate in {place}", hint=f"looked for {looked}; name a file or a folder: bd migrate FROM")
    batch = max(batches, key=_newest)
    notes = [f"{other.source} is older, and is left out" for other in batches if other is not batch]
    named = {str(bead.get(key)) for key in ("type", "status") for bead in batch.beads if bead.get(key)}
    return Workspace(
        batch._replace(notes=[*batch.notes, *notes]),
        _prefix(place, batch),
        sorted({str(bead["type"]) for bead in batch.beads if bead.get("type")} & named - set(TYPES)),
        sorted({str(bead["status"]) for bead in batch.beads if bead.get("status")} & named - {*STORED_STATUSES, "tombstone"}),
        _leftovers(place),
    )


def _newest(batch: Batch) -> str:
    return max((str(bead.get("updated_at") or "") for bead in batch.beads), default="")


def _prefix(place: str, batch: Batch) -> str:
    """Return the prefix of the ids: as configured, else the most frequent one; "" if neither is a valid prefix."""
    said = batch.prefix
    config = os.path.join(place, ".beads", "config.yaml")
    if not said and os.path.isfile(config) and not os.path.islink(config):
        with open(config, encoding="utf-8", errors="replace") as file:
            match = _PREFIX.search(file.read(100_000))
        said = match and match.group(1)
    counted = Counter(str(bead.get("id", "")).rpartition("-")[0] for bead in batch.beads)
    for name in (said, *(name for name, _ in counted.most_common(1))):
        try:
            return ids.check_prefix(str(name or "").lower().rstrip("-"))
        except BadInput:
            continue
    return ""


def _leftovers(place: str) -> list[str]:
    folder = os.path.join(place, ".beads")
    databases = [f".beads/{name}" for name in sorted(os.listdir(folder)) if name.endswith(".db")] if os.path.isdir(folder) else []
    return [name for name in _LEFTOVERS if os.path.exists(os.path.join(place, name))] + databases
