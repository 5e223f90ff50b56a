"""Since when a bead is ready: an edge fewer makes nobody older."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from bd.core.times import time_text
from bd.operations.beads import Delete, Update
from bd.operations.dependencies import DepRemove
from bd.operations.hand_edits import Edit
from bd.policy.readiness import Readiness
from tests.clocks import START
from tests.memory import MemoryStore, make_bead
from tests.operations.asking import by

if TYPE_CHECKING:
    from bd.operations.base import Operation

NOW = time_text(START)
CLOSED_AT = "2026-02-21T03:00:00Z"


def edited(before: Any) -> Edit:
    new = {key: value for key, value in before.fields.items() if key not in ("depends_on", "parent")}
    return Edit(ids=["hub-a"], old=dict(before.fields), new=new, **by())


WAYS = {
    "dep remove": lambda bead: DepRemove(ids=["hub-a", "hub-b"], **by()),
    "delete": lambda bead: Delete(ids=["hub-b"], **by()),
    "by hand": edited,
}


@pytest.mark.parametrize("way", WAYS)
def test_what_an_open_dependency_kept_back_is_ready_from_now(way: str) -> None:
    bead = make_bead("hub-a", depends_on=["hub-b"])
    store = MemoryStore(bead, make_bead("hub-b"))
    operation: Operation = WAYS[way](bead)
    store.publish(operation)
    after = store.bead("hub-a")
    assert Readiness(store.tip, START).phase(after) == "ready"
    assert Readiness(store.tip, START).since(after) == NOW


@pytest.mark.parametrize("way", WAYS)
def test_what_was_ready_already_gets_no_older(way: str) -> None:
    bead = make_bead("hub-a", depends_on=["hub-b"])
    store = MemoryStore(bead, make_bead("hub-b", status="closed", closed_at=CLOSED_AT))
    assert Readiness(store.tip, START).since(bead) == CLOSED_AT
    store.publish(WAYS[way](bead))
    assert Readiness(store.tip, START).since(store.bead("hub-a")) == CLOSED_AT


def test_what_still_waits_for_another_says_nothing_yet() -> None:
    store = MemoryStore(make_bead("hub-a", depends_on=["hub-b", "hub-c"]), make_bead("hub-b"), make_bead("hub-c"))
    store.publish(DepRemove(ids=["hub-a", "hub-b"], **by()))
    assert store.bead("hub-a").get("reopened_at") is None


def test_out_of_a_blocked_epic() -> None:
    epic = make_bead("hub-e", type="epic", depends_on=["hub-b"])
    store = MemoryStore(make_bead("hub-a", parent="hub-e"), make_bead("hub-b"), epic, make_bead("hub-f", type="epic"))
    assert Readiness(store.tip, START).phase(store.bead("hub-a")) != "ready"
    store.publish(Update(ids=["hub-a"], set={"parent": "hub-f"}, **by()))
    assert Readiness(store.tip, START).since(store.bead("hub-a")) == NOW
