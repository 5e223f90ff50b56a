"""The remote of a hub over git: fetches, pushes and listings of one clone, each one git process and one connection.

Where the hub has no remote, this repository is the server, and a push is one transaction of its refs.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from bd.store.contract import ZERO, Fetched, PushAnswer, PushLine
from bd.store.git.push import list_remote, push, silent
from bd.store.git.repository import FETCH_FLAGS, GitFailed, GitTimeout

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bd.core.runtime import Runtime
    from bd.store.contract import SideRef
    from bd.store.git.fetch import Fetching
    from bd.store.git.repository import GitRepo

# As git says it of a ref that is not what was expected.
_MOVED = "[rejected] (stale info)"


class GitRemote:
    """The server that the hub's branch (a full ref) is shared through. `folder` is bd's own in this clone."""

    def __init__(self, repo: GitRepo, name: str, branch: str, folder: str, runtime: Runtime) -> None:
        self._repo = repo
        self.name = name
        self._branch = branch
        self._folder = folder
        self._runtime = runtime

    @cached_property
    def _fetching(self) -> Fetching:
        from bd.store.git.fetch import Fetching  # noqa: PLC0415  who may push first fetches nothing

        return Fetching(self._repo, self.name, self._branch, self._folder, self._runtime)

    def begin_fetch(self) -> None:
        """Start a fetch of the branch, which `fetch` then waits for. Only under the clone's lock."""
        self._fetching.begin()

    def fetch(self) -> Fetched:
        """What the server has; see fetch.py for what it raises."""
        return self._fetching.finish()

    def drop_fetch(self) -> None:
        """Wait for a fetch that was begun and that nobody waits for."""
        if "_fetching" in self.__dict__:
            self._fetching.drop()

    def fetch_objects(self, refs: Sequence[str]) -> None:
        """Bring the objects of these refs here; what the server refuses shows when they are read. Raises RemoteUnreachable."""
        try:
            self._repo.run("fetch", "--quiet", *FETCH_FLAGS, "--end-of-options", self.name, *refs, check=False)
        except GitTimeout as error:
            raise silent(self.name, error) from None

    def list(self, *prefixes: str) -> dict[str, str]:
        """The server's refs that start with one of these. Raises RemoteUnreachable."""
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
        """Move the branch to `commit` (None: not at all), and the refs beside it, all or nothing; `exactly` only from `base`.

        Raises RemoteUnreachable for no answer in time.
        """
        lease = {self._branch: base} if exactly and base else {}
        branches = [(commit, self._branch)] if commit else []
        try:
            return PushAnswer(*push(self._repo, self.name, branches, sides, leases=lease, meanwhile=meanwhile))
        except GitTimeout as error:
            raise silent(self.name, error) from None


class OwnBranch:
    """The same where the hub's branch is one of this repository."""

    name = "."

    def __init__(self, repo: GitRepo, branch: str) -> None:
        self._repo = repo
        self._branch = branch

    def begin_fetch(self) -> None:
        """Nothing is fetched."""

    def fetch(self) -> Fetched:
        """The branch as it is now."""
        return Fetched(self._repo.ref(self._branch))

    def drop_fetch(self) -> None:
        """Nothing was begun."""

    def fetch_objects(self, refs: Sequence[str]) -> None:
        """They are here."""

    def list(self, *prefixes: str) -> dict[str, str]:
        """The refs that start with one of these."""
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
        """Move the branch from `base` to `commit`, and the refs beside it, in one transaction; one that failed is told as refs that have moved."""
        if meanwhile:
            meanwhile()
        moves: list[tuple[str, str | None, str | None]] = [(self._branch, commit, base or ZERO)] if commit else []
        moves += [(side.ref, side.new, side.old or (ZERO if side.new else None)) for side in sides]
        try:
            self._repo.update_refs(moves)
        except (GitFailed, GitTimeout) as error:
            if not commit or self._repo.ref(self._branch) != commit:  # git can be ended after it has done it
                words = error.stderr.strip() if isinstance(error, GitFailed) else str(error)
                return PushAnswer({ref: PushLine("!", _MOVED) for ref, _, _ in moves}, words)
        return PushAnswer({ref: PushLine("-" if new is None else " ", "") for ref, new, _ in moves}, "")
