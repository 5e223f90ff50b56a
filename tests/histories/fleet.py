"""One history: a few clones with several agents each, who create, claim, work, die, come back and end what they hold.

Everything follows from the seed. What each author was told is written down as tests/torture does it; afterwards everything
works again, every clone writes once more, and the rules of tests/torture/checker.py are applied.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import tempfile
import traceback
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from bd.cli.app import open_clone
from bd.core.errors import BdError
from bd.operations.base import asked
from bd.operations.beads import Comment
from bd.operations.claims import Claim, Release
from bd.operations.close import Close
from bd.operations.create import Create
from bd.operations.fail import Fail
from bd.operations.heartbeat import Reassign
from bd.operations.init import Init
from bd.simulation.connection import PUSH_FAULTS, Connection, Faults, Line
from bd.simulation.driver import Died, write
from bd.simulation.loop import Events
from bd.simulation.machine import SimulatedRuntime
from bd.store.cache.shared import Commits, SharedCache
from bd.store.memory.place import MemoryPlace
from bd.store.memory.server import MemoryRemote, MemoryServer
from bd.store.rejected import PREFIX
from bd.store.rewritten import go_on_from
from bd.worker import heartbeats
from bd.worker.fleet_state import look
from bd.worker.maintenance import sweep_claim_refs
from tests.histories.reading import history
from tests.torture.calls import Told
from tests.torture.checker import Lived, Seen, violations

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

    from bd.core.operation import Operation
    from bd.store import Clone, Outcome
    from bd.store.contract import PushAnswer, SideRef
    from bd.store.memory.repository import MemoryRepository
    from tests.torture.reading import Commit

    Process = Generator[float, None, None]

BRANCH = "refs/heads/main"
# A claim without a heartbeat is stalled after twice this long.
EXPECTED = "60s"
OVERDUE_S = 120.0
# With heartbeats, it is so after three of them are missing.
INTERVAL_S = 30
SILENT_S = 90.0
LINE = Line(fetch_s=0.3, push_s=0.8)
# Long after this, nothing is under way any more.
PEACE_S = 4000.0
_SETTINGS = {"retry_time": "20s", "lock_timeout": "20s", "fresh_time": "2s"}


# Where the caches of the clones are best kept, where there is such a folder.
_IN_MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


class Rates(NamedTuple):
    """How often what goes wrong, as parts of one: of pushes, commands, decisions, claims, reads, and whole histories.

    `kinds` are the faults that a push may meet.
    """

    push: float = 0.2
    dies: float = 0.15
    away: float = 0.02
    silent: float = 0.1
    stale: float = 0.04
    rewritten: float = 0.1
    kinds: tuple[str, ...] = PUSH_FAULTS


class Held(NamedTuple):
    """A claim as its agent knows it."""

    bead: str
    token: str
    by_ref: bool


class History:
    """One history. `attempts`: so many beads are claimed, or tried to be."""

    def __init__(self, seed: int, *, attempts: int | None = None, rates: Rates | None = None) -> None:
        self.seed = seed
        self.rng = random.Random(seed)
        self.rates = self._varied(rates or Rates())
        self.attempts = attempts or self.rng.randint(5, 50)
        # How long an agent rests and works on average: in a busy fleet, writes meet.
        self.rest_s, self.work_s = self.rng.choice([(20.0, 60.0), (1.0, 4.0)])
        # In one history of four, the processes of a clone share the cache file that commands have; in the others, which take half
        # the time, what is parsed is shared in memory.
        self.commits = None if self.rng.random() < 0.25 else Commits()
        self.events = Events()
        self.server = MemoryServer()
        self.places: dict[str, Any] = {}
        self.faults: dict[str, Faults] = {}
        self.told: list[Told] = []
        self.peace: list[Told] = []
        self.beads: list[str] = []
        self.claimed = 0
        self.granted = 0
        self.graveyard: list[object] = []
        self.is_over = False
        # An older state of the server, and the tips that rewriting the hub's history has thrown away.
        self.mirror = self.server
        self.rewritten: list[str] = []
        # Moves of the branch that were no fast-forward.
        self.backward: list[str] = []
        # Pushes that brought nothing; while `is_quiet`, every push does.
        self.idle: list[str] = []
        self.is_quiet = False
        self.claimed_s: dict[str, float] = {}
        self.beaten_s: dict[str, list[float]] = {}
        self.stalls: list[Seen] = []

    def _varied(self, rates: Rates) -> Rates:
        """Return rates as they are in this history: some have much of a few faults, others a little of all."""
        kinds = tuple(self.rng.sample(rates.kinds, min(3, len(rates.kinds)))) if self.rng.random() < 0.5 else rates.kinds
        push, dies = (self.rng.choice([0.5, 1.0, 2.5]) for _ in range(2))
        return rates._replace(push=rates.push * push, dies=rates.dies * dies, kinds=kinds)

    def open(self, place: MemoryPlace, runtime: SimulatedRuntime) -> Clone:
        """Open another process of a clone."""
        return open_clone(place, runtime, **({"cache": SharedCache(self.commits, place.repo)} if self.commits else {}))

    # --- the whole of it ---

    def run(self) -> list[str]:
        """Live through it. Returns what is wrong, as sentences; empty where every rule holds."""
        with tempfile.TemporaryDirectory(prefix="histories-", dir=_IN_MEMORY, ignore_cleanup_errors=True) as folder:
            try:
                return self._run(folder)
            except Exception:
                return [f"the history ended with an error: {traceback.format_exc()}"]

    def _run(self, folder: str) -> list[str]:
        clones, agents = self.rng.randint(1, 4), self.rng.randint(2, 8)
        for number in range(clones):
            cache = os.path.join(folder, f"clone-{number}")
            self.places[f"clone-{number}"] = MemoryPlace(self.server, settings=_SETTINGS, cache=cache)
            self.faults[f"clone-{number}"] = Faults(self.rates.push, self.rates.kinds, stale=self.rates.stale)
        self._found()
        self.events.start(self._mirrored())
        if self.rng.random() < self.rates.rewritten:
            self.events.start(self._squashed(), self.rng.uniform(100, 600))
        for number in range(agents):
            name, place = f"agent-{number}", f"clone-{number % clones}"
            self.events.start(Agent(self, name, place).live(), self.rng.uniform(0, 60))
        self.events.run(self.events.now_s + 20_000)
        self._make_peace()
        return violations(self._lived())

    def _found(self) -> None:
        runtime = SimulatedRuntime(self.events, self.rng)
        with closing(self.open(self.places["clone-0"], runtime)) as first:
            first.create_hub(Init(**asked(runtime, "human:Ada", prefix="hub", fields={}, ignored=[])))
            if self.rng.random() < 0.8:
                first.sides.probe(runtime.now())
            runtime.settle()
        for place in self.places.values():
            with closing(self.open(place, runtime)) as clone:
                clone.fetch()

    def _mirrored(self) -> Process:
        """A copy of the server for readers, which is brought up to date now and then."""
        copied = -1
        while not self.is_over:
            if copied != self.server.repository.moves:
                self.mirror, copied = self.server.copy(), self.server.repository.moves
            yield self.rng.uniform(5, 45)

    def _squashed(self) -> Process:
        """Somebody rewrites the hub's history and keeps its files; each clone goes on from there, when it is told to."""
        there = self.server.repository
        old = there.ref(BRANCH) or ""
        tree, _, rest = there.objects.known(old).partition(b"\n")
        author = rest[rest.index(b"author ") : rest.index(b"\n\n")]
        self.rewritten.append(old)
        there.set_private_refs({BRANCH: there.objects.write("commit", tree + b"\n" + author + b"\n\nsquashed\n")})
        for place in self.places:
            self.events.start(Agent(self, "somebody", place).accept_rewrite(), self.rng.uniform(0, 60))
        yield from ()

    def _make_peace(self) -> None:
        """Everything works again, nothing is under way, and every clone writes three times; then nobody has anything to do."""
        self.is_over = True
        for faults in self.faults.values():
            faults.rate = faults.stale = faults.away_until_s = 0.0
        self.events.run(self.events.now_s + PEACE_S)
        agents = [Agent(self, "peace", place) for place in self.places]
        for _ in range(3):  # the second finds what the first one's push decides about the dead
            for agent in agents:
                self.events.start(agent.at_peace())
                self.events.run(self.events.now_s + 60)
        self.is_quiet = True
        for agent in agents:
            self.events.start(agent.at_rest())
            self.events.run(self.events.now_s + 60)

    def _lived(self) -> Lived:
        there = self.server.repository
        left = [
            f"{name}'s journal: {json.dumps(record.data())}"
            for name, place in self.places.items()
            for record in place.shared.records.values()
        ]
        left += [f"{name}'s lock is held" for name, place in self.places.items() if place.shared.holder is not None]
        kept = [
            place.repo.objects.known(commit).decode() + uid
            for place in self.places.values()
            for uid, commit in place.repo.refs(PREFIX).items()
        ]
        commits = history(there, there.ref(BRANCH) or "")
        known = {commit.oid for commit in commits}
        gone = [commit for old in self.rewritten for commit in history(there, old) if commit.oid not in known]
        return Lived(
            commits,
            self.told,
            gone=gone,
            backward=self.backward,
            peace=self.peace,
            kept="\n".join(kept),
            leftovers=left,
            intents=[ref.removeprefix("refs/bd/intents/") for ref in there.refs("refs/bd/intents/")],
            is_blind=any("unsided" in faults.met for faults in self.faults.values()),
            beats=[ref.removeprefix("refs/bd/claims/") for ref in there.refs("refs/bd/claims/")],
            idle=[*self.idle, *self._empty(commits)],
            claimed_s=self.claimed_s,
            beaten_s=self.beaten_s,
            stalls=self.stalls,
        )

    def _empty(self, commits: Sequence[Commit]) -> Iterator[str]:
        """Name the commits that change no file."""
        there = self.server.repository
        for older, newer in itertools.pairwise(commits):
            if not there.diff(older.oid, newer.oid):
                yield f"{newer.oid[:10]} ({newer.subject}) changes nothing"


class WatchedRemote(MemoryRemote):
    """A connection to the server that notes each move of the branch that is no fast-forward."""

    def __init__(self, fleet: History, repo: MemoryRepository) -> None:
        super().__init__(repo, fleet.server, BRANCH)
        self._fleet = fleet

    def push(self, *args: Any, **more: Any) -> PushAnswer:
        there = self._fleet.server.repository
        before = there.ref(BRANCH)
        answer = super().push(*args, **more)
        after = there.ref(BRANCH)
        if before and after and not there.is_ancestor(before, after):
            self._fleet.backward.append(f"from {before[:10]} to {after[:10]}")
        return answer


class WatchedConnection(Connection):
    """A clone's connection, with an eye on pushes that bring nothing, as their author could know."""

    def __init__(self, fleet: History, name: str, runtime: SimulatedRuntime) -> None:
        repo = fleet.places[name].repo
        behind = lambda: MemoryRemote(repo, fleet.mirror, BRANCH)  # noqa: E731
        super().__init__(WatchedRemote(fleet, repo), runtime, LINE, fleet.faults[name], BRANCH, behind=behind)
        self._fleet = fleet
        self._place = name
        # What the server has told this process that it took: refs and what they moved to.
        self._heard: set[tuple[str, str | None]] = set()

    def push(
        self,
        commit: str | None,
        base: str | None,
        sides: Sequence[SideRef] = (),
        *,
        exactly: bool = False,
        meanwhile: Callable[[], None] | None = None,
    ) -> PushAnswer:
        fleet, heard = self._fleet, self._heard
        moves = [*([(BRANCH, commit)] if commit else []), *((side.ref, side.new) for side in sides)]
        there = fleet.server.repository
        is_idle = all(there.ref(name) == new and (name, new) in heard for name, new in moves)
        if is_idle or fleet.is_quiet:
            fleet.idle.append(f"{self._place} pushed {moves} at {fleet.events.now_s:.0f} s, and there was nothing to do")
        answer = super().push(commit, base, sides, exactly=exactly, meanwhile=meanwhile)
        heard.update(move for move in moves if move[0] in answer.lines and answer.lines[move[0]].landed)
        return answer


class Agent:
    """One agent: a process at a time, on one clone that others may share."""

    def __init__(self, fleet: History, name: str, place: str) -> None:
        self._fleet = fleet
        self._rng = fleet.rng
        self._name = name
        self._place = place
        self._ahead_s = fleet.rng.choice([0.0, 0.0, 0.0, -600.0, 600.0])
        self._hub: Clone | None = None
        self._held: list[Held] = []

    # --- its life ---

    def live(self) -> Process:
        """Try something, wait, and try again, until enough attempts were made."""
        while self._fleet.claimed < self._fleet.attempts and not self._fleet.is_over:
            yield self._rng.expovariate(1 / self._fleet.rest_s)
            try:
                yield from self._next()
            except Died as death:
                self._die(death)
        yield from self._finish()

    def _next(self) -> Process:
        if self._rng.random() < self._fleet.rates.away:
            self._cut_off()
        kind = self._rng.choice(["create", "claim", "claim", "claim", "comment", "free"])
        if self._held and self._rng.random() < 0.4:
            yield from self._end(self._rng.choice(self._held))
        elif kind == "create" or not self._fleet.beads:
            mark = self._mark()
            yield from self._call("create", Create(**self._asked(beads=[{"title": f"Made {mark}", "expected": EXPECTED}])), mark)
        elif kind == "comment":
            bead, mark = self._rng.choice(self._fleet.beads), self._mark()
            yield from self._call("comment", Comment(**self._asked(ids=[bead], text=mark)), mark, bead)
        elif kind == "claim":
            yield from self._claim()
        else:
            yield from self._free_stalled()

    def _cut_off(self) -> None:
        """Nothing of the clone reaches the server for a while."""
        self._fleet.faults[self._place].away_until_s = self._fleet.events.now_s + self._rng.uniform(1, 5 * self._fleet.work_s)

    def _claim(self) -> Process:
        self._fleet.claimed += 1
        began_s = self._fleet.events.now_s
        hub = self._open()
        beat: dict[str, Any] = {}
        if self._rng.random() < 0.6 and hub.sides.usable():
            beat = {"heartbeat": {"interval_s": INTERVAL_S, "by": "ref"}}
        named = [self._rng.choice(self._fleet.beads[-5:])] if self._rng.random() < 0.3 else []
        if named and self._held:  # one that it has already, and another
            named = [*dict.fromkeys([self._held[0].bead, *named])]
        held_tokens = {held.bead: held.token for held in self._held}
        operation = Claim(**self._asked(agent=self._name, ids=named, next=not named, count=1, held_tokens=held_tokens, **beat))
        outcome = yield from self._call("claim", operation, words=("claim", *(named or ["--next"])))
        if outcome is None or outcome.change is None:
            return
        for token, bead_id in outcome.change.tokens:
            if token in held_tokens.values():
                continue
            self._fleet.granted += 1
            if token in operation.args["new_tokens"]:  # being handed one that a dead process had won is no sign of life
                self._fleet.claimed_s[token] = began_s
            held = Held(bead_id, token, bool(beat))
            self._held.append(held)
            yield from self._work(held)

    def _work(self, held: Held) -> Process:
        """Work for a while, with heartbeats or without; in some cases for so long that others free the bead."""
        rest_s = self._rng.expovariate(1 / self._fleet.work_s) * (5 if self._rng.random() < self._fleet.rates.silent else 1)
        is_silent = self._rng.random() < self._fleet.rates.silent
        while rest_s > 0:
            pause_s = min(rest_s, 30.0)
            yield pause_s
            rest_s -= pause_s
            if held.by_ref and not is_silent:
                began_s = self._fleet.events.now_s
                if (yield from self._tried(lambda hub: _has_beaten(hub, held.token))):
                    self._fleet.beaten_s.setdefault(held.token, []).append(began_s)

    def _end(self, held: Held, *, kind: str = "") -> Process:
        """End a claim, under its token; one that is lost is forgotten."""
        mark, kind = self._mark(), kind or self._rng.choice(["close", "close", "close", "release", "fail"])
        given: dict[str, Any] = self._asked(tokens={held.bead: held.token}, ids=[held.bead])
        operation = {
            "close": lambda: Close(**given, reason=mark),
            "release": lambda: Release(**given, reason=mark),
            "fail": lambda: Fail(**given, reason="crash", error=mark),
        }[kind]()
        yield from self._call(kind, operation, mark, held.bead)
        told = self._fleet.told[-1]
        if told.code in (0, 4, 5) or self._rng.random() < 0.3:
            self._held = [one for one in self._held if one != held]

    def _free_stalled(self) -> Process:
        found = yield from self._tried(lambda hub: (look(hub, f"agent:{self._name}").abandoned, not hub.sides.may_list()))
        seen_s = self._fleet.events.now_s  # looking has taken its time
        stalls, is_blind = found or ([], False)
        if stalls:
            limits_s = [SILENT_S if stall.why == "silent" else OVERDUE_S for stall in stalls]
            seen = [Seen(stall.token, seen_s, limit_s, is_blind) for stall, limit_s in zip(stalls, limits_s, strict=True)]
            self._fleet.stalls += seen
            yield from self._call("reassign", Reassign(**self._asked(stalls=[stall.as_dict() for stall in stalls])))

    def _finish(self) -> Process:
        """Nobody starts anything new: what is held is given back or closed."""
        for held in list(self._held):
            yield 5.0
            try:
                yield from self._end(held)
            except Died as death:
                self._die(death)

    def at_peace(self) -> Process:
        """One write that has to go well; and what idle agents do now and then: late heartbeats leave refs behind."""
        mark, begun_s = self._mark(), self._fleet.events.now_s
        operation = Create(**self._asked(beads=[{"title": f"Made {mark}"}]))
        told = yield from self._published("create", operation, mark, "", ("create",), begun_s, dies_before=None)
        self._fleet.told.pop()
        self._fleet.peace.append(told[0])
        yield from self._tried(lambda hub: sweep_claim_refs(hub, "agent:peace"))

    def at_rest(self) -> Process:
        """What those do who find nothing to do: look, sweep, publish what they have not published."""
        yield from self._tried(lambda hub: look(hub, "agent:peace"))
        yield from self._tried(lambda hub: sweep_claim_refs(hub, "agent:peace"))
        with suppress(BdError):  # a clone that can't write was named before
            yield from write(self._open(), self._runtime, None, LINE)

    def accept_rewrite(self) -> Process:
        """`bd sync --accept-rewrite`, once no other process of the clone is writing."""
        hub = self._open()
        while not hub.try_write(fetch=False):
            yield 1.0
        MemoryRemote(self._fleet.places[self._place].repo, self._fleet.server, BRANCH).fetch_objects([BRANCH])
        go_on_from(hub, self._fleet.server.repository.ref(BRANCH))
        hub.end_write()

    # --- its processes ---

    def _open(self) -> Clone:
        """The process that goes on, as a worker's, or a new one, as a command's."""
        if self._hub is not None and not self._fleet.is_over and self._rng.random() < 0.05:
            self._hub.close()
            self._hub = None
        if self._hub is None:
            fleet, place = self._fleet, self._fleet.places[self._place]
            self._runtime = SimulatedRuntime(fleet.events, fleet.rng, self._ahead_s)
            self._hub = fleet.open(place, self._runtime)
            self._hub.__dict__["remote"] = WatchedConnection(fleet, self._place, self._runtime)
        return self._hub

    def _die(self, death: Died) -> None:
        assert self._hub is not None
        self._hub.local.die()  # type: ignore[attr-defined]
        self._fleet.graveyard += [self._hub, *death.args]
        self._hub = None
        if self._rng.random() < 0.5:  # what it knew went with it
            self._held = []
        if self._rng.random() < 10 * self._fleet.rates.away:  # what has killed it has cut the clone off, too
            self._cut_off()

    def _tried(self, do: Any) -> Generator[float, None, Any]:
        """Something that may fail while the server is away; None then."""
        hub = self._open()
        try:
            found = do(hub)
        except BdError:
            found = None
        yield self._runtime.settle()
        return found

    def _call(
        self, kind: str, operation: Operation, mark: str = "", bead: str = "", words: tuple[str, ...] = ()
    ) -> Generator[float, None, Outcome | None]:
        """One command, and what its author was told."""
        dies = self._rng.random() < self._fleet.rates.dies and not self._fleet.is_over
        dies_before = int(self._rng.expovariate(1 / 5)) if dies else None
        begun_s = self._fleet.events.now_s
        _, outcome = yield from self._published(kind, operation, mark, bead, words or (kind,), begun_s, dies_before=dies_before)
        return outcome

    def _published(
        self,
        kind: str,
        operation: Operation,
        mark: str,
        bead: str,
        words: tuple[str, ...],
        begun_s: float,
        *,
        dies_before: int | None,
    ) -> Generator[float, None, tuple[Told, Outcome | None]]:
        fleet, hub = self._fleet, self._open()
        told: dict[str, Any] = {"number": len(fleet.told), "clone": self._place, "agent": self._name, "kind": kind}
        told |= {"words": words, "uids": (operation.uid,), "bead": bead, "mark": mark, "began": begun_s}
        code, out, outcome = 0, {}, None
        try:
            outcome = yield from write(hub, self._runtime, operation, LINE, dies_before=dies_before)
        except Died:
            fleet.told.append(Told(**told, code=137, out="", err="", ended=fleet.events.now_s))
            raise
        except BdError as error:
            code, out = error.exit_code, error.as_json()
        except Exception as error:
            code, out = 1, {"error": repr(error)}
        else:
            out = self._learned(outcome, mark)
            outcome.acknowledge()
        shown = json.dumps(out)
        fleet.told.append(
            Told(**told, code=code, out=shown, err=str(out.get("error", "")) if code else "", ended=fleet.events.now_s)
        )
        return fleet.told[-1], outcome

    def _learned(self, outcome: Outcome, mark: str) -> Any:
        """What the command prints: the claims that it was given, or its mark."""
        change = outcome.change
        if change is not None and change.tokens:
            return [{"id": bead_id, "claim": {"token": token}} for token, bead_id in change.tokens]
        if change is not None and not change.is_empty:
            self._fleet.beads += [name for name in change.touched if name not in self._fleet.beads]
        is_said = change is not None and not change.is_empty
        return {"published": outcome.published, "mark": mark if is_said else ""}

    def _mark(self) -> str:
        return f"m{self._rng.getrandbits(40):010x}"

    def _asked(self, **more: Any) -> dict[str, Any]:
        self._open()
        return asked(self._runtime, f"agent:{self._name}", **more)


def _has_beaten(hub: Clone, token: str) -> bool:
    """Send a heartbeat. False if the claim is lost, or others can't tell it from the one before."""
    before = hub.sides.last_beat(token)
    return heartbeats.beat(hub, token, INTERVAL_S, hub.runtime.now()) and hub.sides.last_beat(token) != before
