"""Repository discovery: git decides which repository a folder is in, and whether the user may use it.

Only git's own discovery has its protections (`safe.directory`, `safe.bareRepository`); passing `--git-dir` switches them off. So
nothing of a repository is read before git has answered.
"""

from __future__ import annotations

import os

from bd.core.errors import NoHub, TryAgain, UnsafeRepository
from bd.store.git.environment import environment
from bd.store.git.process import start as start_process
from bd.store.git.repository import GitRepo

_QUESTION = ("rev-parse", "--path-format=absolute", "--is-inside-work-tree", "--git-dir", "--git-common-dir", "--show-toplevel")
_TIMEOUT_S = 60.0
_STARTS = 3


def find_repo(start: str, *, is_typed: bool = True) -> GitRepo | None:
    """Return the repository that a folder is in: a checkout, a linked worktree, or a bare repository; None outside of one.

    `is_typed`: the user named the folder, which counts as explicit for `safe.bareRepository=explicit`. Raises UnsafeRepository if
    git refuses the repository, NoHub if git can't read it, and TryAgain if git is killed.
    """
    folder = os.path.abspath(start)
    allowed = ["-c", "safe.bareRepository=all"] if _is_explicit(folder, is_typed=is_typed) else []
    code, lines, words = _asked(["git", "-C", folder, *allowed, *_QUESTION])
    if len(lines) < 3:
        _raise_unless_outside(folder, code, words)
        return None
    # Outside a working tree git fails at the last question, after answering the others.
    work_tree = lines[3] if lines[0] == "true" and len(lines) > 3 else None
    return GitRepo(lines[1], lines[2], work_tree)


def _is_explicit(folder: str, *, is_typed: bool) -> bool:
    """Return whether a bare repository was named explicitly: typed itself, or the git folder of a checkout.

    No commit can contain a folder named `.git`, so nothing below one came with a checkout (git has the same rule since 2.44).
    """
    is_git_folder = all(os.path.exists(os.path.join(folder, name)) for name in ("HEAD", "objects", "refs"))
    return (is_typed and is_git_folder) or ".git" in folder.split(os.sep)


def _asked(command: list[str]) -> tuple[int, list[str], str]:
    """Ask git. Return exit code, output lines and error text. If a signal ends git, ask again.

    Ctrl-C in a terminal also reaches git, while a stopping worker still has to open the hub to release its beads.
    """
    for _ in range(_STARTS):
        code, out, err = _run(command)
        if code >= 0:
            return code, os.fsdecode(out).splitlines(), err.decode("utf-8", "replace")
    words = f"git was ended by signal {-code} before it said which repository this is"
    raise TryAgain(words, hint="try again; a machine that runs out of memory kills processes")


def _run(command: list[str]) -> tuple[int, bytes, bytes]:
    try:
        process = start_process(command, environment(), stdin=False)
    except FileNotFoundError as error:
        raise NoHub(f"can't run git: {error}", hint="install git 2.31 or newer") from error
    try:
        out, err = process.communicate(None, _TIMEOUT_S, None)
    except BaseException:
        process.kill()
        process.close()
        raise
    return process.wait(), out, err


def _raise_unless_outside(folder: str, code: int, words: str) -> None:
    """Raise the error that git's refusal stands for; return if the folder is just in no repository."""
    lines = [line.strip() for line in words.splitlines() if line.strip()]
    fatal = next((line.removeprefix("fatal: ") for line in lines if line.startswith("fatal: ")), f"git ended with {code}")
    if "dubious ownership" in fatal or "unsafe repository" in fatal:
        hint = next(
            (line for line in lines if line.startswith("git config")), f"git config --global --add safe.directory {folder}"
        )
        raise UnsafeRepository(f"git refuses the repository of {folder}: {fatal}", hint=f"if you trust its owner: {hint}")
    if "cannot use bare repository" in fatal:
        hint = "if you trust it, name it yourself: bd -C DIR ..."
        raise UnsafeRepository(f"git refuses the repository of {folder}: {fatal}", hint=hint)
    if not fatal.startswith("not a git repository (or any"):
        raise NoHub(f"git can't read the repository of {folder}: {fatal}", hint=f"`git -C {folder} status` says the same")
