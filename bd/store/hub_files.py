"""Reads the files of a hub: each becomes a row of fields, or the reason why it can't be read."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.ids import is_bead_id
from bd.core.schema import (
    AGENTS_DIR,
    ARCHIVE_DIR,
    BEADS_DIR,
    CAPACITY_DIR,
    CONFIG_PATH,
    FILE_LIMIT,
    SIGNERS_PATH,
    TRIGGERS_DIR,
    fields_of_path,
    is_agent,
    is_volume,
    volume_of,
)
from bd.store.archive.volumes import looked_into, parse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from bd.store.contract import Entry, Repository

# Anything else is a symbolic link or a submodule.
_FILE_MODES = frozenset({"100644", "100755"})


class Row:
    """One parsed file, to be stored in the cache."""

    __slots__ = ("fields", "is_simple", "oid", "path", "reason")

    def __init__(self, path: str, oid: str, fields: dict[str, Any] | None, *, is_simple: bool, reason: str | None = None) -> None:
        self.path = path
        self.oid = oid
        self.fields = fields
        self.is_simple = is_simple
        self.reason = reason


def is_wanted(path: str) -> bool:
    """Return whether the cache keeps this path."""
    if path in (CONFIG_PATH, SIGNERS_PATH):
        return True
    return path.endswith(".yaml") and path.startswith((BEADS_DIR, AGENTS_DIR, CAPACITY_DIR, TRIGGERS_DIR))


def bead_id_of(path: str) -> str | None:
    """Return the bead id that a path stands for; None if no bead may be there."""
    folder, _, name = path.rpartition("/")
    stem = name.removesuffix(".yaml")
    if folder == "beads" or (folder.startswith(ARCHIVE_DIR) and folder.count("/") == 2):
        return stem
    return None


def entries_of(repo: Repository, old: str | None, new: str, *paths: str) -> Sequence[Entry]:
    """Return the files in which two commits differ (`old` None: every file), with archived beads listed one by one."""
    return with_volumes(repo, repo.diff(old, new, *paths))


def with_volumes(repo: Repository, entries: Sequence[Entry]) -> Sequence[Entry]:
    """Replace each volume in a listing by the beads in it."""
    if not any(is_volume(entry.path) or volume_of(entry.path) for entry in entries):
        return entries
    return looked_into(repo.objects, entries)


def parse_entries(
    repo: Repository, entries: Sequence[Entry], on_progress: Callable[[int, int], None] | None = None
) -> Iterator[Row | str]:
    """Read and parse files of a commit. A removed file yields its bare path."""
    present: list[Entry] = []
    for entry in entries:
        if entry.oid is None:
            yield _printable(entry.path)
        elif entry.mode not in _FILE_MODES:
            yield Row(_printable(entry.path), entry.oid, None, is_simple=False, reason="is not a plain file")
        else:
            present.append(entry)
    blobs = repo.objects.read_many([entry.oid or "" for entry in present], at_most=FILE_LIMIT + 1)
    for number, (entry, data) in enumerate(zip(present, blobs, strict=True), start=1):
        yield parse_file(entry.path, entry.oid or "", data)
        if on_progress and (number % 100 == 0 or number == len(present)):
            on_progress(number, len(present))


def misnamed(path: str) -> str | None:
    """Return why no file of a hub may have this name; None if one may. Files to be written are checked, too."""
    if path != _printable(path):
        return "has a name that is not UTF-8"
    stem = path.rpartition("/")[2].removesuffix(".yaml")
    if path.startswith(BEADS_DIR):
        if bead_id_of(path) is None:
            return "is in the wrong place; move it to beads/"
        if not is_bead_id(stem):
            return "has a name that can't be a bead's id"
    elif path != CONFIG_PATH:
        what = "a trigger" if path.startswith(TRIGGERS_DIR) else "an agent"
        if path.removesuffix(f"{stem}.yaml") not in (AGENTS_DIR, CAPACITY_DIR, TRIGGERS_DIR):
            return f"lies where no file of {what} belongs"
        if not is_agent(stem):
            meant = stem.replace("_", "-")
            return f"has a name that can't be {what}'s{f': call it {meant}.yaml' if is_agent(meant) else ''}"
    return None


def _printable(path: str) -> str:
    """Make a path printable: bytes that are not UTF-8 are escaped."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def parse_file(path: str, oid: str, data: bytes | None) -> Row:
    """Parse one file of a hub into a row: its fields, or why it can't be read."""
    from bd.store.yaml import codec  # noqa: PLC0415  nothing on a warm path reads YAML

    if data is None:
        return Row(path, oid, None, is_simple=False, reason="is missing from the repository")
    if path == SIGNERS_PATH:  # git's own format, not YAML
        return Row(path, oid, {"lines": data.decode("utf-8", "replace").splitlines()}, is_simple=False)
    if is_volume(path):
        return Row(path, oid, None, is_simple=False, reason=_fault_of_volume(path, data))
    wrong = misnamed(path)
    if wrong:
        return Row(_printable(path), oid, None, is_simple=False, reason=wrong)
    try:
        if path.startswith(BEADS_DIR):
            parsed = codec.parse_bead(data, bead_id_of(path) or "")
        else:
            parsed = codec.parse(data, fields_of_path(path))
    except codec.Unreadable as error:
        return Row(path, oid, None, is_simple=False, reason=str(error))
    return Row(path, oid, parsed.fields, is_simple=parsed.is_simple)


def _fault_of_volume(path: str, data: bytes) -> str | None:
    """Return why part of a volume can't be read; None if all of it can."""
    volume = parse(data)
    if volume.fault:
        return volume.fault
    beads = (parse_file(f"{path}/{bead_id}.yaml", "", document) for bead_id, document in volume.documents.items())
    return next((f"holds {bead_id_of(bead.path)}, which {bead.reason}" for bead in beads if bead.reason is not None), None)
