"""What an attempt cost, told while it goes on, as it ends, and late; and claims that keep within the money there is."""

from __future__ import annotations

from typing import Any

import pytest

from bd.core.errors import BadInput, DoesNotFit, NothingReady, StaleToken
from bd.core.schema import agent_path, capacity_path
from bd.operations.claims import Claim
from bd.operations.close import Close
from bd.operations.costs import Cost
from bd.operations.fail import Fail
from bd.operations.heartbeat import Reassign
from bd.policy import budget
from tests.memory import MemoryStore, held, make_bead
from tests.operations.asking import by


def store(*beads: Any, **agent: Any) -> MemoryStore:
    return MemoryStore(*beads, records={agent_path("coder"): {"name": "coder", "max_concurrent": 9, **agent}})


def left(hub: MemoryStore) -> float | None:
    return budget.remaining("coder", hub.tip, hub.now)


def test_a_claim_reserves_and_its_end_pays() -> None:
    hub = store(make_bead("hub-a", spec={"max_cost_usd": 2}), budget_usd=5)
    token = hub.publish(Claim(agent="coder", ids=["hub-a"], **by())).tokens[0][0]
    assert hub.bead("hub-a").get("claim")["reserved_usd"] == 2
    assert left(hub) == 3
    hub.publish(Cost(ids=["hub-a"], usd=0.5, token_counts={"input": 9}, model="m", **by(hub_a=token)))
    assert left(hub) == 3
    hub.publish(Close(ids=["hub-a"], cost={"usd": 0.75}, **by(hub_a=token)))
    assert left(hub) == 4.25
    assert hub.tip.record(capacity_path("coder"))["budget_remaining_usd"] == 4.25
    cost = hub.bead("hub-a").get("cost")
    assert (cost["usd"], cost["attempts"][0]["usd"], cost["attempts"][0]["agent"]) == (0.75, 0.75, "coder")


def test_a_failed_attempt_is_paid_for_too() -> None:
    hub = store(held("hub-a", claim={"reserved_usd": 2}), budget_usd=5)
    hub.publish(Cost(ids=["hub-a"], usd=0.5, **by(hub_a="01TOKEN")))
    hub.publish(Fail(ids=["hub-a"], reason="crash", error="It broke.", cost_usd=0.25, **by(hub_a="01TOKEN")))
    assert hub.bead("hub-a").get("failures")[0]["cost_usd"] == 0.5, "what was told before is part of it"
    assert left(hub) == 4.5


def test_a_stalled_attempt_counts_with_what_it_reserved() -> None:
    hub = store(held("hub-a", claim={"reserved_usd": 2}), budget_usd=5)
    since = hub.bead("hub-a").get("claim")["claimed_at"]
    stall = {"id": "hub-a", "token": "01TOKEN", "attempt": 1, "why": "silent", "text": "is silent", "since": since}
    hub.publish(Reassign(stalls=[stall], **by("other")))
    assert left(hub) == 3
    hub.publish(Cost(ids=["hub-a"], usd=0.5, **by("coder")))
    assert left(hub) == 4.5, "its cost was told late"
    assert hub.bead("hub-a").get("cost")["attempts"][0]["agent"] == "coder"


def test_the_next_is_the_best_that_can_be_paid() -> None:
    hub = store(
        make_bead("hub-a", priority=1, spec={"max_cost_usd": 9}), make_bead("hub-b", spec={"max_cost_usd": 4}), budget_usd=5
    )
    assert hub.decide(Claim(agent="coder", next=True, **by())).touched == ("hub-b",)
    with pytest.raises(DoesNotFit, match=r"hub-a may cost \$9.00, and coder has \$5.00 left of \$5") as refused:
        hub.decide(Claim(agent="coder", ids=["hub-a"], **by()))
    assert refused.value.data["reason"] == "budget"
    with pytest.raises(DoesNotFit):
        hub.decide(Claim(agent="coder", ids=["hub-a"], force=True, **by()))


def test_one_claim_of_many_spends_no_more_than_there_is() -> None:
    beads = [make_bead(f"hub-{n}", parent="hub-r", spec={"max_cost_usd": 2}) for n in range(4)]
    root = make_bead("hub-r", status="blocked", budget_ceiling_usd=5)
    part = [bead.evolve(parent=None) for bead in beads]
    assert len(store(*part, budget_usd=5).decide(Claim(agent="coder", next=True, count=4, **by())).touched) == 2
    free = root.evolve(status="in_progress")
    assert len(store(free, *beads).decide(Claim(agent="coder", next=True, count=4, **by())).touched) == 2
    named = store(free, *beads).decide(Claim(agent="coder", ids=[bead.id for bead in beads], **by()))
    assert len(named.touched) == 2
    assert {failure["reason"] for failure in named.failures} == {"ceiling"}


def test_two_that_claim_at_once_do_not_overspend() -> None:
    root = make_bead("hub-r", status="in_progress", budget_ceiling_usd=3)
    hub = store(root, *(make_bead(f"hub-{n}", parent="hub-r", spec={"max_cost_usd": 2}) for n in range(2)))
    rival = Claim(agent="reader", next=True, **by("reader"))
    with pytest.raises(NothingReady):
        hub.publish(Claim(agent="coder", next=True, **by()), overtaken_by=lambda: hub.publish(rival))
    assert hub.bead("hub-0").get("claim")["agent"] == "reader"


def test_a_report_counts_once() -> None:
    hub = store(held("hub-a"))
    report = Cost(ids=["hub-a"], usd=0.5, **by(hub_a="01TOKEN"))
    hub.publish(report)
    assert hub.decide(report).is_empty
    hub.publish(Cost(ids=["hub-a"], usd=0.5, **by(hub_a="01TOKEN")))
    assert hub.bead("hub-a").get("cost")["usd"] == 1


def test_who_may_tell_a_cost() -> None:
    hub = store(held("hub-a", attempts=2, claim={"attempt": 2}), make_bead("hub-b"))
    for attempt in (None, 2):
        with pytest.raises(StaleToken, match="held by coder"):
            hub.decide(Cost(ids=["hub-a"], usd=1, attempt=attempt, **by("other")))
    hub.publish(Cost(ids=["hub-a"], usd=1, attempt=1, **by("other")))
    assert hub.bead("hub-a").get("cost")["attempts"] == [
        {
            "attempt": 1,
            "agent": "other",
            "at": "2026-02-21T15:00:00Z",
            "usd": 1.0,
            "reports": hub.bead("hub-a").get("cost")["attempts"][0]["reports"],
        }
    ]
    for bead_id, attempt in (("hub-a", 3), ("hub-b", None)):
        with pytest.raises(BadInput):
            hub.decide(Cost(ids=[bead_id], usd=1, attempt=attempt, **by("other")))
    with pytest.raises(BadInput, match="the cost is missing"):
        hub.decide(Cost(ids=["hub-a"], **by("other")))
