"""Making and cloning repositories for hubs, with GitPython: rare, and nobody waits for it.

Never touches hooks or the user's git configuration: the one setting written is a new remote,
when it is asked for.
"""

from __future__ import annotations

import os

from bd.errors import BadInput, NotFound, RemoteUnreachable, TryAgain
from bd.store.gitrepo import GitRepo, environment, find_repo

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def check_url(url: str) -> str:
    """A URL git may be given: no option, and no transport that runs commands. Raises BadInput."""
    if not url or url.startswith("-") or "\n" in url or "::" in url.split("/", 1)[0]:
        raise BadInput(f"{url!r} is no URL for a hub", hint="a path, ssh://, https:// or user@host:path")
    return url


def check_branch(name: str) -> str:
    """A branch name git accepts. Raises BadInput."""
    bad = set(" ~^:?*[\\\x7f") & set(name)
    if (
        not name
        or bad
        or name.startswith(("-", "/", "."))
        or name.endswith(("/", ".lock", "."))
        or ".." in name
        or "@{" in name
        or "//" in name
    ):
        raise BadInput(f"{name!r} can't be a branch's name")
    return name


def make_repo(folder: str) -> GitRepo:
    """A new repository with the branch main, unless the folder is in one already."""
    import git

    os.makedirs(folder, exist_ok=True)
    found = find_repo(folder)
    if found is not None:
        return found
    try:
        git.Repo.init(folder, initial_branch="main").close()
    except (git.GitError, OSError) as error:
        raise TryAgain(f"can't make a repository in {folder}: {error}") from error
    made = find_repo(folder)
    assert made is not None
    return made


def add_remote(repo: GitRepo, url: str) -> None:
    """Make `url` the remote origin. Raises BadInput when origin is something else."""
    import git

    with git.Repo(repo.work_tree or repo.git_dir) as opened:
        if "origin" in [remote.name for remote in opened.remotes]:
            there = next(opened.remote("origin").urls)
            if there != url:
                raise BadInput(f"origin is {there} already, not {url}", hint=f"git remote set-url origin {url}")
            return
        opened.create_remote("origin", url)


def clone_repo(url: str, folder: str, on_progress: Callable[[int, int, str], None] | None) -> GitRepo:
    """Clone a hub with progress. Raises RemoteUnreachable, NotFound, BadInput."""
    import git

    if os.path.exists(folder) and os.listdir(folder):
        raise BadInput(f"{folder} exists and is not empty", hint="name another folder: bd clone URL DIR")

    def report(op_code: int, current: float, of: float | None, message: str = "") -> None:
        if on_progress:
            on_progress(int(current or 0), int(of or 0), "cloning")

    try:
        git.Repo.clone_from(check_url(url), folder, progress=report, env=environment()).close()  # type: ignore[arg-type]
    except git.GitCommandError as error:
        words = (error.stderr or "").strip().splitlines()
        last = next((line for line in words if "fatal:" in line), words[-1] if words else str(error)).strip(" '")
        if "does not appear to be a git repository" in last or "does not exist" in last or "not found" in last:
            raise NotFound(f"no repository at {url}: {last}") from error
        raise RemoteUnreachable(f"can't clone {url}: {last}", hint="check the URL, the network and your credentials") from error
    found = find_repo(folder)
    assert found is not None
    return found
