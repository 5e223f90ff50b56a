"""A clone's connection to the simulated server: how long it takes, and what goes wrong on it."""

from __future__ import annotations

from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.core.errors import RemoteUnreachable
from bd.store.contract import PushAnswer, PushLine
from bd.store.transaction import effects

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from bd.simulation.machine import SimulatedRuntime
    from bd.store.contract import Fetched, Remote, SideRef
    from bd.store.transaction.effects import Effect

# A connection is not the same every time: each request takes from so much less to so much more than its time.
_UNSTEADY = 0.2
# The part of a request's time after which the server has it.
_THERE = 0.5
_CUT = PushAnswer({}, "fatal: the remote end hung up unexpectedly")
# What can happen to a push: `cut` and `silent` never arrive, `lost` and `silent-lost` land without an answer, `late` lands when
# nobody expects it any more, `twice` arrives a second time, `slow` is answered late; `declined`, `stuck` and `unsided` are refusals
# of the server. Only a push of the branch arrives twice: a request that was answered and removed would be made again, and nobody
# could tell; git's transports repeat none.
PUSH_FAULTS = ("cut", "silent", "lost", "silent-lost", "late", "twice", "slow", "declined", "stuck", "unsided")
# How much later a late push lands.
_LATE_S = (1.0, 200.0)
# How much later than usual a slow answer comes.
_SLOW_S = (5.0, 50.0)


class Line(NamedTuple):
    """How long a fetch and a push take on average, in seconds."""

    fetch_s: float
    push_s: float

    def lead_s(self, effect: Effect) -> float:
        """Return how long an effect is on its way to the server before it can be carried out."""
        match effect:
            case effects.Push() | effects.Ask() | effects.Withdraw():
                return _THERE * self.push_s
            case effects.Fetch(source=effects.REMOTE) | effects.Confirm() | effects.ListRequests():
                return _THERE * self.fetch_s
        return 0.0


class Faults:
    """What goes wrong on one connection. `rate` is the part of the pushes that meet a fault, `stale` that of the reads that an
    old copy of the server answers; 0: none.

    The server is out of reach until `away_until_s` of the simulated time. `met` collects the kinds that have happened.
    """

    def __init__(self, rate: float = 0.0, kinds: Sequence[str] = PUSH_FAULTS, *, stale: float = 0.0) -> None:
        self.rate = rate
        self.kinds = kinds
        self.stale = stale
        self.away_until_s = 0.0
        self.met: set[str] = set()

    def drawn(self, runtime: SimulatedRuntime) -> str:
        """Return the fault of the next push; empty for none."""
        if not self.rate or runtime.rng.random() >= self.rate:
            return ""
        fault = runtime.rng.choice(self.kinds)
        self.met.add(fault)
        return fault

    def is_stale(self, runtime: SimulatedRuntime) -> bool:
        """Return whether an old copy answers the next read."""
        is_stale = bool(self.stale) and runtime.rng.random() < self.stale
        if is_stale:
            self.met.add("stale")
        return is_stale


class Connection:
    """What store/contract.py asks of a Remote, with times and faults, in front of another one.

    `behind` returns the connection to an old copy of the server, which answers reads where the faults say so.
    """

    name = "origin"

    def __init__(
        self,
        real: Remote,
        runtime: SimulatedRuntime,
        line: Line,
        faults: Faults,
        branch: str,
        *,
        behind: Callable[[], Remote] | None = None,
    ) -> None:
        self._real = real
        self._behind = behind
        self._runtime = runtime
        self._line = line
        self._faults = faults
        self._branch = branch

    def _pass(self, seconds: float) -> None:
        """Let a request take its time. Raises RemoteUnreachable while the server is out of reach."""
        self._runtime.take(seconds * self._runtime.rng.uniform(1 - _UNSTEADY, 1 + _UNSTEADY))
        if self._runtime.events.now_s < self._faults.away_until_s:
            raise RemoteUnreachable("the server is away")

    # --- reading ---

    def begin_fetch(self) -> None:
        """Fetches begin when they are waited for."""

    def drop_fetch(self) -> None:
        """Nothing was begun."""

    def _answering(self) -> Remote:
        """Let a read take its time; return who answers it. Raises RemoteUnreachable."""
        self._pass(self._line.fetch_s)
        return self._behind() if self._behind and self._faults.is_stale(self._runtime) else self._real

    def fetch(self) -> Fetched:
        return self._answering().fetch()

    def fetch_objects(self, refs: Sequence[str]) -> None:
        self._answering().fetch_objects(refs)

    def list(self, *prefixes: str) -> dict[str, str]:
        return self._answering().list(*prefixes)

    # --- pushing ---

    def push(
        self,
        commit: str | None,
        base: str | None,
        sides: Sequence[SideRef] = (),
        *,
        exactly: bool = False,
        meanwhile: Callable[[], None] | None = None,
    ) -> PushAnswer:
        self._pass(self._line.push_s)
        fault = self._faults.drawn(self._runtime)
        if meanwhile:
            meanwhile()
        names = [*([self._branch] if commit else []), *(side.ref for side in sides)]
        if (commit or fault == "unsided") and (refused := _refusal(fault, names, sides)):
            return refused
        if fault == "late" or (fault == "twice" and commit):
            after_s = self._runtime.rng.uniform(*_LATE_S)
            self._runtime.events.start(self._again(commit, base, tuple(sides), exactly=exactly), after_s)
        if fault in ("silent", "late"):
            raise RemoteUnreachable("git push took longer than 60 s")
        if fault == "cut":
            return _CUT
        answer = self._real.push(commit, base, sides, exactly=exactly)
        if fault == "silent-lost":
            raise RemoteUnreachable("git push took longer than 60 s")
        if fault == "slow":
            self._runtime.take(self._runtime.rng.uniform(*_SLOW_S))
        return _CUT if fault == "lost" else answer

    def _again(
        self, commit: str | None, base: str | None, sides: Sequence[SideRef], *, exactly: bool
    ) -> Generator[float, None, None]:
        """Deliver a push at another time than its author believes."""
        self._real.push(commit, base, sides, exactly=exactly)
        yield from ()


def _refusal(fault: str, names: Sequence[str], sides: Sequence[SideRef]) -> PushAnswer | None:
    """Return the server's answer to a push that it refuses; None where it does not."""
    if fault == "declined":
        return PushAnswer(dict.fromkeys(names, PushLine("!", "[remote rejected] (pre-receive hook declined)")), "no")
    if fault == "stuck":
        return PushAnswer(dict.fromkeys(names, PushLine("!", "[remote rejected] (failed to update ref)")), "")
    if fault == "unsided" and sides:
        lines = {name: PushLine("!", "[remote rejected] (atomic push failed)") for name in names}
        return PushAnswer({**lines, sides[0].ref: PushLine("!", "[remote rejected] (deny updating a hidden ref)")}, "no")
    return None
