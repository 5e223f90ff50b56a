"""Moves a checked-out hub branch after a write: index and files first, the ref last, all or nothing.

If the branch moved under an edited file, the next `git commit -a` would revert other people's changes. So if anything is in the
way, nothing moves, and a note says why.

The index is locked like git does it (`index.lock`), but by a hard link to a file of bd's own. A lock that a killed bd left can be
recognised by its inode, and only such a lock is removed.
"""

from __future__ import annotations

import os
from contextlib import suppress

from bd import TYPE_CHECKING
from bd.store.git.discovery import find_repo
from bd.store.git.porcelain import worktrees
from bd.store.git.repository import GitFailed, GitTimeout

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bd.core.runtime import Runtime
    from bd.store.git.repository import GitRepo

_UNDER_WAY = {
    "MERGE_HEAD": "a merge",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "BISECT_LOG": "a bisection",
}
_LOCK_WAIT_S = 3.0
# What to do about a lock of git that stays.
IF_STALE = "if no git command is running here, remove that file"
_OWNER = "index-owner"


class InTheWay(Exception):
    """The reason why the checkout can't follow, and what to do about it. Never leaves store/."""

    def __init__(self, words: str, hint: str = "`bd sync` commits edited bead files; commit or stash anything else") -> None:
        super().__init__(words)
        self.hint = hint


def is_checked_out(repo: GitRepo, branch: str) -> bool:
    """Return whether the hub branch is checked out in this working tree."""
    return repo.work_tree is not None and repo.head_branch() == branch


def holder(repo: GitRepo, branch: str) -> GitRepo | None:
    """Return the worktree of this clone that has the hub branch checked out, this one or another; None if there is none."""
    if is_checked_out(repo, branch):
        return repo
    if not os.path.isdir(os.path.join(repo.common_dir, "worktrees")):
        return None
    _, out, _ = repo.run("worktree", "list", "--porcelain")
    for folder, shown in worktrees(out):
        if shown == branch:
            found = find_repo(folder)
            return found if found and is_checked_out(found, branch) else None
    return None


def bring_along(repo: GitRepo, here: str | None, tip: str, runtime: Runtime, *, wait_s: float = _LOCK_WAIT_S) -> None:
    """Move index and files from commit `here` to `tip`, under the clone's lock. The caller moves the ref.

    Raises InTheWay; then nothing has moved.
    """
    under_way = next((words for name, words in _UNDER_WAY.items() if os.path.exists(os.path.join(repo.git_dir, name))), None)
    if under_way:
        raise InTheWay(f"{under_way} is under way in {repo.work_tree}", hint="finish it first")
    with LockedIndex(repo, runtime, wait_s) as locked:
        try:
            _merge(repo, locked.copied(), [here, tip] if here else [tip])
        except GitTimeout as error:
            raise InTheWay(str(error)) from error


def has_come_to(repo: GitRepo, here: str | None, commit: str) -> bool:
    """Return whether the index already has `commit` in all that differs from `here`.

    Git writes the index after the files, never before.
    """
    moved = {entry.path for entry in repo.diff(here, commit)}
    _, out, _ = repo.run("diff-index", "--cached", "--name-only", "--no-renames", "-z", commit)
    return moved.isdisjoint(out.decode("utf-8", "surrogateescape").split("\0"))


def take_back(repo: GitRepo, branch: str, there: str, tip: str | None, runtime: Runtime) -> None:
    """Move index and files back from a commit that the branch did not get, as far as possible."""
    where = holder(repo, branch) if tip else None
    if where and tip:
        with suppress(InTheWay):
            bring_along(where, there, tip, runtime)


def _merge(repo: GitRepo, index: str, trees: list[str]) -> None:
    env = {"GIT_INDEX_FILE": index}
    try:
        repo.run("read-tree", "-m", "-u", "-v", *trees, env=env)
        return
    except GitFailed:
        pass
    # The index may just have outdated file times; git reports that like a real edit.
    repo.run("update-index", "-q", "--refresh", check=False, env=env)
    try:
        repo.run("read-tree", "-m", "-u", "-v", *trees, env=env)
    except GitFailed as error:
        words = [line.strip() for line in error.stderr.splitlines() if line.strip()]
        reason = words[0].removeprefix("error: ") if words else str(error)
        raise InTheWay(reason) from error


# --- the index ----------------------------------------------------------------------------


class LockedIndex:
    """The locked index. When the block ends normally, the copy that was worked on replaces it.

    Raises InTheWay, naming another's lock.
    """

    def __init__(self, repo: GitRepo, runtime: Runtime, wait_s: float = _LOCK_WAIT_S) -> None:
        self._repo = repo
        self._runtime = runtime
        self._wait_s = wait_s
        self.index = os.path.join(repo.git_dir, "index")
        self.copy = os.path.join(repo.git_dir, "bd-index")
        self._lock = f"{self.index}.lock"

    def __enter__(self) -> LockedIndex:
        _take_lock(self._repo, self._lock, self._wait_s, self._runtime)
        for leftover in (self.copy, f"{self.copy}.lock"):
            with suppress(FileNotFoundError):
                os.unlink(leftover)
        return self

    def copied(self) -> str:
        """Copy the index, with its times, by which git knows which files may have changed since. Return the path."""
        with suppress(FileNotFoundError), open(self.index, "rb") as file:
            with open(self.copy, "wb") as out:
                out.write(file.read())
            stat = os.fstat(file.fileno())
            os.utime(self.copy, ns=(stat.st_atime_ns, stat.st_mtime_ns))
        return self.copy

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None and os.path.exists(self.copy):
                os.replace(self.copy, self.index)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(self.copy)
            os.unlink(self._lock)


def _take_lock(repo: GitRepo, lock: str, wait_s: float, runtime: Runtime) -> None:
    owner = os.path.join(repo.common_dir, "bd", _OWNER)
    with suppress(FileExistsError):
        os.close(os.open(owner, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    deadline = runtime.monotonic() + wait_s
    while not _linked(owner, lock):
        if _is_ours(owner, lock):  # this process has the clone's lock, so whoever made this one is dead
            with suppress(FileNotFoundError):
                os.unlink(lock)
            continue
        if runtime.monotonic() >= deadline:
            raise InTheWay(f"git's index is locked: {lock}", hint=IF_STALE)
        runtime.sleep(0.05)


def _linked(owner: str, lock: str) -> bool:
    """Create the lock. False if there is one."""
    try:
        os.link(owner, lock)
    except FileExistsError:
        return False
    except OSError:  # a file system without hard links: use a lock like git's
        try:
            os.close(os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        except FileExistsError:
            return False
    return True


def remove_own_lock(repo: GitRepo, branch: str) -> None:
    """Remove a branch lock left by a killed bd 0.9.0, which locked branches like the index. Under the clone's lock."""
    lock = os.path.join(repo.common_dir, f"{branch}.lock")
    if _is_ours(os.path.join(repo.common_dir, "bd", _OWNER), lock):
        os.unlink(lock)


def _is_ours(owner: str, lock: str) -> bool:
    try:
        return os.path.samefile(owner, lock)
    except FileNotFoundError:
        return False


def undo_half(repo: GitRepo, base: str, commit: str) -> None:
    """Restore the files that a killed bd had already written while moving from `base` to `commit`."""
    if repo.work_tree is None:
        return
    entries = repo.diff(base, commit)
    there = as_committed(repo, [entry.path for entry in entries])
    written = [entry.path for entry in entries if there.get(entry.path) == entry.oid]
    if written:
        paths = "\0".join(written).encode("utf-8", "surrogateescape")
        repo.run("checkout-index", "-f", "-q", "-z", "--stdin", data=paths, check=False)


# --- hand edits ---------------------------------------------------------------------------


def edited_files(repo: GitRepo, *folders: str) -> list[tuple[str, str]]:
    """Return (status, path) of every file below the folders that differs from the last commit, including untracked ones."""
    if repo.work_tree is None:
        return []
    args = ("status", "--porcelain", "-z", "--no-renames", "--untracked-files=all", "--ignore-submodules", "--", *folders)
    _, out, _ = repo.run(*args)
    records = out.decode("utf-8", "surrogateescape").split("\0")
    return [(record[:2], record[3:]) for record in records if record]


def as_committed(repo: GitRepo, paths: Iterable[str]) -> dict[str, str]:
    """Return the blobs that existing files would have in a commit, with git's line ends and filters applied."""
    root = repo.work_tree or ""
    files = [path for path in paths if _is_plain(os.path.join(root, path)) and "\n" not in path]
    if not files:
        return {}
    data = "\n".join(files).encode("utf-8", "surrogateescape")
    _, out, _ = repo.run("hash-object", "-w", "--stdin-paths", data=data)
    return dict(zip(files, out.decode().split(), strict=True))


def _is_plain(path: str) -> bool:
    return os.path.isfile(path) and not os.path.islink(path)


def stage(repo: GitRepo, paths: list[str], runtime: Runtime) -> None:
    """Put files into the index as they are. Raises InTheWay."""
    data = "".join(f"{path}\0" for path in paths).encode("utf-8", "surrogateescape")
    with LockedIndex(repo, runtime) as locked:
        repo.run("update-index", "--add", "--remove", "-z", "--stdin", data=data, env={"GIT_INDEX_FILE": locked.copied()})
