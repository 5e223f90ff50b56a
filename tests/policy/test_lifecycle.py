"""State changes of one bead: every legal one and what it leaves, every illegal one and how it is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from bd.core.errors import AlreadyClaimed, AlreadyClosed, BadInput, BdError, StaleToken, WrongState
from bd.policy import claims, lifecycle
from tests.clocks import START
from tests.memory import MemorySnapshot, held, make_bead

if TYPE_CHECKING:
    from collections.abc import Callable

    from bd.core.model import Bead

AT = "2026-02-21T15:00:00Z"
EXACT = "2026-02-21T15:00:00.000000Z"

# One bead in each state that is stored.
STATES: dict[str, Bead] = {
    "open": make_bead(),
    "held": held(),
    "reserved": held(claim={"started_at": None, "expires_at": "2026-02-21T15:15:00Z"}),
    "by_hand": make_bead(status="in_progress", assignee="Ada"),
    "blocked": make_bead(status="blocked", status_reason="no key", waiting_on="human"),
    "deferred": make_bead(status="deferred", defer_until="2026-03-01T00:00:00Z"),
    "validating": held(status="validating"),
    "closed": make_bead(status="closed", closed_by="agent:coder", closed_at="2026-02-21T10:00:00Z", close_reason="Done"),
    "cancelled": make_bead(status="cancelled", closed_by="human:Ada", closed_at="2026-02-21T10:00:00Z", close_reason="No"),
    "dead_letter": make_bead(status="dead_letter", dead_lettered_at="2026-02-21T10:00:00Z", attempts=3),
    "pinned": make_bead(status="pinned"),
}
NEW_CLAIM = {"agent": "other", "token": "01NEW", "started_at": AT}

CHANGES: dict[str, Callable[[Bead], Bead]] = {
    "release": lambda bead: lifecycle.released(bead, "broken", START),
    "close": lambda bead: lifecycle.closed(bead, "agent:coder", "Done", START),
    "cancel": lambda bead: lifecycle.cancelled(bead, "human:Ada", "No", START),
    "reopen": lambda bead: lifecycle.reopened(bead, START),
    "defer": lambda bead: lifecycle.deferred(bead, "2026-03-02T00:00:00Z", START),
    "undefer": lambda bead: lifecycle.undeferred(bead, START),
    "wait-human": lambda bead: lifecycle.parked_for_human(bead, "Which?", START),
    "answer": lambda bead: lifecycle.answered(bead, 3600.0, START),
}
# What each change makes of each state: the new status, or the refusal. One row a state, one column a change.
# fmt: off
TABLE: dict[str, dict[str, str | type[BdError]]] = {
    #              release        close                cancel               reopen              defer               undefer     wait-human  answer
    "open": dict(zip(CHANGES, [WrongState, "closed", "cancelled", "open", "deferred", WrongState, "blocked", WrongState], strict=True)),
    "held": dict(zip(CHANGES, ["open", "closed", "cancelled", WrongState, "deferred", WrongState, "blocked", WrongState], strict=True)),
    "reserved": dict(zip(CHANGES, ["open", "closed", "cancelled", WrongState, "deferred", WrongState, "blocked", WrongState], strict=True)),
    "by_hand": dict(zip(CHANGES, ["open", "closed", "cancelled", WrongState, "deferred", WrongState, "blocked", WrongState], strict=True)),
    "blocked": dict(zip(CHANGES, [WrongState, "closed", "cancelled", "open", "deferred", WrongState, WrongState, "open"], strict=True)),
    "deferred": dict(zip(CHANGES, [WrongState, "closed", "cancelled", "open", "deferred", "open", WrongState, WrongState], strict=True)),
    "validating": dict(zip(CHANGES, ["open", "closed", "cancelled", WrongState, "deferred", WrongState, "blocked", WrongState], strict=True)),
    "closed": dict(zip(CHANGES, [WrongState, AlreadyClosed, WrongState, "open", WrongState, WrongState, WrongState, WrongState], strict=True)),
    "cancelled": dict(zip(CHANGES, [WrongState, WrongState, AlreadyClosed, "open", WrongState, WrongState, WrongState, WrongState], strict=True)),
    "dead_letter": dict(zip(CHANGES, [WrongState, "closed", "cancelled", "open", "deferred", WrongState, WrongState, WrongState], strict=True)),
    "pinned": dict(zip(CHANGES, [WrongState, "closed", "cancelled", "open", "deferred", WrongState, WrongState, WrongState], strict=True)),
}
# fmt: on


def test_the_table_has_every_state() -> None:
    assert TABLE.keys() == STATES.keys()


@pytest.mark.parametrize(("state", "change"), [(state, change) for state in STATES for change in CHANGES])
def test_every_change_of_every_state(state: str, change: str) -> None:
    bead, expected = STATES[state], TABLE[state][change]
    before = dict(bead.fields)
    if isinstance(expected, str):
        after = CHANGES[change](bead)
        assert after.status == expected
        assert after.updated_at == EXACT
        assert (after.claim is None) == (expected != "in_progress"), "only what is in progress is held"
        assert (after.owner is None) or expected == "closed", "a finished bead remembers who owned it"
        assert (after.id, after.title, after.created_at) == (bead.id, bead.title, bead.created_at)
    else:
        with pytest.raises(expected) as refusal:
            CHANGES[change](bead)
        assert type(refusal.value) is expected
        assert bead.id in str(refusal.value)
    assert dict(bead.fields) == before, "the bead that came in is as it was"


# --- who may ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bead", "token", "force", "passes"),
    [
        (make_bead(), None, False, True),
        (make_bead(), "anything", True, True),
        (STATES["by_hand"], None, False, True),
        (held(), "01TOKEN", False, True),
        (held(), None, False, False),
        (held(), "01OLD", False, False),
        (held(), "coder", False, False),
        (held(), "", False, False),
        (held(), None, True, True),
        (held(), "01OLD", True, True),
        (STATES["reserved"], "01TOKEN", False, True),
        (STATES["reserved"], None, False, False),
    ],
)
def test_only_the_token_opens_a_held_bead(bead: Bead, token: str | None, force: bool, passes: bool) -> None:
    if passes:
        lifecycle.guard(bead, token, force=force)
    else:
        with pytest.raises(StaleToken, match="coder@hub"):
            lifecycle.guard(bead, token, force=force)


def test_a_token_does_not_outlive_its_claim() -> None:
    with pytest.raises(StaleToken, match="has ended"):
        lifecycle.guard(make_bead(), "01TOKEN")


def test_force_needs_a_reason_only_against_another() -> None:
    lifecycle.refuse_silent_force(make_bead(), None, None)
    lifecycle.refuse_silent_force(held(), "01TOKEN", None)
    lifecycle.refuse_silent_force(held(), None, "gone silent")
    for reason in (None, "", " "):
        with pytest.raises(BadInput, match="needs --reason"):
            lifecycle.refuse_silent_force(held(), "01OLD", reason)


@pytest.mark.parametrize("status", ["deferred", "blocked", "cancelled"])
def test_what_nobody_holds_stays_routed(status: str) -> None:
    bead = make_bead(assignee="alice", owner="ada@hub")
    after = lifecycle.with_status(bead, status, "human:Ada", "why", START)
    assert (after.status, after.assignee, after.owner) == (status, "alice", "ada@hub")


@pytest.mark.parametrize("routed", ["alice", None])
def test_what_is_reopened_is_routed_as_before_the_claim(routed: str | None) -> None:
    claim = {"routed": routed} if routed else {}
    done = lifecycle.closed(held(claim=claim), "agent:coder", "done", START)
    assert done.assignee == "coder", "a list shows who did it"
    opened = lifecycle.reopened(done, START)
    assert (opened.assignee, opened.get("routed"), opened.get("claimed_at")) == (routed, None, None)


def test_what_was_closed_without_a_claim_is_reopened_as_it_was_routed() -> None:
    done = lifecycle.closed(make_bead(assignee="alice"), "human:Ada", "done", START)
    assert lifecycle.reopened(done, START).assignee == "alice"


@pytest.mark.parametrize(("state", "held_by"), [("held", "coder@hub"), ("reserved", "coder@hub"), ("by_hand", "Ada")])
def test_a_held_bead_is_not_claimed_again(state: str, held_by: str) -> None:
    with pytest.raises(AlreadyClaimed, match="already claimed by") as refusal:
        claims.refuse_held(STATES[state], START)
    assert refusal.value.data["owner"] == held_by


def test_a_stamp_from_the_future_is_no_negative_age() -> None:
    bead = held(claim={"claimed_at": "2026-02-21T15:10:00Z"})
    with pytest.raises(AlreadyClaimed, match=r"\(0s\)"):
        claims.refuse_held(bead, START)


@pytest.mark.parametrize("state", ["open", "blocked", "deferred", "closed", "pinned"])
def test_what_nobody_holds_is_not_refused_as_held(state: str) -> None:
    claims.refuse_held(STATES[state], START)


# --- what a claim leaves ----------------------------------------------------------------------


def test_a_claim() -> None:
    after = claims.claimed(make_bead(retry_at="2026-02-21T14:00:00Z", attempts=1), NEW_CLAIM, "other@hub", START)
    assert after.status == "in_progress"
    assert (after.assignee, after.owner, after.attempts) == ("other", "other@hub", 2)
    assert after.get("claim") == {**NEW_CLAIM, "attempt": 2, "claimed_at": AT}
    assert after.get("claimed_at") == after.get("started_at") == AT
    assert after.get("retry_at") is None
    assert after.updated_at == EXACT


def test_a_reserved_claim_is_not_started_and_starting_begins_it_once() -> None:
    reserved = claims.claimed(
        make_bead(), {"agent": "other", "token": "01NEW", "expires_at": "2026-02-21T15:15:00Z"}, "other@hub", START
    )
    assert reserved.get("started_at") is None
    begun = claims.started(reserved, START)
    assert begun.get("started_at") == begun.get("claim")["started_at"] == AT
    assert "expires_at" not in begun.get("claim")
    assert claims.started(begun, START) is begun


def test_the_first_start_of_a_bead_is_kept() -> None:
    bead = make_bead(started_at="2026-02-20T10:00:00Z")
    assert claims.claimed(bead, NEW_CLAIM, "other@hub", START).get("started_at") == "2026-02-20T10:00:00Z"


@pytest.mark.parametrize("routed", [None, "reader"])
def test_a_release_restores_who_it_was_routed_to(routed: str | None) -> None:
    bead = make_bead(assignee=routed)
    after = lifecycle.released(claims.claimed(bead, NEW_CLAIM, "other@hub", START), "broken", START)
    assert after.assignee == routed
    assert (after.owner, after.claim, after.get("claimed_at")) == (None, None, None)
    assert after.get("status_reason") == "broken"


def test_ten_claims_and_releases_are_ten_attempts_and_none_counted() -> None:
    bead = make_bead()
    for _ in range(10):
        bead = lifecycle.released(claims.claimed(bead, NEW_CLAIM, "other@hub", START), "broken", START)
    assert (bead.attempts, bead.attempts_counted) == (10, 0)


def test_a_release_that_is_not_forgiven_counts() -> None:
    bead = lifecycle.released(held(), "crash", START, forgiven=False)
    assert (bead.attempts, bead.attempts_counted) == (1, 1)


def test_resuming_is_the_same_attempt_under_a_new_token() -> None:
    before = held(claim={"routed": "reader", "work_ref": "fix/x"})
    after = claims.resumed(before, {"agent": "coder", "token": "01NEW", "version": "9"}, "coder@hub", START)
    claim = after.get("claim")
    assert claim["token"] == "01NEW"  # noqa: S105  no password
    assert {key: claim[key] for key in ("attempt", "claimed_at", "routed", "work_ref", "started_at")} == {
        "attempt": 1,
        "claimed_at": before.get("claimed_at"),
        "routed": "reader",
        "work_ref": "fix/x",
        "started_at": before.get("started_at") or before.get("claim")["started_at"],
    }
    assert after.attempts == before.attempts


def test_resuming_what_was_put_in_progress_by_hand_is_a_first_attempt() -> None:
    after = claims.resumed(STATES["by_hand"], {"agent": "ada", "token": "01NEW"}, "ada@hub", START)
    assert (after.attempts, after.claim and after.claim.attempt) == (1, 1)


# --- ends -------------------------------------------------------------------------------------


def test_closing_keeps_who_did_it_and_forgets_the_waiting() -> None:
    after = lifecycle.closed(STATES["blocked"], "agent:coder", "Shipped", START)
    assert (after.get("closed_by"), after.get("close_reason"), after.get("closed_at")) == ("agent:coder", "Shipped", AT)
    assert (after.get("waiting_on"), after.get("status_reason")) == (None, None)


def test_a_second_close_names_the_first() -> None:
    with pytest.raises(AlreadyClosed, match="agent:coder: Done"):
        lifecycle.closed(STATES["closed"], "agent:other", "Mine", START)


def test_reopening_forgets_the_end() -> None:
    after = lifecycle.reopened(STATES["closed"], START)
    assert not {"closed_at", "closed_by", "close_reason", "owner"} & after.fields.keys()


@pytest.mark.parametrize(
    ("state", "status", "expected"),
    [
        ("open", "closed", "closed"),
        ("open", "cancelled", "cancelled"),
        ("open", "deferred", "deferred"),
        ("open", "blocked", "blocked"),
        ("open", "in_progress", "in_progress"),
        ("open", "ready", "open"),
        ("open", "on_ice", "on_ice"),
        ("held", "open", "open"),
        ("held", "ready", "open"),
        ("held", "blocked", "blocked"),
        ("held", "deferred", "deferred"),
        ("held", "closed", "closed"),
        ("held", "in_progress", "in_progress"),
        ("closed", "open", "open"),
        ("closed", "in_progress", "in_progress"),
        ("closed", "closed", "closed"),
        ("cancelled", "open", "open"),
        ("deferred", "open", "open"),
        ("dead_letter", "open", "open"),
        ("open", "stalled", BadInput),
        ("open", "retrying", BadInput),
        ("cancelled", "closed", WrongState),
        ("closed", "cancelled", WrongState),
        ("closed", "deferred", WrongState),
    ],
)
def test_setting_a_status_by_hand(state: str, status: str, expected: str | type[BdError]) -> None:
    bead = STATES[state]
    if not isinstance(expected, str):
        with pytest.raises(expected):
            lifecycle.with_status(bead, status, "human:Ada", None, START)
        return
    after = lifecycle.with_status(bead, status, "human:Ada", None, START)
    assert after.status == expected
    if expected != "in_progress":
        assert after.claim is None
    assert (after == bead) == (status in (bead.status, "ready") and bead.status == expected)


@pytest.mark.parametrize(
    ("bead", "status", "gone"),
    [
        ("closed", "blocked", {"closed_at", "closed_by", "close_reason"}),
        ("dead_letter", "open", {"dead_lettered_at"}),
        ("blocked", "open", {"waiting_on", "status_reason"}),
        ("held", "blocked", {"claim", "claimed_at", "owner", "assignee"}),
    ],
)
def test_a_new_status_leaves_nothing_of_the_old(bead: str, status: str, gone: set[str]) -> None:
    after = lifecycle.with_status(STATES[bead], status, "human:Ada", None, START)
    assert not gone & after.fields.keys()


# --- stamps -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "stamp"),
    [
        ({"updated_at": "2026-02-21T14:00:00Z"}, EXACT),
        ({"updated_at": None}, EXACT),
        ({"updated_at": EXACT}, "2026-02-21T15:00:00.000001Z"),
        # a fast clock elsewhere: still later than what is there
        ({"updated_at": "2026-02-21T16:00:00.5Z"}, "2026-02-21T16:00:00.500001Z"),
        ({"updated_at": None, "created_at": "2026-02-21T16:00:00Z"}, "2026-02-21T16:00:00.000000Z"),
    ],
)
def test_updated_at_always_moves_on(fields: dict[str, Any], stamp: str) -> None:
    assert lifecycle.touch(make_bead(**fields), START).updated_at == stamp


def test_a_won_claim_may_be_over_in_the_same_push() -> None:
    now = MemorySnapshot([held("hub-a", "coder", "A"), held("hub-b", "coder", "ANOTHER"), make_bead("hub-c")])
    won = [("A", "hub-a"), ("B", "hub-b"), ("C", "hub-c"), ("D", "hub-gone")]
    assert claims.ended(won, now) == ["hub-b", "hub-c", "hub-gone"]
