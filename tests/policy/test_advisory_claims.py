"""Advisory claims: who counts, until when, and what each may do."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bd.core.errors import StaleToken, WrongState
from bd.core.model import Bead
from bd.core.settings import merge
from bd.core.times import time_text
from bd.policy import advisory_claims, lifecycle
from bd.policy.capacity import held_by
from bd.policy.eligibility import Eligibility
from tests.clocks import START
from tests.memory import MemorySnapshot, held, make_bead

SETTINGS = merge([])
HOUR = timedelta(hours=1)


def claim(agent: str, token: str, until: Any = START + HOUR, **keys: Any) -> dict[str, Any]:
    return {"agent": agent, "token": token, "attempt": 1, "started_at": time_text(START), "expires_at": time_text(until), **keys}


def shared(*claims: dict[str, Any], **fields: Any) -> Bead:
    given = {"claim_mode": "advisory", "attempts": len(claims), "attempts_forgiven": len(claims), **fields}
    return make_bead(claims=list(claims) or None, **given)


BOTH = shared(claim("ann", "A"), claim("ben", "B"))
ONE_LEFT = shared(claim("ann", "A", START), claim("ben", "B"))
NONE_LEFT = shared(claim("ann", "A", START - HOUR))


# --- who is at it -----------------------------------------------------------------------------


@pytest.mark.parametrize(("bead", "names", "words"), [
    (BOTH, ["ann", "ben"], "2 working on it: ann, ben"),
    (ONE_LEFT, ["ben"], "1 working on it: ben"),
    (NONE_LEFT, [], ""),
    (make_bead(), [], ""),
    (held(), [], ""),
])  # fmt: skip
def test_who_is_at_it(bead: Bead, names: list[str], words: str) -> None:
    assert advisory_claims.at_it(bead, START) == names
    assert advisory_claims.words(bead, START) == words


def test_a_claim_without_an_end_counts() -> None:
    assert advisory_claims.is_live({"agent": "ann", "token": "A"}, START)


def test_what_expired_takes_no_room_and_is_in_the_record_until_it_is_dropped() -> None:
    snapshot = MemorySnapshot([ONE_LEFT, held("hub-b", "ann")])
    assert [bead.id for bead in held_by("ann", snapshot, START)] == ["hub-b"]
    assert [bead.id for bead in held_by("ben", snapshot, START)] == ["hub-a"]
    assert len(held_by("ann", snapshot)) == 2


@pytest.mark.parametrize(("name", "codes"), [("ann", []), ("ben", ["holding"]), ("cleo", [])])
def test_it_is_offered_to_who_does_not_hold_it(name: str, codes: list[str]) -> None:
    assert [reason.code for reason in Eligibility(MemorySnapshot([ONE_LEFT]), name, START).reasons(ONE_LEFT)] == codes


@pytest.mark.parametrize(("bead", "codes"), [(BOTH, ["exclusive"]), (NONE_LEFT, [])])
def test_an_exclusive_name_is_taken_while_somebody_is_at_it(bead: Bead, codes: list[str]) -> None:
    rival = Bead({**bead.fields, "exclusive": "repo:site"})
    mine = make_bead("hub-b", exclusive="repo:site")
    assert [reason.code for reason in Eligibility(MemorySnapshot([rival, mine]), "cleo", START).reasons(mine)] == codes


# --- the claims -------------------------------------------------------------------------------


def test_a_claim_beside_another() -> None:
    bead = advisory_claims.claimed(ONE_LEFT, {"agent": "cleo", "token": "C", "started_at": time_text(START)}, SETTINGS, START)
    assert [(one["agent"], one["attempt"]) for one in bead.claims] == [("ben", 1), ("cleo", 3)]
    assert bead.claims[-1]["expires_at"] == "2026-02-21T17:00:00Z", "two hours: twice what a task may take"
    assert (bead.status, bead.claim, bead.owner, bead.assignee) == ("open", None, None, None)
    assert (bead.attempts, bead.attempts_counted) == (3, 0)


def test_a_reservation_has_the_end_it_was_given() -> None:
    reserved = {"agent": "cleo", "token": "C", "expires_at": "2026-02-21T15:15:00Z"}
    bead = advisory_claims.claimed(make_bead(), reserved, SETTINGS, START)
    assert bead.claims[0]["expires_at"] == "2026-02-21T15:15:00Z"
    begun = advisory_claims.started(bead, "C", SETTINGS, START)
    assert begun.claims[0]["expires_at"] == "2026-02-21T17:00:00Z"
    assert advisory_claims.started(begun, "C", SETTINGS, START) == begun
    with pytest.raises(WrongState):
        advisory_claims.started(begun, "other", SETTINGS, START)


@pytest.mark.parametrize("token", ["A", "new"])
def test_renewing_is_the_same_attempt_with_a_later_end(token: str) -> None:
    before = BOTH
    fresh = {"agent": "ann", "token": token, "started_at": time_text(START)}
    bead = advisory_claims.renewed(before, before.claims[0], fresh, SETTINGS, START)
    assert [one["token"] for one in bead.claims] == [token, "B"]
    assert bead.claims[0]["expires_at"] == "2026-02-21T17:00:00Z"
    assert (bead.attempts, bead.claims[0]["attempt"]) == (2, 1)
    assert advisory_claims.renewed(bead, bead.claims[0], fresh, SETTINGS, START) == bead


@pytest.mark.parametrize(("token", "left"), [("A", ["ben"]), ("B", ["ann"]), (None, []), ("old", [])])
def test_a_release_takes_ones_own_and_a_stranger_takes_all(token: str | None, left: list[str]) -> None:
    bead = advisory_claims.released(BOTH, token, "no time", START)
    assert (bead.holders, bead.status, bead.attempts_counted) == (left, "open", 0)
    assert bead.get("retry_at") is None
    with pytest.raises(WrongState):
        advisory_claims.released(NONE_LEFT, "A", "no time", START)


@pytest.mark.parametrize(
    "end",
    [
        lambda bead: lifecycle.closed(bead, "agent:ann", "done", START),
        lambda bead: lifecycle.cancelled(bead, "agent:ann", "no", START),
        lambda bead: lifecycle.deferred(bead, None, START),
        lambda bead: lifecycle.with_status(bead, "blocked", "agent:ann", "stuck", START),
        lambda bead: lifecycle.parked_for_human(bead, "which?", START),
    ],
)
def test_what_ends_the_work_ends_every_claim(end: Any) -> None:
    assert end(BOTH).claims == []


# --- who may ----------------------------------------------------------------------------------

GUARDS: list[tuple[Bead, str | None, str | None]] = [
    (BOTH, "A", None),
    (BOTH, "B", None),
    (BOTH, None, "in work by ann, ben and no token was given"),
    (BOTH, "C", "your claim has ended"),
    (ONE_LEFT, "A", "in work by ben, and your claim has ended"),
    (ONE_LEFT, "B", None),
    (NONE_LEFT, None, None),
    (NONE_LEFT, "A", "your claim has ended"),
]


@pytest.mark.parametrize(("bead", "token", "words"), GUARDS)
def test_any_live_token_may(bead: Bead, token: str | None, words: str | None) -> None:
    if words is None:
        lifecycle.guard(bead, token, at=START)
        return
    with pytest.raises(StaleToken, match=words) as refusal:
        lifecycle.guard(bead, token, at=START)
    assert refusal.value.hint
    lifecycle.guard(bead, token, force=True, at=START)


@pytest.mark.parametrize(("bead", "stays"), [(BOTH, True), (ONE_LEFT, True), (NONE_LEFT, False), (held(), True)])
def test_the_mode_stays_while_somebody_is_at_it(bead: Bead, stays: bool) -> None:
    other = bead.evolve(claim_mode="exclusive")
    if stays:
        with pytest.raises(WrongState, match="its claim_mode stays"):
            lifecycle.with_mode(bead, other, START)
    else:
        assert lifecycle.with_mode(bead, other, START).claims == []


# --- whatever happens -------------------------------------------------------------------------


@given(st.lists(st.tuples(st.sampled_from("claim renew release tick".split()), st.sampled_from("abc")), max_size=30))
def test_nobody_is_at_it_twice_and_nothing_counts(steps: list[tuple[str, str]]) -> None:
    bead, at = make_bead(), START
    for number, (step, agent) in enumerate(steps):
        mine = advisory_claims.claim_of(bead, agent, at)
        fresh = {"agent": agent, "token": f"{agent}{number}", "started_at": time_text(at)}
        if step == "tick":
            at += timedelta(minutes=50)
        elif step == "claim" and mine is None:
            bead = advisory_claims.claimed(bead, fresh, SETTINGS, at)
        elif step == "renew" and mine:
            bead = advisory_claims.renewed(bead, mine, fresh, SETTINGS, at)
        elif step == "release" and mine:
            bead = advisory_claims.released(bead, mine["token"], "no", at)
        names = advisory_claims.at_it(bead, at)
        assert len(names) == len(set(names))
        assert len({claim["token"] for claim in bead.claims}) == len(bead.claims)
        assert (bead.status, bead.attempts_counted) == ("open", 0)
