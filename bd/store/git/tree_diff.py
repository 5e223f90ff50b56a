"""In which files two commits differ, told by their trees where these lie loose: most looks bring little, and need no process for it.

Belongs here: comparing trees. Does not belong here: what git says where it has to look (repository.py, porcelain.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bd.store.contract import Entry
from bd.store.git.trees import FOLDER, Tree, TreeEntry

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bd.store.git.objects import ObjectReader

# As git writes modes in trees; what others mean is git's to say.
_MODES = frozenset((b"100644", b"100755", b"120000", b"160000", FOLDER))
_FILE = b"100"
_GONE = "000000"
_PATTERNS = "*?[\\:/"
# So many files and folders are compared here; a tree can be made that unfolds to any number.
_MOST = 256


def differing(objects: ObjectReader, old: str, new: str, names: Sequence[str]) -> list[Entry] | None:
    """What `git diff-tree -r` lists of two commits below these names of their roots (none: all). None where git has to look."""
    if any(mark in name for name in names for mark in _PATTERNS):
        return None
    comparison = _Comparison(objects, Tree(b"", len(new) // 2))
    wanted = frozenset(name.encode("utf-8", "surrogateescape") for name in names)
    try:
        return sorted(comparison.files(objects.loose_tree_of(old), objects.loose_tree_of(new), b"", wanted))
    except (LookupError, ValueError):
        return None


class _Comparison:
    """One comparison, as long as it stays small. Raises LookupError and ValueError for what git has to look at."""

    def __init__(self, objects: ObjectReader, empty: Tree) -> None:
        self._objects = objects
        self._empty = empty
        self._left = _MOST

    def files(self, old: Tree, new: Tree, folder: bytes, names: frozenset[bytes] = frozenset()) -> Iterator[Entry]:
        """The files that differ below a folder, in no particular order."""
        for name, (was, now) in new.differences(old).items():
            if names and name not in names:
                continue
            self._left -= 1
            if self._left < 0 or {entry.mode for entry in (was, now) if entry} - _MODES:
                raise LookupError
            before, after = self._tree(was), self._tree(now)
            if before or after:
                yield from self.files(before or self._empty, after or self._empty, folder + name + b"/")
            if (was and not before) or (now and not after):
                yield _entry(folder + name, None if before else was, None if after else now)

    def _tree(self, entry: TreeEntry | None) -> Tree | None:
        """The folder that an entry stands for."""
        return self._objects.loose_tree(entry.oid.hex()) if entry and entry.mode == FOLDER else None


def _entry(path: bytes, was: TreeEntry | None, now: TreeEntry | None) -> Entry:
    """A file as it is in the newer commit, as `answers.difference` has it."""
    old = was.oid.hex() if was and was.mode.startswith(_FILE) else None
    text = path.decode("utf-8", "surrogateescape")
    return Entry(text, now.oid.hex(), now.mode.decode("ascii"), old) if now else Entry(text, None, _GONE, old)
