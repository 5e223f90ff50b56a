"""The files of a hub, read: each becomes a row of fields, or the reason why it can't be read."""

from __future__ import annotations

from bd.fields import AGENTS_DIR, ARCHIVE_DIR, BEADS_DIR, CAPACITY_DIR, CONFIG_PATH, fields_of_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from bd.store.gitrepo import Entry, GitRepo

# A symbolic link or a submodule in place of a file.
_FILE_MODES = frozenset({"100644", "100755"})


class Row:
    """One parsed file on its way into the cache."""

    __slots__ = ("fields", "is_simple", "oid", "path", "reason")

    def __init__(self, path: str, oid: str, fields: dict[str, Any] | None, *, is_simple: bool, reason: str | None = None) -> None:
        self.path = path
        self.oid = oid
        self.fields = fields
        self.is_simple = is_simple
        self.reason = reason


def is_wanted(path: str) -> bool:
    """Whether the cache keeps this path of the hub."""
    if path == CONFIG_PATH:
        return True
    return path.endswith(".yaml") and path.startswith((BEADS_DIR, AGENTS_DIR, CAPACITY_DIR))


def bead_id_of(path: str) -> str | None:
    """The id that a bead file's path stands for; None when it lies where no bead may."""
    folder, _, name = path.rpartition("/")
    stem = name.removesuffix(".yaml")
    if folder == "beads" or (folder.startswith(ARCHIVE_DIR) and folder.count("/") == 2):
        return stem
    return None


def parse_entries(
    repo: GitRepo, entries: Sequence[Entry], on_progress: Callable[[int, int], None] | None = None
) -> Iterator[Row | str]:
    """Read and parse files of a commit; a removed one comes out as its bare path."""
    present = [entry for entry in entries if entry.oid is not None and entry.mode in _FILE_MODES]
    for entry in entries:
        if entry.oid is None:
            yield entry.path
        elif entry.mode not in _FILE_MODES:
            yield Row(entry.path, entry.oid, None, is_simple=False, reason="is not a plain file")
    blobs = repo.objects.read_many([entry.oid or "" for entry in present])
    for number, (entry, data) in enumerate(zip(present, blobs, strict=True), start=1):
        yield parse_file(entry.path, entry.oid or "", data)
        if on_progress and (number % 100 == 0 or number == len(present)):
            on_progress(number, len(present))


def parse_file(path: str, oid: str, data: bytes | None) -> Row:
    """One file of a hub as a row: its fields, or why it can't be read."""
    from bd.store import codec  # noqa: PLC0415  nothing on a warm path reads YAML

    if data is None:
        return Row(path, oid, None, is_simple=False, reason="is missing from the repository")
    try:
        if path.startswith(BEADS_DIR):
            bead_id = bead_id_of(path)
            if bead_id is None:
                raise codec.Unreadable("lies where no bead belongs; move it to beads/")
            parsed = codec.parse_bead(data, bead_id)
        else:
            parsed = codec.parse(data, fields_of_path(path))
    except codec.Unreadable as error:
        return Row(path, oid, None, is_simple=False, reason=str(error))
    return Row(path, oid, parsed.fields, is_simple=parsed.is_simple)
