"""Agents are added, changed, removed and renamed; what they hold and what is routed to them goes where it should."""

from __future__ import annotations

from typing import Any

import pytest

from bd.core.errors import BadInput, BdError, HoldsBeads, IdTaken, NoSuchAgent
from bd.core.schema import agent_path, capacity_path
from bd.operations.agents import AddAgent, ClearAgent, RemoveAgent, RenameAgent
from bd.operations.claims import Claim
from tests.memory import MemoryStore, held, make_bead
from tests.operations.asking import by

CODER = {"name": "coder", "role": "coding", "max_concurrent": 2}
RECORD = {"agent": "coder", "status": "available", "current_tasks": 1, "beads": ["hub-h"]}


def a_fleet(**record: Any) -> MemoryStore:
    """The agent coder holds hub-h; hub-r and the done hub-d are routed to it; reader holds hub-o, which was coder's to do."""
    return MemoryStore(
        held("hub-h", "coder", "t-h", claim={"routed": "coder"}),
        held("hub-o", "reader", "t-o", claim={"routed": "coder"}),
        make_bead("hub-r", assignee="coder"),
        make_bead("hub-p", prefer_agent="coder", prefer_until="2026-03-01T00:00:00Z"),
        make_bead("hub-d", assignee="coder", status="closed"),
        make_bead("hub-x", assignee="ada"),
        records={agent_path("coder"): CODER, capacity_path("coder"): {**RECORD, **record}},
    )


def agent(store: MemoryStore, name: str = "coder") -> Any:
    return store.tip.agent(name)


# --- adding -----------------------------------------------------------------------------------


def test_only_what_is_said_is_written() -> None:
    store = MemoryStore()
    change = store.publish(AddAgent(agent="new", fields={"role": "coding"}, **by("Ada")))
    assert agent(store, "new") == {"name": "new", "role": "coding"}, "presets are read, never written"
    assert change.subject == "agent-add: new by Ada"
    assert store.tip.capacity("new") is None


@pytest.mark.parametrize(
    ("fields", "skills", "after"),
    [
        ({"interval": "15m"}, {}, {"interval": "15m"}),
        ({"max_concurrent": 5, "budget_usd": 3.5}, {}, {"max_concurrent": 5, "budget_usd": 3.5}),
        ({"role": None}, {}, {"role": None}),
        ({}, {"labels": ["infra/*"]}, {"skills": {"labels": ["infra/*"]}}),
        ({}, {"types": ["feat"]}, {"skills": {"types": ["feature"]}}),
        ({}, {"labels": []}, {"skills": {}}),
        ({"fallback": False}, {}, {"fallback": False}),
    ],
)
def test_adding_again_changes_only_what_is_given(fields: dict[str, Any], skills: dict[str, Any], after: dict[str, Any]) -> None:
    store = a_fleet()
    store.publish(AddAgent(agent="coder", fields=fields, **({"skills": skills} if skills else {}), **by("Ada")))
    assert agent(store) == {key: value for key, value in {**CODER, **after}.items() if value is not None}


def test_a_rule_of_skills_is_replaced_and_the_others_stay() -> None:
    store = MemoryStore(records={agent_path("coder"): {**CODER, "skills": {"labels": ["a"], "title_words": ["fix"]}}})
    store.publish(AddAgent(agent="coder", skills={"labels": ["b"]}, **by()))
    assert agent(store)["skills"] == {"labels": ["b"], "title_words": ["fix"]}
    store.publish(AddAgent(agent="coder", skills={"title_words": []}, **by()))
    assert agent(store)["skills"] == {"labels": ["b"]}


def test_a_new_limit_shows_in_the_capacity_file_of_the_same_commit() -> None:
    store = a_fleet()
    store.publish(AddAgent(agent="coder", fields={"max_concurrent": 1}, **by("Ada")))
    record: Any = store.tip.capacity("coder")
    assert (record["max_concurrent"], record["status"], record["beads"]) == (1, "busy", ["hub-h"])


def test_two_changes_of_one_agent_both_stand() -> None:
    store = a_fleet()
    store.publish(
        AddAgent(agent="coder", fields={"interval": "5m"}, **by("Ada")),
        overtaken_by=lambda: store.publish(AddAgent(agent="coder", fields={"max_concurrent": 4}, **by("Bob"))),
    )
    assert (agent(store)["interval"], agent(store)["max_concurrent"]) == ("5m", 4)


@pytest.mark.parametrize(
    "args",
    [
        {"agent": "Bad_Name"},
        {"agent": "a", "fields": {"interval": "soon"}},
        {"agent": "a", "fields": {"interval": "0s"}},
        {"agent": "a", "fields": {"max_concurrent": -1}},
        {"agent": "a", "fields": {"name": "b"}},
        {"agent": "a", "fields": {"nonsense": 1}},
        {"agent": "a", "skills": {"colours": ["red"]}},
        {"agent": "a", "skills": {"types": ["bugg"]}},
    ],
)
def test_what_can_be_no_agent_is_refused(args: dict[str, Any]) -> None:
    with pytest.raises(BadInput):
        MemoryStore().publish(AddAgent(**args, **by()))


# --- leaving ----------------------------------------------------------------------------------

LEAVE = [lambda **more: RemoveAgent(agent="coder", **more), lambda **more: RenameAgent(agent="coder", to="gibbon", **more)]


@pytest.mark.parametrize("leave", LEAVE)
def test_with_beads_in_hand_it_stays(leave: Any) -> None:
    store = a_fleet()
    with pytest.raises(HoldsBeads) as refusal:
        store.publish(leave(**by("Ada")))
    assert (refusal.value.exit_code, refusal.value.data["beads"]) == (5, ["hub-h"])
    assert store.tip.commit == "c0"


def test_a_removed_agent_leaves_nothing_behind() -> None:
    store = a_fleet()
    change = store.publish(RemoveAgent(agent="coder", release=True, **by("Ada")))
    assert (agent(store), store.tip.capacity("coder")) == (None, None)
    bead = store.bead("hub-h")
    assert (bead.status, bead.claim, bead.assignee, bead.get("attempts_forgiven")) == ("open", None, None, 1)
    assert store.bead("hub-r").assignee is None
    assert store.bead("hub-p").get("prefer_agent") is None
    assert store.bead("hub-p").get("prefer_until") is None
    other = store.bead("hub-o").get("claim")
    assert (other["agent"], other["token"], other.get("routed")) == ("reader", "t-o", None)
    assert store.bead("hub-d").assignee == "coder", "the past stays as it was"
    assert store.bead("hub-x").assignee == "ada"
    assert change.result == {"agent": "coder", "released": ["hub-h"], "rerouted": ["hub-o", "hub-p", "hub-r"]}


def test_a_renamed_agent_keeps_what_is_its_own() -> None:
    store = a_fleet(recent=["done", "failed"], failed_tasks=1, status="draining")
    change = store.publish(RenameAgent(agent="coder", to="gibbon", release=True, **by("Ada")))
    assert (agent(store), store.tip.capacity("coder")) == (None, None)
    assert agent(store, "gibbon") == {**CODER, "name": "gibbon"}
    record: Any = store.tip.capacity("gibbon")
    assert (record["agent"], record["status"], record["recent"], record["current_tasks"]) == (
        "gibbon",
        "draining",
        ["done", "failed"],
        0,
    )
    assert "beads" not in record
    for bead_id in ("hub-h", "hub-r"):
        assert (store.bead(bead_id).assignee, store.bead(bead_id).claim) == ("gibbon", None)
    assert store.bead("hub-p").get("prefer_agent") == "gibbon"
    assert store.bead("hub-o").get("claim")["routed"] == "gibbon"
    assert store.bead("hub-d").assignee == "coder"
    assert change.result["was"] == "coder"
    assert change.subject == "agent-rename: coder to gibbon by Ada"


def test_an_agent_that_only_has_a_record_can_leave_too() -> None:
    store = MemoryStore(records={capacity_path("ghost"): {"agent": "ghost"}})
    store.publish(RenameAgent(agent="ghost", to="spirit", **by()))
    assert agent(store, "spirit") is None
    store.publish(RemoveAgent(agent="spirit", **by()))
    assert store.tip.capacity("spirit") is None


def test_a_name_that_is_taken_is_refused() -> None:
    store = a_fleet()
    store.put(**{capacity_path("gibbon"): {"agent": "gibbon"}})
    with pytest.raises(IdTaken):
        store.publish(RenameAgent(agent="coder", to="gibbon", release=True, **by()))


@pytest.mark.parametrize("leave", LEAVE)
def test_an_agent_that_claims_meanwhile_stays(leave: Any) -> None:
    store = MemoryStore(make_bead(title="Fix it"), records={agent_path("coder"): CODER})
    with pytest.raises(HoldsBeads):
        store.publish(leave(**by("Ada")), overtaken_by=lambda: store.publish(Claim(agent="coder", next=True, **by())))


@pytest.mark.parametrize(
    "operation",
    [
        RemoveAgent(agent="codr", **by()),
        RenameAgent(agent="codr", to="gibbon", **by()),
        ClearAgent(agent="codr", **by()),
    ],
)
def test_who_is_not_there_is_said_so(operation: Any) -> None:
    with pytest.raises(NoSuchAgent) as refusal:
        a_fleet().publish(operation)
    assert (refusal.value.exit_code, refusal.value.hint) == (4, "did you mean coder?")


# --- clearing ---------------------------------------------------------------------------------


def test_clearing_forgets_the_failures() -> None:
    store = a_fleet(recent=["failed", "failed"], failed_tasks=2, overloaded_at="2026-02-21T14:59:00Z", status="overloaded")
    store.put(make_bead("hub-n", title="Fix n"))
    claim = Claim(agent="coder", ids=["hub-n"], **by())
    with pytest.raises(BdError, match="overloaded"):
        store.publish(claim)
    store.publish(ClearAgent(agent="coder", **by("Ada")))
    record: Any = store.tip.capacity("coder")
    assert (record["status"], record["failed_tasks"], record.get("recent"), record.get("overloaded_at")) == (
        "available",
        0,
        None,
        None,
    )
    assert store.publish(claim).touched == ("hub-n",)


def test_clearing_leaves_an_agent_offline() -> None:
    store = a_fleet(recent=["failed", "failed"], status="offline")
    store.publish(ClearAgent(agent="coder", **by("Ada")))
    record: Any = store.tip.capacity("coder")
    assert record["status"] == "offline"


def test_nothing_to_forget() -> None:
    change = a_fleet().publish(ClearAgent(agent="coder", **by("Ada")))
    assert change.is_empty
    assert change.notes == ("coder has no failed attempts to forget",)
