"""Fetches the hub branch into the published ref, and translates the failures.

The same connection brings other clones' requests (group_commit/requests.py). They go to private refs, are read, and are removed
again, so that no clone keeps copies and each fetch is one process.
"""

from __future__ import annotations

import os
from contextlib import suppress

from bd import TYPE_CHECKING
from bd.core.errors import HubRewritten, TryAgain
from bd.store.contract import PUBLISHED, Fetched
from bd.store.git.push import list_remote, silent, unreachable
from bd.store.git.repository import FETCH_FLAGS, GitTimeout, every_ref

if TYPE_CHECKING:
    from bd.core.runtime import Runtime
    from bd.store.git.process import Process
    from bd.store.git.repository import GitRepo

# A file that exists while a fetch runs; one left behind shows that a fetch was killed.
_FETCHING = "fetching"
_LOCK_WAIT_S = 3.0
_DEEPEN = 200
_INTENTS = "refs/bd/intents/"
# Exists once the server is known to accept side refs (side_refs.py).
_PROBED = "refs/bd/probed"
_SEEN = "refs/bd/seen/"
# More requests than ever wait beside a hub that works; for how long they are left out then, and where that is noted.
_CROWD, _CROWDED_S, _CROWDED = 2_000, 3600, "crowded"
# Git's message if the tip does not descend from the one before.
_REJECTED = "non-fast-forward"
# Git's message if a listed ref was deleted before its objects were requested.
_GONE = ("not our ref", "did not send all necessary objects", "bad object", "missing necessary objects")


class Fetching:
    """The fetches of one command, under the clone's lock. A fetch can be started early, to run while the rest is imported."""

    def __init__(self, repo: GitRepo, remote: str, branch: str, folder: str, runtime: Runtime) -> None:
        self._repo = repo
        self._runtime = runtime
        self._folder = folder
        self._remote = remote
        self._branch = branch
        self._name = branch.removeprefix("refs/heads/")
        self._fetching: Process | None = None
        self._was_killed = False
        self._is_alone = False
        self._requests: dict[str, str] = {}
        self._is_probed = False

    def drop(self) -> None:
        """Wait for a fetch whose result is no longer needed."""
        process, self._fetching = self._fetching, None
        if process is not None:
            with suppress(GitTimeout, FileNotFoundError):
                self._repo.finish(process, ("fetch",))
                os.unlink(os.path.join(self._folder, _FETCHING))

    def begin(self) -> None:
        """Start the fetch of the hub branch; `finish` waits for it. Only under the lock."""
        if self._fetching is None:
            mark = os.path.join(self._folder, _FETCHING)
            self._was_killed = self._was_killed or os.path.exists(mark)  # this process has the lock, so whoever left it is dead
            with open(mark, "w", encoding="utf-8"):
                pass
            self._fetching = self._repo.start_fetch(self._remote, self._branch, PUBLISHED, *self._beside())

    def _beside(self) -> list[str]:
        """Return the refspecs for requests and the probe mark, after removing what an earlier fetch left."""
        if self._is_alone or self._is_crowded():
            return []
        if self._repo.has_reftable():
            self._repo.update_refs([(name, None, None) for name in self._repo.refs(_SEEN)])
        else:
            remove_refs(self._repo, _SEEN)
        # A new name for each fetch: refs that somebody packs meanwhile must not count as fetched.
        target = f"{_SEEN}{os.getpid()}-{os.urandom(4).hex()}/"
        return [every_ref(_INTENTS, f"{target}intents/"), every_ref(_PROBED, f"{target}probed")]

    def _is_crowded(self) -> bool:
        """Whether a look of the last hour met more requests than one can bring along: then the branch alone is fetched."""
        with suppress(OSError, ValueError), open(os.path.join(self._folder, _CROWDED), encoding="utf-8") as file:
            return 0 <= self._runtime.now().timestamp() - float(file.read()) < _CROWDED_S
        return False

    def _has_met_crowd(self) -> bool:
        """Note a crowd for an hour: anybody who may push can make any number of requests, and each is a file in every look."""
        left = sum(len(names) for _, _, names in os.walk(os.path.join(self._repo.common_dir, _SEEN)))
        if max(left, len(self._requests)) <= _CROWD:
            return False
        with suppress(OSError), open(os.path.join(self._folder, _CROWDED), "w", encoding="utf-8") as file:
            file.write(f"{self._runtime.now().timestamp():.0f}\n")
        return True

    def _take_beside(self) -> None:
        """Read the fetched side refs: the requests by uid, and whether the server is known to accept such refs."""
        found = self._repo.refs(_SEEN) if self._repo.has_reftable() else loose_refs(self._repo, _SEEN)
        split = {ref.removeprefix(_SEEN).partition("/")[2]: oid for ref, oid in found.items()}
        if not self._is_alone:  # else they were not asked for
            self._requests = {name.removeprefix("intents/"): oid for name, oid in split.items() if name.startswith("intents/")}
        self._is_probed = self._is_probed or any(name.startswith("probed") for name in split)
        if found and self._repo.has_reftable():
            self._repo.update_refs([(name, None, None) for name in found])
        elif found:
            remove_refs(self._repo, _SEEN)

    def finish(self) -> Fetched:
        """Finish the fetch. Return the remote's tip, now in the published ref, and the requests.

        The tip is None if there is no such branch yet. Raises RemoteUnreachable, ServerRefused if the hub refuses this clone, and
        HubRewritten if the tip neither descends from what was published before nor is its ancestor, or if a branch that existed
        is gone.
        """
        before = self._repo.ref(PUBLISHED)
        words = self._fetch_once()
        if before and _REJECTED in words:
            tip = self._tip_there()
            if tip is None or self._repo.commit_of(tip) is None:  # it has moved on since
                words = self._fetch_once()
            elif self._repo.is_ancestor(tip, before):
                return Fetched(before, self._requests, self._is_probed, lags=True)
        if words and self._repo.is_shallow and _REJECTED in words:
            words = self._deepen(before)
        if words and (PUBLISHED + ".lock" in words or "cannot lock ref" in words):
            self._free_published()
            words = self._fetch_once()
        if words and not self._is_alone and any(sign in words for sign in _GONE):
            self._is_alone = True
            words = self._fetch_once()
            self._is_alone = False
        if not words:
            return Fetched(self._repo.ref(PUBLISHED), self._requests, self._is_probed)
        if "couldn't find remote ref" in words:
            if before is None:
                return Fetched(None, self._requests, self._is_probed)
            raise HubRewritten(
                f"the hub branch {self._name} is gone from {self._remote}",
                hint=f"`git push {self._remote} {PUBLISHED}:{self._branch}` brings it back as this clone last saw it; "
                "if it is meant to be gone, `bd sync --accept-rewrite`",
            )
        if _REJECTED in words or "[rejected]" in words:
            raise HubRewritten(
                f"the hub's history on {self._remote} was rewritten: its tip does not descend from what was published",
                hint="look at it with git first; `bd sync --accept-rewrite` accepts the new history",
            )
        raise unreachable(self._repo, self._remote, words)

    def _tip_there(self) -> str | None:
        """Return the tip that the remote shows now, without a fetch."""
        return list_remote(self._repo, self._remote, self._branch).get(self._branch)

    def _free_published(self) -> None:
        """Wait for the lock of the published ref. A lock that stays is removed only if one of bd's own fetches was killed."""
        lock = os.path.join(self._repo.common_dir, PUBLISHED + ".lock")
        deadline = self._runtime.monotonic() + _LOCK_WAIT_S
        while os.path.exists(lock):
            if self._was_killed:
                os.unlink(lock)
            elif self._runtime.monotonic() >= deadline:
                hint = "if no git command is running here, remove that file"
                raise TryAgain(f"git's ref is locked: {lock}", hint=hint)
            else:
                self._runtime.sleep(0.05)

    def _fetch_once(self) -> str:
        """Run one fetch. Return "" if it succeeded, else git's words."""
        self.begin()
        process, self._fetching = self._fetching, None
        if process is None:
            return ""
        try:
            code, out, err = self._repo.finish(process, ("fetch",))
        except GitTimeout as error:
            if self._is_alone or not self._has_met_crowd():
                raise silent(self._remote, error) from None
            self._is_alone = True
            return self._fetch_once()
        if code < 0:  # ended by a signal, as on a full disk: its locks are still there, and the mark stays to say so
            self._was_killed = True
        else:
            with suppress(FileNotFoundError):
                os.unlink(os.path.join(self._folder, _FETCHING))
        self._take_beside()
        self._has_met_crowd()
        return "" if code == 0 else err + out.decode("utf-8", "replace") or "fetch failed"

    def _deepen(self, base: str | None) -> str:
        """Fetch more history until the base is in it, so that a shallow clone is not mistaken for a rewrite."""
        for depth_args in (("--deepen", str(_DEEPEN)), ("--deepen", str(_DEEPEN * 25)), ("--unshallow",)):
            args = ["fetch", "--progress", *FETCH_FLAGS, *depth_args]
            try:
                code, _, err = self._repo.run(*args, "--end-of-options", self._remote, self._branch, check=False)
            except GitTimeout as error:
                raise silent(self._remote, error) from None
            if code and "unshallow" not in err:
                return err
            words = self._fetch_once()
            if _REJECTED not in words:
                return words
        return words


def loose_refs(repo: GitRepo, prefix: str) -> dict[str, str]:
    """Return the refs below a prefix that are stored as files."""
    root = os.path.join(repo.common_dir, prefix)
    found: dict[str, str] = {}
    for folder, _, names in os.walk(root):
        for name in names:
            if not name.endswith(".lock"):
                path = os.path.join(folder, name)
                with open(path, encoding="utf-8") as file:
                    found[prefix + os.path.relpath(path, root).replace(os.sep, "/")] = file.read().strip()
    return found


def remove_refs(repo: GitRepo, prefix: str) -> None:
    """Remove private refs that are stored as files. Only under the clone's lock."""
    root = os.path.join(repo.common_dir, prefix)
    for folder, _, names in os.walk(root, topdown=False):
        with suppress(OSError):
            for name in names:
                os.unlink(os.path.join(folder, name))
            os.rmdir(folder)
