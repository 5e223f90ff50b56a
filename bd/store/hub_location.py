"""Where the hub is kept: which repository, branch and remote, and this clone's own settings.

What git's configuration and the two YAML files say is remembered in `<git common dir>/bd/place-<fingerprint>`
together with the bytes it was read from, so that a command starts without asking git. Belongs
here: finding the place. Does not belong here: anything inside the hub.
"""

from __future__ import annotations

import marshal
import os
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from bd.core import files
from bd.core.errors import BadInput, FolderGone, NoHub
from bd.core.schema import CONFIG_FIELDS, CONFIG_PATH, FILE_LIMIT
from bd.store.cache.paths import path_of, place_path
from bd.store.git.discovery import find_repo
from bd.store.git.environment import settings_of
from bd.store.git.porcelain import is_ref
from bd.store.git.repository import GitRepo
from bd.store.local.state import LocalFiles

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


class Place(NamedTuple):
    """A hub's whereabouts in this clone. `branch` is a full ref; `remote` None when there is none."""

    repo: GitRepo
    branch: str
    remote: str | None
    url: str | None
    user_name: str
    user_mail: str
    clone_layer: Mapping[str, Any]
    user_layer: Mapping[str, Any]

    @property
    def folder(self) -> str:
        """bd's own folder in this clone."""
        return os.path.join(self.repo.common_dir, "bd")

    def connect(self, runtime: Runtime) -> Remote:
        """The server, which is this repository itself where there is no remote. Nobody is asked yet."""
        from bd.store.git.remote import GitRemote, OwnBranch  # noqa: PLC0415  most reads ask nobody

        if self.remote is None:
            return OwnBranch(self.repo, self.branch)
        return GitRemote(self.repo, self.remote, self.branch, self.folder, runtime)

    def local_state(self, runtime: Runtime) -> LocalState:
        """What only this clone knows."""
        return LocalFiles(self.folder, runtime)

    def worktree(self, runtime: Runtime) -> Worktree | None:
        """The files of the hub branch, wherever they are checked out."""
        from bd.store.worktree.worktree import Worktree  # noqa: PLC0415  reads look at no files

        return Worktree(self.repo, self.branch, runtime)

    def cache_path(self, derivations: Sequence[Derivation], now: datetime) -> str | None:
        """Where the cache with these derived columns is kept; None: for one command only."""
        return path_of(self.folder, derivations, now)


def check_branch(name: str) -> str:
    """A branch name git accepts, and takes for nothing else. Raises BadInput."""
    if name.startswith("-") or not name.isprintable() or not is_ref(f"refs/heads/{name}"):
        raise BadInput(f"{name!r} can't be a branch's name")
    return name


def user_config_path() -> str:
    """The user's own settings file."""
    base = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    return os.path.join(base, "bd", "config.yaml")


def clone_config_path(repo: GitRepo) -> str:
    """The clone's own settings file."""
    return os.path.join(repo.common_dir, "bd", "config.yaml")


def start_folder(directory: str | None) -> str:
    """The folder to look from: `-C`, else what BEADS_DIR, BEADS_DB or BD_DB point to, else here."""
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
    """The repository to work in. Raises NoHub outside of one."""
    start = start_folder(directory)
    if not os.path.isdir(start):
        raise NoHub(f"no folder {start}")
    is_typed = bool(directory or any(os.environ.get(name) for name in _FOLDER_VARIABLES))
    repo = find_repo(start, is_typed=is_typed)
    if repo is None:
        raise NoHub(f"no beads database found: {start} is in no git repository")
    return repo


def locate(directory: str | None = None) -> Place:
    """The hub of a folder. Raises NoHub when the repository holds none."""
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
    """The place of a hub that may not be there yet, on a full ref; nothing of it is remembered. Raises BadInput."""
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
    )


def forget(repo: GitRepo) -> None:
    """Read everything anew at the next command (after init or a change of settings)."""
    with suppress(FileNotFoundError):
        os.unlink(place_path(os.path.join(repo.common_dir, "bd")))


# --- what is remembered -------------------------------------------------------------------


def _sources(repo: GitRepo) -> list[bytes]:
    """The bytes of every file that a place is read from."""
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
    """What an earlier command read, if every source still has the same bytes."""
    if os.environ.get("BD_BRANCH") or os.environ.get("BD_REMOTE"):
        return None
    sources = _sources(repo)
    path = place_path(os.path.join(repo.common_dir, "bd"))
    try:
        with open(path, "rb") as file:
            checksum, data = file.read(_CHECKSUM_SIZE), file.read()
        if checksum != _checksum(data):  # of other bytes, marshal may make lists that fill the memory
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
    """What git's configuration and the settings files say."""
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
            key: values for key, values in git.items() if key.startswith(("remote.", "branch.", "user.", "core.", "include"))
        },
        "clone": clone,
        "user": user,
        "branch": full,
        "remote": _find_remote(git, full, clone) if full else None,
    }


def _remember(repo: GitRepo, known: dict[str, Any]) -> None:
    if any(key.startswith("include") for key in known["git"]):
        return  # included files would have to be watched too
    data = marshal.dumps(known)
    with suppress(OSError):
        files.replace(place_path(os.path.join(repo.common_dir, "bd")), _checksum(data) + data)


def read_layer(path: str) -> dict[str, Any]:
    """A settings file; empty when there is none. Raises BadInput for one that can't be read."""
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
    """Whether a branch holds a hub's settings; the Go tool's file of the same name does not say which format it has."""
    commit = repo.ref(ref)
    data = repo.objects.read(f"{commit}:{CONFIG_PATH}", at_most=FILE_LIMIT) if commit else None
    return data is not None and b"\nformat:" in b"\n" + data


def _find_branch(repo: GitRepo, known: Mapping[str, Any]) -> str | None:
    """The branch that holds the hub: a remote's default branch, the one checked out, or `beads`.

    The remote's comes first: a branch of one's own that was cut from the hub's holds the same files, and is no hub.
    Otherwise the only remote branch that holds one.
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
    """What the remote's HEAD was when it was cloned."""
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
    """The one URL of the remote, for fetch and push. Raises BadInput where there are several."""
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
