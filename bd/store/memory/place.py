"""The place of a hub in memory: a server, and one clone of it."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.store.memory.local_state import MemoryState, SharedState
from bd.store.memory.repository import MemoryRepository
from bd.store.memory.server import MemoryRemote, MemoryServer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime
    from typing import Any

    from bd.core.queries import Derivation
    from bd.core.runtime import Runtime


class MemoryPlace:
    """The counterpart of hub_location.Place. Each clone opened on it is another process of the same clone.

    `cache`: the path of a file that these processes keep their cache in.
    """

    remote = "origin"
    user_name = ""
    user_mail = ""
    folder = ""

    def __init__(
        self,
        server: MemoryServer,
        *,
        branch: str = "refs/heads/main",
        settings: Mapping[str, Any] | None = None,
        cache: str | None = None,
    ) -> None:
        self.server = server
        self.branch = branch
        self.url = f"memory:{id(server)}"
        self.repo = MemoryRepository()
        self.shared = SharedState()
        self.clone_layer: Mapping[str, Any] = settings or {}
        self.user_layer: Mapping[str, Any] = {}
        self.git_layer: Mapping[str, Any] = {}
        self._cache = cache

    def connect(self, runtime: Runtime) -> MemoryRemote:
        """Return the clone's connection to the server."""
        return MemoryRemote(self.repo, self.server, self.branch)

    def local_state(self, runtime: Runtime) -> MemoryState:
        """Return the clone's local state, as a new process sees it."""
        return MemoryState(self.shared, runtime)

    def worktree(self, runtime: Runtime) -> None:
        """Return nothing: there is no checkout."""

    def cache_path(self, derivations: Sequence[Derivation], now: datetime) -> str | None:
        """Return the file that the clone's processes share; None: each has a cache in memory while it is open."""
        return self._cache
