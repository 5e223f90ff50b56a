"""A simulated agent's clone: the product's own, on a hub in memory, with a connection that takes its time and is counted."""

from __future__ import annotations

from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.core.errors import AgentOffline, BdError, NothingReady, ServerRefused, StaleToken, TryAgain
from bd.core.settings import merge
from bd.operations.reader import OperationReader
from bd.simulation.connection import Connection, Line
from bd.simulation.driver import write
from bd.simulation.machine import SimulatedRuntime
from bd.store import Clone
from bd.store.cache.shared import SharedCache
from bd.store.heartbeat.side_refs import CLAIMS
from bd.store.memory.place import MemoryPlace
from bd.store.transaction import effects

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence
    from typing import Any

    from bd.core.operation import Operation
    from bd.core.settings import Settings
    from bd.simulation.hub import Hub
    from bd.store import Outcome
    from bd.store.contract import Fetched, PushAnswer, SideRef
    from bd.store.snapshot import CachedSnapshot
    from bd.store.transaction.effects import Effect

# Nobody undoes a write here: the list of the last ones would be written with every write.
_UNDO = "last.json"
# After which part of a fetch the hub has answered, and after which part of a push the branch moves: the rest of a fetch is
# deciding, the rest of a push the answer. A list of names, where nothing is decided, takes half a fetch.
_ANSWERED, _LANDED, LISTED = 0.3, 0.9, 0.5
FETCH = effects.Fetch(effects.REMOTE, (), heartbeats=False)
# What happens to the writes of any fleet: there is nothing to do, a claim was lost or an agent died meanwhile, others were faster.
# Every other error is a mistake in the scenario.
_EXPECTED = (NothingReady, StaleToken, AgentOffline, TryAgain, ServerRefused)


class Told(NamedTuple):
    """The result of a write: its outcome, or the error."""

    outcome: Outcome | None
    error: BdError | None = None


class Route(Line):
    """The way from one clone to the hub. git asks for the branch before it sends anything: a push that is too late ends there."""

    hub: Hub
    is_late = False

    @property
    def asking_s(self) -> float:
        return min(self.fetch_s, self.push_s) / 2

    def lead_s(self, effect: Effect) -> float:
        match effect:
            case effects.Push():
                self.is_late = effect.commit is not None and self.hub.tip != effect.base
                return _ANSWERED * self.asking_s if self.is_late else _LANDED * self.push_s
            case effects.Ask() | effects.Withdraw():
                return _LANDED * self.push_s
            case effects.Fetch(source=effects.REMOTE) | effects.Confirm():
                return _ANSWERED * self.fetch_s
            case effects.ListRequests():
                return _ANSWERED * LISTED * self.fetch_s
        return 0.0


class SimulatedClone(Clone):
    """One clone with one process. Only the hub's settings count here, and not those of who simulates."""

    def __init__(self, hub: Hub) -> None:
        runtime = SimulatedRuntime(hub.events, hub.rng)
        place: Any = MemoryPlace(hub.server, settings=hub.settings)
        place.repo.objects = hub.server.repository.objects  # shared: nothing is copied, and nothing is kept twice
        super().__init__(place, OperationReader(), runtime=runtime, cache=SharedCache(hub.commits, place.repo))
        self.virtual = runtime
        self.route = Route(*hub.line)
        self.route.hub = hub
        self._hub = hub
        self.__dict__["remote"] = CountedConnection(hub, self)
        self.writes_beads = False  # whether the writes of this clone make beads, which the figures count apart

    def settings(self, snapshot: CachedSnapshot | None = None) -> Settings:
        config = snapshot.config() if snapshot is not None else self._hub.config
        if config is not self._hub.config or self._hub.merged is None:
            self._hub.config = config
            self._hub.merged = merge([("clone", self.place.clone_layer), ("hub", config)])
        return self._hub.merged

    def tried(self, operation: Operation) -> Generator[float, None, Told]:
        """Publish an operation in simulated time, and count what that has changed. Raises what is a mistake in the scenario."""
        try:
            return Told((yield from write(self, self.virtual, operation, self.route)))
        except _EXPECTED as error:
            return Told(None, error)
        finally:
            self._hub.count()

    def note_json(self, name: str, value: Any) -> None:
        if name != _UNDO:
            super().note_json(name, value)

    def _heard(self) -> tuple[str, dict[str, Any]]:
        """What the agents say of themselves, as it stands: see docs/simulation.md."""
        return self._hub.heard_at, self._hub.heard

    def hear(self, refs: Any) -> dict[str, dict[str, Any]]:
        return self._hub.heard

    def listen(self) -> dict[str, str]:
        return self.sides.beats() if self.sides.may_list() else {}


class CountedConnection(Connection):
    """A connection whose requests are counted, and whose pushes show what became of the beads."""

    def __init__(self, hub: Hub, clone: SimulatedClone) -> None:
        super().__init__(clone.place.connect(clone.virtual), clone.virtual, clone.route, hub.faults, clone.branch)
        self._hub = hub
        self._clone = clone

    def _pass(self, seconds: float) -> None:
        route = self._clone.route
        super()._pass(route.asking_s if route.is_late else seconds)
        route.is_late = False

    def fetch(self) -> Fetched:
        self._hub.tally.reads += 1
        return super().fetch()

    def list(self, *prefixes: str) -> dict[str, str]:
        self._hub.tally.reads += 1
        if CLAIMS in prefixes:
            self._hub.beats.catch_up()
        self._pass(LISTED * self._line.fetch_s)
        return self._real.list(*prefixes)

    def push(
        self,
        commit: str | None,
        base: str | None,
        sides: Sequence[SideRef] = (),
        *,
        exactly: bool = False,
        meanwhile: Callable[[], None] | None = None,
    ) -> PushAnswer:
        hub, before = self._hub, self._hub.tip
        hub.tally.count_push(hub.events.now_s, to_branch=commit is not None, makes_beads=self._clone.writes_beads)
        answer = super().push(commit, base, sides, exactly=exactly, meanwhile=meanwhile)
        if commit is not None and hub.tip == before:
            hub.tally.lost += 1
        if hub.tip != before:
            hub.moved(before)
        return answer
