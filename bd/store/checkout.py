"""Bring a checked-out hub branch along after a write: index and files first, the ref last, all or nothing.

Moving a branch under an edited file would make the next `git commit -a` take back what others
did, so where anything is in the way nothing moves and a notice says why.
"""

from __future__ import annotations

import os

from bd import clock
from bd.store.gitrepo import GitFailed, GitTimeout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bd.store.gitrepo import GitRepo

_UNDER_WAY = {
    "MERGE_HEAD": "a merge",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "BISECT_LOG": "a bisection",
}
_LOCK_WAIT_S = 3.0


class InTheWay(Exception):
    """Why the checkout can't follow, and what to do about it; never leaves store/."""

    def __init__(self, words: str, hint: str = "`bd sync` commits edited bead files; commit or stash anything else") -> None:
        super().__init__(words)
        self.hint = hint


def is_checked_out(repo: GitRepo, branch: str) -> bool:
    """Whether the hub branch is what this working tree shows."""
    return repo.work_tree is not None and repo.head_branch() == branch


def bring_along(repo: GitRepo, branch: str, here: str | None, tip: str, *, wait_s: float = _LOCK_WAIT_S) -> None:
    """Move index and files from commit `here` to `tip`. The ref is the caller's. Raises InTheWay."""
    under_way = next((words for name, words in _UNDER_WAY.items() if os.path.exists(os.path.join(repo.git_dir, name))), None)
    if under_way:
        raise InTheWay(f"{under_way} is under way in {repo.work_tree}", hint="finish it first")
    lock = os.path.join(repo.git_dir, "index.lock")
    deadline = clock.monotonic() + wait_s
    while os.path.exists(lock):
        if clock.monotonic() >= deadline:
            raise InTheWay(f"git's index is locked: {lock}", hint="if no git command is running here, remove that file")
        clock.sleep(0.05)
    trees = [here, tip] if here else [tip]
    try:
        _merge(repo, trees)
    except GitTimeout as error:
        raise InTheWay(str(error)) from error


def _merge(repo: GitRepo, trees: list[str]) -> None:
    try:
        repo.run("read-tree", "-m", "-u", *trees)
        return
    except GitFailed:
        pass
    # The index may only have stale file times; git says so the same way as for a real edit.
    repo.run("update-index", "-q", "--refresh", check=False)
    try:
        repo.run("read-tree", "-m", "-u", *trees)
    except GitFailed as error:
        words = [line.strip() for line in error.stderr.splitlines() if line.strip()]
        reason = words[0].removeprefix("error: ") if words else str(error)
        raise InTheWay(reason) from error


def edited_files(repo: GitRepo, *folders: str) -> list[tuple[str, str]]:
    """(status, path) of every file below the folders that differs from the last commit, untracked ones included."""
    if repo.work_tree is None:
        return []
    args = ("status", "--porcelain", "-z", "--no-renames", "--untracked-files=all", "--ignore-submodules", "--", *folders)
    _, out, _ = repo.run(*args)
    records = out.decode("utf-8", "surrogateescape").split("\0")
    return [(record[:2], record[3:]) for record in records if record]
