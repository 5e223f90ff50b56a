"""Attention: what heats a bead, by how much, and that the hub alone says how fast it cools."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from bd.core.errors import BadInput, NoSuchBead
from bd.core.schema import CONFIG_PATH
from bd.operations.base import Operation
from bd.operations.beads import Comment, Update
from bd.operations.claims import Claim, Release
from bd.operations.close import Close, Reopen
from bd.operations.dependencies import DepAdd, DepRemove
from bd.operations.heat import Heat
from bd.operations.import_beads import Import
from bd.policy.work_queue import ready_beads
from tests.memory import MemoryStore, held, make_bead
from tests.operations.asking import AT, by

if TYPE_CHECKING:
    from bd.core.model import Bead

YESTERDAY = "2026-02-20T15:00:00Z"


def warmth(bead: Bead) -> tuple[Any, Any]:
    return bead.get("temperature"), bead.get("heated_at")


def test_a_heating_adds_to_what_is_left_as_of_when_it_was_asked_for() -> None:
    store = MemoryStore(make_bead("hub-a", temperature=40, heated_at=YESTERDAY), make_bead("hub-b"))
    store.now += timedelta(hours=5)
    change = store.publish(Heat(ids=["hub-a", "b"], degrees=25, **by()))
    assert warmth(store.bead("hub-a")) == (45, AT)
    assert warmth(store.bead("hub-b")) == (25, AT)
    assert change.subject == "heat: hub-a hub-b by coder"
    assert change.result == {"hub-a": 39, "hub-b": 22}, "as it is now, five hours later"


@pytest.mark.parametrize(("before", "degrees", "after"), [(95, 25, 100), (20, -25, None), (60, -25, 35), (None, -5, None)])
def test_it_stays_between_0_and_100(before: int | None, degrees: int, after: int | None) -> None:
    store = MemoryStore(make_bead("hub-a", temperature=before, heated_at=AT.replace(".000000", "") if before else None))
    store.publish(Heat(ids=["hub-a"], degrees=degrees, **by()))
    assert store.bead("hub-a").get("temperature") == after


@pytest.mark.parametrize("degrees", [0, 101, -101, float("nan"), float("inf")])
def test_what_is_no_heating(degrees: float) -> None:
    with pytest.raises(BadInput):
        Heat(ids=["hub-a"], degrees=degrees, **by())


def test_everybody_may_heat_what_another_holds() -> None:
    store = MemoryStore(held("hub-a", "coder", "t"))
    before = store.bead("hub-a").claim
    store.publish(Heat(ids=["hub-a"], **by("other")))
    assert warmth(store.bead("hub-a")) == (10, AT)
    assert store.bead("hub-a").claim == before


def test_it_is_decided_again_on_what_another_made_hot() -> None:
    store = MemoryStore(make_bead("hub-a"))
    other = Heat(ids=["hub-a"], degrees=30, **by("other", at="2026-02-21T14:59:59.000000Z"))
    store.publish(Heat(ids=["hub-a"], degrees=25, **by()), overtaken_by=lambda: (store.publish(other), None)[1])
    assert store.bead("hub-a").get("temperature") == pytest.approx(55, abs=0.01)


def test_the_hub_says_how_fast_it_cools() -> None:
    bead = make_bead("hub-a", temperature=80, heated_at="2026-02-21T14:00:00Z")
    store = MemoryStore(bead, records={CONFIG_PATH: {"format": 1, "prefix": "hub", "heat_half_life": "30m"}})
    store.publish(Heat(ids=["hub-a"], degrees=1, **by()))
    assert store.bead("hub-a").get("temperature") == 21


# --- what heats by itself ---------------------------------------------------------------------

ATTENTION: dict[str, tuple[Operation, float | None]] = {
    "a comment": (Comment(ids=["hub-a"], text="Hello.", **by()), 5),
    "a link": (DepAdd(ids=["hub-a", "hub-b"], kind="related", **by()), 3),
    "a reopening": (Reopen(ids=["hub-c"], **by()), 10),
    "a reopening by its status": (Update(ids=["hub-c"], status="open", **by()), 10),
    "a reopening of what was given up": (Reopen(ids=["hub-g"], **by()), 10),
    "a dependency is no link": (DepAdd(ids=["hub-a", "hub-b"], **by()), None),
    "a parent is no link": (DepAdd(ids=["hub-a", "hub-b"], kind="parent-child", **by()), None),
    "a link that is there": (DepAdd(ids=["hub-l", "hub-b"], kind="related", **by()), None),
    "a link taken away": (DepRemove(ids=["hub-l", "hub-b"], **by()), None),
    "a status": (Update(ids=["hub-a"], status="blocked", **by()), None),
    "a blocked one that goes on": (Reopen(ids=["hub-d"], **by()), None),
    "a title": (Update(ids=["hub-a"], set={"title": "Other"}, **by()), None),
    "a close": (Close(ids=["hub-a"], **by()), None),
    "a claim": (Claim(agent="coder", ids=["hub-a"], **by()), None),
    "a release": (Release(ids=["hub-h"], reason="tired", **by(hub_h="t")), None),
}


@pytest.mark.parametrize("name", ATTENTION)
def test_activity_heats(name: str) -> None:
    operation, degrees = ATTENTION[name]
    store = MemoryStore(
        make_bead("hub-a"),
        make_bead("hub-b"),
        make_bead("hub-c", status="closed", closed_at=YESTERDAY),
        make_bead("hub-d", status="blocked"),
        make_bead("hub-g", status="dead_letter"),
        held("hub-h", "coder", "t"),
        make_bead("hub-l", links=[{"type": "related", "id": "hub-b"}]),
    )
    store.publish(operation)
    touched = operation.args["ids"][0]
    assert warmth(store.bead(touched)) == ((degrees, AT) if degrees else (None, None))
    assert all("temperature" not in bead.fields for bead in store.tip.every() if bead.id != touched)
    if degrees:
        assert store.decide(operation).is_empty, "nothing heats twice"


def test_a_reopening_heats_what_its_comments_left() -> None:
    store = MemoryStore(make_bead("hub-c", status="closed", closed_at=YESTERDAY, temperature=8, heated_at=YESTERDAY))
    store.publish(Reopen(ids=["hub-c"], reason="still broken", **by()))
    assert warmth(store.bead("hub-c")) == (14, AT)


def test_an_import_heats_nothing() -> None:
    store = MemoryStore(make_bead("hub-a", status="closed", updated_at=YESTERDAY))
    record = {"id": "hub-a", "title": "A", "status": "open", "created_at": YESTERDAY, "updated_at": AT}
    comments = [{"id": "1", "author": "ada", "text": "hello", "at": YESTERDAY}]
    store.publish(Import(beads=[{**record, "comments": comments}], **by()))
    assert store.bead("hub-a").status == "open"
    assert warmth(store.bead("hub-a")) == (None, None)


def test_a_heated_bead_goes_before_its_equals_and_comes_back() -> None:
    store = MemoryStore(
        make_bead("hub-a", created_at="2026-02-20T09:00:00Z"),
        make_bead("hub-b", created_at="2026-02-20T09:05:00Z"),
        make_bead("hub-c", priority=1),
    )

    def order() -> list[str]:
        return [bead.id for bead in ready_beads(store.tip, store.now)]

    assert order() == ["hub-c", "hub-a", "hub-b"]
    store.publish(Heat(ids=["hub-b"], **by()))
    assert order() == ["hub-c", "hub-b", "hub-a"]
    assert store.decide(Claim(agent="coder", next=True, count=2, **by())).touched == ("hub-c", "hub-b")
    store.now += timedelta(days=7)
    assert order() == ["hub-c", "hub-a", "hub-b"]


def test_nobody_heats_what_is_not_there() -> None:
    with pytest.raises(NoSuchBead):
        MemoryStore().decide(Heat(ids=["hub-a"], **by()))
