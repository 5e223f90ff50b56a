"""A move of index and files by a few plain files, without git: what nearly every write amounts to.

Anything out of the ordinary (an edited file, attributes, links, settings that change how git checks out)
moves nothing here and is left to git (checkout.py), which knows what to do or to say. Belongs here: seeing that it is
the plain case, and carrying it out in git's order: files first, then the index.

The index keeps its time, which is how git tells which files may have changed since without their times
saying so; those written here are among them, and git looks into them once more.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from typing import TYPE_CHECKING

from bd.core.errors import BdError
from bd.store.git.objects import open_plainly
from bd.store.git.trees import FOLDER
from bd.store.object_names import LARGE, hash_of, name_of
from bd.store.worktree.index import Folder, Index, Item, Unfit

if TYPE_CHECKING:
    from bd.store.git.repository import GitRepo
    from bd.store.git.trees import TreeEntry

_FILE = b"100644"
_FEW = 16
# Settings that have no say in how files are checked out here; with any other one of their sections git does it.
_HARMLESS = frozenset(
    f"core.{name}"
    for name in (
        "abbrev askpass bare commentchar compression editor excludesfile filemode hookspath logallrefupdates "
        "loosecompression pager precomposeunicode quotepath repositoryformatversion sshcommand symlinks whitespace"
    ).split()
) | {"extensions.objectformat", "extensions.worktreeconfig"}
_HARMLESS_WHEN_FALSE = frozenset({"core.autocrlf", "core.ignorecase", "core.fsmonitor", "core.untrackedcache", "core.splitindex"})
# As `bd clone` leaves an archive out (sparse.py): the index itself shows what is left out. Fewer of them mean something else.
_SPARSE = frozenset({"core.sparsecheckout", "core.sparsecheckoutcone", "index.sparse"})
_SECTIONS = ("core.", "index.", "feature.", "extensions.")
_ATTRIBUTES = ".gitattributes"
_SAFE = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/"


def move(repo: GitRepo, index: str, copy: str, here: str, tip: str) -> bool:
    """Bring files from commit `here` to `tip`, and `index` to `copy`; whether that was the plain case. Else nothing has moved."""
    if os.name != "posix" or not repo.work_tree or not _is_plain(repo):
        return False
    ahead, repo.worked_out = repo.worked_out, None
    try:
        if not isinstance(ahead, _Move) or not ahead.is_still(index, here, tip):
            ahead = _Move(repo, index, here, tip)
        ahead.check()
    except (Unfit, OSError, ValueError):
        return False
    return ahead.carry_out(copy)


def prepare(repo: GitRepo, branch: str, tip: str) -> None:
    """Work out what the move of a checked-out branch to `tip` takes, while that is pushed. Nothing is touched."""
    repo.worked_out = None
    here = repo.ref(branch) if repo.work_tree and repo.head_branch() == branch else None
    if here is None or os.name != "posix" or not _is_plain(repo):
        return
    with suppress(Unfit, OSError, ValueError, BdError):  # whatever it is, it is met again when files move
        repo.worked_out = _Move(repo, os.path.join(repo.git_dir, "index"), here, tip)


class _Move:
    """A move of which everything is known to be plain. Raises Unfit, OSError and ValueError where it is not."""

    def __init__(self, repo: GitRepo, index: str, here: str, tip: str) -> None:
        self._repo = repo
        self._commits = here, tip
        self._root = repo.work_tree or ""
        self._length = len(tip)
        self._items: dict[bytes, Item] = {}
        self._before: dict[bytes, bytes] = {}
        self._folders: dict[bytes, Folder] = {}
        self._compare(repo.objects.tree_name(here), repo.objects.tree_name(tip), b"")
        with open(index, "rb") as file:
            self._index = Index(file.read(), self._length // 2)
            self._index_stat = os.fstat(file.fileno())
        if self._index_stat.st_size > LARGE:
            import hashlib  # noqa: PLC0415  hash_of then has a faster hash; while git pushes, that costs nothing

            assert hashlib
        self._places = self._index.places(self._items, self._before)
        self._new = {path: self._content(item.new) for path, item in self._items.items()}
        self._old: dict[bytes, bytes | None] = {}
        self._written: list[bytes] = []

    def is_still(self, index: str, here: str, tip: str) -> bool:
        """Whether it is this move that was worked out, from the index as it is."""
        now, then = os.stat(index), self._index_stat
        return self._commits == (here, tip) and _marks(now) == _marks(then)

    def check(self) -> None:
        """See that the files are plain ones and as they were committed, right before they are written. Raises Unfit, OSError."""
        for folder in self._folders:
            self._check_folder(folder.decode("ascii"))
        self._old = {path: self._checked_file(item) for path, item in self._items.items()}

    def _compare(self, old: str, new: str, folder: bytes) -> int:
        """Collect what differs below a folder. How many files it gains."""
        objects = self._repo.objects
        tree, gained = objects.tree(new), 0
        for name, (was, now) in tree.differences(objects.tree(old)).items():
            path = folder + name
            if now is not None and was is not None and was.mode == now.mode == FOLDER:
                gained += self._compare(was.oid.hex(), now.oid.hex(), path + b"/")
                continue
            self._items[path] = _plain_item(path, was, now)
            if was is None:
                gained += 1
                self._before[path] = folder + (tree.name_before(name) or b"")
            if len(self._items) > _FEW:
                raise Unfit("many files")
        self._folders[folder] = Folder(bytes.fromhex(old), bytes.fromhex(new), gained)
        return gained

    def _check_folder(self, folder: str) -> None:
        """Refuse a folder that is none, or whose files git may write otherwise than they are kept. Raises Unfit."""
        path = os.path.join(self._root, folder)
        if not stat.S_ISDIR(os.lstat(path.rstrip("/")).st_mode) or os.path.lexists(os.path.join(path, _ATTRIBUTES)):
            raise Unfit(f"{folder} is not a plain folder")

    def _file(self, path: bytes) -> str:
        return os.path.join(self._root, path.decode("ascii"))

    def _checked_file(self, item: Item) -> bytes | None:
        """The content of a file that is as it was committed; None for one that is not there yet. Raises Unfit."""
        path = self._file(item.path)
        if item.old is None:
            if os.path.lexists(path):
                raise Unfit(f"{path} is in the way")
            return None
        with open(path, "rb", opener=open_plainly) as file:
            mode = os.fstat(file.fileno()).st_mode
            content = file.read()
        if not stat.S_ISREG(mode) or mode & stat.S_IXUSR or name_of(b"blob", content, self._length) != item.old.hex():
            raise Unfit(f"{path} is edited")
        return content

    def _content(self, oid: bytes) -> bytes:
        content = self._repo.objects.read(oid.hex())
        if content is None:
            raise Unfit(f"{oid.hex()} is missing")
        return content

    def carry_out(self, copy: str) -> bool:
        """Write the files, then the index to `copy`. Where that does not go, everything is as before."""
        try:
            stats = {}
            for path, content in self._new.items():
                stats[path] = self._put(path, content)
                self._written.append(path)
            body = self._index.edited(self._items, self._places, stats, self._folders)
            with open(copy, "wb") as file:
                file.write(body + hash_of(body, self._length))
            os.utime(copy, ns=(self._index_stat.st_atime_ns, self._index_stat.st_mtime_ns))
            os.chmod(copy, stat.S_IMODE(self._index_stat.st_mode))
        except (Unfit, OSError, ValueError):
            self._take_back()
            return False
        return True

    def _put(self, path: bytes, content: bytes) -> os.stat_result:
        """Write one file, whole or not at all; how it lies there."""
        fresh = os.path.join(self._repo.git_dir, "bd-file")
        with suppress(FileNotFoundError):
            os.unlink(fresh)
        with open(fresh, "xb") as file:
            file.write(content)
        os.rename(fresh, self._file(path))
        return os.lstat(self._file(path))

    def _take_back(self) -> None:
        for path in self._written:
            content = self._old[path]
            with suppress(OSError):
                if content is None:
                    os.unlink(self._file(path))
                else:
                    self._put(path, content)


def _marks(there: os.stat_result) -> tuple[int, ...]:
    """By what a file that was replaced or written to can be told."""
    return there.st_dev, there.st_ino, there.st_size, there.st_mtime_ns, there.st_ctime_ns


def _plain_item(path: bytes, was: TreeEntry | None, now: TreeEntry | None) -> Item:
    """A plain file that is new or has another content, under a name that is safe to write to. Raises Unfit."""
    if now is None or now.mode != _FILE or (was is not None and was.mode != _FILE):
        raise Unfit(f"{path!r} is no plain file")
    parts = path.lower().split(b"/")
    if path.strip(_SAFE) or any(part in (b"", b".", b"..") or part.startswith(b".git") for part in parts):
        raise Unfit(f"{path!r} is no plain name")
    return Item(path, was.oid if was else None, now.oid)


def _is_plain(repo: GitRepo) -> bool:
    """Whether nothing in git's settings has a say in how files are checked out."""
    if repo.known_settings is None:
        return False
    harmless = _HARMLESS
    if all(repo.known_settings.get(key, [""])[-1].lower() == "true" for key in _SPARSE):
        harmless |= _SPARSE
    for key, values in repo.known_settings.items():
        is_off = key in _HARMLESS_WHEN_FALSE and values[-1].lower() in ("false", "no", "off", "0")
        if key.startswith(_SECTIONS) and key not in harmless and not is_off:
            return False
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    places = (os.path.join(repo.common_dir, "info"), os.path.join(home, "git"))
    return not any(
        os.path.lexists(path) for path in (*(os.path.join(place, "attributes") for place in places), "/etc/gitattributes")
    )
