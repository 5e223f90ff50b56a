"""Subtasks: what they do to the bead they are spawned from, and who gets it back when they are done."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from bd.core.errors import StaleToken, StillBlocked, WouldCycle, WrongState
from bd.core.schema import agent_path
from bd.operations.claims import Claim
from bd.operations.close import Cancel, Close
from bd.operations.spawn import Spawn
from bd.policy.eligibility import Eligibility
from bd.policy.readiness import Readiness
from tests.memory import MemoryStore, held, make_bead
from tests.operations.asking import by

AGENTS = {agent_path("coder"): {"name": "coder", "interval": "30m"}, agent_path("other"): {"name": "other", "interval": "5m"}}


def at_work(**fields: Any) -> MemoryStore:
    return MemoryStore(held("hub-a", "coder", "t", **fields), records=AGENTS)


def spawn(store: MemoryStore, **args: Any) -> str:
    change = store.publish(Spawn(ids=["hub-a"], new={"title": "More", **args.pop("new", {})}, **args, **by("coder", hub_a="t")))
    return change.touched[1]


def offered(store: MemoryStore, name: str) -> list[str]:
    return [bead.id for bead in Eligibility(store.tip, name, store.now).beads()]


def test_a_subtask_stands_below_its_bead_which_goes_on() -> None:
    store = at_work(priority=1)
    before = store.bead("hub-a")
    made = store.bead(spawn(store))
    assert (made.parent, made.priority, made.status) == ("hub-a", 1, "open")
    assert store.bead("hub-a") == before
    assert offered(store, "other") == [made.id]
    store.publish(Close(ids=["hub-a"], **by("coder", hub_a="t")))
    assert store.bead("hub-a").status == "closed"
    assert offered(store, "other") == [made.id], "it outlives the bead it was spawned from"


def test_a_child_that_was_not_spawned_still_keeps_its_parent_open() -> None:
    store = at_work()
    store.put(make_bead("hub-k", parent="hub-a"))
    spawn(store)
    with pytest.raises(StillBlocked, match=r"unfinished children: hub-k$"):
        store.publish(Close(ids=["hub-a"], **by("coder", hub_a="t")))


def test_with_wait_the_bead_is_given_back_and_no_attempt_is_spent() -> None:
    store = at_work(spec={"context_refs": ["brief.md"]})
    first, second = spawn(store), spawn(store, wait=True)
    bead = store.bead("hub-a")
    assert (bead.status, bead.claim, bead.owner, bead.assignee) == ("open", None, None, None)
    assert (bead.attempts, bead.attempts_counted) == (1, 0)
    assert bead.depends_on == [first, second], "it waits for what it had spawned before, too"
    assert bead.get("spec") == {"context_refs": ["brief.md", f"task:{first}:output", f"task:{second}:output"]}
    assert Readiness(store.tip, store.now).phase(bead) == "pending"
    assert sorted(offered(store, "coder")) == sorted([first, second])


def test_when_the_subtasks_are_closed_it_is_kept_for_who_had_it_for_two_intervals() -> None:
    store = at_work()
    made = spawn(store, wait=True)
    store.now += timedelta(days=2)
    closed_at = store.now
    store.publish(Close(ids=[made], **by("other", at=closed_at.isoformat().replace("+00:00", "Z"))))
    bead = store.bead("hub-a")
    assert offered(store, "coder") == ["hub-a"]
    for minutes, is_kept in ((0, True), (59, True), (60, False)):
        store.now = closed_at + timedelta(minutes=minutes)
        codes = [reason.code for reason in Eligibility(store.tip, "other", store.now).reasons(bead)]
        assert (codes == ["preferred"]) == is_kept, minutes
        assert offered(store, "other") == ([] if is_kept else ["hub-a"])
    store.publish(Claim(agent="other", next=True, **by("other")))
    assert (store.bead("hub-a").attempts, store.bead("hub-a").get("prefer_agent")) == (2, None)


@pytest.mark.parametrize(
    ("store", "args", "error"),
    [
        (MemoryStore(make_bead("hub-a")), by("coder"), WrongState),
        (MemoryStore(make_bead("hub-a", status="closed")), by("coder"), WrongState),
        (at_work(), by("other"), StaleToken),
        (at_work(), by("coder", hub_a="old"), StaleToken),
    ],
)
def test_only_who_works_on_a_bead_spawns_from_it(store: MemoryStore, args: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        store.publish(Spawn(ids=["hub-a"], new={"title": "More"}, wait=True, **args))


def test_a_subtask_of_what_waits_for_its_bead() -> None:
    """It runs after the bead; with wait each would wait for the other."""
    store = MemoryStore(held("hub-a", "coder", "t"), make_bead("hub-x", depends_on=["hub-a"]), records=AGENTS)
    with pytest.raises(WouldCycle):
        spawn(store, new={"deps": ["hub-x"]}, wait=True)
    assert store.bead(spawn(store, new={"deps": ["hub-x"]})).depends_on == ["hub-x"]


def test_what_is_below_a_cancelled_bead_is_named() -> None:
    store = at_work()
    made = spawn(store)
    change = store.publish(Cancel(ids=["hub-a"], force=True, reason="no", **by("ada")))
    assert any(made in note and "no longer offered" in note for note in change.notes)
    assert offered(store, "other") == []
    store = at_work()
    made = spawn(store)
    change = store.publish(Cancel(ids=["hub-a"], force=True, reason="no", cascade=True, **by("ada")))
    assert (store.bead(made).status, change.notes) == ("cancelled", ())
