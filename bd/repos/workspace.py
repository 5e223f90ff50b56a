"""A workspace: the folder in which an agent works on a bead, one for each bead and machine, and bd's record of it.

The record is outside of what agents are told. A workspace that an attempt has left is moved aside before the next one gets a fresh
clone under the same path, so nothing that an agent did to git's settings or hooks there stays in force.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.core import files
from bd.core.errors import TryAgain
from bd.core.json_shapes import MAYBE_TEXT, fits, json_value
from bd.repos.branch_names import branch_of, component
from bd.repos.cache import AUTHOR, REMOTES, STARTS, cache_name
from bd.repos.folders import made, state_folder, user_files
from bd.schedule.invocation import hub_id
from bd.store.git.repository import GitFailed, GitRepo
from bd.store.local.lock import CloneLock

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bd.core.code_repos import Repo
    from bd.core.model import Bead
    from bd.core.runtime import Runtime
    from bd.repos.cache import Cache
    from bd.store import Clone

# Stands for the repository of a bead without one.
NO_REPO = "-"
_RECORDS = ".bd"
_NO_PUSH = "bd-pushes-the-branch-of-this-bead-when-the-attempt-ends"
_SHAPE = {
    **dict.fromkeys(("hub", "repo", "bead", "branch", "token", "agent", "base", "folder"), str),
    **dict.fromkeys(("url", "begun", "start", "ended_at", "uid"), MAYBE_TEXT),
    "attempt": int,
}


class Conflict(TryAgain):
    """The branches that a workspace begins with can't be merged. `branches` names the two."""

    def __init__(self, words: str) -> None:
        super().__init__(words, hint="a person, or another bead, has to merge them")


class Workspace(NamedTuple):
    """The record of a workspace.

    `url` is the repository's, None for a bead without one. `begun` is the tip that the bead's branch had at the remote when the
    attempt began (None: no such branch); `start` the commit that was checked out. `ended_at` is set when the attempt has ended.
    """

    hub: str
    repo: str
    bead: str
    uid: str | None
    folder: str
    branch: str
    base: str
    agent: str
    token: str
    attempt: int
    url: str | None = None
    begun: str | None = None
    start: str | None = None
    ended_at: str | None = None

    @property
    def git_dir(self) -> str:
        return os.path.join(self.folder, ".git")

    @property
    def mounts(self) -> tuple[list[str], list[str]]:
        """The folders outside of it that it needs to read, and to write: borrowed objects, and shared caches."""
        if self.url is None:
            return [], []
        name = cache_name(self.repo, self.url)
        shared = state_folder("caches", name)
        return [state_folder("repos", f"{name}.git", "objects")], [shared] if os.path.isdir(shared) else []

    @property
    def kept_refs(self) -> str:
        """The refs of the cache below which this attempt's unpushed work is set aside."""
        return f"refs/bd/kept/{self.hub}/{component(self.bead, self.uid)}/{self.attempt}/"

    @property
    def _name(self) -> str:
        return os.path.basename(self.folder)

    @property
    def _records(self) -> str:
        return os.path.join(os.path.dirname(self.folder), _RECORDS)

    @property
    def record_path(self) -> str:
        return os.path.join(self._records, f"{self._name}.json")

    @property
    def is_aside(self) -> bool:
        """Return whether a later attempt has the bead's folder."""
        return self._name != component(self.bead, self.uid)

    def write(self) -> Workspace:
        """Write the record. Raises TryAgain."""
        made(self._records)
        try:
            files.replace(self.record_path, json.dumps(self._asdict()), only_mine=True)
        except OSError as error:
            raise TryAgain(f"the record of a workspace can't be written: {error.strerror}", hint="check the disk") from error
        return self

    @property
    def start_ref(self) -> str:
        """The ref of the cache that has `start`, where bd has merged what the workspace began with."""
        return f"{STARTS}{self.kept_refs.removeprefix('refs/bd/kept/')}start"

    def forget(self) -> None:
        """Remove the record. The lock stays: whoever waits for it must not wait for another file than the next one."""
        for path in (self.record_path, self.exclude_file):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)

    @property
    def exclude_file(self) -> str:
        """The file with the patterns of what bd itself put there."""
        return os.path.join(self._records, f"{self._name}.exclude")

    def lock(self, runtime: Runtime) -> CloneLock:
        """Return the lock that is held while an attempt runs, or the folder is read or removed."""
        made(self._records)
        return CloneLock(os.path.join(self._records, f"{self._name}.lock"), 0, runtime)

    def is_in_use(self, runtime: Runtime) -> bool:
        """Return whether an attempt runs in it."""
        lock = self.lock(runtime)
        if not lock.try_enter():
            return True
        lock.__exit__()
        return False

    def moved_aside(self) -> Workspace:
        """Give the record, and the folder if there is one, a name of the attempt. Raises TryAgain."""
        number, there = 1, self._replace(folder=f"{self.folder}.attempt-{self.attempt}")
        while os.path.lexists(there.folder) or os.path.lexists(there.record_path):
            number += 1
            there = self._replace(folder=f"{self.folder}.attempt-{self.attempt}-{number}")
        there.write()
        try:
            if os.path.exists(self.exclude_file):
                shutil.copyfile(self.exclude_file, there.exclude_file)
            if os.path.lexists(self.folder):
                os.rename(self.folder, there.folder)
        except OSError as error:
            there.forget()
            raise TryAgain(f"{self.folder} can't be moved: {error.strerror}", hint="check its permissions") from error
        self.forget()
        return there


def workspaces_folder() -> str:
    """Return the folder above all workspaces of this user and machine."""
    return state_folder("workspaces")


def workspace_of(hub: Clone, bead: Bead, entry: Repo | None) -> Workspace:
    """Return the record that a claimed bead's workspace gets; nothing is made yet."""
    claim, own = bead.get("claim"), component(bead.id, bead.get("uid"))
    name = entry.name if entry else NO_REPO
    return Workspace(
        hub=hub_id(hub),
        repo=name,
        bead=bead.id,
        uid=bead.get("uid"),
        folder=os.path.join(workspaces_folder(), hub_id(hub), name, own),
        branch=branch_of(bead.id, bead.get("uid")),
        base=entry.base if entry else "",
        agent=claim["agent"],
        token=claim["token"],
        attempt=claim.get("attempt", 1),
        url=entry.url if entry else None,
    )


def known_workspaces(hub: str) -> Iterator[Workspace]:
    """Yield the records of a hub's workspaces on this machine, those of attempts that were moved aside among them."""
    above = os.path.join(workspaces_folder(), hub)
    for repo in _names(above):
        for name in _names(os.path.join(above, repo, _RECORDS)):
            found = _read(os.path.join(above, repo, _RECORDS, name)) if name.endswith(".json") else None
            if found is not None:
                yield found


def workspace_here(hub: str, bead: str) -> Workspace | None:
    """Return a bead's workspace on this machine: the last attempt's that has a folder."""
    there = [one for one in known_workspaces(hub) if one.bead == bead and os.path.isdir(one.folder)]
    return max(there, key=lambda one: (not one.is_aside, one.attempt), default=None)


def record_at(folder: str) -> Workspace | None:
    """Return the record of the workspace in a folder."""
    return _read(os.path.join(os.path.dirname(folder), _RECORDS, f"{os.path.basename(folder)}.json"))


def mounts_at(folder: str | None) -> tuple[list[str], list[str]]:
    """Return the `mounts` of the workspace in a folder; none if it is no workspace."""
    found = record_at(folder) if folder else None
    return found.mounts if found else ([], [])


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _read(path: str) -> Workspace | None:
    try:
        with open(path, encoding="utf-8") as file:
            found = json_value(file.read())
    except (OSError, ValueError):
        return None
    known = {key: value for key, value in found.items() if key in Workspace._fields} if isinstance(found, dict) else None
    return Workspace(**known) if known is not None and fits(known, _SHAPE) else None


# --- making one ---------------------------------------------------------------------------------


def make(workspace: Workspace, entry: Repo, cache: Cache, dependencies: Sequence[str]) -> tuple[Workspace, list[str]]:
    """Clone into the workspace's folder, which does not exist, and check out the bead's branch.

    `dependencies` are branches that it begins with, unless the base has them. Return the record, with the tip that the attempt
    begins with, and what an agent should know. Raises Conflict and TryAgain.
    """
    base, begun = cache.tip(entry.base), cache.tip(workspace.branch)
    if base is None:
        hint = f"`bd repo add {entry.name} URL --base BRANCH` names another"
        raise TryAgain(f"{entry.name} has no branch {entry.base} any more", hint=hint)
    start = begun if begun is not None and not cache.is_ancestor(begun, base) else base
    merged = [tip for branch in dependencies if (tip := cache.tip(branch)) is not None and not cache.is_ancestor(tip, base)]
    workspace = workspace._replace(begun=begun, start=start)
    made(os.path.dirname(workspace.folder))
    _clone(workspace, entry, cache)
    repo = GitRepo(workspace.git_dir, workspace.git_dir, workspace.folder, timeout_s=cache.repo.timeout_s)
    try:
        _check_out(repo, workspace, entry)
        notes = _merge(repo, workspace, entry, base, merged)
        _add_submodules(repo, entry)
        _copy(workspace, entry)
        found = workspace._replace(start=repo.commit_of("HEAD") or start)
        if found.start != start:  # nobody's work, so it is not unpushed work either
            cache.fetch_from(found.git_dir, {str(found.start): found.start_ref})
        return found, notes
    except GitFailed as error:
        raise TryAgain(f"the workspace can't be made: {error}", hint="check the disk, then try again") from error


def _clone(workspace: Workspace, entry: Repo, cache: Cache) -> None:
    """Clone from the cache, without its path as a remote, and without a checkout."""
    fetched = f"+{REMOTES}*:{REMOTES}*"
    settings = {
        "remote.origin.fetch": fetched,
        "remote.origin.pushurl": _NO_PUSH,
        "push.default": "current",
        "gc.auto": "0",
        "advice.detachedHead": "false",
    }
    given = [word for key, value in settings.items() for word in ("-c", f"{key}={value}")]
    cache.run("clone", "--quiet", "--shared", "--no-checkout", "--template=", *given, "--", cache.git_dir, workspace.folder)
    os.chmod(workspace.folder, 0o700)
    repo = GitRepo(workspace.git_dir, workspace.git_dir, workspace.folder, timeout_s=cache.repo.timeout_s)
    repo.run("config", "remote.origin.url", entry.url)
    repo.run("config", "--replace-all", "remote.origin.fetch", f"+refs/heads/*:{REMOTES}*")
    if cache.filter:
        for key, value in (
            ("core.repositoryFormatVersion", "1"),
            ("extensions.partialClone", "origin"),
            ("remote.origin.promisor", "true"),
            ("remote.origin.partialclonefilter", cache.filter),
        ):
            repo.run("config", key, value)


def _check_out(repo: GitRepo, workspace: Workspace, entry: Repo) -> None:
    own = {} if entry.clone.lfs else {"GIT_LFS_SKIP_SMUDGE": "1"}
    if entry.clone.sparse:
        repo.run("sparse-checkout", "init", "--cone")
        repo.run("sparse-checkout", "set", "--", *entry.clone.sparse)
    repo.run("checkout", "--quiet", "--no-track", "-B", workspace.branch, str(workspace.start), "--", env=own)


def _merge(repo: GitRepo, workspace: Workspace, entry: Repo, base: str, dependencies: Sequence[str]) -> list[str]:
    """Merge the dependencies' branches, and into a branch that exists already also the base. Raises Conflict."""
    notes = []
    if workspace.start != base and not repo.is_ancestor(base, "HEAD") and not _merged(repo, base, f"Merge {entry.base}"):
        notes.append(f"{entry.base} has moved on and conflicts with {workspace.branch}: merge origin/{entry.base} yourself")
    for tip in dependencies:
        if not repo.is_ancestor(tip, "HEAD") and not _merged(repo, tip, "Merge what this bead depends on"):
            raise Conflict(f"{tip[:12]}, which {workspace.bead} depends on, conflicts with {workspace.branch} from {entry.base}")
    return notes


def _merged(repo: GitRepo, commit: str, subject: str) -> bool:
    """Merge a commit; after a conflict everything is as before."""
    code, _, _ = repo.run(
        "-c", "commit.gpgSign=false", "merge", "--quiet", "--no-edit", "-m", subject, commit, check=False, env=AUTHOR
    )
    if code:
        repo.run("merge", "--abort", check=False)
        repo.run("reset", "--quiet", "--hard", "HEAD")
    return code == 0


def _add_submodules(repo: GitRepo, entry: Repo) -> None:
    if entry.clone.submodules:
        repo.run("submodule", "--quiet", "update", "--init", "--recursive")


def _copy(workspace: Workspace, entry: Repo) -> None:
    """Copy the local files that the entry names, and let git ignore them. Raises TryAgain for a missing one."""
    for name in entry.copy:
        source, target = os.path.join(user_files(entry.name), name), os.path.join(workspace.folder, name)
        try:
            if os.path.realpath(os.path.dirname(target)) != os.path.join(
                os.path.realpath(workspace.folder), os.path.dirname(name)
            ).rstrip("/"):
                raise TryAgain(f"{name} is not copied: a folder above it is a link in the repository")
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(target)
            shutil.copyfile(source, target, follow_symlinks=True)
            shutil.copymode(source, target)
        except OSError as error:
            hint = f"put it into {user_files(entry.name)}, from where `copy` takes local files"
            raise TryAgain(f"{name} can't be copied into the workspace: {error.strerror}", hint=hint) from error
    patterns = "".join(f"/{name}\n" for name in entry.copy)
    os.makedirs(os.path.join(workspace.git_dir, "info"), exist_ok=True)
    files.replace(os.path.join(workspace.git_dir, "info", "exclude"), patterns)
    files.replace(workspace.exclude_file, patterns)


def free_bytes() -> int:
    """Return how much room the disk of the workspaces has."""
    return shutil.disk_usage(made(workspaces_folder())).free
