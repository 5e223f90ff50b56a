"""A factory at random: whatever agents, people and time do in whatever order, the rules hold and everything comes to an end."""

from __future__ import annotations

import contextlib
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from bd.core.costs import amount_of, attempts_of
from bd.core.errors import BdError
from bd.core.schema import agent_path
from bd.core.settings import merge
from bd.core.times import time_text
from bd.operations.claims import Claim, Release
from bd.operations.close import Cancel, Close, Reopen
from bd.operations.costs import Cost
from bd.operations.create import Create
from bd.operations.fail import DlqRetry, Fail
from bd.operations.heartbeat import Reassign
from bd.operations.human_wait import Answer, WaitHuman
from bd.operations.spawn import Spawn
from bd.operations.validate import Validate
from bd.policy import retry, status_changes
from bd.policy.budget import left_under
from bd.policy.dag import ancestors, is_under
from bd.policy.lifecycle import waits_for_human
from bd.policy.readiness import PHASES
from bd.policy.spending import PRESUMED
from bd.policy.work_queue import phases
from tests.clocks import START
from tests.memory import MemoryStore
from tests.operations.asking import by

if TYPE_CHECKING:
    from bd.core.model import Bead
    from bd.operations.base import Operation

AGENTS = ("coder", "reader")
CEILING = 6.0
SETTINGS = merge([])
picks = st.integers(0, 30)
kinds = st.sampled_from(["crash", "timeout", "budget_exceeded", "invalid_output", "lost"])


class Factory(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.now = START
        agents = {agent_path(name): {"name": name, "max_concurrent": 3} for name in AGENTS}
        self.store = MemoryStore(records=agents)

    def do(self, operation: Operation) -> None:
        """Publish an operation, or be refused; what it did has to be legal."""
        before = self.store.tip
        self.store.now = self.now
        with contextlib.suppress(BdError):
            change = self.store.publish(operation)
            for bead_id, after in change.beads.items():
                was = before.bead(bead_id)
                if was is not None and after is not None:
                    assert status_changes.is_legal(operation.verb, was.status, after.status), (
                        operation.verb,
                        was.status,
                        after.status,
                    )
                    assert after.attempts >= was.attempts

    def asked(self, agent: str = "coder", **tokens: str) -> dict[str, Any]:
        return by(agent, at=time_text(self.now, exact=True), **tokens)

    def held(self) -> list[Bead]:
        return [bead for bead in self.store.tip.every() if bead.claim]

    def pick(self, number: int, beads: list[Bead]) -> Bead | None:
        return sorted(beads, key=lambda bead: bead.id)[number % len(beads)] if beads else None

    def as_holder(self, bead: Bead) -> dict[str, Any]:
        assert bead.claim is not None
        return self.asked(bead.claim.agent, **{bead.id.replace("-", "_"): bead.claim.token})

    # --- what happens ---

    @initialize()
    def root(self) -> None:
        root = {"title": "The DAG", "id": "hub-root", "needs": ["nobody"], "budget_ceiling_usd": CEILING}
        self.do(Create(beads=[root], **self.asked()))

    @rule(after=st.lists(picks, max_size=2), most=st.sampled_from([0, 1, 2.5]), attempts=st.integers(1, 4), inside=st.booleans())
    def create(self, after: list[int], most: float, attempts: int, inside: bool) -> None:
        known = [bead for bead in self.store.tip.every() if bead.id != "hub-root"]
        if len(known) >= 12:
            return
        deps = {bead.id for number in after if (bead := self.pick(number, known))}
        spec = {"title": "Part", "id": f"hub-{len(known)}", "max_attempts": attempts, "spec": {"max_cost_usd": most}}
        self.do(Create(beads=[{**spec, "deps": sorted(deps), **({"parent": "hub-root"} if inside else {})}], **self.asked()))

    @rule(agent=st.sampled_from(AGENTS), count=st.integers(1, 3))
    def claim(self, agent: str, count: int) -> None:
        self.do(Claim(agent=agent, next=True, count=count, **self.asked(agent)))

    @rule(number=picks, part=st.floats(0, 1))
    def close(self, number: int, part: float) -> None:
        bead = self.pick(number, self.held())
        if bead is not None:
            cost = {"usd": round(part * amount_of(bead.get("claim").get("reserved_usd")), 2)}
            self.do(Close(ids=[bead.id], cost=cost, **self.as_holder(bead)))

    @rule(number=picks)
    def validate(self, number: int) -> None:
        bead = self.pick(number, self.held())
        if bead is not None:
            self.do(Validate(ids=[bead.id], **self.as_holder(bead)))

    @rule(number=picks, kind=kinds)
    def fail(self, number: int, kind: str) -> None:
        bead = self.pick(number, self.held())
        if bead is not None:
            self.do(Fail(ids=[bead.id], reason=kind, error="No.", jitter=0.5, **self.as_holder(bead)))

    @rule(number=picks)
    def release(self, number: int) -> None:
        bead = self.pick(number, self.held())
        if bead is not None:
            self.do(Release(ids=[bead.id], reason="broken", **self.as_holder(bead)))

    @rule(number=picks, wait=st.booleans())
    def spawn(self, number: int, wait: bool) -> None:
        bead = self.pick(number, self.held())
        known = len(list(self.store.tip.every()))
        if bead is not None and known < 16:
            new = {"title": "Subtask", "id": f"hub-{known}", "spec": {"max_cost_usd": 0.5}}
            self.do(Spawn(ids=[bead.id], new=new, wait=wait, **self.as_holder(bead)))

    @rule(number=picks)
    def ask(self, number: int) -> None:
        bead = self.pick(number, self.held())
        if bead is not None:
            self.do(WaitHuman(ids=[bead.id], reason="Which?", **self.as_holder(bead)))

    @rule(number=picks)
    def answer(self, number: int) -> None:
        bead = self.pick(number, self.asking())
        if bead is not None:
            self.do(Answer(ids=[bead.id], text="That.", **self.asked("ada")))

    def asking(self) -> list[Bead]:
        return [bead for bead in self.store.tip.every() if waits_for_human(bead)]

    @rule(number=picks)
    def stall(self, number: int) -> None:
        bead = self.pick(number, self.held())
        if bead is not None and bead.claim is not None:
            named = {
                "id": bead.id,
                "token": bead.claim.token,
                "attempt": bead.claim.attempt,
                "why": "silent",
                "text": "is silent",
            }
            self.do(Reassign(stalls=[{**named, "since": bead.claim.claimed_at}], jitter=0.5, **self.asked("overseer")))

    @rule(number=picks, part=st.floats(0.1, 0.5))
    def tell_cost(self, number: int, part: float) -> None:
        """While working, and of what stalled as long as its money is set aside."""
        bead = self.pick(number, self.held())
        if bead is not None and bead.get("claim").get("reserved_usd"):
            self.do(Cost(ids=[bead.id], usd=part * bead.get("claim")["reserved_usd"], **self.as_holder(bead)))
        for late in self.store.tip.wholes([bead.id for bead in self.store.tip.every()]):
            for entry in attempts_of(late.get("cost")):
                if entry.get("until", "") > time_text(self.now):
                    usd = part * entry["reserved_usd"]
                    self.do(Cost(ids=[late.id], usd=usd, attempt=entry["attempt"], **self.asked("overseer")))
                    return

    @rule(number=picks, how=st.sampled_from([DlqRetry, Cancel, Reopen]))
    def decide_by_hand(self, number: int, how: type[Operation]) -> None:
        bead = self.pick(number, [bead for bead in self.store.tip.every() if bead.id != "hub-root" and not bead.claim])
        if bead is not None and (how is not Reopen or bead.is_done):
            self.do(how(ids=[bead.id], **self.asked("ada")))

    @rule(minutes=st.sampled_from([1, 5, 60, 60 * 26]))
    def wait(self, minutes: int) -> None:
        self.now += timedelta(minutes=minutes)

    # --- what has to hold ---

    @invariant()
    def every_bead_is_in_one_phase(self) -> None:
        found = phases(self.store.tip, self.now)
        listed = [bead.id for beads in found.values() for bead in beads]
        assert set(found) == set(PHASES)
        assert sorted(listed) == sorted(bead.id for bead in self.store.tip.live())

    @invariant()
    def attempts_stay_within_their_limit(self) -> None:
        for bead in self.store.tip.every():
            assert bead.attempts_counted <= retry.limit_of(bead, SETTINGS), bead.id
            if bead.status == "open" and bead.id != "hub-root":
                assert bead.attempts_counted < retry.limit_of(bead, SETTINGS), "it can be tried once more"

    @invariant()
    def spent_and_reserved_stay_below_the_ceiling(self) -> None:
        root = self.store.tip.bead("hub-root")
        if root is not None:
            left = left_under(root, self.store.tip, self.now)
            assert left is not None
            assert left >= -1e-6

    def teardown(self) -> None:
        """Agents that go on until they get nothing more end all that can be ended."""
        self.now += PRESUMED * 2
        for bead in self.asking():
            self.do(Answer(ids=[bead.id], text="That.", **self.asked("ada")))
        for _ in range(200):
            for bead in self.held():
                self.do(Close(ids=[bead.id], **self.as_holder(bead)))
            for bead in self.held():  # what stands below a bead that was cancelled meanwhile waits for a person
                if {parent.status for parent in ancestors(bead, self.store.tip)} & {"cancelled", "dead_letter"}:
                    self.do(Release(ids=[bead.id], reason="parent ended", **self.as_holder(bead)))
            for agent in AGENTS:  # some may be kept for one of them
                self.claim(agent, 3)
            if not self.held():
                break
            self.now += timedelta(minutes=10)
        assert not self.held()
        left = phases(self.store.tip, self.now)
        assert not left["retrying"]
        short = {bead.id for bead in left["ready"]} - {"hub-root"}
        root = self.store.tip.bead("hub-root")
        remaining = left_under(root, self.store.tip, self.now) if root is not None else 0.0
        for bead_id in short:  # only money keeps what is ready from being done
            bead = self.store.bead(bead_id)
            assert is_under(bead.id, "hub-root", self.store.tip)
            assert amount_of(bead.get("spec")["max_cost_usd"]) > (remaining or 0.0) - 1e-6
        ended = {bead.id for bead in self.store.tip.every() if bead.status in ("cancelled", "dead_letter")}
        for bead in left["pending"]:
            above = {parent.id for parent in ancestors(bead, self.store.tip)}
            assert {*bead.depends_on, *above} & (ended | short | {one.id for one in left["pending"]}), bead.id


TestFactory = Factory.TestCase
TestFactory.settings = settings(max_examples=40, stateful_step_count=40, deadline=None)
