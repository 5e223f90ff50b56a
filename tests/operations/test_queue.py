"""The queue as a whole, on random graphs: every bead in one phase, and what is ready is what can be claimed."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bd.core.errors import BdError, NothingReady
from bd.core.settings import merge
from bd.operations.claims import Claim
from bd.operations.close import Close
from bd.policy.eligibility import Eligibility
from bd.policy.ranking import Ranking
from bd.policy.readiness import PHASES, Readiness
from bd.policy.work_queue import phases, ready_beads
from bd.report.selection import Wanted, lineup
from tests.clocks import START
from tests.memory import MemorySnapshot, MemoryStore, make_bead
from tests.operations.asking import by

if TYPE_CHECKING:
    from bd.core.model import Bead

pytestmark = pytest.mark.one_in(6)

PAST, FUTURE = "2026-02-21T14:00:00Z", "2026-02-22T00:00:00Z"
STATUSES = [
    "open",
    "open",
    "open",
    "open",
    "in_progress",
    "blocked",
    "deferred",
    "validating",
    "closed",
    "closed",
    "cancelled",
    "dead_letter",
    "pinned",
    "on_ice",
]


@st.composite
def graphs(draw: st.DrawFn, most: int = 200) -> list[Bead]:
    """Up to 200 beads of random status, dependencies, parents, links, deferrals, claims; circles and edges to nowhere too."""
    random = draw(st.randoms(use_true_random=False))
    count = draw(st.integers(0, most))
    density = draw(st.sampled_from([0.0, 0.3, 1.0, 2.0]))
    names = [f"hub-{number}" for number in range(count)]
    targets = [*names, "hub-gone"]

    def some(limit: float) -> list[str]:
        return list(dict.fromkeys(random.choices(targets, k=round(random.random() * limit)))) if names else []

    beads = []
    for name in names:
        fields: dict[str, Any] = {
            "status": random.choice(STATUSES),
            "type": random.choice(["task", "task", "bug", "epic", "gate"]),
            "priority": random.randrange(5),
            "created_at": f"2026-02-20T09:00:{random.randrange(60):02d}Z",
            "depends_on": some(2 * density) or None,
            "links": [{"type": random.choice(["related", "waits-for"]), "id": target} for target in some(density)] or None,
            "parent": random.choice(targets) if random.random() < 0.3 * density else None,
            "defer_until": random.choice([None, None, None, PAST, FUTURE]),
            "retry_at": random.choice([None, None, None, PAST, FUTURE]),
            "temperature": random.choice([None, None, None, 5, 60, 100]),
            "heated_at": PAST,
        }
        if fields["status"] == "in_progress" and random.random() < 0.7:
            fields["claim"] = {"agent": "other", "token": f"t-{name}", "attempt": 1, "claimed_at": PAST}
        beads.append(make_bead(name, **fields))
    return beads


def is_root(store: MemoryStore, bead_id: str) -> bool:
    """Return whether a bead is no work by itself: an epic with beads below it, which people and overseers close."""
    return store.bead(bead_id).type == "epic" and bool(store.tip.children_of(bead_id))


def test_what_is_asked_for_leaves_the_snapshot_as_it_was() -> None:
    """Rules and decisions write nothing: what a store keeps of beads is derived by the store."""

    class Observed(MemorySnapshot):
        def keep(self, kind: str, texts: object) -> None:
            raise AssertionError(f"{kind} is written")

    beads = [make_bead(f"hub-{number}") for number in range(3)]
    snapshot = Observed(beads, {})
    assert len(ready_beads(snapshot, START)) == 3
    assert [bead.id for bead in Eligibility(snapshot, "coder", START).beads()] == ["hub-0", "hub-1", "hub-2"]
    assert sum(map(len, phases(snapshot, START).values())) == 3
    for wanted in (Wanted(), Wanted(statuses=("ready",)), Wanted(statuses=("pending", "parked"))):
        list(lineup(snapshot, wanted, START, lambda: merge([])))


@settings(max_examples=25)
@given(graphs())
def test_every_bead_that_is_not_done_is_in_exactly_one_phase(beads: list[Bead]) -> None:
    store = MemoryStore(*beads)
    found = phases(store.tip, START)
    assert set(found) == set(PHASES)
    counted = Counter(bead.id for group in found.values() for bead in group)
    assert counted == Counter(bead.id for bead in beads if not bead.is_done)
    assert not found["completed"]
    assert not found["cancelled"]
    for phase, group in found.items():
        assert group == sorted(group, key=Ranking(store.tip, START).key)
        for bead in group:
            where = Readiness(store.tip, START).standing(bead)
            assert where.phase == Readiness(store.tip, START).phase(bead) == phase
            assert bool(where.reasons) == (phase != "ready"), "what is not ready has a reason, and only that"


@settings(max_examples=20)
@given(graphs())
def test_what_is_ready_is_what_can_be_claimed(beads: list[Bead]) -> None:
    """count --ready == ready == the claims that succeed, one after the other, with unlimited capacity; but for roots of plans."""
    store = MemoryStore(*beads)
    ready = [bead.id for bead in ready_beads(store.tip, START)]
    assert ready == [bead.id for bead in phases(store.tip, START)["ready"]]
    offered = [bead_id for bead_id in ready if not is_root(store, bead_id)]
    assert offered == [bead.id for bead in Eligibility(store.tip, "coder", START).beads()]
    claimed = []
    while True:
        try:
            claimed.append(store.publish(Claim(agent="coder", next=True, **by())).touched[0])
        except NothingReady:
            break
    assert claimed == offered, "each of them, in the order of work"


@settings(max_examples=20)
@given(graphs(most=60))
def test_a_named_claim_succeeds_exactly_when_the_bead_is_ready(beads: list[Bead]) -> None:
    store = MemoryStore(*beads)
    for bead in beads:
        try:
            store.decide(Claim(agent="coder", ids=[bead.id], **by()))
            taken = True
        except BdError:
            taken = False
        assert taken == (Readiness(store.tip, START).phase(bead) == "ready"), bead.id


@settings(max_examples=20)
@given(graphs(most=60))
def test_what_a_close_says_it_freed_is_what_it_freed(beads: list[Bead]) -> None:
    """Every bead that became ready by one close was waiting for it: none is freed unseen, none is promised falsely."""
    store = MemoryStore(*beads)
    before = {bead.id for bead in ready_beads(store.tip, START)}
    for bead_id in sorted(before)[:5]:
        change = store.decide(Close(ids=[bead_id], force=True, **by()))
        after = store.tip.after(change)
        freed = {bead.id for bead in ready_beads(after, START)} - before
        assert set(change.result["unblocked"]) <= freed
        waiting = {bead.id for bead in store.tip.dependents_of(bead_id)}
        assert freed & waiting == set(change.result["unblocked"])


@settings(max_examples=15)
@given(graphs(most=80))
def test_working_everything_off_ends(beads: list[Bead]) -> None:
    """Claim and close until nothing is ready: each bead is worked once, and never before what it waits for."""
    store = MemoryStore(*beads)
    done: list[str] = []
    while True:
        try:
            change = store.publish(Claim(agent="coder", next=True, **by()))
        except NothingReady:
            break
        ((token, bead_id),) = change.tokens
        for target in store.bead(bead_id).depends_on:
            assert store.bead(target).status in ("closed", "pinned")
        store.publish(Close(ids=[bead_id], force=True, **{**by(), "tokens": {bead_id: token}}))
        done.append(bead_id)
    assert len(set(done)) == len(done)
    assert all(is_root(store, bead.id) for bead in ready_beads(store.tip, START))
