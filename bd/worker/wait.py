"""Waiting for work for an agent, without commits: peeks at one ref, often if that costs nothing."""

from __future__ import annotations

from itertools import islice

from bd import TYPE_CHECKING
from bd.core.errors import NothingReady, RemoteUnreachable
from bd.policy.eligibility import Eligibility
from bd.policy.pacing import again_in_s
from bd.policy.readiness import next_turn
from bd.worker.long_poll import HELD_S, Away
from bd.worker.pacing_state import Pacer
from bd.worker.watcher import Lookout

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from bd.core.runtime import Runtime
    from bd.store import CachedSnapshot, Clone
    from bd.worker.long_poll import Server

# The most beads named.
NAMED = 10


def wait(
    hub: Clone,
    agent: str,
    timeout_s: float | None = None,
    server: Server | None = None,
    on_trouble: Callable[[str], None] | None = None,
) -> list[str]:
    """Return the beads that the agent may take, best first, as soon as there are any. Raises NothingReady when time is up.

    A server is asked first, in a request that it holds; while it is unreachable (`on_trouble` is called once), the hub is
    checked.
    """
    until_s = None if timeout_s is None else hub.runtime.monotonic() + timeout_s
    asking = _Asking(server, on_trouble, hub.runtime) if server is not None else None
    lookout = Lookout(hub.runtime)
    try:
        while True:
            if asking is not None and asking.rest_s <= 0:
                found = asking.ask(agent, until_s)
                if found:
                    return found
                if asking.rest_s <= 0:
                    _refuse_late(hub.runtime, until_s, f"nothing is ready that fits {agent}")
                    continue
            known = _fetched(hub)
            snapshot = hub.snapshot()
            found, why = offered(snapshot, agent, hub.runtime.now())
            if found:
                return found
            lookout.begin(hub, Pacer(hub, agent, snapshot).base_s)
            turns = [
                seconds
                for seconds in (turn_in_s(snapshot, hub.runtime), asking.rest_s if asking else None)
                if seconds is not None
            ]
            turn_s = hub.runtime.monotonic() + min(turns) if turns else None
            _until_moved(hub, known, lookout, turn_s, until_s, why)
    finally:
        lookout.end()


class _Asking:
    """A server to ask; `rest_s` is in how many seconds to ask again after it was unreachable."""

    def __init__(self, server: Server, on_trouble: Callable[[str], None] | None, runtime: Runtime) -> None:
        self._server, self._on_trouble, self._runtime = server, on_trouble, runtime
        self._again_s, self._failures = 0.0, 0

    @property
    def rest_s(self) -> float:
        return self._again_s - self._runtime.monotonic() if self._failures else 0.0

    def ask(self, agent: str, until_s: float | None) -> list[str]:
        left_s = HELD_S if until_s is None else max(0.0, min(HELD_S, until_s - self._runtime.monotonic()))
        try:
            found = self._server.ask(agent, left_s, self._runtime)
        except Away as away:
            if not self._failures and self._on_trouble:
                self._on_trouble(f"{away}; looking at the hub meanwhile")
            self._again_s = self._runtime.monotonic() + again_in_s(self._failures, self._runtime.random())
            self._failures += 1
            return []
        self._failures = 0
        return found


def offered(snapshot: CachedSnapshot, agent: str, now: datetime) -> tuple[list[str], str]:
    """Return the beads that the agent may take now, best first; else why there are none."""
    answer = Eligibility(snapshot, agent, now)
    found = [bead.id for bead in islice(answer.beads(), NAMED)]
    return found, "" if found else answer.why_none()[0].text


def _fetched(hub: Clone) -> str:
    """Fetch, and return the hub's tip; "" if the hub is unreachable."""
    try:
        hub.catch_up()
        hub.fetch()
    except RemoteUnreachable:
        return ""  # then any tip is news
    return hub.published() or ""


def turn_in_s(snapshot: CachedSnapshot, runtime: Runtime) -> float | None:
    """Return in how many seconds time alone may make something ready; None if never."""
    now = runtime.now()
    turn = next_turn(snapshot, now)
    return None if turn is None else max(0.0, (turn - now).total_seconds()) + runtime.random()


def _refuse_late(runtime: Runtime, until_s: float | None, why: str) -> None:
    if until_s is not None and runtime.monotonic() >= until_s:
        raise NothingReady(why, hint="`bd ready --all` shows what is ready", retry_after_s=1)


def _until_moved(hub: Clone, known: str, lookout: Lookout, turn_s: float | None, until_s: float | None, why: str) -> None:
    """Wait until the hub has moved, or a bead becomes due. Raises NothingReady when time is up."""
    while True:
        _refuse_late(hub.runtime, until_s, why)
        now_s = hub.runtime.monotonic()
        if turn_s is not None and now_s >= turn_s:
            return
        rests = [lookout.pause_s(), *(at_s - now_s for at_s in (turn_s, until_s) if at_s is not None)]
        if lookout.wait(max(0.01, min(rests))) or lookout.has_moved(hub, known):
            return
