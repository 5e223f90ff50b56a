"""The location of the hub: repository, branch, remote, and this clone's own settings.

The settings in git's configuration and the two YAML files are cached in `<git common dir>/bd/place-<fingerprint>`, with the bytes
they were read from, so that a command starts without asking git. This module knows nothing of a hub's content.
"""

from __future__ import annotations

import marshal
import os
from contextlib import suppress
from zlib import crc32

from bd import TYPE_CHECKING
from bd.core import files
from bd.core.errors import BadInput, FolderGone, NoHub
from bd.core.schema import CONFIG_FIELDS, CONFIG_PATH, FILE_LIMIT
from bd.core.value import Value
from bd.store.cache.paths import path_of, place_path
from bd.store.git.discovery import find_repo
from bd.store.git.environment import settings_of
from bd.store.git.porcelain import is_ref
from bd.store.git.remote import GitRemote, OwnBranch
from bd.store.git.repository import GitRepo
from bd.store.local.state import LocalFiles
from bd.store.worktree.worktree import Worktree

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime
    from typing import Any

    from bd.core.queries import Derivation
    from bd.core.runtime import Runtime
    from bd.store.contract import LocalState, Remote
    from bd.store.worktree.worktree import Worktree

_CHECKSUM_SIZE = 8
_FOLDER_VARIABLES = ("BEADS_DIR", "BEADS_DB", "BD_DB")
DEFAULT_BRANCH = "beads"


class Place(Value):
    """The location of a hub in this clone. `branch` is a full ref; `remote` is None if there is none."""

    repo: GitRepo
    branch: str
    remote: str | None
    url: str | None
    user_name: str
    user_mail: str
    clone_layer: Mapping[str, Any]
    user_layer: Mapping[str, Any]
    # Settings of bd that come from git's configuration.
    git_layer: Mapping[str, Any] = {}

    @property
    def folder(self) -> str:
        """bd's own folder in this clone."""
        return os.path.join(self.repo.common_dir, "bd")

    def connect(self, runtime: Runtime) -> Remote:
        """Return the connection to the server: the remote, or this repository itself if there is none. Nothing is sent yet."""
        if self.remote is None:
            return OwnBranch(self.repo, self.branch)
        return GitRemote(self.repo, self.remote, self.branch, self.folder, runtime)

    def local_state(self, runtime: Runtime) -> LocalState:
        """Return the files that only this clone knows."""
        return LocalFiles(self.folder, runtime)

    def worktree(self, runtime: Runtime) -> Worktree | None:
        """Return the hub branch's files, wherever they are checked out."""
        return Worktree(self.repo, self.branch, runtime)

    def cache_path(self, derivations: Sequence[Derivation], now: datetime) -> str | None:
        """Return where the cache with these derived columns is; None for a cache in memory."""
        return path_of(self.folder, derivations, now)


def check_branch(name: str) -> str:
    """Return the name if git accepts it as a branch name, and nothing else. Raises BadInput."""
    if name.startswith("-") or not name.isprintable() or not is_ref(f"refs/heads/{name}"):
        raise BadInput(f"{name!r} can't be a branch's name")
    return name


def user_config_path() -> str:
    """Return the path of the user's settings file."""
    base = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    return os.path.join(base, "bd", "config.yaml")


def clone_config_path(repo: GitRepo) -> str:
    """Return the path of the clone's settings file."""
    return os.path.join(repo.common_dir, "bd", "config.yaml")


def start_folder(directory: str | None) -> str:
    """Return the folder to start from: `-C`, else BEADS_DIR, BEADS_DB or BD_DB, else the current one."""
    if directory:
        return directory
    for name in _FOLDER_VARIABLES:
        value = os.environ.get(name)
        if value:
            folder = value if os.path.isdir(value) else os.path.dirname(value)
            return os.path.abspath(folder)
    try:
        return os.getcwd()
    except FileNotFoundError:
        raise FolderGone from None


def locate_repo(directory: str | None) -> GitRepo:
    """Find the repository to work in. Raises NoHub outside of one."""
    start = start_folder(directory)
    if not os.path.isdir(start):
        raise NoHub(f"no folder {start}")
    is_typed = bool(directory or any(os.environ.get(name) for name in _FOLDER_VARIABLES))
    repo = find_repo(start, is_typed=is_typed)
    if repo is None:
        raise NoHub(f"no beads database found: {start} is in no git repository")
    return repo


def locate(directory: str | None = None) -> Place:
    """Find the hub of a folder. Raises NoHub if the repository holds none."""
    repo = locate_repo(directory)
    known = _remembered(repo)
    is_new = known is None
    if known is None:
        known = _read(repo)
    branch = known["branch"] or _find_branch(repo, known)
    if branch is None:
        raise NoHub(
            f"no beads database found in {repo.work_tree or repo.git_dir}",
            hint="`bd init` makes a hub here; `bd clone URL` joins one",
        )
    if not known["branch"]:
        known["branch"] = branch
        known["remote"] = _find_remote(known["git"], branch, known["clone"])
        is_new = True
    if is_new and not (os.environ.get("BD_BRANCH") or os.environ.get("BD_REMOTE")):
        _remember(repo, known)
    return _place(repo, branch, known)


def place_on(repo: GitRepo, branch: str) -> Place:
    """Return the place of a hub that may not exist yet, on a full ref; nothing is cached. Raises BadInput."""
    known = _read(repo)
    return _place(repo, branch, {**known, "remote": _find_remote(known["git"], branch, known["clone"])})


def _place(repo: GitRepo, branch: str, known: Mapping[str, Any]) -> Place:
    remote = known["remote"]
    repo.ssh_command = _last(known["git"], "core.sshcommand")
    return Place(
        repo,
        branch,
        remote,
        _url(known["git"], remote),
        _last(known["git"], "user.name"),
        _last(known["git"], "user.email"),
        known["clone"],
        known["user"],
        {"sign_off": _last(known["git"], "format.signoff") or None},
    )


def forget(repo: GitRepo) -> None:
    """Drop the cached place: the next command reads everything again (after init, or a change of settings)."""
    with suppress(FileNotFoundError):
        os.unlink(place_path(os.path.join(repo.common_dir, "bd")))


# --- the cached place ---------------------------------------------------------------------


def _sources(repo: GitRepo) -> list[bytes]:
    """Return the bytes of every file that a place is read from."""
    home = os.path.expanduser("~")
    config_home = os.environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    paths = [
        os.path.join(repo.common_dir, "config"),
        os.path.join(repo.git_dir, "config.worktree"),
        os.environ.get("GIT_CONFIG_GLOBAL") or os.path.join(home, ".gitconfig"),
        os.path.join(config_home, "git", "config"),
        os.environ.get("GIT_CONFIG_SYSTEM") or "/etc/gitconfig",
        clone_config_path(repo),
        user_config_path(),
    ]
    found = []
    for path in paths:
        try:
            with open(path, "rb") as file:
                found.append(file.read())
        except OSError:
            found.append(b"")
    return [*found, repr(settings_of(os.environ)).encode()]


def _remembered(repo: GitRepo) -> dict[str, Any] | None:
    """Return what an earlier command read, if every source still has the same bytes."""
    if os.environ.get("BD_BRANCH") or os.environ.get("BD_REMOTE"):
        return None
    sources = _sources(repo)
    path = place_path(os.path.join(repo.common_dir, "bd"))
    try:
        with open(path, "rb") as file:
            checksum, data = file.read(_CHECKSUM_SIZE), file.read()
        if checksum != _checksum(data):  # other bytes could make marshal build lists that fill the memory
            return None
        known = marshal.loads(data)
        if known["sources"] == sources:
            return known  # type: ignore[no-any-return]
    except (OSError, EOFError, ValueError, TypeError, KeyError):
        pass
    return None


def _checksum(data: bytes) -> bytes:
    return b"%0*x" % (_CHECKSUM_SIZE, crc32(data))


def _read(repo: GitRepo) -> dict[str, Any]:
    """Read git's configuration and the settings files."""
    sources = _sources(repo)
    git = repo.settings()
    clone = read_layer(clone_config_path(repo))
    user = read_layer(user_config_path())
    branch = os.environ.get("BD_BRANCH") or clone.get("branch") or user.get("branch")
    full = None if not branch else branch if branch.startswith("refs/") else f"refs/heads/{check_branch(branch)}"
    if full and not (full.isprintable() and is_ref(full)):
        raise BadInput(f"{full!r} can't be a branch")
    return {
        "sources": sources,
        "git": {
            key: values
            for key, values in git.items()
            if key.startswith(("remote.", "branch.", "user.", "core.", "format.signoff", "include"))
        },
        "clone": clone,
        "user": user,
        "branch": full,
        "remote": _find_remote(git, full, clone) if full else None,
    }


def _remember(repo: GitRepo, known: dict[str, Any]) -> None:
    if any(key.startswith("include") for key in known["git"]):
        return  # the included files would have to be compared too
    data = marshal.dumps(known)
    with suppress(OSError):
        files.replace(place_path(os.path.join(repo.common_dir, "bd")), _checksum(data) + data, only_mine=True)


def read_layer(path: str) -> dict[str, Any]:
    """Read a settings file; empty if there is none. Raises BadInput if it can't be read."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError:
        return {}
    from bd.store.yaml import codec  # noqa: PLC0415  only when there is such a file

    try:
        return codec.parse(data, CONFIG_FIELDS).fields
    except codec.Unreadable as error:
        raise BadInput(f"{path} {error}") from None


def _last(git: Mapping[str, list[str]], key: str) -> str:
    return (git.get(key) or [""])[-1]


def _holds_hub(repo: GitRepo, ref: str) -> bool:
    """Return whether a branch holds a hub's settings. The Go tool's file of the same name has no `format` line."""
    commit = repo.ref(ref)
    data = repo.objects.read(f"{commit}:{CONFIG_PATH}", at_most=FILE_LIMIT) if commit else None
    return data is not None and b"\nformat:" in b"\n" + data


def _find_branch(repo: GitRepo, known: Mapping[str, Any]) -> str | None:
    """Find the hub's branch: a remote's default branch, the one checked out, or `beads`; else the only remote branch with a hub.

    The remote's default comes first: a local branch cut from the hub's holds the same files, but is not the hub.
    """
    head = repo.head_branch()
    remotes = [key[7:-4] for key in known["git"] if key.startswith("remote.") and key.endswith(".url")]
    names = [_default_branch(repo, remote) for remote in remotes]
    names += [head and head.removeprefix("refs/heads/"), DEFAULT_BRANCH]
    for name in filter(None, names):
        local = f"refs/heads/{name}"
        if _holds_hub(repo, local) or any(_holds_hub(repo, f"refs/remotes/{remote}/{name}") for remote in remotes):
            return local
    held = [
        name for remote in remotes for name in _remote_branches(repo, remote) if _holds_hub(repo, f"refs/remotes/{remote}/{name}")
    ]
    return f"refs/heads/{held[0]}" if len(set(held)) == 1 else None


def _remote_branches(repo: GitRepo, remote: str) -> list[str]:
    prefix = f"refs/remotes/{remote}/"
    return [ref[len(prefix) :] for ref in repo.refs(prefix) if not ref.endswith("/HEAD")]


def _default_branch(repo: GitRepo, remote: str) -> str | None:
    """Return the remote's default branch at the time it was cloned."""
    try:
        with open(os.path.join(repo.common_dir, "refs", "remotes", remote, "HEAD"), encoding="utf-8") as file:
            return file.read().strip().removeprefix(f"ref: refs/remotes/{remote}/")
    except OSError:
        return None


def _find_remote(git: Mapping[str, list[str]], branch: str, clone: Mapping[str, Any]) -> str | None:
    named = os.environ.get("BD_REMOTE") or clone.get("remote")
    remotes = [key[7:-4] for key in git if key.startswith("remote.") and key.endswith(".url")]
    if named == "none":
        return None
    if named:
        if named not in remotes:
            raise BadInput(f"there is no remote {named!r} here", hint="`git remote -v` lists them")
        return str(named)
    tracked = _last(git, f"branch.{branch.removeprefix('refs/heads/')}.remote")
    if tracked in remotes:
        return tracked
    if "origin" in remotes:
        return "origin"
    return remotes[0] if len(remotes) == 1 else None


def _url(git: Mapping[str, list[str]], remote: str | None) -> str | None:
    """Return the remote's one URL for fetch and push. Raises BadInput if there are several."""
    if remote is None:
        return None
    urls, push_urls = git.get(f"remote.{remote}.url", []), git.get(f"remote.{remote}.pushurl", [])
    if len(urls) > 1 or len(push_urls) > 1 or (push_urls and push_urls != urls):
        raise BadInput(
            f"the remote {remote} has several URLs; a hub has one, the same for fetch and push, "
            "or a claim could be accepted by one server and unknown to the other",
            hint=f"git config --unset-all remote.{remote}.pushurl",
        )
    return urls[0] if urls else None
