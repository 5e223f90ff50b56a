"""Finding the repository that a folder is in: a checkout, a linked worktree, a bare repository."""

from __future__ import annotations

import os

from bd.store.gitrepo import GitRepo


def find_repo(start: str) -> GitRepo | None:
    """The repository that a folder is in: a checkout, a linked worktree, a bare repository; None outside."""
    folder = os.path.abspath(start)
    while True:
        dot_git = os.path.join(folder, ".git")
        if os.path.lexists(os.path.join(dot_git, "HEAD")):  # without it git takes the folder for no repository
            return GitRepo(dot_git, _common_dir(dot_git), folder)
        if os.path.isfile(dot_git):
            with open(dot_git, encoding="utf-8") as file:
                text = file.read().strip()
            if text.startswith("gitdir: "):
                git_dir = os.path.normpath(os.path.join(folder, text[8:]))
                return GitRepo(git_dir, _common_dir(git_dir), folder)
        if all(os.path.exists(os.path.join(folder, name)) for name in ("HEAD", "objects", "refs")):
            return GitRepo(folder, _common_dir(folder), None)
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above


def _common_dir(git_dir: str) -> str:
    try:
        with open(os.path.join(git_dir, "commondir"), encoding="utf-8") as file:
            return os.path.normpath(os.path.join(git_dir, file.read().strip()))
    except FileNotFoundError:
        return git_dir
