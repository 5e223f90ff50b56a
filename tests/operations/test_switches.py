"""Pausing the fleet, and telling one agent whether to take work."""

from __future__ import annotations

from typing import Any

import pytest

from bd.core.errors import AgentBusy, BadInput, NoSuchAgent, WrongState
from bd.core.schema import agent_path, capacity_path
from bd.operations.claims import Claim
from bd.operations.close import Close
from bd.operations.switches import Pause, Resume, SetDuty
from tests.memory import MemoryStore, held, make_bead
from tests.operations.asking import STAMP, by


def a_fleet(status: str | None = None) -> MemoryStore:
    """The agent coder holds hub-h and has room for one more; hub-a is ready."""
    records: dict[str, dict[str, Any]] = {agent_path("coder"): {"name": "coder", "max_concurrent": 2}}
    if status:
        records[capacity_path("coder")] = {"agent": "coder", "status": status, "last_heartbeat": "2026-02-21T14:00:00Z"}
    return MemoryStore(held("hub-h", "coder", "t"), make_bead("hub-a"), records=records)


def status(store: MemoryStore) -> Any:
    return (store.tip.capacity("coder") or {}).get("status")


@pytest.mark.parametrize("duty", ["draining", "offline"])
def test_an_agent_is_told_to_take_nothing_and_finishes_what_it_has(duty: str) -> None:
    store = a_fleet()
    change = store.publish(SetDuty(agent="coder", duty=duty, **by("Ada")))
    assert (change.result, change.subject) == ({"agent": "coder", "status": duty}, f"duty: coder {duty} by Ada")
    with pytest.raises(AgentBusy, match=duty) as refusal:
        store.publish(Claim(agent="coder", next=True, **by()))
    assert refusal.value.data["reason"] == duty
    store.publish(Close(ids=["hub-h"], next={"agent": "coder"}, **by("coder", hub_h="t")))
    assert (store.bead("hub-h").status, store.bead("hub-a").claim, status(store)) == ("closed", None, duty)
    store.publish(SetDuty(agent="coder", duty="available", **by("Ada")))
    assert status(store) == "available"
    assert store.publish(Claim(agent="coder", next=True, **by())).touched == ("hub-a",)


def test_being_told_something_is_no_sign_of_life() -> None:
    store = a_fleet("available")
    store.publish(SetDuty(agent="coder", duty="offline", **by("Ada")))
    record: Any = store.tip.capacity("coder")
    assert record["last_heartbeat"] == "2026-02-21T14:00:00Z"


def test_available_again_is_whatever_the_rule_says() -> None:
    store = a_fleet("draining")
    store.put(held("hub-i", "coder", "u"))
    assert store.publish(SetDuty(agent="coder", duty="available", **by())).result == {"agent": "coder", "status": "busy"}


@pytest.mark.parametrize(
    ("before", "duty", "ends", "after"),
    [
        (None, "available", None, None),
        ("draining", "draining", None, "draining"),
        ("draining", "offline", None, "offline"),
        ("offline", "available", "offline", "available"),
        ("draining", "available", "draining", "available"),
        ("available", "available", "draining", "available"),
    ],
)
def test_from_one_duty_to_another(before: str | None, duty: str, ends: str | None, after: str | None) -> None:
    store = a_fleet(before)
    change = store.publish(SetDuty(agent="coder", duty=duty, **({"ends": ends} if ends else {}), **by()))
    assert status(store) == after
    assert change.is_empty == (before == after)


@pytest.mark.parametrize(
    ("before", "ends", "hint"), [("offline", "draining", "bd online"), ("draining", "offline", "bd undrain")]
)
def test_another_duty_than_the_one_meant_is_not_ended(before: str, ends: str, hint: str) -> None:
    with pytest.raises(WrongState, match=f"coder is {before}, not {ends}") as refusal:
        a_fleet(before).publish(SetDuty(agent="coder", duty="available", ends=ends, **by()))
    assert hint in (refusal.value.hint or "")


def test_an_agent_that_is_offline_does_not_come_back_by_draining() -> None:
    with pytest.raises(WrongState, match="coder is offline") as refusal:
        a_fleet("offline").publish(SetDuty(agent="coder", duty="draining", **by()))
    assert "bd online coder" in (refusal.value.hint or "")


def test_a_name_that_nobody_has_yet_can_be_told_but_not_by_a_slip() -> None:
    store = MemoryStore()
    with pytest.raises(NoSuchAgent):
        store.publish(SetDuty(agent="new", duty="offline", known=True, **by()))
    store.publish(SetDuty(agent="new", duty="offline", **by()))
    record: Any = store.tip.capacity("new")
    assert record["status"] == "offline"
    for args in ({"agent": "new", "duty": "lazy"}, {"agent": "Bad_Name", "duty": "offline"}):
        with pytest.raises(BadInput):
            store.publish(SetDuty(**args, **by()))


# --- the fleet --------------------------------------------------------------------------------


def test_a_pause_holds_until_it_is_lifted() -> None:
    store = a_fleet()
    pause = Pause(reason="moving", **by("Ada"))
    store.publish(pause)
    assert store.tip.config()["paused"] == {"by": "agent:Ada", "at": STAMP, "reason": "moving"}
    assert store.tip.config()["prefix"] == "hub"
    again = store.decide(pause)
    assert (again.is_empty, again.notes) == (True, ()), "the same pause, settled again"
    with pytest.raises(AgentBusy, match="paused by Ada"):
        store.publish(Claim(agent="coder", next=True, **by()))
    store.publish(Resume(**by("Bob")))
    assert "paused" not in store.tip.config()
    assert store.publish(Claim(agent="coder", next=True, **by())).touched == ("hub-a",)
    assert store.subjects == ["pause: the fleet by Ada", "resume: the fleet by Bob", "claim: hub-a by coder"]


def test_the_first_pause_stays() -> None:
    store = a_fleet()
    store.publish(Pause(reason="moving", **by("Ada")))
    change = store.publish(Pause(reason="other", **by("Bob")))
    assert change.is_empty
    assert change.notes == (f"the fleet is paused by Ada since {STAMP}: moving already",)
    assert store.tip.config()["paused"]["reason"] == "moving"


def test_what_is_not_paused_needs_no_resume() -> None:
    change = a_fleet().publish(Resume(**by()))
    assert (change.is_empty, change.notes) == (True, ("the fleet is not paused",))


def test_a_claim_that_a_pause_overtakes_is_refused() -> None:
    store = a_fleet()
    with pytest.raises(AgentBusy, match="paused"):
        store.publish(Claim(agent="coder", next=True, **by()), overtaken_by=lambda: store.publish(Pause(**by("Ada"))))
    assert store.bead("hub-a").claim is None


@pytest.mark.parametrize("switch", [Pause, Resume])
def test_a_switch_is_on_the_hub_or_nowhere(switch: Any) -> None:
    assert switch(**by()).needs_remote
