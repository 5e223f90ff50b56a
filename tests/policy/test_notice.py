"""When people have to be told that a bead was given up, and who may."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from bd.config import merge
from bd.policy import notice, retry
from tests.clocks import START
from tests.memory import held, make_bead


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
    assert notice.is_due(bead, START) is is_due


def test_each_transition_has_a_name_of_its_own() -> None:
    failure = retry.failure_of(held(), "auth_failure", "No.", START)
    first = retry.after_failure(held(reviewed=True, resolution="retry"), failure, merge([]), START, 0.5, "U1")
    assert (first.status, first.get("notified")) == ("dead_letter", {"key": "U1/hub-a"})
    assert (first.get("reviewed"), first.get("resolution")) == (None, None), "nobody has looked at this one yet"
    told = notice.told(notice.taken(first, "agent:a", "R", START))
    assert not notice.is_due(told, START + timedelta(days=9))
    again = retry.after_failure(told.evolve(status="in_progress"), failure, merge([]), START, 0.5, "U2")
    assert notice.noted(again) == {"key": "U2/hub-a"}
    assert notice.is_due(again, START)
    assert retry.after_failure(held(), {**failure, "reason": "crash"}, merge([]), START, 0.5, "U").get("notified") is None
