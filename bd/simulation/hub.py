"""The hub of a simulation: a server in memory, what its clones share, and what a run sees of it."""

from __future__ import annotations

from contextlib import closing
from datetime import timedelta

from bd import TYPE_CHECKING
from bd.core.model import Bead, Snapshot
from bd.core.schema import AGENT_FIELDS, agent_path
from bd.core.times import instant_of
from bd.operations.base import asked
from bd.operations.init import Init
from bd.policy.readiness import next_turn
from bd.simulation.beats import Beats
from bd.simulation.clone import SimulatedClone
from bd.simulation.connection import Faults, Line
from bd.simulation.loop import Events
from bd.simulation.machine import START
from bd.simulation.tally import Tally
from bd.store.cache.shared import Commits
from bd.store.contract import PUBLISHED, VIEW, Draft
from bd.store.memory.server import MemoryServer
from bd.store.yaml import editor

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator, Mapping
    from typing import Any

    from bd.core.settings import Settings
    from bd.simulation.scenario import Scenario
    from bd.store.cache.shared import Parsed

BRANCH = "refs/heads/main"
_FOUNDER = "human:simulation"


class Hub:
    """The hub's server as it is now, whoever knows it."""

    def __init__(self, scenario: Scenario, rng: random.Random) -> None:
        self.events = Events()
        self.ends_s = scenario.duration_s
        self.rng = rng
        self.line = Line(scenario.fetch_s, scenario.push_s)
        self.faults = Faults()
        self.server = MemoryServer()
        self.commits = Commits()
        self.tally = Tally(max(1, round(scenario.duration_s / 60)))
        self.beats = Beats(self, scenario.heartbeat_s)
        self.settings: Mapping[str, Any] = scenario.local_settings
        self.config: Mapping[str, Any] = {}
        self.merged: Settings | None = None
        # What the agents say of themselves; the tips that pushes have moved the branch from, not counted yet.
        self.heard: dict[str, dict[str, Any]] = {}
        self.heard_at = "1970-01-01T00:00:00Z"
        self._apart = scenario.apart
        self._moves: list[tuple[float, str, str]] = []
        self._turns: tuple[str, float] = ("", 0.0)
        self._nothing: dict[str, tuple[str, float]] = {}
        self._found(scenario)

    def _found(self, scenario: Scenario) -> None:
        """Make the hub, its agents' files, and what is there at the start; nothing of it is counted, or takes time."""
        with closing(SimulatedClone(self)) as clone:
            fields = dict(scenario.hub_settings)
            clone.create_hub(Init(**asked(clone.virtual, _FOUNDER, prefix="sim", fields=fields, ignored=[])))
            if scenario.takes_side_refs:
                clone.sides.probe(clone.virtual.now())
            else:
                clone.sides.give_up("the server takes no side refs", clone.virtual.now())
            files = {
                agent_path(name): editor.document(file, AGENT_FIELDS).encode() for name, file in scenario.agent_files.items()
            }
            if files:
                draft = Draft("agents of the simulation", "simulation <simulation@bd>", int(START.timestamp()), dict(files))
                [commit] = self.server.repository.write_commits(self.tip, [draft])
                self.server.repository.update_refs([(BRANCH, commit, None)])
            clone.virtual.settle()
        self.reset()

    def reset(self) -> None:
        """Count from here."""
        self.count()
        before, self.tally = self.tally, Tally(len(self.tally.by_minute))
        self.tally.arrived, self.tally.histories = before.arrived, before.histories
        self.tally.ready_at_s = dict.fromkeys(before.ready_at_s, 0.0)

    @property
    def tip(self) -> str:
        """The branch's tip; empty before there is a hub."""
        return self.server.repository.ref(BRANCH) or ""

    def clone(self, *, takes_side_refs: bool = True) -> SimulatedClone:
        """Open another clone, which has fetched the hub as it is now."""
        made = SimulatedClone(self)
        self.show(made)
        if takes_side_refs:
            made.sides.take_word(made.virtual.now())
        else:
            made.sides.give_up("the server takes no side refs", made.virtual.now())
        return made

    def show(self, clone: SimulatedClone) -> None:
        """Bring a clone to the hub as it is now, as a fetch would."""
        clone.repo.set_private_refs({PUBLISHED: self.tip, VIEW: self.tip})

    # --- what pushes change ---

    def moved(self, before: str) -> None:
        """A push has moved the branch."""
        self._moves.append((self.events.now_s, before, self.tip))

    def count(self) -> None:
        """Count what the pushes so far have changed. Late, for the clone that made a commit knows its files best."""
        moves, self._moves = self._moves, []
        repo = self.server.repository
        for at_s, before, after in moves:
            old = self.commits.at(repo, before) if before else None
            new = self.commits.at(repo, after)
            changed = new.beads.differing(old.beads) if old else set(new.beads)
            for bead_id in sorted(changed):
                kept, was = new.one(bead_id), old.one(bead_id) if old else None
                if kept is not None:
                    retry_at = kept.fields.get("retry_at")
                    retry_s = (instant_of(retry_at) - START).total_seconds() if retry_at else 0.0
                    self.tally.seen(at_s, bead_id, was.fields if was else None, kept.fields, retry_s)
        if moves:
            self.commits.forget_old()

    # --- what members of a group share ---

    def is_shared(self, group: str) -> bool:
        """Return whether the members of a group get the same answer: no bead is meant for one of them alone."""
        return group not in self._apart

    def knows_nothing(self, group: str) -> bool:
        """Return whether a member of this group has found nothing at this very tip, and time alone has changed nothing since."""
        tip, until_s = self._nothing.get(group, ("", 0.0))
        return tip == self.tip and self.events.now_s < until_s

    def found_nothing(self, group: str, tip: str) -> None:
        """Note that a member of a group has found nothing at a tip."""
        self._nothing[group] = tip, self.next_turn_s(tip)

    def next_turn_s(self, tip: str) -> float:
        """Return when time alone next changes what is ready at a tip; infinite if it does not."""
        known, until_s = self._turns
        if known == tip and self.events.now_s < until_s:
            return until_s
        turn = next_turn(_Waiting(self.commits.at(self.server.repository, tip)), START + timedelta(seconds=self.events.now_s))
        self._turns = tip, (turn - START).total_seconds() if turn is not None else float("inf")
        return self._turns[1]


class _Waiting(Snapshot):
    """Only the beads that wait: time alone changes no others."""

    def __init__(self, parsed: Parsed) -> None:
        self._parsed = parsed

    def live(self) -> Iterator[Bead]:
        return (Bead(kept.head) for kept in self._parsed.waiting.values())
