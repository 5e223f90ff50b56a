"""How a write gets onto the hub on paper: the plain retry loop, and asking others with turns.

Each is the loop of the store with everything but its times left out. A fetch reads the branch half-way through; a push
asks for the branch first, and moves it at its end if it still stands where the write was decided.
"""

from __future__ import annotations

from bd.store import backoff

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from bd.report.paper.events import Events
    from bd.report.paper.hub import Hub, Write
    from bd.report.paper.scenario import Draws, Scenario

# The k-th of those who wait folds after k times so many push times; nobody's place counts for more than the last.
TURN_PUSHES = 1.5
LAST_PLACE = 8
# A fleet that is far beyond what the hub can carry does little but lose: its run ends early.
LOST_LIMIT = 100_000


class Plain:
    """One writer that tries again until it has won. `seen_tip` is the branch as it last saw it."""

    def __init__(self, scenario: Scenario, events: Events, hub: Hub, draws: Draws) -> None:
        self._scenario = scenario
        self._events = events
        self._hub = hub
        self._draws = draws
        self.seen_tip = 0
        self._saw_ready = False

    def publish(self, write: Write) -> Generator[float, None, None]:
        """Bring a write onto the hub. Its verdict stays None when the time for trying again is over."""
        tries = 0
        deadline_s = 0.0
        while True:
            yield from self.look()
            if self._is_refused(write):
                return
            deadline_s = deadline_s or self._events.now_s + self._scenario.retry_time_s
            tries += 1
            yield from self._push(write, [write])
            if write.verdict is not None or self._events.now_s >= deadline_s:
                return
            yield self._draws.below(backoff.longest_s(tries))

    def look(self) -> Generator[float, None, None]:
        """Fetch the branch."""
        self._hub.tally.reads += 1
        half_s = self._draws.fetch_s() / 2
        yield half_s
        self.seen_tip, self._saw_ready = self._hub.tip, self._hub.waiting > 0
        yield half_s

    def _is_refused(self, write: Write) -> bool:
        """Whether there is nothing to claim in what was seen last."""
        if write.needs_bead and not self._saw_ready:
            write.verdict = False
        return write.verdict is False

    def _push(self, own: Write, writes: Sequence[Write]) -> Generator[float, None, None]:
        """Push what was decided on the tip that was seen. One that lost looks at what became of it."""
        hub = self._hub
        hub.tally.count_push(self._events.now_s, own)
        base, push_s = self.seen_tip, self._draws.push_s()
        asking_s = min(push_s, self._draws.fetch_s()) / 2
        yield asking_s
        if hub.tip == base:
            yield push_s - asking_s
            if hub.accepts(base, writes):
                hub.land(writes)
                self.seen_tip = hub.tip
                return
        else:
            yield asking_s
        hub.tally.lost += 1
        self._events.is_stopped = hub.tally.lost >= LOST_LIMIT
        yield from self.look()


class Combining(Plain):
    """One writer that asks beside the branch when others write too, and folds for all when it is its turn."""

    def publish(self, write: Write) -> Generator[float, None, None]:
        """Bring a write onto the hub: by a push of its own, or in the fold of whoever is first."""
        yield from self.look()
        if self._is_refused(write):
            return
        if not self._hub.intents or self._hub.place(write) == 0:
            yield from self._push(write, self._hub.fold_with(write))
            if write.verdict is not None:
                return
        yield from self._push_beside(write)
        self._hub.ask(write)
        yield from self.look()
        yield from self._take_turns(write)

    def _push_beside(self, write: Write) -> Generator[float, None, None]:
        """Move the ref of an intent."""
        self._hub.tally.count_push(self._events.now_s, write, beside=True)
        yield self._draws.push_s()

    def _take_turns(self, write: Write) -> Generator[float, None, None]:
        """Wait until the intent is carried out, or until the branch has stood still for so long that it is its turn."""
        deadline_s = self._events.now_s + self._scenario.retry_time_s
        base, base_since_s = self.seen_tip, self._events.now_s
        while write.verdict is None:
            if self.seen_tip != base:
                base, base_since_s = self.seen_tip, self._events.now_s
            push_s = self._draws.push_s()
            turn_s = min(self._hub.place(write), LAST_PLACE) * TURN_PUSHES * push_s
            wait_s = base_since_s + turn_s - self._events.now_s
            if wait_s <= 0:
                yield from self._push(write, self._hub.fold_with(write))
            elif self._events.now_s >= deadline_s:
                yield from self._push_beside(write)
                self._hub.withdraw(write)  # without effect where a fold was faster
                return
            else:
                yield min(wait_s, push_s)
                yield from self.look()
