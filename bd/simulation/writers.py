"""How a write gets onto the hub on paper: by trying again, and by asking others and taking turns.

Each is the loop of the store (transitions.py) with everything but its times left out, and with the store's own
numbers. A look shows the hub as it is early in it; the rest goes into deciding. A push asks for the branch first, and moves
it at its end if it still stands where the write was decided.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from bd.simulation.hub import Sight, in_order
from bd.store.group_commit import order
from bd.store.local import last_fetch
from bd.store.transaction import backoff

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from bd.simulation.hub import Hub, Write
    from bd.simulation.loop import Events
    from bd.simulation.scenario import Draws, Scenario

# After which part of a look the hub has answered, and after which a list of names, where nothing is decided, is over.
_ANSWERED, _LISTED = 0.3, 0.5
# A fleet that is far beyond what the hub can carry does little but lose: its run ends early.
LOST_LIMIT = 100_000


class Retrying:
    """One clone that tries again until it has won, as where the server takes no refs beside the branch. `seen` is what it last saw."""

    def __init__(self, scenario: Scenario, events: Events, hub: Hub, draws: Draws) -> None:
        self._scenario = scenario
        self._events = events
        self._hub = hub
        self._draws = draws
        self.seen = Sight(0, 0)
        self._looked_s = self._raced_s = -math.inf
        self._begin()

    def _begin(self) -> None:
        """A transaction of its own: nothing of the one before holds."""
        self._tries = 0
        self._deadline_s = math.inf
        # Whether the next round goes without a look, and whether it has to ask first.
        self._skips_look = self._has_lost = False

    def publish(self, write: Write) -> Generator[float, None, None]:
        """Bring a write onto the hub. Its verdict stays None when the time for trying again is over."""
        self._begin()
        if self._is_fresh() and not (write.needs_bead and self.seen.ready <= 0):
            yield from self._push(write, (), exactly=True)
        while not self._has_heard(write):
            if not self._skips_look:
                yield from self.look()
            self._skips_look = False
            if self._has_heard(write):
                return
            self._deadline_s = min(self._deadline_s, self._events.now_s + self._scenario.retry_time_s)
            if (yield from self._stands_back(write)):
                pass
            elif self._is_refused(write):
                if not (yield from self._withdraws(write)):
                    continue
                write.verdict = False
                return
            else:
                yield from self._push(write, self._strangers(write))
                if self._has_heard(write):
                    return
                yield from self._rest()
            if self._events.now_s >= self._deadline_s and (yield from self._withdraws(write)):
                return

    # --- looking ---

    def look(self) -> Generator[float, None, None]:
        """Fetch the branch, and what others ask for beside it; decide."""
        self.seen = yield from self._see_refs(1.0)
        self._looked_s = self._events.now_s

    def list_refs(self) -> Generator[float, None, Sight]:
        """See where things stand."""
        return self._see_refs(_LISTED)

    def _see_refs(self, part: float) -> Generator[float, None, Sight]:
        """Ask the hub, which takes this part of a look."""
        self._hub.tally.reads += 1
        look_s = self._draws.fetch_s()
        yield _ANSWERED * look_s
        sight = self._hub.sight()
        yield (part - _ANSWERED) * look_s
        return sight

    def _is_fresh(self) -> bool:
        """Whether the clone looked so shortly ago, with nobody in its way lately, that it pushes first."""
        now_s = self._events.now_s
        return now_s - self._looked_s < self._scenario.fresh_s and now_s - self._raced_s > last_fetch.RACED_S

    def _has_heard(self, write: Write) -> bool:
        """Whether what was seen last shows what became of a write."""
        return write.verdict is not None and write.tip <= self.seen.tip

    def _is_refused(self, write: Write) -> bool:
        """Whether there is nothing to claim in what was seen last."""
        return write.needs_bead and self.seen.ready <= 0

    # --- the others ---

    def _strangers(self, write: Write) -> Sequence[Write]:
        """Whose writes are carried out with this one."""
        return ()

    def _stands_back(self, write: Write) -> Generator[float, None, bool]:
        """Whether the push is left to others for now."""
        yield from ()
        return False

    def _withdraws(self, write: Write) -> Generator[float, None, bool]:
        """Give up; False where somebody has carried the write out meanwhile, as the next look will say."""
        yield from ()
        return True

    # --- pushing ---

    def _push(self, own: Write, strangers: Sequence[Write], *, exactly: bool = False) -> Generator[float, None, None]:
        """Push what was decided on what was seen. `exactly`: who has not looked just now finds out by its lease."""
        hub, base = self._hub, self.seen.tip
        self._tries += 1
        hub.tally.count_push(self._events.now_s, own)
        begun_s, push_s = self._events.now_s, self._draws.push_s()
        asking_s = min(push_s, self._draws.fetch_s()) / 2
        yield asking_s
        is_stale = hub.tip != base
        yield asking_s if is_stale else push_s - asking_s
        if hub.accepts(base, strangers):
            hub.land(in_order(base, [*strangers, own]))
            self.seen = hub.sight()
            return
        hub.tally.lost += 1
        self._events.is_stopped = hub.tally.lost >= LOST_LIMIT
        self._raced_s = self._events.now_s
        if exactly:  # the tip was old, which is no race yet
            if is_stale:
                yield from self.look()
                self._skips_look = True
            return
        self._lost(own, strangers, self._events.now_s - begun_s)

    def _lost(self, own: Write, strangers: Sequence[Write], took_s: float) -> None:
        """Somebody was faster, as the server's answer says."""

    def _rest(self) -> Generator[float, None, None]:
        """A random pause after a lost race."""
        yield self._draws.below(backoff.longest_s(self._tries))


class Combining(Retrying):
    """One clone that asks beside the branch when others write too, and carries all of it out when it is its turn."""

    def _begin(self) -> None:
        super()._begin()
        self._pushed_s = self._asked_s = 0.0
        # The tip that was seen last, by a look or in a list, and since when.
        self._tip = -1
        self._tip_since_s = 0.0

    def look(self) -> Generator[float, None, None]:
        yield from super().look()
        self._see(self.seen.tip)

    def _see(self, tip: int) -> None:
        if tip != self._tip:
            self._tip, self._tip_since_s = tip, self._events.now_s

    def _is_refused(self, write: Write) -> bool:
        return write.needs_bead and self.seen.ready_for(write) <= 0

    def _strangers(self, write: Write) -> Sequence[Write]:
        return [other for other in self.seen.intents if other is not write]

    def _stands_back(self, write: Write) -> Generator[float, None, bool]:
        has_strangers = any(other is not write for other in self.seen.intents)
        if not (has_strangers or write.is_asked or self._has_lost):
            return False
        place = self.seen.place(write)
        if not write.is_asked:
            if has_strangers and place == 0:
                return False
            self._has_lost = False
            begun_s = self._events.now_s
            yield from self._push_beside(write)
            self._hub.ask(write)
            self._asked_s = self._events.now_s - begun_s
            yield from self._watch(write, order.GATHERING * self._asked_s)
            return True
        wait_s = self._wait_s(place)
        if wait_s > 0:
            yield from self._watch(write, min(wait_s, max(self._push_s, order.PAUSE_S)))
        return wait_s > 0

    def _watch(self, write: Write, pause_s: float) -> Generator[float, None, None]:
        """List names until the intent is gone or it is its turn; look properly after a while."""
        until_s = self._events.now_s + max(pause_s, order.WATCHED * self._push_s)
        while True:
            yield pause_s
            listed = yield from self.list_refs()
            if write.uid not in self._hub.intents:
                return
            self._see(listed.tip)
            wait_s = self._wait_s(listed.place(write))
            if wait_s <= 0 or self._events.now_s >= until_s:
                return
            pause_s = min(wait_s, max(order.AGAIN * self._push_s, order.PAUSE_S))

    def _wait_s(self, place: int) -> float:
        """How long who is at this place still leaves the push to those before it."""
        return self._tip_since_s + order.patience_s(place, self._push_s) - self._events.now_s

    @property
    def _push_s(self) -> float:
        """How long pushes take, as far as this transaction has seen."""
        return max(self._pushed_s, self._asked_s)

    def _push_beside(self, write: Write) -> Generator[float, None, None]:
        """Move the ref of an intent."""
        self._hub.tally.count_push(self._events.now_s, write, beside=True)
        yield self._draws.push_s()

    def _withdraws(self, write: Write) -> Generator[float, None, bool]:
        if not write.is_asked:
            return True
        yield from self._push_beside(write)
        return self._hub.withdraw(write)

    def _lost(self, own: Write, strangers: Sequence[Write], took_s: float) -> None:
        """Who has lost asks at once; what there is to know is seen afterwards."""
        self._pushed_s = took_s
        self._has_lost = True
        self._skips_look = not (own.is_asked or strangers)

    def _rest(self) -> Generator[float, None, None]:
        yield from ()
