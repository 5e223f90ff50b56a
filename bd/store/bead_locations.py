"""The locations of archived beads, followed from commit to commit: listed once, then updated by differences.

This module finds the files of beads that are not active; it does not read them.
"""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.schema import ARCHIVE_DIR, bead_path
from bd.store.hub_files import bead_id_of, entries_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bd.store.contract import Entry
    from bd.store.git.repository import GitRepo


class Archived:
    """The files of archived beads in one repository. Kept because listing every volume takes seconds where there are hundreds."""

    def __init__(self, repo: GitRepo) -> None:
        self._repo = repo
        self._commit: str | None = None
        self._files: dict[str, tuple[Entry, ...]] = {}

    def of(self, bead_id: str, commit: str) -> Sequence[Entry]:
        """Return the archived files of a bead at a commit, ordered by path. More than one is a fault of the hub."""
        if commit != self._commit:
            for entry in entries_of(self._repo, self._commit, commit, ARCHIVE_DIR.rstrip("/")):
                self._follow(entry)
            self._commit = commit
        return self._files.get(bead_id, ())

    def all_of(self, bead_id: str, commit: str) -> Sequence[Entry]:
        """Return all files of a bead at a commit, the active one first."""
        active = [entry for entry in self._repo.diff(None, commit, bead_path(bead_id)) if entry.path == bead_path(bead_id)]
        return [*active, *self.of(bead_id, commit)]

    def _follow(self, entry: Entry) -> None:
        bead_id = bead_id_of(entry.path)
        if bead_id is None or not entry.path.endswith(".yaml"):
            return
        kept = [one for one in self._files.pop(bead_id, ()) if one.path != entry.path]
        if entry.oid:
            kept.append(entry)
        if kept:
            self._files[bead_id] = tuple(sorted(kept, key=lambda one: one.path))
