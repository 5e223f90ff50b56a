"""When people have to be told that a bead was given up, and who may."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from bd.core.settings import merge
from bd.policy import notification, retry
from bd.policy.dag_progress import Dags
from tests.clocks import START
from tests.memory import MemorySnapshot, held, make_bead


def dead(**notified: Any) -> Any:
    return make_bead(status="dead_letter", notified={"key": "U/hub-a", **notified})


@pytest.mark.parametrize(
    ("bead", "is_due"),
    [
        (dead(), True),
        (dead(by="agent:a", at="2026-02-21T14:50:01Z", right="R", tries=1), False),
        (dead(by="agent:a", at="2026-02-21T14:50:00Z", right="R", tries=1), True),
        (dead(by="agent:a", at="2026-02-21T14:00:00Z", right="R", tries=5), False),
        (dead(by="agent:a", at="2026-02-21T14:00:00Z", right="R", tries="x"), True),
        (dead(by="agent:a", at="2026-02-21T14:00:00Z", done=True), False),
        (dead().evolve(reviewed=True), False),
        (dead().evolve(status="open"), False),
        (make_bead(status="dead_letter"), False),
        (make_bead(status="dead_letter", notified="x"), False),
    ],
)
def test_when_people_have_to_be_told(bead: Any, is_due: bool) -> None:
    assert notification.is_due(bead, notification.given_up(bead), START) is is_due


def test_each_transition_has_a_name_of_its_own() -> None:
    failure = retry.failure_of(held(), "budget_exceeded", "No.", START)
    first = retry.after_failure(held(reviewed=True, resolution="retry"), failure, merge([]), START, 0.5, "U1")
    assert (first.status, first.get("notified")) == ("dead_letter", {"key": "U1/hub-a"})
    assert (first.get("reviewed"), first.get("resolution")) == (None, None), "nobody has looked at this one yet"
    told = notification.told(notification.taken(first, "U1/hub-a", "agent:a", "R", START))
    assert not notification.is_due(told, notification.given_up(told), START + timedelta(days=9))
    again = retry.after_failure(told.evolve(status="in_progress"), failure, merge([]), START, 0.5, "U2")
    assert notification.noted(again) == {"key": "U2/hub-a"}
    assert notification.is_due(again, notification.given_up(again), START)
    assert retry.after_failure(held(), {**failure, "reason": "crash"}, merge([]), START, 0.5, "U").get("notified") is None


ASKED = make_bead(status="blocked", waiting_on="human", waiting_since="2026-02-21T14:00:00Z")


def test_each_question_is_an_occasion_of_its_own() -> None:
    first = notification.asked(ASKED)
    assert first is not None
    assert (first.event, first.key) == ("waiting", "waiting/hub-a/2026-02-21T14:00:00Z")
    told = notification.told(notification.taken(ASKED, first.key, "agent:a", "R", START))
    assert not notification.is_due(told, first, START + timedelta(days=9))
    assert notification.asked(told.evolve(status="open", waiting_on=None)) is None
    again = told.evolve(waiting_since="2026-02-21T15:00:00Z")
    assert notification.is_due(again, notification.asked(again), START)
    after = notification.taken(again, notification.asked(again).key, "agent:b", "S", START)
    assert (after.get("notified")["tries"], after.get("notified").get("done")) == (1, None)


def test_a_stall_is_an_occasion_as_long_as_its_claim_is_there() -> None:
    bead = held()
    token = bead.claims[0]["token"]
    assert notification.stalled(bead, token) == ("hub-a", "stalled", f"stalled/hub-a/{token}")
    assert notification.stalled(bead, "01JZZZZZZZZZZZZZZZZZZZZZZZ") is None
    assert notification.stalled(bead.evolve(claim=None, status="open"), token) is None
    nobodys = make_bead(status="in_progress")
    assert notification.stalled(nobodys, "2026-02-21T14:00:00Z") is not None


def test_a_dag_is_done_once_and_one_of_long_ago_is_none() -> None:
    root = make_bead("hub-r", type="epic")
    first, second = (
        make_bead(name, parent="hub-r", status="closed", closed_at=at)
        for name, at in (("hub-a", "2026-02-21T13:00:00Z"), ("hub-b", "2026-02-21T14:00:00Z"))
    )
    snapshot = MemorySnapshot([root, first, second])
    found = notification.done(root, Dags(snapshot, START))
    assert found == ("hub-r", "dag_done", "dag_done/hub-r/2026-02-21T14:00:00Z")
    assert notification.occasion_of(root, found.key, snapshot, START) == found
    assert notification.occasion_of(root, "dag_done/hub-r/2026-02-21T13:00:00Z", snapshot, START) is None
    assert notification.done(root, Dags(snapshot, START + timedelta(days=2))) is None
    assert (
        notification.done(root, Dags(MemorySnapshot([root, first, second.evolve(status="open", closed_at=None)]), START)) is None
    )
    assert notification.done(root, Dags(MemorySnapshot([root]), START)) is None, "a bead alone is no DAG"
