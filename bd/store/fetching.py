"""Fetching the hub branch into the published ref, and what every failure of that means."""

from __future__ import annotations

import contextlib
import os

from bd import clock
from bd.errors import HubRewritten, RemoteUnreachable, TryAgain
from bd.store.gitrepo import FETCH_FLAGS, GitTimeout
from bd.store.place import PUBLISHED, Place
from bd.store.remote import unreachable

TYPE_CHECKING = False
if TYPE_CHECKING:
    import subprocess

    from bd.store.gitrepo import GitRepo

# There while a fetch runs: left behind, it tells that one was killed.
_FETCHING = "fetching"
_LOCK_WAIT_S = 3.0
_DEEPEN = 200


class Fetching:
    """One command's fetches, under the clone's lock. One may be begun early, so that it runs while the rest is imported."""

    def __init__(self, repo: GitRepo, place: Place) -> None:
        self._repo = repo
        self._folder = place.folder
        self._remote = place.remote or ""
        self._branch = place.branch
        self._name = place.branch.removeprefix("refs/heads/")
        self._fetching: subprocess.Popen[bytes] | None = None
        self._was_killed = False

    def drop(self) -> None:
        """Wait for a fetch that nobody has waited for."""
        process, self._fetching = self._fetching, None
        if process is not None:
            with contextlib.suppress(GitTimeout, FileNotFoundError):
                self._repo.finish(process, ("fetch",))
                os.unlink(os.path.join(self._folder, _FETCHING))

    def begin(self) -> None:
        """Start the fetch of the hub branch; `finish_fetch` waits for it. Only under the lock."""
        if self._fetching is None:
            mark = os.path.join(self._folder, _FETCHING)
            self._was_killed = self._was_killed or os.path.exists(mark)  # we hold the lock: whoever left it is dead
            with open(mark, "w", encoding="ascii"):
                pass
            self._fetching = self._repo.start_fetch(self._remote, self._branch, PUBLISHED)

    def finish(self) -> str | None:
        """The remote's tip, now in the published ref. None when the remote has no such branch yet.

        Raises RemoteUnreachable, and HubRewritten when the tip does not descend from what was
        published before, or when a branch that was there is gone.
        """
        before = self._repo.ref(PUBLISHED)
        words = self._fetch_once()
        if words and self._is_shallow() and "non-fast-forward" in words:
            words = self._deepen(before)
        if words and (PUBLISHED + ".lock" in words or "cannot lock ref" in words):
            self._free_published()
            words = self._fetch_once()
        if not words:
            return self._repo.ref(PUBLISHED)
        if "couldn't find remote ref" in words:
            if before is None:
                return None
            raise HubRewritten(
                f"the hub branch {self._name} is gone from {self._remote}",
                hint=f"`git push {self._remote} {PUBLISHED}:{self._branch}` brings it back as this clone last saw it; "
                "if it is meant to be gone, `bd sync --accept-rewrite`",
            )
        if "non-fast-forward" in words or "[rejected]" in words:
            raise HubRewritten(
                f"the hub's history on {self._remote} was rewritten: its tip does not descend from what was published",
                hint="look at it with git first; `bd sync --accept-rewrite` goes on from the new history",
            )
        raise unreachable(self._remote, words)

    def _free_published(self) -> None:
        """Wait for whoever locks the published ref. A lock that stays goes only where a fetch of bd's own was killed."""
        lock = os.path.join(self._repo.common_dir, PUBLISHED + ".lock")
        deadline = clock.monotonic() + _LOCK_WAIT_S
        while os.path.exists(lock):
            if self._was_killed:
                os.unlink(lock)
            elif clock.monotonic() >= deadline:
                hint = "if no git command is running here, remove that file"
                raise TryAgain(f"git's ref is locked: {lock}", hint=hint)
            else:
                clock.sleep(0.05)

    def _fetch_once(self) -> str:
        """Run one fetch; empty when it went well, else git's words."""
        self.begin()
        process, self._fetching = self._fetching, None
        if process is None:
            return ""
        try:
            code, out, err = self._repo.finish(process, ("fetch",))
        except GitTimeout as error:
            raise RemoteUnreachable(f"the remote {self._remote} does not answer: {error}") from None
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(self._folder, _FETCHING))
        return "" if code == 0 else err + out.decode("utf-8", "replace") or "fetch failed"

    def _is_shallow(self) -> bool:
        return os.path.exists(os.path.join(self._repo.common_dir, "shallow"))

    def _deepen(self, base: str | None) -> str:
        """Fetch more history until the base is in it, so that a shallow clone is not taken for a rewrite."""
        for depth_args in (("--deepen", str(_DEEPEN)), ("--deepen", str(_DEEPEN * 25)), ("--unshallow",)):
            args = ["fetch", "--quiet", *FETCH_FLAGS, *depth_args]
            code, _, err = self._repo.run(*args, "--end-of-options", self._remote or "", self._branch, check=False)
            if code and "unshallow" not in err:
                return err
            words = self._fetch_once()
            if "non-fast-forward" not in words:
                return words
        return words
