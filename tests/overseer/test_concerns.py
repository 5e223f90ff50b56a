"""Concerns: what is filed for a person, once for each occurrence, until it is over. On a snapshot in memory."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from bd.core.schema import agent_path, capacity_path
from bd.core.times import time_text
from bd.overseer.concerns import AT_ONCE, concerns_of, over, unfiled
from bd.overseer.pages import KINDS
from bd.report.attention import Attention, gather
from tests.clocks import START
from tests.memory import MemorySnapshot, make_bead

if TYPE_CHECKING:
    from bd.core.model import Bead


def at(minutes: float) -> str:
    return time_text(START + timedelta(minutes=minutes))


def needs(snapshot: MemorySnapshot) -> Attention:
    return gather(snapshot, (), (), (), START)


def overloaded(since: str) -> dict[str, Any]:
    return {"recent": ["failed hub-a", "failed hub-b"], "overloaded_at": since, "last_heartbeat": at(0)}


def silent(since: str) -> dict[str, Any]:
    return {"last_heartbeat": since}


def refused(since: str, reason: str = "auth_failure") -> dict[str, Any]:
    return {"last_heartbeat": at(0), "rest": {"account": "red", "reason": reason, "since": since, "until": at(90)}}


def hub(record: dict[str, Any], *beads: Bead) -> MemorySnapshot:
    return MemorySnapshot(beads, {agent_path("ann"): {"account": "red"}, capacity_path("ann"): {"agent": "ann", **record}})


def filed(record: dict[str, Any]) -> Bead:
    """The bead that is filed while the agent's record is this."""
    snapshot = hub(record)
    [concern] = unfiled(needs(snapshot), snapshot)
    return make_bead("hub-filed", **concern.spec())


@pytest.mark.parametrize(
    ("kind", "title"),
    [
        (overloaded, "Agent ann is overloaded"),
        (silent, "Agent ann has fallen silent"),
        (refused, "The account red is refused: auth_failure"),
    ],
)
def test_a_concern_that_goes_on_keeps_its_bead_whenever_it_was_seen_last(kind: Any, title: str) -> None:
    bead = filed(kind(at(-900)))
    assert bead.title == title
    later = hub(kind(at(-600)), bead)
    assert unfiled(needs(later), later) == []
    assert over(needs(later), later) == []
    ended = hub({"last_heartbeat": at(0)}, bead)
    assert [one.id for one in over(needs(ended), ended)] == [bead.id]


def test_what_a_person_has_closed_is_settled_and_takes_nobodys_place() -> None:
    names = [f"a{number}" for number in range(AT_ONCE + 1)]
    records = {path: one for name in names for path, one in ((agent_path(name), {}), (capacity_path(name), silent(at(-900))))}
    snapshot = MemorySnapshot([], records)
    first = unfiled(needs(snapshot), snapshot)
    assert len(first) == AT_ONCE
    closed = [make_bead(f"hub-{one.about[-2:]}", **{**one.spec(), "status": "closed"}) for one in first]
    snapshot = MemorySnapshot(closed, records)
    assert [one.about for one in unfiled(needs(snapshot), snapshot)] == [f"offline/{names[-1]}"]


@pytest.mark.parametrize("kind", [overloaded, silent, refused])
def test_the_next_occurrence_gets_a_bead_of_its_own(kind: Any) -> None:
    keys = {filed(kind(since)).get("idempotency_key") for since in (at(-900), at(-600))}
    assert len(keys) == 2


def test_an_account_whose_provider_comes_back_by_itself_needs_nobody() -> None:
    assert concerns_of(needs(hub(refused(at(0), "rate_limit")))) == []


def test_a_summary_has_every_kind_that_concerns_more_than_one_clone() -> None:
    assert set(Attention._fields) - set(KINDS) == {"refused", "unpublished", "repos"}
