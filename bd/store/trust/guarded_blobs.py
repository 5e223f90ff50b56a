"""The guarded part of each file in a hub that requires signatures: a bead's guarded fields, any other file's blob.

Reads the files; verification.py decides who may change what.
"""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.ids import is_bead_id
from bd.core.schema import BEADS_DIR, FILE_LIMIT, bead_path
from bd.store.bead_locations import Archived
from bd.store.hub_files import bead_id_of, is_wanted
from bd.store.trust import guarded_fields
from bd.store.yaml import codec

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from bd.store.contract import Entry
    from bd.store.git.repository import GitRepo

_KEPT = 20_000
FILE_MODES = frozenset({"100644", "100755"})


def key_of(path: str) -> str:
    """Return the key of a file: a bead's id, wherever it is; another hub file's path; "" for all others."""
    if path.startswith(BEADS_DIR):
        bead_id = bead_id_of(path)
        return bead_id if bead_id and path.endswith(".yaml") and is_bead_id(bead_id) else ""
    return path if is_wanted(path) else ""


class Contents:
    """Guarded contents of one repository, each read and parsed once."""

    def __init__(self, repo: GitRepo) -> None:
        self._repo = repo
        self._known: dict[tuple[str, str], dict[str, Any] | None] = {}
        self._archived = Archived(repo)

    def learn(self, entries: Iterable[Entry]) -> None:
        """Read the beads among these files, before and after the change."""
        pairs = ((key_of(entry.path), oid) for entry in entries if entry.path.startswith(BEADS_DIR) for oid in _blobs(entry))
        wanted = list(dict.fromkeys(pair for pair in pairs if pair not in self._known))
        if len(self._known) > _KEPT:
            self._known.clear()
        for pair, data in zip(
            wanted, self._repo.objects.read_many([oid for _, oid in wanted], at_most=FILE_LIMIT + 1), strict=True
        ):
            self._known[pair] = _parsed(pair[0], data)

    def of(self, key: str, oid: str | None) -> Any:
        """Return the guarded part of a blob; None if there is none, or it can't be read."""
        if oid is None or "/" in key:
            return oid
        pair = key, oid
        if pair not in self._known:
            self._known[pair] = _parsed(key, self._repo.objects.read(oid, at_most=FILE_LIMIT + 1))
        return self._known[pair]

    def at(self, key: str, commit: str) -> Any:
        """Return the guarded part of a file at a commit."""
        if "/" in key:
            return next((entry.oid for entry in self._repo.diff(None, commit, key) if entry.mode in FILE_MODES), None)
        active = [entry for entry in self._repo.diff(None, commit, bead_path(key)) if entry.mode in FILE_MODES]
        return self.of(key, active[0].oid) if active else self.archived(key, commit)

    def archived(self, key: str, commit: str) -> Any:
        """Return the guarded part of an archived bead at a commit."""
        there = [entry for entry in self._archived.of(key, commit) if entry.mode in FILE_MODES]
        return self.of(key, there[-1].oid if there else None)


def _blobs(entry: Entry) -> Sequence[str]:
    """Return the blobs of a file before and after, as far as they exist."""
    now = entry.oid if entry.mode in FILE_MODES else None
    return [oid for oid in (entry.old, now) if oid]


def _parsed(bead_id: str, data: bytes | None) -> dict[str, Any] | None:
    if data is None:
        return None
    try:
        return guarded_fields.state_of(codec.parse_bead(data, bead_id).fields)
    except codec.Unreadable:
        return None
