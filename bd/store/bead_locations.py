"""Where archived beads lie at one commit after another: listed once, then followed by what differs between two.

Belongs here: finding the files of a bead that is not active. Does not belong here: what is in them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bd.core.schema import ARCHIVE_DIR, bead_path
from bd.store.hub_files import bead_id_of, entries_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bd.store.contract import Entry
    from bd.store.git.repository import GitRepo


class Archived:
    """The files of archived beads in one repository. Taking every volume apart takes seconds where there are hundreds."""

    def __init__(self, repo: GitRepo) -> None:
        self._repo = repo
        self._commit: str | None = None
        self._files: dict[str, tuple[Entry, ...]] = {}

    def of(self, bead_id: str, commit: str) -> Sequence[Entry]:
        """The archived files of a bead at a commit, in the order of their paths: one, if all is well."""
        if commit != self._commit:
            for entry in entries_of(self._repo, self._commit, commit, ARCHIVE_DIR.rstrip("/")):
                self._follow(entry)
            self._commit = commit
        return self._files.get(bead_id, ())

    def all_of(self, bead_id: str, commit: str) -> Sequence[Entry]:
        """All files of a bead at a commit, the active one first."""
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
            self._files[bead_id] = tuple(sorted(kept))
