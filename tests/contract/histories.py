"""Seeded histories of several clones on one hub in memory, with everything failing that can, and the checker of what must hold.

Each history is a few dozen writes by agents in clones whose processes are killed, whose pushes get no answer, whose server
is away, declines writes and refuses side refs, and who are overtaken at any step. What every author was told is written
down; at the end everything comes back, every clone syncs, and the hub's history is held against what was told.
"""

from __future__ import annotations

import random
from collections import Counter
from contextlib import closing
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from bd.cli.app import open_clone
from bd.core import ids
from bd.core.errors import BdError, RemoteUnreachable, TryAgain
from bd.operations.beads import Comment
from bd.operations.claims import Claim, Release
from bd.operations.close import Close
from bd.operations.create import Create
from bd.operations.init import Init
from bd.store.contract import PushAnswer, PushLine
from bd.store.git import commit_message
from bd.store.memory.place import MemoryPlace
from bd.store.memory.server import MemoryServer
from bd.store.rejected import PREFIX
from tests.clocks import START

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from bd.core.operation import Operation
    from bd.store import Clone
    from bd.store.contract import Fetched, Remote, SideRef

AT = "2026-02-21T15:00:00Z"
BRANCH = "refs/heads/main"
STEPS = ("look", "build", "push", "pushed", "look-after-push", "refs", "asked", "keep")
CLONES = ("alice", "bob", "carol")
# A remote may have any name: it is no word of a server's.
_SILENCE = "the remote permission-denied does not answer: git push took longer than 60 s"


class Killed(BaseException):
    """What kill -9 is to a process of which there is none: nothing after it runs."""


class VirtualRuntime:
    """A machine on which sleeping takes no time, and all chance comes from a seed."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)
        self._passed_s = 0.0

    def now(self) -> datetime:
        return START + timedelta(seconds=self._passed_s)

    def monotonic(self) -> float:
        self._passed_s += 0.001  # whatever is done takes a moment
        return self._passed_s

    def uptime(self) -> float:
        return self._passed_s

    def boot_id(self) -> str:
        return "boot"

    def sleep(self, seconds: float) -> None:
        self._passed_s += max(0.0, seconds)

    def random(self) -> float:
        return self._rng.random()

    def new_id(self) -> str:
        return ids.ulid(int(self.now().timestamp() * 1000), self._rng.randbytes(10))

    def on_step(self, name: str) -> None:
        """Nobody follows the writes that the checker makes."""


class Process:
    """One process on it, whose steps are followed."""

    def __init__(self, machine: VirtualRuntime) -> None:
        self._machine = machine
        self.on_step: Callable[[str], None] = machine.on_step

    def __getattr__(self, name: str) -> Any:
        return getattr(self._machine, name)


class Faults(NamedTuple):
    """What goes wrong with one write: at which step its process is killed, or overtaken, and what happens to its pushes."""

    killed_at: str = ""
    overtaken_at: str = ""
    # For each push of the branch: `cut` (it did not arrive, no answer), `lost` (it landed, no answer), `declined`, `unsided`, `stuck`, and
    # `silent` and `silent-lost`: no answer in time, whatever bd says of that.
    pushes: tuple[str, ...] = ()
    is_away: bool = False


class FaultyRemote:
    """A clone's connection of which the faults of one write are true."""

    def __init__(self, real: Remote, faults: Faults) -> None:
        self._real = real
        self._faults = faults
        self._pushes = list(faults.pushes)

    def begin_fetch(self) -> None:
        self._real.begin_fetch()

    def drop_fetch(self) -> None:
        self._real.drop_fetch()

    def _refuse_away(self) -> None:
        if self._faults.is_away:
            raise RemoteUnreachable("the server is away")

    def fetch(self) -> Fetched:
        self._refuse_away()
        return self._real.fetch()

    def fetch_objects(self, refs: Sequence[str]) -> None:
        if not self._faults.is_away:
            self._real.fetch_objects(refs)

    def list(self, *prefixes: str) -> dict[str, str]:
        self._refuse_away()
        return self._real.list(*prefixes)

    def push(self, commit: str | None, base: str | None, sides: Sequence[SideRef] = (), **more: Any) -> PushAnswer:
        self._refuse_away()
        fault = self._pushes.pop(0) if commit and self._pushes else ""
        names = [*([BRANCH] if commit else []), *(side.ref for side in sides)]
        if fault == "cut":
            return PushAnswer({}, "fatal: the remote end hung up unexpectedly")
        if fault == "declined":
            return PushAnswer(dict.fromkeys(names, PushLine("!", "[remote rejected] (pre-receive hook declined)")), "no")
        if fault == "stuck":
            return PushAnswer(dict.fromkeys(names, PushLine("!", "[remote rejected] (failed to update ref)")), "")
        if fault == "unsided" and sides:
            lines = {name: PushLine("!", "[remote rejected] (atomic push failed)") for name in names}
            return PushAnswer({**lines, sides[0].ref: PushLine("!", "[remote rejected] (deny updating a hidden ref)")}, "no")
        if fault == "silent":
            raise RemoteUnreachable(_SILENCE)
        answer = self._real.push(commit, base, sides, **more)
        if fault == "silent-lost":
            raise RemoteUnreachable(_SILENCE)
        return PushAnswer({}, "fatal: the remote end hung up unexpectedly") if fault == "lost" else answer


class Told(NamedTuple):
    """A write, and what its author was told of it: published, kept, refused, unknown, or nothing by a process that was killed."""

    operation: Operation
    clone: str
    what: str


class History:
    """One history, from its seed alone."""

    def __init__(self, seed: int, *, writes: int = 30) -> None:
        self._rng = random.Random(seed)
        self.runtime = VirtualRuntime(seed)
        self._writes = writes
        self.server = MemoryServer()
        self.places = {name: MemoryPlace(self.server, settings={"retry_time": "1s", "lock_timeout": "1s"}) for name in CLONES}
        self.told: list[Told] = []
        self._beads: list[str] = []
        # The tokens that agents know, by bead.
        self._tokens: dict[str, tuple[str, str]] = {}
        self._is_inside = False
        self._processes: dict[str, tuple[Clone, Process]] = {}

    # --- writes ---

    def run(self) -> None:
        """All of it. Raises AssertionError, with the words of the checker."""
        with closing(open_clone(self.places["alice"], self.runtime)) as first:
            first.create_hub(Init(by="human:Ada", at=AT, runtime=self.runtime, prefix="hub", fields={}, ignored=[]))
            if self._rng.random() < 0.7:
                first.sides.probe(START)
        for _ in range(self._writes):
            self.write(self._rng.choice(CLONES), self._operation(), self._faults())
        for clone, _ in self._processes.values():
            clone.close()
        self.check()

    def _operation(self) -> Operation:
        rng, agent = self._rng, self._rng.choice("abcd")
        asked: dict[str, Any] = {"by": f"agent:{agent}", "at": AT, "runtime": self.runtime}
        kind = rng.choice(["create", "claim", "claim", "end", "end", "comment"])
        if kind == "create" or not self._beads:
            return Create(by="human:Ada", at=AT, runtime=self.runtime, beads=[{"title": f"bead {len(self.told)}"}])
        bead_id = rng.choice(self._beads)
        if kind == "comment":
            return Comment(**asked, ids=[bead_id], text=f"text {len(self.told)}")
        if kind == "end" and self._tokens:
            bead_id, (agent, token) = rng.choice(sorted(self._tokens.items()))
            ending: dict[str, Any] = {**asked, "by": f"agent:{agent}", "tokens": {bead_id: token}, "ids": [bead_id]}
            return rng.choice([Close, Release])(**ending, reason="enough")
        beat = {"heartbeat": {"interval_s": 30, "by": "ref"}} if rng.random() < 0.4 else {}
        return Claim(**asked, agent=agent, ids=[bead_id] if rng.random() < 0.5 else [], next=True, **beat)

    def _faults(self) -> Faults:
        rng = self._rng
        pushes = tuple(
            rng.choice(["", "", "cut", "lost", "declined", "unsided", "stuck", "stuck", "silent", "silent-lost"])
            for _ in range(4)
        )
        return Faults(
            killed_at=rng.choice(STEPS) if rng.random() < 0.2 else "",
            overtaken_at=rng.choice(STEPS[:5]) if rng.random() < 0.4 else "",
            pushes=pushes if rng.random() < 0.4 else (),
            is_away=rng.random() < 0.1,
        )

    def write(self, name: str, operation: Operation, faults: Faults) -> None:
        """One write of a process of a clone, and what its author was told."""
        clone, process = self._process(name)
        clone.__dict__["remote"] = FaultyRemote(self.places[name].connect(self.runtime), faults)
        process.on_step = self._stepper(name, faults)
        try:
            outcome = clone.publish(operation)
        except Killed:
            clone.local.die()  # type: ignore[attr-defined]
            del self._processes[name]
            self.told.append(Told(operation, name, "killed"))
            return
        except TryAgain as error:
            self.told.append(Told(operation, name, str(error.data["written"])))
        except BdError:
            self.told.append(Told(operation, name, "refused"))
        else:
            self._learn(outcome.change, operation)
            self.told.append(Told(operation, name, "published" if outcome.published else "local"))
            outcome.acknowledge()

    def _process(self, name: str) -> tuple[Clone, Process]:
        """A process of a clone: the one of before, as a worker goes on, or another one, as commands come and go."""
        known = self._processes.get(name)
        if known is not None and self._rng.random() < 0.7:
            return known
        if known is not None:
            known[0].close()
        process = Process(self.runtime)
        made = self._processes[name] = open_clone(self.places[name], process), process
        return made

    def _stepper(self, name: str, faults: Faults) -> Callable[[str], None]:
        left = {"overtaken": faults.overtaken_at, "killed": faults.killed_at}

        def step(now: str) -> None:
            if left["overtaken"] == now and not self._is_inside:
                left["overtaken"] = ""
                self._is_inside = True
                other = self._rng.choice([one for one in CLONES if one != name])
                self.write(other, self._operation(), Faults())
                self._is_inside = False
            if left["killed"] == now:
                raise Killed

        return step

    def _learn(self, change: Any, operation: Operation) -> None:
        if change is None:
            return
        if isinstance(operation, Create):
            self._beads += change.touched
        if isinstance(operation, (Close, Release)):
            for bead_id in change.touched:
                self._tokens.pop(bead_id, None)
        for token, bead_id in change.tokens:
            self._tokens[bead_id] = (operation.journal_fields()["agent"], token)

    # --- the checker ---

    def check(self) -> None:
        """Bring everything back, and hold the hub's history against what was told."""
        for _ in range(3):  # the second one finds what the first one's push decides about the dead
            for name in CLONES:
                with closing(open_clone(self.places[name], self.runtime)) as clone:
                    clone.writing().run(None)
                    clone.publish(Create(by="human:Ada", at=AT, runtime=self.runtime, beads=[{"title": "something else"}]))
        uids = self._uids()
        twice = [uid for uid, number in Counter(uids).items() if number > 1]
        assert not twice, f"carried out twice: {twice}"
        for told in self.told:
            self._check_told(told, told.operation.uid in uids)
        self._check_owners()
        for name, place in self.places.items():
            left = [record.data() for record in place.shared.records.values()]
            left = [data for data in left if data["state"] != "won"]  # that is told to its agent with its next claim
            assert not left, f"{name}'s journal is not settled: {left}"
            assert place.shared.holder is None
        asked = self.server.repository.refs("refs/bd/intents/")
        assert not asked, f"requests that nobody waits for: {asked}"

    def _uids(self) -> list[str]:
        """The operations that commits of the hub hold, and those that verdicts tell of."""
        there = self.server.repository
        found: list[str] = []
        for _, text in there.messages(there.ref(BRANCH) or "", []):
            found += commit_message.parse(text).get("Bd-Uid", [])
        return found

    def _check_told(self, told: Told, is_there: bool) -> None:
        operation = told.operation
        if told.what in ("published", "local") and not isinstance(operation, (Claim, Close, Release)):
            kept = self.places[told.clone].repo.ref(PREFIX + operation.uid)
            assert is_there or kept, f"lost: {operation.form()} was told {told.what}"
        if told.what in ("refused", "no"):
            assert not is_there, f"done all the same: {operation.form()} was told {told.what}"
        if told.what in ("unknown", "killed") and isinstance(operation, (Create, Comment)) and told.what == "unknown":
            kept = self.places[told.clone].repo.ref(PREFIX + operation.uid)
            assert is_there or kept, f"text is lost: {operation.form()} was told {told.what}"

    def _check_owners(self) -> None:
        """No commit gives a bead to somebody while another one holds it."""
        there = self.server.repository
        held: dict[str, str] = {}
        for commit in there.commits_between(None, there.ref(BRANCH) or ""):
            text = there.objects.known(commit).partition(b"\n\n")[2].decode()
            form = commit_message.form_of(text)
            if form is None:
                continue
            values = commit_message.parse(text)
            for bead_id in values.get("Bd-Bead", []):
                if form["verb"] == "claim":
                    assert bead_id not in held or held[bead_id] in values["Bd-Token"], f"{bead_id} has two owners at {commit}"
                    held[bead_id] = values["Bd-Token"][0]
                elif form["verb"] in ("close", "release"):
                    held.pop(bead_id, None)
