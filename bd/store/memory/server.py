"""A server in memory that holds the hub, and one clone's connection to it."""

from __future__ import annotations

import threading

from bd import TYPE_CHECKING
from bd.core.errors import HubRewritten
from bd.store.contract import PUBLISHED, Fetched, PushAnswer, PushLine
from bd.store.memory.repository import MemoryRepository

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bd.store.contract import SideRef

_REQUESTS = "refs/bd/intents/"
_PROBED = "refs/bd/probed"
_LANDED = PushLine(" ", "")


class MemoryServer:
    """The hub that all clones share: its commits and refs. One push at a time."""

    def __init__(self) -> None:
        self.repository = MemoryRepository()
        self.lock = threading.RLock()

    def copy(self) -> MemoryServer:
        """Return a server that shows the hub as it is now, whatever is pushed to this one later."""
        made = MemoryServer()
        with self.lock:
            made.repository = self.repository.copy()
        return made


class MemoryRemote:
    """One clone's connection: an implementation of `contract.Remote`, with a git server's answers."""

    name = "origin"

    def __init__(self, clone: MemoryRepository, server: MemoryServer, branch: str) -> None:
        self._clone = clone
        self._server = server
        self._branch = branch

    def begin_fetch(self) -> None:
        """Do nothing: a fetch takes no time here."""

    def drop_fetch(self) -> None:
        """Do nothing: no fetch was started."""

    def fetch(self) -> Fetched:
        """Fetch: copy the server's objects, and set the published ref. Raises HubRewritten."""
        with self._server.lock:
            there = self._server.repository
            tip, before = there.ref(self._branch), self._clone.ref(PUBLISHED)
            beside = there.refs(_REQUESTS)
            for commit in filter(None, (tip, *beside.values())):
                there.objects.copy_to(self._clone.objects, commit)
            is_probed = bool(there.refs(_PROBED))
        if tip is None and before is not None:
            raise HubRewritten(f"the hub branch {self._branch} is gone")
        requests = {ref.removeprefix(_REQUESTS): oid for ref, oid in beside.items()}
        if tip and before and tip != before and self._clone.is_ancestor(tip, before):
            return Fetched(before, requests, is_probed, lags=True)
        if tip and before and not self._clone.is_ancestor(before, tip):
            raise HubRewritten("the hub's history was rewritten: its tip does not descend from what was published")
        if tip:
            self._clone.set_private_refs({PUBLISHED: tip})
        return Fetched(tip, requests, is_probed)

    def fetch_objects(self, refs: Sequence[str]) -> None:
        """Copy the objects of these refs into the clone."""
        with self._server.lock:
            for ref in refs:
                oid = self._server.repository.ref(ref)
                if oid:
                    self._server.repository.objects.copy_to(self._clone.objects, oid)

    def list(self, *prefixes: str) -> dict[str, str]:
        """List the server's refs that start with one of these."""
        with self._server.lock:
            return {ref: oid for prefix in prefixes for ref, oid in self._server.repository.refs(prefix).items()}

    def push(
        self,
        commit: str | None,
        base: str | None,
        sides: Sequence[SideRef] = (),
        *,
        exactly: bool = False,
        meanwhile: Callable[[], None] | None = None,
    ) -> PushAnswer:
        """Move the branch to `commit` (None: leave it) and the side refs, all or nothing; with `exactly`, only from `base`."""
        if meanwhile:
            meanwhile()
        with self._server.lock:
            there = self._server.repository
            wrong = {side.ref: "[rejected] (stale info)" for side in sides if there.ref(side.ref) != side.old}
            if commit:
                reason = self._why_not(commit, base if exactly else None)
                wrong.update({self._branch: reason} if reason else {})
            names = [*([self._branch] if commit else []), *(side.ref for side in sides)]
            if wrong:
                lines = {name: PushLine("!", wrong.get(name, "[rejected] (atomic push failed)")) for name in names}
                return PushAnswer(lines, "error: failed to push some refs")
            moves = [(self._branch, commit)] if commit else []
            for name, new in [*moves, *((side.ref, side.new) for side in sides)]:
                if new:
                    self._clone.objects.copy_to(there.objects, new)
                there.update_refs([(name, new, None)])
            return PushAnswer(dict.fromkeys(names, _LANDED), "")

    def _why_not(self, commit: str, base: str | None) -> str:
        """Return why the branch can't move to a commit, in git's words; "" if it can."""
        tip = self._server.repository.ref(self._branch)
        if base and tip != base:
            return "[rejected] (stale info)"
        if tip is None or self._clone.is_ancestor(tip, commit):
            return ""
        return "[rejected] (fetch first)"
