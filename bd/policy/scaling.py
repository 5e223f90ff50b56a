"""Pool scaling: how many members a pool should have now, and which to start, drain or kill.

Values in, a plan out; bd/pool observes and acts. Names and limits are in core/pools.py.
"""

from __future__ import annotations

from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.core.backoff import grown_s
from bd.policy import account_rest, capacity
from bd.policy.eligibility import Eligibility, pause_of
from bd.policy.work_queue import ready_beads

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from datetime import datetime

    from bd.core.model import Snapshot
    from bd.core.pools import Pool

# A member that ends at once is restarted less and less often.
BACKOFF_S = 5.0
LONGEST_BACKOFF_S = 300.0


class Member(NamedTuple):
    """A running member. `active_s` is when it was last seen working, on the clock of `now_s`; `idle`: it holds no bead.

    `drained_s` is since when it has been draining; None if it is not.
    """

    name: str
    active_s: float
    idle: bool = True
    drained_s: float | None = None


class Memory(NamedTuple):
    """A controller's memory of a pool between two rounds."""

    up_s: float | None = None
    down_s: float | None = None
    fails: int = 0
    failed_s: float | None = None


class Plan(NamedTuple):
    """The plan for a pool. `drain` and `kill` are names with reasons; `waits` says why nothing more is done."""

    desired: int
    start: tuple[str, ...] = ()
    drain: tuple[tuple[str, str], ...] = ()
    kill: tuple[tuple[str, str], ...] = ()
    waits: str = ""


def demand(pool: Pool, snapshot: Snapshot, now: datetime) -> int:
    """Return the size for a pool without a `check`: the beads its members work on, and the ready ones they could claim now."""
    members = {pool.name, *pool.members}
    at_work = sum(1 for bead in snapshot.claimed() if members.intersection(bead.holders))
    room = capacity.pool_room(pool.name, snapshot, now)
    fitting = len(_claimable(pool, snapshot, now))
    return at_work + (fitting if room is None else min(fitting, room))


def why_none(pool: Pool, snapshot: Snapshot, now: datetime) -> str:
    """Return why no member is needed, as far as there is no demand: why its members could claim nothing now."""
    return "; ".join(reason.text for reason in Eligibility(snapshot, pool.name, now).why_none())


def awaited(pool: Pool, snapshot: Snapshot, now: datetime) -> set[str]:
    """Return the members whose own queue has work: nobody else is offered it, so they are started first."""
    return {name for name in _claimable(pool, snapshot, now) if name}


def _held_back(pool: Pool, snapshot: Snapshot, now: datetime) -> str:
    """Return why no more than the minimum is to be started: the fleet is paused, or an account of the pool rests; "" if neither."""
    if pause_of(snapshot):
        return "the fleet is paused"
    rests = account_rest.Rests(snapshot, now)
    holds = (rests.hold_of(name) for name in (pool.name, *pool.members))
    return next((hold.text for hold in holds if hold is not None), "")


def _tried_size(pool: Pool, wanted: int | None, running: int, snapshot: Snapshot, now: datetime) -> int | None:
    """Return the wanted size, but no growth beyond one member while the pool's account is tried after a rest."""
    rests = account_rest.Rests(snapshot, now)
    if wanted is None or not any(rests.is_on_trial(name) for name in (pool.name, *pool.members)):
        return wanted
    return min(wanted, max(1, running))


def _claimable(pool: Pool, snapshot: Snapshot, now: datetime) -> list[str]:
    """Return, for each ready bead that a member could claim now, the member it is routed to; "" if any may take it."""
    if pause_of(snapshot):
        return []
    members = {pool.name, *pool.members}
    answers: dict[str, Eligibility] = {}
    found = []
    for bead in ready_beads(snapshot, now):
        own = str(bead.assignee) if bead.assignee in members else ""
        name = own or pool.name
        if name not in answers:
            answers[name] = Eligibility(snapshot, name, now)
        answer = answers[name]
        if (own and answer.idle() is not None) or answer.reasons(bead):
            continue
        found.append(own)
    return found


def planned(
    pool: Pool,
    wanted: int | None,
    running: Sequence[Member],
    memory: Memory,
    snapshot: Snapshot,
    now: datetime,
    now_s: float,
    *,
    away: Collection[str] = (),
) -> Plan:
    """Plan a round by what the hub says now: who is awaited, and whether something holds the pool back. See `plan`."""
    number = _tried_size(pool, wanted, len(running), snapshot, now)
    first, halt = awaited(pool, snapshot, now), _held_back(pool, snapshot, now)
    return plan(pool, number, running, memory, now_s, first=first, away=away, halt=halt)


def plan(
    pool: Pool,
    wanted: int | None,
    running: Sequence[Member],
    memory: Memory,
    now_s: float,
    *,
    first: Collection[str] = (),
    away: Collection[str] = (),
    halt: str = "",
) -> Plan:
    """Plan a round. `wanted` is the requested size; None if it could not be determined: then the size stays.

    `first` are the names to start before others, `away` those not to start; `halt` says why no more than the minimum is to be
    started.
    """
    names = pool.members
    orphans = [member for member in running if member.name not in names]
    ours = [member for member in running if member.name in names]
    at_work = [member for member in ours if member.drained_s is None]
    desired = pool.clamped(len(at_work) if wanted is None else wanted)
    drain = [(member.name, "the pool has no member of this name") for member in orphans if member.drained_s is None]
    kill = [
        (member.name, "it did not end in time")
        for member in running
        if member.drained_s is not None and now_s - member.drained_s >= pool.drain_timeout_s
    ]
    free = [name for name in names if name not in {*away, *(one.name for one in ours)}]
    free.sort(key=lambda name: name not in first)
    start, waits = _starts(pool, desired - len(at_work), len(at_work), free, halt or _cooling(pool, memory, now_s), memory, now_s)
    if desired < len(at_work):
        more, waits = _drains(pool, len(at_work) - desired, at_work, memory, now_s)
        drain += more
    return Plan(desired, tuple(start), tuple(drain), tuple(kill), waits)


def _starts(
    pool: Pool, missing: int, there: int, free: list[str], halt: str, memory: Memory, now_s: float
) -> tuple[list[str], str]:
    if missing <= 0:
        return [], ""
    backoff_s = grown_s(BACKOFF_S, memory.fails - 1, LONGEST_BACKOFF_S) if memory.fails else 0.0
    if memory.failed_s is not None and 0 <= now_s - memory.failed_s < backoff_s:
        return [], "its members end as soon as they are started"
    if halt:  # the minimum is kept at all times
        missing = max(0, pool.min - there)
    return free[:missing], halt or ("" if len(free) >= missing else "members that drain have yet to end, or members are offline")


def _cooling(pool: Pool, memory: Memory, now_s: float) -> str:
    is_cooling = memory.up_s is not None and 0 <= now_s - memory.up_s < pool.cooldown_up_s
    return "it grew a moment ago" if is_cooling else ""


def _drains(
    pool: Pool, surplus: int, at_work: Sequence[Member], memory: Memory, now_s: float
) -> tuple[list[tuple[str, str]], str]:
    """Choose whom to drain, the least recently active first; members idle for the pool's idle_timeout skip the cooldown."""
    order = sorted(at_work, key=lambda member: (not member.idle, member.active_s, member.name))
    changes = [at for at in (memory.up_s, memory.down_s) if at is not None]
    is_cooling = any(0 <= now_s - at < pool.cooldown_down_s for at in changes)
    if not is_cooling:
        return [(member.name, "fewer are needed") for member in order[:surplus]], ""
    if pool.idle_timeout_s is None:
        return [], "it changed a moment ago"
    idle = [member for member in order if member.idle and now_s - member.active_s >= pool.idle_timeout_s]
    return [(member.name, "idle for too long") for member in idle[:surplus]], "it changed a moment ago"
