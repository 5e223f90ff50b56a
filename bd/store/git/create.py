"""Creating and cloning repositories for hubs. Cloning uses GitPython: rare enough for its slow import.

Never touches hooks or the user's git configuration. The only setting written is a new remote, on request.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import warnings

from bd import TYPE_CHECKING
from bd.core import urls
from bd.core.errors import BadInput, NoHub, NotFound, TryAgain
from bd.core.redaction import shown_url
from bd.store.git import server_words
from bd.store.git.discovery import find_repo
from bd.store.git.environment import environment, passes
from bd.store.git.repository import GitRepo, GitTimeout

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import git

    from bd.core.errors import BdError


def check_url(url: str) -> str:
    """Return a URL that is safe to pass to git: no option, and no transport that runs commands. Raises BadInput."""
    if not url or url.startswith("-") or "\n" in url or urls.names_helper(url):
        raise BadInput(f"{shown_url(url)!r} is not a URL for a hub", hint="a path, ssh://, https:// or user@host:path")
    return url


def make_repo(folder: str, *, own: bool = False) -> GitRepo:
    """Make a repository with the branch main, unless the folder is already in one. Raises BadInput, TryAgain and NoHub.

    With `own`, a new or empty folder gets its own repository even inside another one.
    """
    _need_git()
    try:
        os.makedirs(folder, exist_ok=True)
        is_empty = not os.listdir(folder)
    except OSError as error:
        raise BadInput(f"can't make the folder {folder}: {error.strerror}") from error
    found = None if own and is_empty else find_repo(folder)
    if found is not None:
        return found
    # Not with GitPython: if the path contains a $, it would work in the current folder.
    dot_git = os.path.join(os.path.abspath(folder), ".git")
    repo = GitRepo(dot_git, dot_git, os.path.dirname(dot_git))
    code, _, words = repo.run("init", "--quiet", "--initial-branch=main", check=False)
    if code:
        raise TryAgain(
            f"can't make a repository in {folder}: {server_words.reason(words)}",
            hint="check the folder and its disk, then try again",
        )
    return repo


def _need_git() -> None:
    """Check for git first: without it, importing GitPython fails. Raises NoHub."""
    if shutil.which("git") is None:
        raise NoHub("can't run git: it is not on PATH", hint="install git 2.31 or newer")


def add_remote(repo: GitRepo, url: str) -> bool:
    """Make `url` the remote origin. Return whether it is new. Raises BadInput if origin has another URL."""
    if check_origin(repo, url):
        return False
    repo.run("remote", "add", "--", "origin", url)
    return True


def check_origin(repo: GitRepo, url: str) -> bool:
    """Return whether the remote origin exists. Raises BadInput if its URL is not `url`."""
    there = repo.settings().get("remote.origin.url")
    if there and there[0] != url:
        shown = shown_url(url)
        words = f"origin is {shown_url(there[0])} already, not {shown}"
        raise BadInput(words, hint=f"git remote set-url origin {shown}")
    return bool(there)


def remove_remote(repo: GitRepo) -> None:
    """Remove the remote origin."""
    repo.run("remote", "remove", "origin")


def show_branch(repo: GitRepo, branch: str, tracked: str) -> None:
    """Check out the hub branch in a fresh clone without a checkout, as when the remote's HEAD names a missing branch."""
    if repo.work_tree and repo.ref(repo.head_branch() or "") is None and repo.ref(tracked):
        repo.run("checkout", "--quiet", "-B", branch.removeprefix("refs/heads/"), "--track", tracked)


def take_default_branch(repo: GitRepo) -> None:
    """Give a repository without commits the default branch of its origin, if that has one."""
    head = repo.head_branch()
    if head is None or repo.ref(head) is not None:
        return
    try:
        code, out, _ = repo.run("ls-remote", "--quiet", "--symref", "--end-of-options", "origin", "HEAD", check=False)
    except GitTimeout:
        return  # the fetch that follows reports it
    words = out.decode("utf-8", "replace").split()
    if code == 0 and words[:1] == ["ref:"] and words[1] != head:
        repo.run("symbolic-ref", "HEAD", words[1])


def clone_repo(url: str, folder: str, on_progress: Callable[[int, int, str], None] | None) -> GitRepo:
    """Clone a hub, with progress, without checking out files (see worktree/sparse.py).

    Raises RemoteUnreachable, ServerRefused, NotFound, BadInput, NoHub.
    """
    _need_git()
    import git

    if os.path.exists(folder) and (not os.path.isdir(folder) or os.listdir(folder)):
        raise BadInput(f"{folder} exists and is not empty", hint="name another folder: bd clone URL DIR")
    progress = _progress(on_progress)
    with _own_environment():
        try:
            cloned = git.Repo.clone_from(check_url(url), folder, progress=progress, env=environment(), no_checkout=True)  # type: ignore[arg-type]
            cloned.close()
        except git.NoSuchPathError:
            pass  # the clone exists: GitPython fails to open a path with a $ in it
        except git.GitCommandError as error:
            lines = [*progress.error_lines, *progress.other_lines, *(error.stderr or "").splitlines()]
            raise _cannot_clone(url, "\n".join(lines)) from error
    found = find_repo(folder)
    assert found is not None
    return found


def _cannot_clone(url: str, words: str) -> BdError:
    if server_words.says_no_repository(words):
        return NotFound(f"no repository at {shown_url(url)}: {server_words.reason(words)}")
    return unreachable(url, words)


def unreachable(url: str, words: str) -> BdError:
    """Return the error for a URL that git could not reach: ServerRefused (scope hub) or RemoteUnreachable."""
    return server_words.unreachable(shown_url(url), url, words, folder=os.getcwd())


@contextlib.contextmanager
def _own_environment() -> Iterator[None]:
    """Remove inherited GIT_* variables (a hook's name the hook's repository) and GitPython's warnings for the duration."""
    foreign = {name: os.environ.pop(name) for name, value in [*os.environ.items()] if not passes(name, value)}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            yield
    finally:
        os.environ.update(foreign)


def _progress(on_progress: Callable[[int, int, str], None] | None) -> git.RemoteProgress:
    """Return GitPython's reader of progress lines. It also keeps git's error text."""
    from git import RemoteProgress

    class Telling(RemoteProgress):
        def update(self, op_code: int, cur_count: str | float, max_count: str | float | None = None, message: str = "") -> None:
            if on_progress:
                on_progress(int(cur_count or 0), int(max_count or 0), "cloning")

    return Telling()
