"""The cache of a code repository: one bare repository for each URL, user and machine, whose objects workspaces borrow.

It is fetched under a lock into refs/remotes/origin/, and never pruned: a workspace may need any object of it. What is set aside is
in refs/bd/kept/. Its settings are written before each use, so that nobody else's are followed.
"""

from __future__ import annotations

import contextlib
import os

from bd import TYPE_CHECKING
from bd.core import files, urls
from bd.core.code_repos import is_filter
from bd.core.errors import TryAgain
from bd.repos.folders import digest_of, made, state_folder
from bd.store.git.create import unreachable
from bd.store.git.repository import GitFailed, GitRepo
from bd.store.local.lock import CloneLock

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from bd.core.code_repos import Repo
    from bd.core.runtime import Runtime
    from bd.store import Clone

REMOTES = "refs/remotes/origin/"
# Merges with which workspaces began.
STARTS = "refs/bd/starts/"
# Git says nothing while it packs, or checks out many files.
SILENCE_S = 900.0
# Others may be fetching a large repository for the first time.
_LOCK_S = 3600.0
_SHA256_DIGITS = 64
# Git looks into each pack, and lists loose objects by 256 folders.
_MOST_PACK_FILES, _MOST_LOOSE = 100, 20
# Nothing that git must fetch while it serves or reads: the settings that say from where may be an agent's.
NO_LAZY = {"GIT_NO_LAZY_FETCH": "1"}
AUTHOR = {
    f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER") for what, value in (("NAME", "bd"), ("EMAIL", "bd@localhost"))
}


def cache_name(repo: str, url: str) -> str:
    """Return the name of a repository's folders on this machine."""
    return f"{repo}-{digest_of(url)}"


class Cache:
    """The cache of a repository; that of no repository (`entry` None) only holds what was set aside."""

    def __init__(self, entry: Repo | None, runtime: Runtime, *, but_branch: str | None = None) -> None:
        self.entry = entry
        self._runtime = runtime
        self._but_branch = but_branch
        name = cache_name(entry.name, entry.url) if entry else "no-repository"
        self.git_dir = state_folder("repos", f"{name}.git")
        self.repo = GitRepo(self.git_dir, self.git_dir, None, timeout_s=SILENCE_S)

    def run(
        self, *args: str, data: bytes | None = None, check: bool = True, env: Mapping[str, str] | None = None
    ) -> tuple[int, str, str]:
        """Run git here. Return its exit code and output. Raises GitFailed."""
        code, out, err = self.repo.run(*args, data=data, check=check, env={**NO_LAZY, **(env or {})})
        return code, out.decode("utf-8", "surrogateescape"), err

    @contextlib.contextmanager
    def locked(self) -> Iterator[Cache]:
        """Be the only one who fetches, and have a cache with bd's own settings. Raises TryAgain."""
        made(os.path.dirname(self.git_dir))
        with CloneLock(f"{self.git_dir}.lock", _LOCK_S, self._runtime):
            self._ready()
            yield self

    def _ready(self) -> None:
        """Make it if it is not there, and write its settings."""
        if not os.path.exists(os.path.join(self.git_dir, "HEAD")):
            made(self.git_dir)
            kind = "sha256" if self.entry and len(tip_at(self.entry.url, "HEAD")[1]) == _SHA256_DIGITS else "sha1"
            self.run("init", "--quiet", "--bare", "--template=", f"--object-format={kind}", self.git_dir)
            files.replace(os.path.join(self.git_dir, "format"), kind)
        if self.filter != self._noted("filter"):
            files.replace(os.path.join(self.git_dir, "filter"), self.filter)
        wanted = self._settings()
        path = os.path.join(self.git_dir, "config")
        with open(path, encoding="utf-8", errors="replace") as file:
            there = file.read()
        if there != wanted:
            files.replace(path, wanted)
        os.makedirs(os.path.join(self.git_dir, "objects", "info"), exist_ok=True)
        with contextlib.suppress(FileNotFoundError):  # it borrows from nobody
            os.unlink(os.path.join(self.git_dir, "objects", "info", "alternates"))

    @property
    def filter(self) -> str:
        """git's filter of what is fetched. What was ever fetched with one lacks objects for good, whatever the entry says now."""
        noted = self._noted("filter")
        return (self.entry.clone.filter if self.entry else "") or (noted if is_filter(noted) else "")

    def _noted(self, name: str) -> str:
        """Return what is noted about it; "" if nothing is."""
        try:
            with open(os.path.join(self.git_dir, name), encoding="utf-8", errors="replace") as file:
                return file.read().strip()
        except FileNotFoundError:
            return ""

    def _settings(self) -> str:
        lines = [
            "[core]",
            "repositoryformatversion = 1",
            f"filemode = {str(os.name != 'nt').lower()}",
            "bare = true",
            "[extensions]",
        ]
        lines += ["preciousObjects = true", *(["objectFormat = sha256"] if self._noted("format") == "sha256" else [])]
        if self.entry and self.filter:
            url = self.entry.url.replace("\\", "\\\\").replace('"', '\\"')
            lines += ["partialClone = origin", '[remote "origin"]', f'url = "{url}"', "promisor = true"]
            lines += [f"partialclonefilter = {self.filter}"]
        return "\n".join([*lines, "[gc]", "auto = 0", ""])

    def fetch(self) -> None:
        """Fetch all branches and tags. Raises RemoteUnreachable, ServerRefused and TryAgain."""
        assert self.entry is not None
        refspecs = [f"+refs/heads/*:{REMOTES}*", "+refs/tags/*:refs/tags/*"]
        refspecs += [f"^refs/heads/{self._but_branch}"] if self._but_branch else []
        kept = [f"--filter={self.filter}"] if self.filter else []
        source = "origin" if kept else self.entry.url
        flags = ("--quiet", "--no-tags", "--prune", "--no-write-fetch-head", "--no-recurse-submodules", "--no-auto-gc")
        with self.locked():
            try:
                self.run("fetch", *flags, *kept, "--end-of-options", source, *refspecs, env={"GIT_NO_LAZY_FETCH": "0"})
            except GitFailed as error:
                raise unreachable(self.entry.url, error.stderr) from error

    def fetch_from(self, git_dir: str, wanted: Mapping[str, str]) -> None:
        """Fetch commits from a repository on this machine, of which nothing is trusted, into refs. Raises GitFailed."""
        if not wanted:
            return
        flags = ("--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--no-auto-gc", "--update-shallow")
        specs = [f"+{oid}:{ref}" for oid, ref in wanted.items()]
        self.run("-c", "protocol.version=2", "fetch", *flags, "--", git_dir, *specs)  # version 2 serves any object by its name

    def pack_when_full(self) -> None:
        """Pack its objects once there are many. Nothing is removed that is not packed before, reachable or not."""
        folder = os.path.join(self.git_dir, "objects")
        try:
            packs = len(os.listdir(os.path.join(folder, "pack")))
            loose = len(os.listdir(os.path.join(folder, "17"))) if os.path.isdir(os.path.join(folder, "17")) else 0
        except OSError:
            return
        if packs > _MOST_PACK_FILES or loose > _MOST_LOOSE:
            with self.locked():  # it writes bd's settings; git refuses to remove packs as long as all objects are precious
                path = os.path.join(self.git_dir, "config")
                files.replace(path, self._settings().replace("preciousObjects = true\n", ""))
                try:
                    self.run("repack", "-a", "-d", "--keep-unreachable", "-q", check=False)
                finally:
                    files.replace(path, self._settings())

    def tip(self, branch: str) -> str | None:
        """Return the commit of a branch as of the last fetch."""
        return self.repo.ref(f"{REMOTES}{branch}")

    def has(self, oids: Sequence[str]) -> set[str]:
        """Return those objects that are here."""
        _, out, _ = self.run("cat-file", "--batch-check=%(objectname)", data="".join(f"{oid}\n" for oid in oids).encode())
        return {line for line in out.splitlines() if " " not in line}

    def unpushed(self, oids: Sequence[str]) -> set[str]:
        """Return those commits (which must be here) that no fetched branch or tag has, and with which no workspace began."""
        if not oids:
            return set()
        lines = "".join(f"{oid}\n" for oid in oids).encode()
        return {
            *self.run("rev-list", "--stdin", "--not", "--remotes=origin", "--tags", f"--glob={STARTS}*", data=lines)[1].split()
        } & {*oids}

    def is_ancestor(self, older: str, newer: str) -> bool:
        """Return whether `older` is `newer` or in its history."""
        return self.repo.is_ancestor(older, newer)

    def count(self, newer: str, *without: str, after_s: int | None = None) -> int:
        """Return the number of commits that `newer` has and the others have not; only those after a Unix time, if it is given."""
        age = [] if after_s is None else [f"--max-age={after_s + 1}"]
        return int(self.run("rev-list", "--count", *age, newer, *(f"^{older}" for older in without))[1])


def tip_at(url: str, ref: str) -> tuple[str, str]:
    """Return the full name of a ref at a URL and its commit, both "" if it has none. For HEAD, the branch that it stands for.

    Raises RemoteUnreachable and ServerRefused.
    """
    nowhere = GitRepo(os.path.join(state_folder(), "nowhere.git"), "", os.sep, timeout_s=60.0)
    code, out, err = nowhere.run("ls-remote", "--quiet", "--symref", "--end-of-options", url, ref, check=False)
    if code:
        raise unreachable(url, err)
    name = commit = ""
    for line in out.decode("utf-8", "replace").splitlines():
        value, _, found = line.partition("\t")
        if value.startswith("ref: ") and found == ref:
            name = value[5:]
        elif found == ref and not commit:
            name, commit = name or found, value
    return name, commit


def branches_at(url: str) -> dict[str, str]:
    """Return the branches of a repository by name. Raises RemoteUnreachable and ServerRefused."""
    nowhere = GitRepo(os.path.join(state_folder(), "nowhere.git"), "", os.sep, timeout_s=60.0)
    code, out, err = nowhere.run("ls-remote", "--quiet", "--heads", "--end-of-options", url, check=False)
    if code:
        raise unreachable(url, err)
    lines = (line.partition("\t") for line in out.decode("utf-8", "replace").splitlines())
    return {ref.removeprefix("refs/heads/"): commit for commit, _, ref in lines}


def hub_branch_in(entry: Repo, hub: Clone) -> str | None:
    """Return the hub's branch if the hub is in this code repository; None if it is somewhere else."""
    own = [hub.place.url, hub.repo.work_tree, hub.repo.common_dir]
    return hub.branch_name if _same(entry.url) in {_same(one) for one in own if one} else None


def _same(url: str) -> str:
    """Return a form of an address in which those of one repository are usually equal."""
    path = urls.local_path(url)
    if path is not None:
        return os.path.realpath(path).removesuffix("/.git").removesuffix(".git").rstrip("/")
    parts = urls.parsed(url)
    assert parts is not None
    return f"{parts.host}/{parts.rest.strip('/').removesuffix('.git')}".lower()


def cache_for(entry: Repo | None, hub: Clone) -> Cache:
    """Return the cache of a repository, for a hub."""
    return Cache(entry, hub.runtime, but_branch=hub_branch_in(entry, hub) if entry else None)


def refuse_full(free: int, least: int) -> None:
    """Refuse a workspace on a disk with too little room. Raises TryAgain."""
    if free < least:
        raise TryAgain(f"the disk of the workspaces has {free // 10**6} MB left, less than clone.min_free", hint="make room")
