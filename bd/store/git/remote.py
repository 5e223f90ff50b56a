"""The remote of a hub over git: fetches, pushes and listings, each one git process and one connection.

If the hub has no remote, this repository is the server, and a push is one ref transaction.
"""

from __future__ import annotations

from functools import cached_property

from bd import TYPE_CHECKING
from bd.store.contract import ZERO, Fetched, PushAnswer, PushLine
from bd.store.git.fetch import Fetching
from bd.store.git.push import list_remote, push, silent
from bd.store.git.repository import FETCH_FLAGS, GitFailed, GitTimeout

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bd.core.runtime import Runtime
    from bd.store.contract import SideRef
    from bd.store.git.fetch import Fetching
    from bd.store.git.repository import GitRepo

# As git reports a ref that is not where it was expected.
_MOVED = "[rejected] (stale info)"


class GitRemote:
    """The server that the hub's branch (a full ref) is shared through. `folder` is bd's own folder in this clone."""

    def __init__(self, repo: GitRepo, name: str, branch: str, folder: str, runtime: Runtime) -> None:
        self._repo = repo
        self.name = name
        self._branch = branch
        self._folder = folder
        self._runtime = runtime

    @cached_property
    def _fetching(self) -> Fetching:
        return Fetching(self._repo, self.name, self._branch, self._folder, self._runtime)

    def begin_fetch(self) -> None:
        """Start a fetch of the branch; `fetch` waits for it. Only under the clone's lock."""
        self._fetching.begin()

    def fetch(self) -> Fetched:
        """Fetch, and return what the server has; see fetch.py for the errors."""
        return self._fetching.finish()

    def drop_fetch(self) -> None:
        """Wait for a fetch that was started and is no longer needed."""
        if "_fetching" in self.__dict__:
            self._fetching.drop()

    def fetch_objects(self, refs: Sequence[str]) -> None:
        """Fetch the objects of these refs. What the server refuses shows when they are read. Raises RemoteUnreachable."""
        try:
            self._repo.run("fetch", "--progress", *FETCH_FLAGS, "--end-of-options", self.name, *refs, check=False)
        except GitTimeout as error:
            raise silent(self.name, error) from None

    def list(self, *prefixes: str) -> dict[str, str]:
        """List the server's refs that start with one of these. Raises RemoteUnreachable."""
        return list_remote(self._repo, self.name, *(f"{prefix}*" for prefix in prefixes))

    def push(
        self,
        commit: str | None,
        base: str | None,
        sides: Sequence[SideRef] = (),
        *,
        exactly: bool = False,
        meanwhile: Callable[[], None] | None = None,
    ) -> PushAnswer:
        """Move the branch to `commit` (None: leave it) and the side refs, all or nothing; with `exactly`, only from `base`.

        Raises RemoteUnreachable if there is no answer in time.
        """
        lease = {self._branch: base} if exactly and base else {}
        branches = [(commit, self._branch)] if commit else []
        try:
            return PushAnswer(*push(self._repo, self.name, branches, sides, leases=lease, meanwhile=meanwhile))
        except GitTimeout as error:
            raise silent(self.name, error) from None


class OwnBranch:
    """The same for a hub whose branch is in this repository alone."""

    name = "."

    def __init__(self, repo: GitRepo, branch: str) -> None:
        self._repo = repo
        self._branch = branch

    def begin_fetch(self) -> None:
        """Do nothing: there is nothing to fetch."""

    def fetch(self) -> Fetched:
        """Return the branch as it is now."""
        return Fetched(self._repo.ref(self._branch))

    def drop_fetch(self) -> None:
        """Do nothing: no fetch was started."""

    def fetch_objects(self, refs: Sequence[str]) -> None:
        """Do nothing: the objects are here."""

    def list(self, *prefixes: str) -> dict[str, str]:
        """List the refs that start with one of these."""
        return {ref: oid for prefix in prefixes for ref, oid in self._repo.refs(prefix).items()}

    def push(
        self,
        commit: str | None,
        base: str | None,
        sides: Sequence[SideRef] = (),
        *,
        exactly: bool = False,
        meanwhile: Callable[[], None] | None = None,
    ) -> PushAnswer:
        """Move the branch from `base` to `commit`, and the side refs, in one transaction.

        A failure is reported as refs that have moved.
        """
        if meanwhile:
            meanwhile()
        moves: list[tuple[str, str | None, str | None]] = [(self._branch, commit, base or ZERO)] if commit else []
        moves += [(side.ref, side.new, side.old or (ZERO if side.new else None)) for side in sides]
        try:
            self._repo.update_refs(moves)
        except (GitFailed, GitTimeout) as error:
            if not commit or self._repo.ref(self._branch) != commit:  # git can be killed after it has done it
                words = error.stderr.strip() if isinstance(error, GitFailed) else str(error)
                return PushAnswer({ref: PushLine("!", _MOVED) for ref, _, _ in moves}, words)
        return PushAnswer({ref: PushLine("-" if new is None else " ", "") for ref, new, _ in moves}, "")
