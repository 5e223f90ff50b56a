"""A provider goes away and comes back, under a fleet in memory: agents of two accounts, each on a clone of its own.

An agent claims, works for a while, and closes; while the provider is away its attempt fails after a few seconds, as a worker
reports it. One that gets nothing asks again when it is told to, at the latest after its interval.
"""

from __future__ import annotations

import random
import re
from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple

from bd.cli.app import open_clone
from bd.core.errors import BdError, NothingReady
from bd.operations.agents import AddAgent
from bd.operations.base import asked
from bd.operations.claims import Claim
from bd.operations.close import Close
from bd.operations.create import Create
from bd.operations.fail import Fail
from bd.operations.init import Init
from bd.simulation.connection import Connection, Faults, Line
from bd.simulation.driver import write
from bd.simulation.loop import Events
from bd.simulation.machine import START, SimulatedRuntime
from bd.store.memory.place import MemoryPlace
from bd.store.memory.server import MemoryServer
from bd.worker import decisions

if TYPE_CHECKING:
    from collections.abc import Generator

    from bd.core.model import Snapshot
    from bd.core.operation import Operation
    from bd.store import Clone

    Process = Generator[float, None, None]

BRANCH = "refs/heads/main"
INTERVAL_S = 1800.0
LINE = Line(fetch_s=0.3, push_s=0.8)
WORKS_S, REFUSED_S = 90.0, 5.0


class Done(NamedTuple):
    """One thing that an agent did: when, who, and what (claim, close or a kind of failure) to which bead."""

    at_s: float
    agent: str
    what: str
    bead: str


class Fleet:
    """Agents by account, and beads that any of them may take. The provider of `away` is away between two times."""

    def __init__(self, accounts: dict[str, int], beads: int, *, away: str, from_s: float, until_s: float, kind: str) -> None:
        self.events, self.rng = Events(), random.Random(7)
        self.server = MemoryServer()
        self.away, self.from_s, self.until_s, self.kind = away, from_s, until_s, kind
        self.done: list[Done] = []
        self.agents = [(f"{account}-{number}", account) for account, many in accounts.items() for number in range(many)]
        self.runtime = SimulatedRuntime(self.events, self.rng)
        with closing(open_clone(MemoryPlace(self.server), self.runtime)) as hub:
            hub.create_hub(Init(**asked(self.runtime, "human:Ada", prefix="hub", fields={}, ignored=[])))
            self._publish(hub, Create(**self.asked(beads=[{"title": f"Do {number}"} for number in range(beads)])))
            for name, account in self.agents:
                fields = {"account": account, "interval": "30m"}
                self._publish(hub, AddAgent(**self.asked(agent=name, fields=fields)))
        self.runtime.settle()
        self.begun = self.tip

    def asked(self, **more: Any) -> dict[str, Any]:
        return asked(self.runtime, "human:Ada", **more)

    def _publish(self, hub: Clone, operation: Operation) -> None:
        hub.publish(operation).acknowledge()

    @property
    def tip(self) -> str:
        return self.server.repository.ref(BRANCH) or ""

    def run(self, until_s: float, *, apart_s: float) -> None:
        """Let the agents begin, this long after each other, and go on until then."""
        for number, (name, account) in enumerate(self.agents):
            self.events.start(self._live(name, account), number * apart_s)
        self.events.run(until_s)

    def snapshot(self) -> Snapshot:
        """The hub as it is now, in a fresh clone."""
        hub = open_clone(MemoryPlace(self.server), self.runtime)
        hub.fetch()
        return hub.snapshot()

    def commits(self) -> list[tuple[float, str]]:
        """When each commit since the beginning was made, and its subject."""
        there, found = self.server.repository, []
        for commit in there.commits_between(self.begun, self.tip):
            head, _, text = there.objects.known(commit).decode().partition("\n\n")
            written = re.search(r"^committer .* (\d+) ", head, re.MULTILINE)
            assert written is not None
            found.append((int(written[1]) - START.timestamp(), text.partition("\n")[0]))
        return found

    # --- an agent ---

    def _is_away(self, account: str) -> bool:
        return account == self.away and self.from_s <= self.events.now_s < self.until_s

    def _live(self, name: str, account: str) -> Process:
        runtime = SimulatedRuntime(self.events, self.rng)
        place = MemoryPlace(self.server)
        hub = open_clone(place, runtime)
        hub.__dict__["remote"] = Connection(place.connect(runtime), runtime, LINE, Faults(0.0, ()), BRANCH)
        while True:
            try:
                claim = Claim(**asked(runtime, f"agent:{name}", agent=name, next=True, count=1))
                outcome = yield from write(hub, runtime, claim, LINE)
            except NothingReady as nothing:
                wait_s = decisions.account_wait_s(nothing)
                yield min(INTERVAL_S, INTERVAL_S if wait_s is None else wait_s) + self.rng.random()
                continue
            outcome.acknowledge()
            assert outcome.change is not None
            [(token, bead)] = outcome.change.tokens
            self.done.append(Done(self.events.now_s, name, "claim", bead))
            given = {"tokens": {bead: token}, "ids": [bead]}
            yield REFUSED_S
            if self._is_away(account):
                end: Operation = Fail(**asked(runtime, f"agent:{name}", **given, reason=self.kind, error="try again later"))
            else:
                yield WORKS_S
                end = Close(**asked(runtime, f"agent:{name}", **given, reason="Done"))
            try:
                (yield from write(hub, runtime, end, LINE)).acknowledge()
            except BdError as error:  # pragma: no cover  a fault of the test itself
                raise AssertionError(str(error)) from error
            self.done.append(Done(self.events.now_s, name, end.verb, bead))
