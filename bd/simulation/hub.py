"""The hub on paper: a branch that moves by compare-and-swap, the beads on it, the intents beside it, and what is counted.

Which bead a claim takes makes no difference here: two writers are in each other's way because they move the same
branch, and one that lost decides again. So a claim takes the bead that waits longest.
"""

from __future__ import annotations

import zlib
from bisect import bisect_left
from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from bd.store.group_commit.requests import AT_ONCE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bd.simulation.loop import Events


class Write:
    """What one transaction wants: to make beads, to close the one in hand, to claim the next. `verdict` is None until it is decided.

    True: it is done, and a claim that came with a close may have `claimed` nothing. False: there was nothing to claim.
    `tip` is where the branch stood then: who has seen less does not know of it yet.
    """

    __slots__ = ("claimed", "claims", "closes", "creates", "is_asked", "tip", "uid", "verdict")

    def __init__(self, uid: int, *, creates: int = 0, closes: bool = False, claims: bool = False) -> None:
        self.uid = uid
        self.creates = creates
        self.closes = closes
        self.claims = claims
        self.claimed = False
        self.is_asked = False
        self.tip = 0
        self.verdict: bool | None = None

    @property
    def needs_bead(self) -> bool:
        """Whether it is a claim alone."""
        return self.claims and not self.closes


class Sight(NamedTuple):
    """What one look shows: the tip, how many beads are ready, and the intents in the order that this tip gives."""

    tip: int
    ready: int
    intents: Sequence[Write] = ()

    def place(self, write: Write) -> int:
        """How many of the intents come before a write."""
        return bisect_left(self.intents, _turn(self.tip, write), key=lambda other: _turn(self.tip, other))

    def ready_for(self, write: Write) -> int:
        """How many beads those before a write leave."""
        ready = self.ready
        for other in self.intents[: self.place(write)]:
            ready += other.creates - (other.claims and ready > 0)
        return ready


class Tally:
    """What a run counts. `pushes` move the branch, or try to; `asks` move intents, and `signs` the refs of heartbeats.

    `own_pushes` are those that the agents' claims and closes needed, asks among them; the others made beads. `reads` are
    fetches and listings. `by_minute` has every push.
    """

    def __init__(self, minutes: int) -> None:
        self.arrived = self.claims = self.closes = 0
        self.pushes = self.lost = self.asks = self.signs = self.own_pushes = 0
        self.looks = self.reads = 0
        self.last_close_s = 0.0
        self.waits_s: list[float] = []
        self.by_minute = [0] * minutes

    def count_push(self, at_s: float, write: Write, *, beside: bool = False) -> None:
        """A push of this write's author: for the branch, or `beside` it."""
        self.pushes += not beside
        self.asks += beside
        self.own_pushes += not write.creates
        self._count_at(at_s)

    def count_sign(self, at_s: float) -> None:
        """A heartbeat."""
        self.signs += 1
        self._count_at(at_s)

    def _count_at(self, at_s: float) -> None:
        minute = int(at_s // 60)
        if minute < len(self.by_minute):
            self.by_minute[minute] += 1


class Hub:
    """The hub's state as it is now, whoever knows it."""

    def __init__(self, events: Events, duration_s: float) -> None:
        self.tally = Tally(max(1, round(duration_s / 60)))
        self.tip = 0
        self.intents: dict[int, Write] = {}
        self._events = events
        self._ready: deque[float] = deque()
        self._uids = 0
        self._shown_at: tuple[int, int] = (-1, -1)
        self._shown: Sequence[Write] = ()
        self._asked = 0
        self._working = 0
        self._bead_seconds = self._work_seconds = self._reckoned_s = 0.0

    # --- beads ---

    @property
    def waiting(self) -> int:
        """How many beads are ready and nobody's."""
        return len(self._ready)

    def begin_work(self) -> None:
        """An agent begins with a bead."""
        self._reckon()
        self._working += 1

    def end_work(self) -> None:
        """An agent has worked, and will close."""
        self._reckon()
        self._working -= 1

    def seconds(self) -> tuple[float, float]:
        """How long beads have waited in all, those that still wait among them, and how long agents have worked."""
        self._reckon()
        return self._bead_seconds, self._work_seconds

    def _reckon(self) -> None:
        """Bring the sums up to now; before every change of what they count."""
        since_s = self._events.now_s - self._reckoned_s
        self._bead_seconds += len(self._ready) * since_s
        self._work_seconds += self._working * since_s
        self._reckoned_s = self._events.now_s

    def write(self, *, creates: int = 0, closes: bool = False, claims: bool = False) -> Write:
        """A new write with a name of its own."""
        self._uids += 1
        return Write(self._uids, creates=creates, closes=closes, claims=claims)

    def sight(self) -> Sight:
        """What a look shows now; of more intents than one push carries out, the oldest."""
        state = (self.tip, self._asked)
        if state != self._shown_at:
            self._shown = in_order(self.tip, (self.intents[uid] for uid in sorted(self.intents)[:AT_ONCE]))
            self._shown_at = state
        return Sight(self.tip, len(self._ready), self._shown)

    def accepts(self, base: int, folded: Iterable[Write]) -> bool:
        """Whether a push decided on `base` lands now: the branch stands there still, and so does every intent that it folds."""
        return self.tip == base and all(write.uid in self.intents for write in folded)

    def land(self, writes: Iterable[Write]) -> None:
        """A push has landed: each write is decided on what the ones before it left."""
        self.tip += 1
        for write in writes:
            self._decide(write)
            self.intents.pop(write.uid, None)

    def _decide(self, write: Write) -> None:
        now_s = self._events.now_s
        self._reckon()
        self._ready.extend([now_s] * write.creates)
        self.tally.arrived += write.creates
        if write.closes:
            self.tally.closes += 1
            self.tally.last_close_s = now_s
        if write.claims and self._ready:
            write.claimed = True
            self.tally.claims += 1
            self.tally.waits_s.append(now_s - self._ready.popleft())
        write.verdict = write.claimed or not write.needs_bead
        write.tip = self.tip

    # --- intents ---

    def ask(self, write: Write) -> None:
        """An intent has arrived beside the branch."""
        self._asked += 1
        write.is_asked = True
        self.intents[write.uid] = write

    def withdraw(self, write: Write) -> bool:
        """Its author takes an intent back; False where somebody has carried it out meanwhile."""
        self._asked += 1
        write.is_asked = False
        return self.intents.pop(write.uid, None) is not None


def in_order(tip: int, writes: Iterable[Write]) -> Sequence[Write]:
    """Writes in the order in which they are decided on this tip: any that depends on nothing else will do."""
    return tuple(sorted(writes, key=lambda write: _turn(tip, write)))


def _turn(tip: int, write: Write) -> tuple[int, int]:
    return zlib.crc32(b"%d %d" % (tip, write.uid)), write.uid
