"""Waiting until there is work for an agent, without a commit: one ref is asked for, often where that costs nothing."""

from __future__ import annotations

import random
from itertools import islice

from bd import clock
from bd.errors import NothingReady, RemoteUnreachable
from bd.fleet.lookout import Lookout
from bd.fleet.pacer import Pacer
from bd.policy import fit
from bd.policy.ready import next_turn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bd.store.hub import Hub
    from bd.store.snapshot import CachedSnapshot

# So many beads are named at most.
NAMED = 10


def wait(hub: Hub, agent: str, timeout_s: float | None = None) -> list[str]:
    """The beads the agent may take, best first, as soon as there are any. Raises NothingReady when the time is over."""
    until_s = None if timeout_s is None else clock.monotonic() + timeout_s
    lookout = Lookout()
    try:
        while True:
            known = _fetched(hub)
            snapshot = hub.snapshot()
            found, why = offered(snapshot, agent)
            if found:
                return found
            lookout.begin(hub, Pacer(hub, agent, snapshot).base_s)
            _until_moved(hub, known, lookout, _turn_s(snapshot), until_s, why)
    finally:
        lookout.end()


def offered(snapshot: CachedSnapshot, agent: str) -> tuple[list[str], str]:
    """The beads the agent may take now, best first; else why there are none."""
    now = clock.now()
    busy = fit.no_claims_reason(agent, snapshot, now)
    found = [] if busy else [bead.id for bead in islice(fit.offer(snapshot, agent, now), NAMED)]
    return found, busy.text if busy else f"nothing is ready that fits {agent}"


def _fetched(hub: Hub) -> str:
    """The hub's tip, brought in; what is known where the hub is away."""
    try:
        hub.fetch()
    except RemoteUnreachable:
        return ""  # any tip is news then
    return hub.published() or ""


def _turn_s(snapshot: CachedSnapshot) -> float | None:
    """When time alone may make something ready, on the monotonic clock; None for never."""
    now = clock.now()
    turn = next_turn(snapshot, now)
    return None if turn is None else clock.monotonic() + (turn - now).total_seconds() + random.random()


def _until_moved(hub: Hub, known: str, lookout: Lookout, turn_s: float | None, until_s: float | None, why: str) -> None:
    """Until the hub has moved, or it is somebody's turn. Raises NothingReady when the time is over."""
    while True:
        now_s = clock.monotonic()
        if until_s is not None and now_s >= until_s:
            raise NothingReady(why, hint="`bd ready --all` shows what is ready", retry_after_s=1)
        if turn_s is not None and now_s >= turn_s:
            return
        rests = [lookout.pause_s(), *(at_s - now_s for at_s in (turn_s, until_s) if at_s is not None)]
        if lookout.wait(max(0.01, min(rests))) or lookout.has_moved(hub, known):
            return
