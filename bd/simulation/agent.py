"""Who does something on paper: agents as `bd work` and cron lines run them, and whoever makes the beads."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from bd.policy.liveness import RECORD_EVERY_S
from bd.policy.pacing import AGAIN_S, Pace, peek_pause_s

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from bd.simulation.hub import Hub
    from bd.simulation.loop import Events
    from bd.simulation.scenario import Draws, Scenario
    from bd.simulation.writers import Retrying

# Pacing reckons with instants; any will do.
_START = datetime(2026, 1, 1, tzinfo=UTC)
_LONGEST_AGAIN_S = 30.0


class Agent:
    """One agent: looks, claims, works, closes and claims the next; then waits as its pace says."""

    def __init__(self, scenario: Scenario, events: Events, hub: Hub, draws: Draws, writer: Retrying, base_s: float) -> None:
        self._scenario = scenario
        self._events = events
        self._hub = hub
        self._draws = draws
        self._writer = writer
        self._pace = Pace(base_s)
        self._peeks = 0
        self._tip = -1
        self._told_s = -RECORD_EVERY_S
        # Who peeks would have come by its next peek already.
        usual_s = base_s if scenario.cron or not scenario.peek_s else min(base_s, scenario.peek_s)
        self._first_s = draws.spread() * (usual_s if scenario.starts_s is None else scenario.starts_s)

    def run(self) -> Generator[float, None, None]:
        """The agent's life. First looks are spread."""
        yield self._first_s
        while True:
            verdict = yield from self._claim()
            while verdict:
                self._pace = self._pace.found_work(self._now)
                self._peeks = 0
                self._told_s = -RECORD_EVERY_S  # that it is idle is news then
                verdict = yield from self._work()
                if not verdict:  # nothing came with the close: it looks once more before it waits
                    verdict = yield from self._claim()
            if verdict is None:
                yield AGAIN_S
                continue
            self._pace = self._pace.found_nothing(self._now, self._draws.spread())
            yield from self._tell()
            yield from self._wait_for_cron() if self._scenario.cron else self._wait()

    @property
    def _now(self) -> datetime:
        return _START + timedelta(seconds=self._events.now_s)

    def _claim(self) -> Generator[float, None, bool | None]:
        """One cycle: look at hub and signs, then claim the best. None where the hub was too busy."""
        self._hub.tally.looks += 1
        yield from self._writer.list_refs()  # the signs
        yield from self._writer.look()
        claim = self._hub.write(claims=True)
        yield from self._writer.publish(claim)
        self._tip = self._writer.seen.tip
        return claim.verdict

    def _work(self) -> Generator[float, None, bool]:
        """Work on what was claimed, then close it and claim the next in one write; whether there was a next."""
        service_s = self._draws.service_s()
        self._hub.begin_work()
        if self._scenario.heartbeat_s:
            self._events.start(self._beat(self._events.now_s + service_s))
        yield service_s
        self._hub.end_work()
        close = self._hub.write(closes=True, claims=True)
        again_s = 1.0
        while True:
            yield from self._writer.publish(close)
            if close.verdict is not None:
                return close.claimed
            yield again_s
            again_s = min(_LONGEST_AGAIN_S, 2 * again_s)

    # --- heartbeats ---

    def _beat(self, until_s: float) -> Generator[float, None, None]:
        """The beats of a claim: pushes beside the branch that nobody waits for."""
        every_s = self._scenario.heartbeat_s
        while self._events.now_s + every_s < until_s:
            yield every_s
            self._hub.tally.count_sign(self._events.now_s)

    def _tell(self) -> Generator[float, None, None]:
        """The agent's own record, at a look that found nothing."""
        if self._scenario.heartbeat_s and self._events.now_s - self._told_s >= RECORD_EVERY_S:
            self._told_s = self._events.now_s
            self._hub.tally.count_sign(self._events.now_s)
            yield self._draws.push_s()

    # --- waiting ---

    def _wait(self) -> Generator[float, None, None]:
        """Until the pace says so, or a peek shows that the hub has moved."""
        due_s = self._events.now_s + self._pace.wait_s(self._now)
        first_s, longest_s = self._scenario.peek_s, self._pace.base_s  # as long as it is idle, the pauses go by where that began
        while (rest_s := due_s - self._events.now_s) > 0:
            pause_s = peek_pause_s(first_s, self._peeks, longest_s, self._draws.spread()) if first_s else rest_s
            if pause_s >= rest_s:
                yield rest_s
                return
            self._peeks += 1
            yield pause_s
            self._hub.tally.reads += 1
            if self._hub.tip != self._tip:
                return

    def _wait_for_cron(self) -> Generator[float, None, None]:
        """Until a start by the clock that is due, or finds that the hub has moved."""
        every_s = self._pace.base_s
        start = math.floor((self._events.now_s - self._first_s) / every_s)
        while True:
            start += 1
            yield max(0.0, self._first_s + start * every_s - self._events.now_s)
            self._hub.tally.reads += 1
            if self._pace.is_due(self._now) or self._hub.tip != self._tip:
                return


class Makers:
    """Those who make the beads: each burst is one write by somebody with a clone of their own."""

    def __init__(self, events: Events, hub: Hub, draws: Draws, new_writer: Callable[[], Retrying], burst: int) -> None:
        self._events = events
        self._hub = hub
        self._draws = draws
        self._new_writer = new_writer
        self._burst = burst

    def run(self) -> Generator[float, None, None]:
        """Beads arrive for ever."""
        while True:
            yield self._draws.until_arrival_s()
            self._events.start(self._make())

    def _make(self) -> Generator[float, None, None]:
        made, writer = self._hub.write(creates=self._burst), self._new_writer()
        while made.verdict is None:
            yield from writer.publish(made)
            if made.verdict is None:
                yield AGAIN_S
