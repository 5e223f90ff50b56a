"""The audit: every rule has a history that breaks it and no other, and what is legal is not blamed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from bd.policy import status_changes
from bd.report.audit.rules import RULES, SIGNED
from tests.auditing import assert_sound, audited
from tests.report.typed import AT, Typed, claim, held, said
from tests.truth import git, tip

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from bd.report.audit.audit import Audit
    from tests.running import Clone

pytestmark = pytest.mark.one_in(6)

WORDS = {"id": "C1", "author": "ann", "at": AT, "text": "a word"}
BY_HAND = "just typed in"


def codes(audit: Audit) -> list[tuple[str, str]]:
    """The violations, each as its code and its bead."""
    return [(violation.code, violation.bead) for violation in audit.violations]


@pytest.fixture
def typed(tmp_path: Path) -> Typed:
    return Typed(tmp_path / "typed")


# --- what breaks a rule -------------------------------------------------------------------


def replaced(hub: Typed) -> str:
    hub.claim()
    return hub.claim("ben", "T2", 2)


def resumed_by_another(hub: Typed) -> str:
    hub.claim()
    return hub.write(said("claim", "agent:ben", tokens=("T2",), resume=True), **held("ben", "T2"))


def taken_without_a_word(hub: Typed) -> str:
    hub.claim()
    return hub.write(said("take", "human:Ben", tokens=("T2",), force=True), **held("ben", "T2", 2))


def changed_hands(hub: Typed) -> str:
    hub.claim()
    return hub.write(said("update", "agent:ben", tokens=("T1",)), **held("ben", "T1"))


def another_owner(hub: Typed) -> str:
    return hub.write(said("claim", tokens=("T1",)), **{**held("ann", "T1"), "owner": "ben@hub"})


def held_twice(hub: Typed) -> str:
    claims = [claim("ann", "T1", 1), claim("ben", "T2", 2)]
    return hub.write(
        said("edit", tokens=("T1", "T2"), force=True, reason="both"), status="in_progress", attempts=2, claims=claims
    )


def claimed_on_two_branches(hub: Typed) -> str:
    hub.side()
    found = hub.claim("ben", "T2")
    hub.write(said("release", "agent:ben", tokens=("T2",)), attempts=1)
    hub.back()
    hub.claim()
    hub.write(said("release", tokens=("T1",)), attempts=1)
    hub.merge()
    return found


def excluded(hub: Typed) -> str:
    hub.claim(exclusive="repo:site")
    return hub.claim("ben", "T2", bead_id="hub-b", exclusive="repo:site")


def excluded_later(hub: Typed) -> str:
    hub.claim(exclusive="repo:site")
    hub.claim("ben", "T2", bead_id="hub-b")
    return hub.write(said("update"), "hub-b", **held("ben", "T2", exclusive="repo:site"))


def token_used_again(hub: Typed) -> str:
    hub.claim()
    hub.write(said("release", tokens=("T1",)), attempts=1)
    return hub.claim("ann", "T1", 2)


def token_of_another_bead(hub: Typed) -> str:
    hub.claim()
    return hub.claim("ann", "T1", bead_id="hub-b")


def token_that_nobody_names(hub: Typed) -> str:
    return hub.write(said("claim", tokens=("T9",)), **held("ann", "T1"))


def claim_by_hand(hub: Typed) -> str:
    return hub.write(BY_HAND, status="in_progress", claim=claim("ann", "T1"))


def ended_by_hand(hub: Typed) -> str:
    hub.claim()
    return hub.write(BY_HAND, status="open", attempts=1)


def ended_by_name(hub: Typed) -> str:
    hub.claim()
    return hub.write(said("release"), attempts=1)


def ended_by_force_without_a_reason(hub: Typed) -> str:
    hub.claim()
    return hub.write(said("close", "agent:ben", force=True, reason=" "), status="closed", attempts=1)


def freed_for_another_token(hub: Typed) -> str:
    hub.claim()
    stall = {"id": "hub-a", "token": "T0", "attempt": 1}
    return hub.write(said("reassign", "agent:ben", stalls=[stall]), attempts=1)


def deleted_by_another_without_its_token(hub: Typed) -> str:
    hub.claim()
    return hub.remove(said("delete", "agent:ben"))


def shared_and_taken_away(hub: Typed) -> str:
    one = {"claim_mode": "advisory", "attempts": 1, "claims": [claim("ann", "T1", 1, expires_at="2026-02-21T17:00:00Z")]}
    hub.write(said("claim", tokens=("T1",)), **one)
    return hub.write(said("update", "agent:ben"), claim_mode="advisory", attempts=1)


def closed_by_hand(hub: Typed) -> str:
    hub.claim()
    return hub.write(BY_HAND, **{**held("ann", "T1"), "status": "closed"})


def output_without_token(hub: Typed) -> str:
    hub.claim()
    return hub.write(said("update", "agent:ben", tokens=("T2",)), **held("ann", "T1", output={"data": "mine"}))


def claim_touched_up(hub: Typed) -> str:
    hub.claim()
    fields = held("ann", "T1")
    return hub.write(BY_HAND, **{**fields, "claim": {**fields["claim"], "expires_at": "2030-01-01T00:00:00Z"}})


def shared_and_closed(hub: Typed) -> str:
    one = {"claim_mode": "advisory", "attempts": 1, "claims": [claim("ann", "T1", 1, expires_at="2026-02-21T17:00:00Z")]}
    hub.write(said("claim", tokens=("T1",)), **one)
    return hub.write(said("close", "agent:ben"), **one, status="closed")


def fewer_attempts(hub: Typed) -> str:
    hub.write(said("import"), attempts=3)
    return hub.write(BY_HAND, attempts=2)


def more_attempts(hub: Typed) -> str:
    return hub.write(said("update"), attempts=1)


def skipped_number(hub: Typed) -> str:
    return hub.claim(attempt=2)


def wrong_number(hub: Typed) -> str:
    return hub.write(said("claim", tokens=("T1",)), **{**held("ann", "T1"), "claim": claim("ann", "T1", 5)})


def closed_and_cancelled(hub: Typed) -> str:
    hub.write(said("close"), status="closed")
    return hub.write(said("cancel"), status="cancelled")


def claimed_although_closed(hub: Typed) -> str:
    hub.write(said("close"), status="closed")
    return hub.claim()


def claimed_although_in_work(hub: Typed) -> str:
    hub.write(said("update", status="in_progress"), status="in_progress")
    return hub.claim()


def comment_that_closes(hub: Typed) -> str:
    return hub.write(said("comment"), status="closed")


def held_and_open(hub: Typed) -> str:
    hub.claim()
    return hub.write(said("update", tokens=("T1",)), **{**held("ann", "T1"), "status": "open"})


def stalled_by_hand(hub: Typed) -> str:
    return hub.write(BY_HAND, status="stalled")


def deleted_by_hand(hub: Typed) -> str:
    return hub.remove("tidy up")


def deleted_by_a_comment(hub: Typed) -> str:
    return hub.remove(said("comment"))


def put_in_the_place_of(hub: Typed) -> str:
    return hub.write(said("create"), uid="UID-other")


def comment_deleted(hub: Typed) -> str:
    hub.write(said("comment"), comments=[WORDS])
    return hub.write(BY_HAND, comments=[])


def comment_reworded(hub: Typed) -> str:
    hub.write(said("comment"), comments=[WORDS])
    return hub.write(said("comment"), comments=[{**WORDS, "text": "another"}])


def archived_and_changed(hub: Typed) -> str:
    hub.write(said("close"), status="closed")
    git(hub.path, "rm", "--quiet", "beads/hub-a.yaml")
    hub.put("hub-a", "beads/archive/2026-02", status="closed", title="Another")
    return hub.commit(said("archive"))


def archived_and_open(hub: Typed) -> str:
    (hub.path / "beads/archive/2026-02").mkdir(parents=True)
    git(hub.path, "mv", "beads/hub-a.yaml", "beads/archive/2026-02/hub-a.yaml")
    return hub.commit("out of the way")


def merged_without_a_close(hub: Typed) -> str:
    hub.side()
    hub.write(said("close"), status="closed")
    hub.back()
    hub.write(said("create"), "hub-c")
    return hub.merge("--strategy=ours")


def merged_without_a_comment(hub: Typed) -> str:
    hub.side()
    hub.write(said("comment"), comments=[WORDS])
    hub.back()
    hub.write(said("create"), "hub-c")
    return hub.merge("--strategy=ours")


def merged_without_a_bead(hub: Typed) -> str:
    hub.side()
    hub.write(said("create"), "hub-a2")
    hub.back()
    hub.write(said("create"), "hub-c")
    return hub.merge("--strategy=ours")


def carried_out_twice(hub: Typed) -> str:
    hub.write(said("update", uid="V1"), priority=1)
    return hub.write(said("update", uid="V1"), priority=2)


class Breach(NamedTuple):
    """A history that breaks one rule: how it is made (the answer is the guilty commit), the code, and the bead."""

    make: Callable[[Typed], str]
    code: str
    bead: str = "hub-a"


BREACHES = [
    Breach(replaced, "replaced"),
    Breach(resumed_by_another, "replaced"),
    Breach(taken_without_a_word, "replaced"),
    Breach(changed_hands, "changed_hands"),
    Breach(another_owner, "two_owners"),
    Breach(held_twice, "two_owners"),
    Breach(excluded, "exclusive", "hub-b"),
    Breach(excluded_later, "exclusive", "hub-b"),
    Breach(token_used_again, "token_reused"),
    Breach(token_of_another_bead, "token_reused", "hub-b"),
    Breach(token_that_nobody_names, "unannounced"),
    Breach(claim_by_hand, "unannounced"),
    Breach(ended_by_hand, "taken_away"),
    Breach(ended_by_name, "taken_away"),
    Breach(ended_by_force_without_a_reason, "taken_away"),
    Breach(freed_for_another_token, "taken_away"),
    Breach(deleted_by_another_without_its_token, "taken_away"),
    Breach(shared_and_taken_away, "taken_away"),
    Breach(closed_by_hand, "without_token"),
    Breach(output_without_token, "without_token"),
    Breach(claim_touched_up, "without_token"),
    Breach(shared_and_closed, "without_token"),
    Breach(fewer_attempts, "attempts"),
    Breach(more_attempts, "attempts"),
    Breach(skipped_number, "attempts"),
    Breach(wrong_number, "attempts"),
    Breach(closed_and_cancelled, "illegal_status"),
    Breach(claimed_although_closed, "illegal_status"),
    Breach(claimed_although_in_work, "illegal_status"),
    Breach(comment_that_closes, "illegal_status"),
    Breach(held_and_open, "illegal_status"),
    Breach(stalled_by_hand, "illegal_status"),
    Breach(deleted_by_hand, "bead_lost"),
    Breach(deleted_by_a_comment, "bead_lost"),
    Breach(put_in_the_place_of, "bead_lost"),
    Breach(comment_deleted, "comment_lost"),
    Breach(comment_reworded, "comment_lost"),
    Breach(archived_and_changed, "archive_changed"),
    Breach(archived_and_open, "archive_changed"),
    Breach(merged_without_a_close, "merge_lost"),
    Breach(merged_without_a_comment, "merge_lost"),
    Breach(merged_without_a_bead, "merge_lost", "hub-a2"),
    Breach(carried_out_twice, "twice", ""),
]


def test_every_rule_is_broken_by_something() -> None:
    assert {breach.code for breach in BREACHES} == set(RULES) - {"rewritten", "unsigned"} - SIGNED, (
        "what a clone saw is tried below, signatures in tests/hostile"
    )


@pytest.mark.parametrize("breach", BREACHES, ids=lambda breach: breach.make.__name__)
def test_a_history_that_breaks_exactly_one_rule(typed: Typed, breach: Breach) -> None:
    guilty = breach.make(typed)
    audit = typed.audit()
    assert codes(audit) == [(breach.code, breach.bead)], audit.violations
    assert audit.violations[0].commit == guilty
    assert guilty not in {made.commit for made in audit.hand_made}, "it is told once"
    said_so = audit.violations[0].as_json()
    assert said_so["by_hand"] == (not git(typed.path, "log", "-1", "--format=%(trailers:key=Bd-Uid)", guilty))
    assert guilty[:10] in said_so["todo"] or breach.bead in said_so["todo"]


def test_two_owners_whose_claims_ended_before_the_merge(typed: Typed) -> None:
    claimed_on_two_branches(typed)
    assert codes(typed.audit()) == [("two_owners", "hub-a")]


def test_two_owners_on_two_branches_that_were_merged(typed: Typed) -> None:
    typed.side()
    typed.claim("ben", "T2")
    typed.back()
    typed.claim()
    typed.merge("--strategy=ours")
    assert ("two_owners", "hub-a") in codes(typed.audit())


def test_a_merge_that_drops_a_claim_in_silence(typed: Typed) -> None:
    typed.side()
    typed.claim("ben", "T2")
    typed.back()
    typed.write(said("create"), "hub-c")
    typed.merge("--strategy=ours")
    assert ("taken_away", "hub-a") in codes(typed.audit())


# --- what only signatures could prove ---------------------------------------------------------


LATER = "2026-02-21T20:00:00Z"
BEATS = {"heartbeat_interval_s": 30, "heartbeat_by": "ref"}


def stall(**more: Any) -> dict[str, Any]:
    return {"id": "hub-a", "token": "T1", "attempt": 1, "why": "overdue", "since": AT, **more}


def freeing(at: str = LATER, stalls: Any = None, verb: str = "reassign", **claimed: Any) -> Callable[[Typed], str]:
    """A history in which ben frees ann's claim of 15:00, and says why; `claimed` is more of that claim."""

    def make(hub: Typed) -> str:
        mine = {"claimed_at": AT, "started_at": AT, **claimed}
        fields = {**held("ann", "T1"), "claim": claim("ann", "T1", 1, **mine)}
        hub.write(said("claim", tokens=("T1",)), at=AT, **fields)
        return hub.write(said(verb, "agent:ben", stalls=[stall()] if stalls is None else stalls), at=at, attempts=1)

    return make


def under_anothers_token(hub: Typed) -> str:
    hub.claim()
    return hub.write(said("close", "agent:ben", tokens=("T1",)), status="closed", attempts=1)


def changed_under_anothers_token(hub: Typed) -> str:
    hub.claim()
    return hub.write(said("update", "agent:ben", tokens=("T1",)), **held("ann", "T1", output={"type": "text"}))


def retired_though_no_member(hub: Typed) -> str:
    hub.claim()
    return hub.write(said("pool-retire", "human:Ada", tokens=("T1",), agent="ann"), attempts=1)


def dated_an_hour_before(hub: Typed) -> str:
    hub.write(said("comment"), at="2026-02-21T16:00:00Z", comments=[WORDS])
    return hub.write(said("update"), at="2026-02-21T15:29:59Z", comments=[WORDS], priority=1)


DOUBTS = [
    ("not_holder", under_anothers_token),
    ("not_holder", changed_under_anothers_token),
    ("not_holder", retired_though_no_member),
    ("backdated", dated_an_hour_before),
    ("unproved_stall", freeing(stalls=[{"id": "hub-a", "token": "T1"}])),
    ("unproved_stall", freeing(stalls=[stall(attempt=2)])),
    ("unproved_stall", freeing(stalls=[stall(since="2026-02-21T14:00:00Z")])),
    ("unproved_stall", freeing(stalls=[stall(why="bored")])),
    ("unproved_stall", freeing(stalls=[stall(why="never_started")])),
    ("unproved_stall", freeing(stalls=[stall(why="silent")])),
    ("unproved_stall", freeing(stalls=[stall(why="lost")])),
    ("unproved_stall", freeing(stalls=[stall(why="validating")])),
    ("unproved_stall", freeing("2026-02-21T15:00:01Z", [stall(why="silent")], **BEATS)),
    ("unproved_stall", freeing("2026-02-21T15:00:44Z", [stall(why="silent")], **BEATS)),
    ("unproved_stall", freeing("2026-02-21T15:07:00Z", [stall(why="never_started")], started_at=None)),
    ("unproved_stall", freeing("2026-02-21T16:29:59Z")),
    ("unproved_stall", freeing("2026-02-21T14:45:00Z")),
]


@pytest.mark.parametrize(("code", "make"), DOUBTS)
def test_what_only_signatures_could_prove_is_a_note(typed: Typed, code: str, make: Callable[[Typed], str]) -> None:
    guilty = make(typed)
    audit = typed.audit()
    assert audit.holds
    assert [(one.code, one.commit) for one in audit.notes] == [(code, guilty)], audit.notes
    assert RULES[code].words == audit.as_json()["notes"][0]["rule"]
    assert set(RULES) >= SIGNED >= {code}


@pytest.mark.parametrize(
    "make",
    [
        freeing(),
        freeing("2026-02-21T16:30:00Z"),  # twice the hour that it was expected to take, and clocks may differ
        freeing("2026-02-21T15:01:31Z", [stall(why="silent")], **BEATS),
        freeing("2026-02-21T15:16:00Z", [stall(why="never_started")], started_at=None),
    ],
)
def test_a_stall_that_is_proved_is_no_note(typed: Typed, make: Callable[[Typed], str]) -> None:
    make(typed)
    assert (typed.audit().violations, typed.audit().notes) == ((), ())


@pytest.mark.parametrize(
    ("name", "is_told"), [("ann-2", False), ("ann", False), ("ann-x", True), ("bea", False), ("ben-2", True)]
)
def test_only_a_pools_member_can_be_lost(typed: Typed, name: str, is_told: bool) -> None:
    typed.put_text(".beads/agents/ann.yaml", "name: ann\npool: {max: 3, names: [bea]}\n")
    typed.put_text(".beads/agents/ben.yaml", "name: ben\n")
    typed.commit("a pool")
    typed.claim(name)
    lost = stall(why="lost", since="")
    typed.write(said("reassign", "human:Ada", stalls=[lost]), attempts=1)
    assert [one.code for one in typed.audit().notes] == ["unproved_stall"] * is_told


# --- what breaks none ---------------------------------------------------------------------


def freed(hub: Typed) -> None:
    hub.claim()
    hub.write(said("reassign", "agent:ben", stalls=[{"id": "hub-a", "token": "T1", "attempt": 1}]), attempts=1)
    hub.claim("ben", "T2", 2)


def forced(hub: Typed) -> None:
    hub.claim()
    hub.write(said("close", "agent:ben", force=True, reason="ann is gone"), status="closed", attempts=1)


def forced_by_hand(hub: Typed) -> None:
    hub.claim()
    hub.write(said("edit", "human:Ada", force=True, reason="it was me"), attempts=3)


def the_token_under_any_name(hub: Typed) -> None:
    hub.claim()
    hub.write(said("close", "human:Ada", tokens=("T1",)), status="closed", attempts=1)


def an_agent_that_is_removed(hub: Typed) -> None:
    hub.claim()
    hub.write(said("agent-remove", "human:Ada", agent="ann", release=True), attempts=1)


def resumed(hub: Typed) -> None:
    hub.claim()
    hub.write(said("claim", tokens=("T2",), resume=True), **held("ann", "T2"))


def given_back_and_taken_back(hub: Typed) -> None:
    hub.claim()
    hub.write(said("release", tokens=("T1",)), attempts=1)
    hub.write(said("undo", tokens=("T1",)), **held("ann", "T1"))


def resumed_and_taken_back(hub: Typed) -> None:
    resumed(hub)
    hub.write(said("undo", tokens=("T2",)), **held("ann", "T1"))


def side_by_side(hub: Typed) -> None:
    both = [claim("ann", "T1", 1), claim("ben", "T2", 2)]
    hub.write(said("claim", tokens=("T1",)), claim_mode="advisory", attempts=1, claims=both[:1])
    hub.write(said("claim", "agent:ben", tokens=("T2",)), claim_mode="advisory", attempts=2, claims=both)
    hub.write(said("close", tokens=("T1",)), claim_mode="advisory", attempts=2, status="closed")


def shared_and_over(hub: Typed) -> None:
    one = claim("ann", "T1", 1, expires_at="2026-02-21T14:00:00Z")
    hub.write(said("claim", tokens=("T1",)), claim_mode="advisory", attempts=1, claims=[one])
    hub.write(said("claim", "agent:ben", tokens=("T2",)), claim_mode="advisory", attempts=2, claims=[claim("ben", "T2", 2)])


def one_after_the_other(hub: Typed) -> None:
    hub.claim(exclusive="repo:site")
    hub.write(said("close", tokens=("T1",)), exclusive="repo:site", status="closed", attempts=1)
    hub.claim("ben", "T2", bead_id="hub-b", exclusive="repo:site")


def deleted_and_brought_back(hub: Typed) -> None:
    hub.write(said("comment"), comments=[WORDS])
    hub.remove(said("delete"))
    hub.write(said("undo"), comments=[WORDS])
    hub.write(said("undo"), comments=[])


def archived_and_reopened(hub: Typed) -> None:
    hub.write(said("close"), status="closed")
    (hub.path / "beads/archive/2026-02").mkdir(parents=True)
    git(hub.path, "mv", "beads/hub-a.yaml", "beads/archive/2026-02/hub-a.yaml")
    hub.commit(said("archive"))
    git(hub.path, "rm", "--quiet", "beads/archive/2026-02/hub-a.yaml")
    hub.write(said("reopen"))


def one_of_two_files_of_a_bead(hub: Typed) -> None:
    hub.put("hub-a", "beads/archive/2026-02", status="closed")
    hub.commit("a copy")
    git(hub.path, "rm", "--quiet", "beads/archive/2026-02/hub-a.yaml")
    hub.commit("no copy")


def merged(hub: Typed) -> None:
    """Both sides go on, and the merge has all of it but a bead."""
    hub.claim()
    hub.side()
    hub.write(said("comment"), "hub-b", comments=[WORDS])
    hub.back()
    hub.write(said("close", tokens=("T1",)), status="closed", attempts=1)
    hub.remove(said("delete"), "hub-b")
    hub.write(said("create"), "hub-c")
    git(hub.path, "switch", "--quiet", "side")
    git(hub.path, "merge", "--quiet", "-m", "merge", "main", check=False)
    git(hub.path, "rm", "--quiet", "beads/hub-b.yaml")
    git(hub.path, "commit", "--quiet", "-m", "merge")
    hub.back()
    git(hub.path, "merge", "--quiet", "--ff-only", "side")
    hub.claim("ben", "T2", bead_id="hub-c")


def a_clash_and_its_end(hub: Typed) -> None:
    """A file that can't be read says what it said before."""
    hub.claim()
    hub.put_text("beads/hub-a.yaml", "id: hub-a\n<<<<<<< here\nclaim: [\n")
    hub.commit("a clash")
    hub.write(said("close", tokens=("T1",)), status="closed", attempts=1)


def a_newer_verb(hub: Typed) -> None:
    hub.write(said("polish"), status="closed")


SOUND: list[Callable[[Typed], None]] = [
    freed,
    forced,
    forced_by_hand,
    the_token_under_any_name,
    an_agent_that_is_removed,
    resumed,
    resumed_and_taken_back,
    given_back_and_taken_back,
    side_by_side,
    shared_and_over,
    one_after_the_other,
    deleted_and_brought_back,
    archived_and_reopened,
    one_of_two_files_of_a_bead,
    a_clash_and_its_end,
    a_newer_verb,
]


@pytest.mark.parametrize("make", SOUND, ids=lambda make: make.__name__)
def test_what_is_legal_is_not_blamed(typed: Typed, make: Callable[[Typed], None]) -> None:
    make(typed)
    assert typed.audit().violations == ()


def test_a_merge_that_keeps_all_but_a_bead_that_one_side_deleted_and_the_other_wrote_to(typed: Typed) -> None:
    merged(typed)
    assert codes(typed.audit()) == [("merge_lost", "hub-b")]


def test_what_is_claimed_where_history_begins_is_taken_as_found(tmp_path: Path) -> None:
    path = tmp_path / "first"
    typed = Typed(path)
    typed.claim()
    git(path, "checkout", "--quiet", "--orphan", "again")
    git(path, "commit", "--quiet", "-m", "history was cut off here")
    git(path, "branch", "--force", "main")
    git(path, "switch", "--quiet", "main")
    typed.write(said("close", tokens=("T1",)), status="closed", attempts=1)
    audit = typed.audit()
    assert audit.holds, audit.violations
    assert (audit.commits, audit.claims) == (2, 0)
    typed.write(BY_HAND, attempts=0)
    assert codes(typed.audit()) == [("attempts", "hub-a")]


@pytest.mark.parametrize(
    "args",
    [
        {"stalls": 5},
        {"stalls": ["T1", None, {"token": ["T1"]}]},
        {"also_me": {"a": 1}, "resume": 1},
        {"force": "yes", "reason": ["because"]},
        {"force": True, "reason": {"why": 1}},
    ],
)
@pytest.mark.parametrize("verb", ["reassign", "claim", "close", "update"])
def test_a_form_that_is_typed_to_do_harm_is_judged_like_any_other(typed: Typed, verb: str, args: dict[str, Any]) -> None:
    typed.claim()
    message = said(verb, **args).replace(f'"at": "{AT}"', '"at": "whenever"')
    shared = [claim("ben", "T2", 2, expires_at="2026-02-21T17:00:00Z")]
    typed.write(message, status="open", attempts=2, claim_mode="advisory", claims=shared)
    typed.write(message, status="open", attempts=2, claim_mode="advisory")
    assert {code for code, _ in codes(typed.audit())} >= {"taken_away", "unannounced"}


# --- made by hand -------------------------------------------------------------------------


def test_what_was_made_by_hand_is_listed_apart(typed: Typed) -> None:
    closed = typed.write(BY_HAND, status="closed")
    typed.put("hub-n", status="blocked")
    typed.put_text(".beads/config.yaml", "format: 1\n")
    typed.put_text("README", "not the hub's")
    made = typed.commit("more")
    typed.put_text("README", "still not")
    typed.commit("nothing of the hub's")
    typed.write(said("update"), priority=1, status="closed")
    audit = typed.audit()
    assert audit.holds, audit.violations
    assert [(one.commit, one.by, one.what) for one in audit.hand_made] == [
        (closed, "Test Person", ("hub-a: status open -> closed",)),
        (made, "Test Person", ("hub-n: made, blocked", ".beads/config.yaml")),
    ]
    assert all(one.at.endswith("Z") for one in audit.hand_made)


def test_what_a_merge_only_brings_together_was_not_made_by_it(typed: Typed) -> None:
    typed.side()
    typed.write(said("update"), priority=1)
    typed.back()
    typed.write(said("update"), "hub-b", priority=1)
    typed.merge()
    audit = typed.audit()
    assert (audit.violations, audit.hand_made) == ((), ())


# --- how far it looks ---------------------------------------------------------------------


def test_since_leaves_out_what_there_was(typed: Typed) -> None:
    more_attempts(typed)
    start = typed.claim(attempt=2)
    typed.write(said("close", tokens=("T1",)), status="closed", attempts=2)
    audit = typed.audit(start)
    assert audit.holds, audit.violations
    assert (audit.commits, audit.claims, audit.start, audit.is_whole, audit.is_cut) == (1, 0, start, False, False)
    guilty = typed.write(BY_HAND, status="closed")
    assert [violation.commit for violation in typed.audit(start).violations] == [guilty]


def test_since_knows_who_held_what_then(typed: Typed) -> None:
    start = typed.claim()
    typed.write(BY_HAND, attempts=1)
    assert codes(typed.audit(start)) == [("taken_away", "hub-a")]
    typed.claim("ben", "T1", 2)
    assert codes(typed.audit(start))[-1] == ("token_reused", "hub-a")


def test_a_shallow_clone_says_from_where_it_could_check(typed: Typed, tmp_path: Path) -> None:
    more_attempts(typed)
    begins = typed.claim(attempt=2)
    last = typed.write(said("close", tokens=("T1",)), status="closed", attempts=2)
    git(tmp_path, "clone", "--quiet", "--depth", "2", f"file://{typed.path}", "shallow")
    audit = audited(tmp_path / "shallow")
    assert audit.holds, audit.violations
    assert (audit.start, audit.tip, audit.is_whole, audit.is_cut) == (begins, last, False, True)


# --- what bd does -------------------------------------------------------------------------


def test_what_bd_does_is_sound(clone: Callable[[str], Clone], hub: Path) -> None:
    alice, bob = clone("alice"), clone("bob")
    one, two, three = (alice.here("q", title).out.strip() for title in ("One", "Two", "Three"))
    alice.here("claim", one, two, "--agent", "alice")
    alice.here("start", two, "--agent", "alice")
    alice.here("release", two, "--reason", "no time", "--agent", "alice")
    alice.here("close", one, "--reason", "done", "--next", "--agent", "alice")
    bob.here("claim", three, "--agent", "bob", check=False)
    bob.here("close", three, "--force", "--reason", "enough", "--agent", "bob", check=False)
    bob.here("archive", "--older-than", "0s", check=False)
    bob.here("delete", one, "--force", check=False)
    assert_sound(hub)
    audit = audited(hub)
    assert audit.commits == int(git(hub, "rev-list", "--count", "main"))
    assert (audit.tip, audit.is_whole, audit.hand_made) == (tip(hub), True, ())
    assert audit.notes == ()
    assert sum(audit.agents.values()) == audit.claims > 2
    assert audit.agents["alice"] >= 2


def test_every_verb_has_its_moves() -> None:
    import bd.operations.registry  # noqa: F401  all verbs
    from bd.operations.base import REGISTRY

    assert {verb for verb in REGISTRY if not status_changes.is_known(verb)} == set()
    listed: dict[str, Any] = {
        **status_changes.MOVES,
        **dict.fromkeys([*status_changes.FREE, *status_changes.RESTORING, *status_changes.KEEPING]),
    }
    assert listed.keys() == REGISTRY.keys()
