"""A simulated agent: it decides as `bd work` does, by the worker's own decisions, and works on simulated jobs.

Belongs here: what carries out the decisions on the virtual clock. Does not belong here: a decision (bd/worker/decisions.py,
bd/policy/pacing.py), or a step of a write (bd/store/transaction).
"""

from __future__ import annotations

import math

from bd import TYPE_CHECKING
from bd.core.errors import NothingReady, ServerRefused, TryAgain
from bd.core.times import time_text
from bd.operations.base import asked
from bd.operations.claims import Claim
from bd.operations.close import Close
from bd.operations.fail import Fail
from bd.operations.work_stealing import Rebalance
from bd.policy import stealing
from bd.policy.eligibility import Eligibility
from bd.policy.liveness import RECORD_EVERY_S
from bd.policy.pacing import Pace, after_none, peek_pause_s
from bd.policy.roles import interval_of
from bd.simulation.clone import FETCH, LISTED
from bd.worker import decisions
from bd.worker.decisions import Standing
from bd.worker.fleet_state import look
from bd.worker.heartbeats import is_news
from bd.worker.job import Command
from bd.worker.options import Plan
from bd.worker.stall_recovery import freeing

if TYPE_CHECKING:
    from collections.abc import Generator
    from typing import Any

    from bd.core.errors import BdError
    from bd.core.operation import Operation
    from bd.simulation.clone import Told
    from bd.simulation.hub import Hub
    from bd.simulation.jobs import Job, Jobs
    from bd.simulation.scenario import Group, Scenario

    Process = Generator[float, None, None]


class Agent:
    """One agent in a clone of its own."""

    def __init__(self, hub: Hub, scenario: Scenario, group: Group, name: str, jobs: Jobs) -> None:
        self.name = name
        self.group = group
        self._hub = hub
        self._scenario = scenario
        self._make_job = jobs
        self.clone = hub.clone(takes_side_refs=scenario.takes_side_refs)
        self._interval_s = group.interval_s if group.interval_s is not None else interval_of(group.file)
        self._pace = Pace(self._interval_s)
        self._plan = Plan(name, Command((), ""), once=group.cron, jobs=group.jobs, interval_s=group.interval_s)
        self._standing = Standing(0.0)
        self._jobs: list[Job] = []
        self._seen_tip = ""  # at the last look that found nothing
        self._peeks = 0
        self._longest_peek_s = self._interval_s
        self._idle_s: float | None = None  # since when it has nothing to do
        self.is_draining = self.is_gone = self._is_dead = False

    # --- its life ---

    @property
    def is_busy(self) -> bool:
        """Whether it holds a bead."""
        return bool(self._jobs)

    @property
    def has_room(self) -> bool:
        """Whether it could work on another bead."""
        return not self._is_dead and len(self._jobs) < self.group.jobs

    @property
    def active_s(self) -> float:
        """When it was last at work."""
        return self._now_s if self._jobs else self._standing.idle_since_s

    def live(self, starts_s: float | None = None) -> Process:
        """Work for ever; agents of a fleet that has run before start at any time of their interval."""
        yield from self._live(self._scenario.starts_s if starts_s is None else starts_s)
        self.is_gone = True

    def attend(self, token: str, bead_id: str, commit: str) -> Process:
        """Work on one bead that a dispatcher has claimed for this agent."""
        self.begin(token, bead_id, commit)
        [job] = [job for job in self._jobs if job.token == token]
        yield job.ends_s - self._now_s
        if job not in self._jobs:  # the agent has died at another bead
            return
        try:
            yield from self._finish(job, may_go_on=False)
        except _Died as death:
            self._is_dead = True
            if death.back_s is not None:
                yield death.back_s
                self._is_dead = False

    def _live(self, starts_s: float | None) -> Process:
        usual_s = (
            self._interval_s if self.group.cron or not self._scenario.peek_s else min(self._interval_s, self._scenario.peek_s)
        )
        first_s = self._hub.rng.random() * (usual_s if starts_s is None else starts_s)
        yield first_s
        while not self.is_draining:
            try:
                yield from self.work()
            except _Died as death:
                if death.back_s is None:
                    return
                yield death.back_s
                continue
            if self.group.cron:
                yield from self._until_cron(first_s)

    def work(self) -> Process:
        """Be one `bd work`, until it has nothing to stay for."""
        self._standing = Standing(self._now_s)
        self.clone.virtual.settle()
        while True:
            for job in [job for job in self._jobs if job.ends_s <= self._now_s]:
                yield from self._finish(job)
            if decisions.is_due(self._now(), self._plan, self._now_s):
                yield from self._cycle()
            if decisions.is_done(self._now(), self._plan, self._now_s):
                return
            yield from self._wait()

    @property
    def _now_s(self) -> float:
        return self._hub.events.now_s

    def _now(self) -> Standing:
        self._standing = self._standing.replace(running=len(self._jobs), is_draining=self.is_draining)
        return self._standing

    def _until_cron(self, first_s: float) -> Process:
        """Wait for the next start by the clock."""
        start = math.floor((self._now_s - first_s) / self._interval_s) + 1
        yield max(0.0, first_s + start * self._interval_s - self._now_s)

    def _wait(self) -> Process:
        """Wait for the end of a job, for the next look, or for a peek that shows that the hub has moved."""
        standing = self._now()
        limits_s = [max(0.0, job.ends_s - self._now_s) for job in self._jobs]
        peek_s = self._next_peek_s() if decisions.may_peek(standing, self._plan) else math.inf
        yield decisions.pause_s(standing, self._plan, self._now_s, limits_s, peek_s)
        if any(job.ends_s <= self._now_s for job in self._jobs) or not decisions.may_peek(self._standing, self._plan):
            return
        if self._scenario.peek_s:
            yield from self._list()
            if self._hub.tip != self._seen_tip:
                self._standing = self._standing.woken()

    def _next_peek_s(self) -> float:
        if not self._scenario.peek_s:
            return math.inf
        self._peeks += 1
        return peek_pause_s(self._scenario.peek_s, self._peeks - 1, self._longest_peek_s, self._hub.rng.random())

    # --- looking for work ---

    def _cycle(self) -> Process:
        """Look once: free stalled claims, and claim the best bead that fits; or find out when to look again."""
        rest_s, has_stalls = yield from self._look()
        if not self._may_claim(has_stalls=has_stalls):
            self._standing = self._standing.replace(nothing=NothingReady(f"{self.name} is not due"))
            return
        self._hub.tally.looks += 1
        self._hub.tally.spent_usd += self.group.usd_per_look
        if self._hub.knows_nothing(self.group.name):
            yield from self._pass(1)  # a claim that finds nothing fetches again before it says so
            if self._hub.knows_nothing(self.group.name):
                yield from self._found_nothing(self._hub.tip, rest_s, NothingReady(f"nothing fits {self.name}"))
                return
        told = yield from self._claimed_or_stolen()
        if isinstance(told.error, NothingReady):
            tip = self.clone.view()
            snapshot = self.clone.snapshot(tip)
            if Eligibility(snapshot, self.name, self.clone.virtual.now()).idle() is None and self._hub.is_shared(self.group.name):
                self._hub.found_nothing(self.group.name, tip)
            yield from self._found_nothing(tip, rest_s, told.error)
        elif told.error is not None:
            self._standing = self._standing.failed_to_look(told.error, self._now_s)
        else:
            self._standing = self._standing.found_work()
            self._begin(told)

    def _claimed_or_stolen(self) -> Generator[float, None, Told]:
        """Claim the best bead; if there is none, one that it takes over from an overloaded agent, where the hub allows that."""
        claim = self._asked(next=True, count=1, **self.claim_args())
        told = yield from self.clone.tried(Claim(**claim))
        if not isinstance(told.error, NothingReady) or not self._may_take():
            return told
        taken = yield from self.clone.tried(Rebalance(**self._asked(to=self.name)))
        if taken.outcome is None or taken.outcome.change is None or not taken.outcome.change.touched:
            return told
        return (yield from self.clone.tried(Claim(**self._asked(next=True, count=1, **self.claim_args()))))

    def _may_claim(self, *, has_stalls: bool) -> bool:
        """Whether it goes on after a look: one that is started by cron may not be due."""
        now, tip = self.clone.virtual.now(), self._hub.tip
        return decisions.may_claim(
            self._now(),
            self._plan,
            is_idle_for_a_reason=self.group.cron and Eligibility(self.clone.snapshot(tip), self.name, now).idle() is not None,
            is_due_by_pace=self._pace.is_due(now),
            has_moved=tip != self._seen_tip,
            has_stalls=has_stalls,
        )

    def _may_take(self) -> bool:
        return bool(stealing.moves_on_poll(self.name, self.clone.snapshot(), self.clone.virtual.now()))

    def _look(self) -> Generator[float, None, tuple[float | None, bool]]:
        """Fetch heartbeats and the hub; free what has stalled. Return when a claim may stall, if one may, and whether some have.

        As long as every holder lives and sends heartbeats, an observation finds nothing: then it is only counted.
        """
        if not self._hub.tally.died_at_s and self._hub.beats.every_s:
            yield from self._list()
            yield from self._fetch()
            return None, False
        view = look(self.clone, f"agent:{self.name}")
        yield self.clone.virtual.settle()
        stalls = view.abandoned if view.settings.recover else []
        if stalls:
            yield from self.clone.tried(freeing(stalls, f"agent:{self.name}", self.clone.virtual))
        return view.rest_s(), bool(stalls)

    def claim_args(self) -> dict[str, Any]:
        """Return the arguments of a claim for it."""
        every_s = self._hub.beats.every_s
        beat = {"heartbeat": {"interval_s": every_s, "by": "ref"}} if every_s else {}
        return {"agent": self.name, "host": "simulated", **beat}

    def _asked(self, **more: Any) -> dict[str, Any]:
        return asked(self.clone.virtual, f"agent:{self.name}", **more)

    def _found_nothing(self, tip: str, rest_s: float | None, why: BdError) -> Process:
        self._hub.tally.empty_looks += 1
        now_s = self._now_s
        self._seen_tip = tip
        if self._jobs:
            self._standing = self._standing.found_nothing(why, tip, now_s + self._interval_s)
            return
        if self._idle_s is None:
            self._idle_s = now_s
        now = self.clone.virtual.now()
        self._pace = self._pace_after(tip)
        turn_s = self._hub.next_turn_s(tip)
        until_turn_s = turn_s - now_s + self._hub.rng.random() if turn_s < math.inf else None
        wait_s = decisions.next_look_in_s(self._pace.wait_s(now), rest_s, until_turn_s, decisions.account_wait_s(why))
        self._standing = self._standing.found_nothing(why, tip, now_s + wait_s)
        yield from self._tell()

    def _pace_after(self, tip: str) -> Pace:
        """Return the pace after a look that found nothing; one of an agent that could have taken nothing is no empty cycle."""
        now, spread = self.clone.virtual.now(), self._hub.rng.random()
        if not self._scenario.holds_back:  # then nothing that it did can be the reason
            return self._pace.found_nothing(now, spread)
        return after_none(self._pace, Eligibility(self.clone.snapshot(tip), self.name, now), now, spread)

    def _begin(self, told: Told) -> None:
        """Start the work on what was claimed."""
        outcome = told.outcome
        if outcome is None or outcome.change is None:
            return
        self._pace = self._pace.found_work(self.clone.virtual.now())
        self._peeks = 0
        self._longest_peek_s = self._pace.base_s
        for token, bead_id in outcome.change.tokens:
            self.begin(token, bead_id, outcome.commit)
        outcome.acknowledge()

    def begin(self, token: str, bead_id: str, commit: str) -> None:
        """Work on one claimed bead."""
        if self._idle_s is not None:
            self._hub.tally.idles_s.append(self._now_s - self._idle_s)
            self._idle_s = None
        bead = self.clone.snapshot(commit).bead(bead_id)
        job = self._make_job(self.group, bead_id, token, bead.fields if bead is not None else {}, self._now_s)
        self._jobs.append(job)
        self._hub.events.start(self._tell_at_work(job), after_s=RECORD_EVERY_S)
        self._hub.tally.begin_work(token, self._now_s)
        self._standing = self._standing.begun(self._now_s)
        self._hub.beats.begin(token, self.clone, job.dies_s if job.dies_s is not None else job.ends_s)

    # --- the end of an attempt ---

    def _finish(self, job: Job, *, may_go_on: bool = True) -> Process:
        """Record the outcome: close and claim the next in one commit, or fail."""
        self._hub.tally.end_work(job.token, self._now_s)
        self._hub.tally.spent_usd += job.usd
        if job.dies_s is not None:
            self._die(job)
        self._hub.beats.end(job.token)
        given = self._asked(tokens={job.bead: job.token}, ids=[job.bead])
        self._jobs.remove(job)
        self._standing = self._standing.ended(self._now_s)
        if job.failure:
            cost: dict[str, Any] = {"cost_usd": job.usd} if job.usd else {}
            operation: Operation = Fail(**given, reason=job.failure, error="simulated", duration_s=int(job.took_s), **cost)
        else:
            paid: dict[str, Any] = {"cost": {"usd": job.usd}} if job.usd else {}
            goes_on = may_go_on and decisions.wants_more(self._now(), self._plan) and not job.rests_s
            following: dict[str, Any] = {"next": self.claim_args()} if goes_on else {}
            operation = Close(**given, reason="Done", **paid, **following)
        told = yield from self._persistently(operation)
        if told.outcome is not None and told.outcome.change is not None and told.outcome.change.tokens:
            self._begin(told)
        elif told.error is None and not job.failure:
            self._standing = self._standing.found_work(rests_until_s=self._now_s + job.rests_s)

    def _die(self, job: Job) -> None:
        """The agent is killed: what it holds is freed by others."""
        for one in self._jobs:
            self._hub.tally.end_work(one.token, self._now_s)
            self._hub.beats.end(one.token)
            self._hub.tally.died_at_s[one.token] = self._now_s
        self._jobs = []
        self.clone.local.die()  # type: ignore[attr-defined]
        raise _Died(self.group.back_s)

    # --- writing ---

    def _persistently(self, operation: Operation) -> Generator[float, None, Told]:
        """Publish the end of a claim, again if the hub does not take it."""
        tried = 0
        while True:
            told = yield from self.clone.tried(operation)
            if not isinstance(told.error, TryAgain | ServerRefused):
                return told
            pause_s = decisions.pause_before_try_s(tried, self._now(), told.error)
            if pause_s is None:
                return told
            yield pause_s
            tried += 1

    def _fetch(self) -> Process:
        """Fetch, unless it is known that the hub has nothing for this agent. A claim soon after it trusts what this has brought."""
        if self._hub.knows_nothing(self.group.name):
            yield from self._pass(1)
            return
        virtual, lead_s = self.clone.virtual, self.clone.route.lead_s(FETCH)
        yield lead_s
        virtual.lead_s = lead_s
        self.clone.fetch()
        yield virtual.settle()

    def _list(self) -> Process:
        """Let the time of a listing of refs pass."""
        yield from self._pass(LISTED)

    def _pass(self, part: float) -> Process:
        """Let the time of a request pass whose answer is known; `part` is its part of a fetch's time."""
        self._hub.tally.reads += 1
        yield part * self._hub.line.fetch_s * self._hub.rng.uniform(0.8, 1.2)

    # --- the agent's own record ---

    def _tell_at_work(self, job: Job) -> Process:
        """Send the record again and again for as long as a job takes: it shows that the agent is alive."""
        while job in self._jobs:
            yield from self._tell()
            yield RECORD_EVERY_S

    def _tell(self) -> Process:
        """Send the agent's record, if it is news."""
        if not self._hub.beats.every_s:
            return
        yield from self._list()
        now, idle_since = self.clone.virtual.now(), self._pace.idle_since
        record = {
            "agent": self.name,
            "last_heartbeat": time_text(now),
            "interval_s": self._pace.interval_s,
            "idle": idle_since is not None,
            "idle_since": idle_since,
        }
        if not is_news(record, self._hub.heard.get(self.name), now):
            return
        self._hub.heard[self.name] = record
        self._hub.heard_at = time_text(now)
        self._hub.tally.count_sign(self._now_s)
        yield self._hub.line.push_s * self._hub.rng.uniform(0.8, 1.2)


class _Died(Exception):
    """The agent is dead, and back after so long; None: never."""

    def __init__(self, back_s: float | None) -> None:
        super().__init__()
        self.back_s = back_s
