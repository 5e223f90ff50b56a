"""Wrong clocks, and clocks that are set while somebody works: a worker that sends heartbeats is never freed, one that is gone is."""

from __future__ import annotations

from contextlib import closing
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bd.cli.app import open_clone
from bd.core import ids
from bd.core.times import time_text
from bd.operations.base import asked
from bd.operations.beads import Comment
from bd.operations.claims import Claim
from bd.operations.create import Create
from bd.operations.init import Init
from bd.policy import claims
from bd.store.memory.place import MemoryPlace
from bd.store.memory.server import MemoryServer
from bd.worker import heartbeats
from bd.worker.fleet_state import look
from bd.worker.stall_recovery import recover
from tests.clocks import START
from tests.memory import held

if TYPE_CHECKING:
    from datetime import datetime

    from bd.operations.base import Operation
    from bd.store import Clone

pytestmark = pytest.mark.one_in(5)

INTERVAL_S = 30
DAY = 86400.0


class Universe:
    """The time that really passes, in seconds; the same for all machines."""

    passed_s = 0.0


class Machine:
    """A machine whose wall clock is off by `off_s`; its boot-time clock is right."""

    def __init__(self, universe: Universe, off_s: float) -> None:
        self._universe = universe
        self.off_s = off_s
        self._names = 0

    def now(self) -> datetime:
        return START + timedelta(seconds=self._universe.passed_s + self.off_s)

    def monotonic(self) -> float:
        return self._universe.passed_s

    def uptime(self) -> float:
        return self._universe.passed_s

    def boot_id(self) -> str:
        return "boot"

    def sleep(self, seconds: float) -> None:
        """Nothing here waits for anybody."""

    def random(self) -> float:
        return 0.5

    def new_id(self) -> str:
        self._names += 1
        return ids.ulid(int(self._universe.passed_s * 1000), f"{id(self):x}{self._names:06}".encode()[-10:])

    def on_step(self, name: str) -> None:
        """Nobody acts between two steps."""


class Member:
    """Somebody of the fleet, with a clone on a machine of their own."""

    def __init__(self, name: str, server: MemoryServer, machine: Machine) -> None:
        self.name, self.machine = name, machine
        self._place = MemoryPlace(server)

    def hub(self) -> Clone:
        """Another process of this member's clone."""
        return open_clone(self._place, self.machine)

    def publish(self, kind: type[Operation], *, creates_hub: bool = False, **args: object) -> None:
        operation = kind(**asked(self.machine, f"agent:{self.name}", **args))
        with closing(self.hub()) as hub:
            if creates_hub:
                hub.create_hub(operation)
            else:
                hub.publish(operation)


class Fleet:
    """A worker that has claimed hub-a, somebody who writes now and then, and an observer who would free what has stalled."""

    def __init__(self, worker_off_s: float, observer_off_s: float, other_off_s: float, idle_s: float) -> None:
        self.universe = Universe()
        server = MemoryServer()
        offs_s = {"worker": worker_off_s, "observer": observer_off_s, "other": other_off_s}
        members = {name: Member(name, server, Machine(self.universe, off_s)) for name, off_s in offs_s.items()}
        self.worker, self.observer, self.other = members.values()
        self.other.publish(Init, creates_hub=True, prefix="hub")
        self.other.publish(Create, beads=[{"id": "hub-a", "title": "Do it"}])
        self.universe.passed_s += idle_s
        self.clock = heartbeats.SteadyClock(self.worker.machine)
        with closing(self.worker.hub()) as hub:
            hub.sides.probe(self.worker.machine.now())
        self.worker.publish(Claim, agent="worker", ids=["hub-a"], heartbeat={"interval_s": INTERVAL_S, "by": "ref"})
        with closing(self.worker.hub()) as hub:
            self.token = hub.snapshot().bead("hub-a").get("claim")["token"]

    def beat(self) -> None:
        """What a worker's thread does each interval."""
        with closing(self.worker.hub()) as hub:
            assert heartbeats.beat(hub, self.token, INTERVAL_S, self.clock.now())

    def freed(self) -> tuple[str, ...]:
        """What the observer finds to have stalled, and frees."""
        with closing(self.observer.hub()) as hub:
            outcome = recover(hub, "agent:observer")
            return outcome.change.touched if outcome and outcome.change else ()

    def clock_words(self) -> str:
        with closing(self.observer.hub()) as hub:
            return look(hub, "agent:observer").clock_words


class Event(NamedTuple):
    """What happens after so many intervals, at whose end there was a heartbeat: a clock is set, and somebody may write or look."""

    intervals: int
    whose: str
    step_s: float
    writes: bool
    looks: bool


OFFSETS = st.one_of(st.sampled_from([0.0, 3600.0, -3600.0, 3 * DAY, -3 * DAY]), st.floats(-8 * DAY, 8 * DAY))
EVENTS = st.builds(
    Event,
    st.integers(1, 130),
    st.sampled_from(["worker", "observer", "other"]),
    st.one_of(st.just(0.0), st.sampled_from([-3600.0, 3600.0, -INTERVAL_S, -2.0 * INTERVAL_S]), st.floats(-DAY, DAY)),
    st.booleans(),
    st.booleans(),
)


@settings(max_examples=10, deadline=None)
@given(OFFSETS, OFFSETS, OFFSETS, st.sampled_from([0.0, 2400.0, DAY]), st.lists(EVENTS, min_size=2, max_size=6))
def test_a_live_worker_is_never_freed_whatever_the_clocks_say(
    worker_s: float, observer_s: float, other_s: float, idle_s: float, events: list[Event]
) -> None:
    fleet = Fleet(worker_s, observer_s, other_s, idle_s)
    assert fleet.freed() == ()
    for event in events:
        fleet.universe.passed_s += event.intervals * INTERVAL_S
        fleet.beat()
        getattr(fleet, event.whose).machine.off_s += event.step_s
        if event.writes:
            fleet.other.publish(Comment, ids=["hub-a"], text="on with it")
        if event.looks:
            assert fleet.freed() == ()
    assert fleet.freed() == ()


@settings(max_examples=5, deadline=None)
@given(OFFSETS, OFFSETS, st.floats(-DAY, DAY))
def test_a_worker_that_is_gone_is_freed_once_it_was_watched_for_the_stall_time(
    worker_s: float, observer_s: float, step_s: float
) -> None:
    """Whatever the clocks say: nothing but the observer's own boot-time clock counts."""
    fleet = Fleet(worker_s, observer_s, 0.0, 0.0)
    fleet.beat()
    assert fleet.freed() == ()
    fleet.universe.passed_s += 3 * INTERVAL_S
    fleet.observer.machine.off_s += step_s
    assert fleet.freed() == ()
    fleet.universe.passed_s += 1
    assert fleet.freed() == ("hub-a",)


def test_a_heartbeat_never_comes_twice_where_the_workers_clock_is_set_back() -> None:
    """Looked at each hour, by an observer on whose looks the worker's clock is set back an hour: each time another heartbeat."""
    fleet = Fleet(0.0, 0.0, 0.0, 0.0)
    for _ in range(4):
        fleet.universe.passed_s += 3600
        fleet.beat()
        assert fleet.freed() == ()
        fleet.worker.machine.off_s -= 3600


def test_an_observer_whose_clock_differs_says_so_and_with_a_right_one_nothing() -> None:
    for off_s, other_s, words in (
        (3600.0, 0.0, "differ by 1h"),
        (-7200.0, 0.0, "differ by 2h"),
        (600.0, 0.0, ""),
        (-600.0, 0.0, ""),
    ):
        fleet = Fleet(0.0, off_s, other_s, 0.0)
        said = fleet.clock_words()
        assert (words in said) if words else not said


def test_a_sign_on_the_branch_comes_in_time_and_is_newer_where_the_holders_clock_is_set_back() -> None:
    """The stall time is three intervals: no step of the clock makes a gap as long as that."""
    bead = held("hub-a", "coder", "T", claim={"heartbeat_at": time_text(START)})
    claim = bead.get("claim")
    for back_s in (0.0, 60.0, 800.0, 1000.0, 3600.0, 3 * DAY):
        gap_s = next(
            gap_s
            for gap_s in range(0, 10 * int(heartbeats.BRANCH_EVERY_S), 10)
            if heartbeats.is_due_on_branch(claim, START + timedelta(seconds=gap_s - back_s))
        )
        assert gap_s <= 2 * heartbeats.BRANCH_EVERY_S
        at = heartbeats.later_than(claim, START + timedelta(seconds=gap_s - back_s))
        assert claims.signed(bead, at) != bead
