"""What becomes of a bead whose attempt failed: delays, limits, kinds, poison pills, and spaced releases."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bd.core.errors import BadInput, WrongState
from bd.core.settings import merge
from bd.core.times import instant_of, time_text
from bd.policy import claims, failure_kinds, lifecycle, retry
from tests.clocks import START
from tests.memory import held, make_bead

if TYPE_CHECKING:
    from bd.core.model import Bead

SETTINGS = merge([])
MIDDLE = 0.5  # no jitter at all


def failed(bead: Bead, reason: str = "crash", jitter: float = MIDDLE, settings: Any = SETTINGS) -> Bead:
    failure = retry.failure_of(bead, reason, "It broke.", START)
    return retry.after_failure(bead, failure, settings, START, jitter)


def claimed(bead: Bead, agent: str = "coder") -> Bead:
    claim = {"agent": agent, "token": "t", "started_at": time_text(START)}
    return claims.claimed(bead, claim, f"{agent}@hub", START)


def delay(bead: Bead) -> float:
    """Seconds until the bead is tried again; 0 for at once."""
    due = bead.get("retry_at")
    return (instant_of(due) - START).total_seconds() if due else 0.0


# --- one failure ------------------------------------------------------------------------------


def test_a_failed_bead_is_open_again_for_whom_it_was_routed_to() -> None:
    before = held(claim={"routed": "reader"}, attempts=1)
    after = failed(before)
    assert (after.status, after.claim, after.owner, after.assignee) == ("open", None, None, "reader")
    assert after.get("claimed_at") is None
    assert after.get("retry_at") == "2026-02-21T15:00:10Z"
    assert (after.attempts, after.attempts_counted) == (1, 1)
    assert after.updated_at > before.updated_at
    [entry] = after.get("failures")
    assert entry == {
        "attempt": 1,
        "agent": "coder",
        "reason": "crash",
        "error": "It broke.",
        "at": "2026-02-21T15:00:00Z",
        "duration_s": 108000.0,
    }


def test_a_failure_takes_what_was_measured() -> None:
    entry = retry.failure_of(held(), "timeout", "slow", START, duration_s=1.5, cost_usd=0)
    assert (entry["duration_s"], entry["cost_usd"]) == (1.5, 0)
    assert "duration_s" not in retry.failure_of(held(claim={"started_at": None}), "timeout", "slow", START)


@pytest.mark.parametrize("status", ["open", "closed", "dead_letter"])
def test_only_what_somebody_works_on_can_fail(status: str) -> None:
    with pytest.raises(WrongState):
        failed(make_bead(status=status))


def test_work_that_nobody_claimed_can_stall() -> None:
    after = failed(make_bead(status="in_progress", assignee="Ada"), "stalled")
    assert (after.status, after.get("failures")[0]["agent"]) == ("open", "Ada")


# --- the limit --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("attempts", "forgiven", "own", "hub", "status"),
    [
        (1, 0, None, 3, "open"),
        (2, 0, None, 3, "open"),
        (3, 0, None, 3, "dead_letter"),
        (4, 0, None, 3, "dead_letter"),
        (4, 2, None, 3, "open"),
        (9, 7, None, 3, "open"),
        (9, 6, None, 3, "dead_letter"),
        (1, 0, 1, 3, "dead_letter"),
        (3, 0, 5, 3, "open"),
        (5, 0, 5, 3, "dead_letter"),
        (1, 0, 0, 3, "open"),
        (1, 0, -2, 3, "open"),
        (1, 0, None, 1, "dead_letter"),
        (1, 0, None, 0, "dead_letter"),
    ],
)
def test_the_last_attempt_ends_it(attempts: int, forgiven: int, own: int | None, hub: int, status: str) -> None:
    bead = held(attempts=attempts, attempts_forgiven=forgiven, max_attempts=own)
    after = failed(bead, settings=merge([("hub", {"max_attempts": hub})]))
    assert after.status == status
    assert (after.get("dead_lettered_at") is not None) == (status == "dead_letter")
    assert (after.get("retry_at") is None) == (status == "dead_letter")
    assert (after.claim, after.owner) == (None, None)


KINDS: list[tuple[str, dict[str, Any], str]] = [
    *[(kind, {}, "open") for kind in ("timeout", "crash", "invalid_output", "stalled", "lost", "other", "unheard")],
    *[(kind, {}, "open") for kind in ("denied", "no_change", "conflict", "turn_limit", "bad_output")],
    *[(kind, {}, "dead_letter") for kind in ("budget_exceeded", "cancelled")],
    ("timeout", {"retry_on": ["crash"]}, "dead_letter"),
    ("crash", {"retry_on": ["crash"]}, "open"),
    ("crash", {"retry_on": "crash"}, "open"),
    ("other", {"retry_on": ["crash"]}, "dead_letter"),
    ("unheard", {"retry_on": ["crash"]}, "dead_letter"),
    ("unheard", {"retry_on": ["unheard"]}, "open"),
    ("lost", {"retry_on": ["crash"]}, "open"),
    ("crash", {"retry_on": []}, "dead_letter"),
    ("cancelled", {"retry_on": ["cancelled"]}, "open"),
    ("budget_exceeded", {"retry_on": ["cancelled"]}, "dead_letter"),
    ("crash", {"no_retry_on": ["crash"]}, "dead_letter"),
    ("lost", {"no_retry_on": ["lost"]}, "dead_letter"),
    ("cancelled", {"no_retry_on": ["crash"]}, "open"),
    ("crash", {"retry_on": ["crash"], "no_retry_on": ["crash"]}, "dead_letter"),
    ("crash", {"retry_on": 7, "no_retry_on": {"a": 1}}, "open"),
    ("cancelled", {"no_retry_on": 7}, "dead_letter"),
]


@pytest.mark.parametrize(("kind", "rule", "status"), KINDS)
def test_kinds(kind: str, rule: dict[str, Any], status: str) -> None:
    assert failed(held(retry=rule), kind).status == status


def test_a_kind_that_nobody_knows_is_named_with_those_there_are() -> None:
    assert retry.check_kind("crash") == "crash"
    with pytest.raises(BadInput) as refusal:
        retry.check_kind("boom")
    assert all(kind in (refusal.value.hint or "") for kind in failure_kinds.KINDS)


NOT_OF_THE_BEAD = sorted(failure_kinds.NOT_OF_THE_BEAD)


def test_these_failures_are_not_the_beads() -> None:
    assert NOT_OF_THE_BEAD == ["agent_crash", "auth_failure", "overloaded", "provider_error", "quota", "rate_limit"]


@pytest.mark.parametrize("kind", NOT_OF_THE_BEAD)
@pytest.mark.parametrize("rule", [{}, {"retry_on": ["crash"]}, {"no_retry_on": NOT_OF_THE_BEAD}, {"max_delay": "1h"}])
def test_a_failure_that_is_not_the_beads_uses_no_attempt_whatever_its_rules_say(kind: str, rule: dict[str, Any]) -> None:
    after = failed(held(attempts=3, attempts_forgiven=0, retry=rule or None), kind)
    assert (after.status, after.attempts, after.attempts_counted, after.get("retry_at")) == ("open", 3, 2, None)
    assert after.get("retry") == (rule or None), "an imported rule is kept"
    again = failed(claimed(after), kind)
    assert (again.attempts, again.attempts_counted, again.get("poison_pill")) == (4, 2, None)
    assert [(one["reason"], one["attempt"], one.get("times")) for one in again.get("failures")] == [(kind, 4, 2)]


def test_failures_that_are_not_the_beads_do_not_make_it_a_poison_pill() -> None:
    bead = make_bead()
    for number, kind in enumerate(["crash", "rate_limit", "crash", "quota", "auth_failure", "lost"]):
        bead = failed(claimed(bead, f"agent-{number % 2}"), kind)
    assert (bead.status, bead.attempts_counted) == ("dead_letter", 3), "the limit counts its own and lost workers"
    assert bead.get("poison_pill") is None
    before = make_bead(attempts=3, failures=[{"reason": "rate_limit", "agent": name} for name in "abc"])
    assert not retry.is_poison(before), "so it was recorded by older versions"


def test_outages_neither_count_as_given_back_nor_end_a_row_of_it() -> None:
    bead, rows = make_bead(), []
    for end in ["back", "back", "rate_limit", "back", "quota", "rate_limit", "back", "back", "crash", "overloaded", "back"]:
        taken = claimed(bead)
        bead = lifecycle.released(taken, "no", START, spaced=True) if end == "back" else failed(taken, end)
        rows.append(lifecycle.given_back_in_a_row(bead))
        assert not (end == "rate_limit" and bead.get("retry_at")), "it is free for others at once"
    assert rows == [1, 2, 2, 3, 3, 3, 4, 5, 0, 0, 1]


# --- the delay --------------------------------------------------------------------------------

DELAYS: list[tuple[dict[str, Any], list[float]]] = [
    ({}, [10, 20, 40, 80, 160, 300, 300]),
    ({"strategy": "fixed"}, [10, 10, 10]),
    ({"strategy": "fixed", "initial_delay": "10m"}, [600, 600]),
    ({"strategy": "immediate"}, [0, 0]),
    ({"initial_delay": "1s"}, [1, 2, 4]),
    ({"initial_delay": 30, "backoff_multiplier": 3}, [30, 90, 270, 300]),
    ({"backoff_multiplier": "1.5"}, [10, 15, 22.5]),
    ({"max_delay": "15s"}, [10, 15, 15]),
    ({"initial_delay": "0s"}, [0, 0]),
    # Bad values are as if they were not there.
    ({"strategy": "hopeful", "initial_delay": "soon", "backoff_multiplier": "twice", "max_delay": "late"}, [10, 20, 40]),
    ({"initial_delay": -5, "backoff_multiplier": 0.5, "max_delay": True, "jitter": "maybe"}, [10, 20, 40]),
    ({"backoff_multiplier": float("inf"), "initial_delay": None}, [10, 20]),
    ({"initial_delay": ["10s"], "backoff_multiplier": float("nan")}, [10, 20]),
    ({"backoff_multiplier": 10**400}, [10, 20]),
]


@pytest.mark.parametrize(("rule", "delays"), DELAYS)
def test_delays(rule: dict[str, Any], delays: list[float]) -> None:
    made = retry.rule_of(make_bead(retry=rule), SETTINGS)
    assert [made.delay_s(number, MIDDLE) for number in range(1, len(delays) + 1)] == delays


def test_a_retry_map_that_is_none_is_the_default() -> None:
    assert retry.rule_of(make_bead(retry="soon"), SETTINGS) == retry.Rule()


@pytest.mark.parametrize(("jitter", "seconds"), [(0.0, 5), (0.25, 8), (0.5, 10), (1.0, 15), (7.0, 15), (-1.0, 5)])
def test_jitter_is_half_up_or_down_and_never_before_its_time(jitter: float, seconds: float) -> None:
    assert delay(failed(held(), jitter=jitter)) == seconds


def test_jitter_can_be_switched_off() -> None:
    for word in (False, "false", "no"):
        assert delay(failed(held(retry={"jitter": word}), jitter=1.0)) == 10


@given(
    st.integers(1, 2000),
    st.floats(0, 1),
    st.floats(0, 1e6),
    st.floats(1, 1e6),
    st.floats(0, 1e6),
)
def test_delays_stay_within_bounds(number: int, jitter: float, initial: float, multiplier: float, longest: float) -> None:
    rule = retry.Rule(initial_s=initial, multiplier=multiplier, max_s=longest)
    base = rule._replace(jitter=False).delay_s(number, jitter)
    assert base <= longest
    assert base <= rule._replace(jitter=False).delay_s(number + 1, jitter) <= longest, "never shorter than the one before"
    assert 0.5 * base <= rule.delay_s(number, jitter) <= 1.5 * base


@given(st.integers(1, 20), st.floats(0, 1), st.integers(0, 999_999))
def test_a_bead_is_hidden_for_its_delay_in_whole_seconds(counted: int, jitter: float, micro: int) -> None:
    at = START + timedelta(microseconds=micro)
    bead = held(attempts=counted, max_attempts=99)
    after = retry.after_failure(bead, retry.failure_of(bead, "crash", "x", at), SETTINGS, at, jitter)
    hidden = (instant_of(after.get("retry_at")) - at).total_seconds()
    wanted = retry.Rule().delay_s(counted, jitter)
    assert wanted - 0.001 <= hidden <= wanted + 1


# --- poison pills -----------------------------------------------------------------------------


def entry(agent: str, reason: str = "crash") -> dict[str, Any]:
    return {"agent": agent, "reason": reason}


POISON: list[tuple[list[dict[str, Any]], bool]] = [
    ([entry("a"), entry("b"), entry("a")], True),
    ([entry("a"), entry("a"), entry("b")], True),
    ([entry("a"), entry("a"), entry("a")], False),
    ([entry("a"), entry("b")], False),
    ([entry("a"), entry("b", "lost"), entry("a")], False),
    ([entry("a"), entry("b", "lost"), entry("a"), entry("b")], True),
    ([entry("a", "stalled"), entry("b", "timeout"), entry("c")], True),
    ([entry("a", "lost"), entry("b", "lost"), entry("c", "lost")], False),
    ([], False),
]


@pytest.mark.parametrize(("failures", "poison"), POISON)
def test_what_fails_whoever_tries_it_is_given_up_at_once(failures: list[dict[str, Any]], poison: bool) -> None:
    assert retry.is_poison(make_bead(attempts=len(failures), failures=failures)) == poison
    if failures:
        bead = held("hub-a", failures[-1]["agent"], attempts=len(failures), failures=failures[:-1], max_attempts=9)
        after = failed(bead, failures[-1]["reason"])
        assert (after.status, after.get("poison_pill")) == (("dead_letter", True) if poison else ("open", None))


def test_releases_between_failures_hide_no_poison() -> None:
    """Forgiven attempts have left no failure: the ones that count are the last ones."""
    failures = [entry("a"), entry("b"), entry("a")]
    assert retry.is_poison(make_bead(attempts=7, attempts_forgiven=4, failures=failures))


def test_after_a_dead_letter_was_opened_its_old_failures_poison_nothing() -> None:
    bead = lifecycle.reopened(
        make_bead(status="dead_letter", attempts=3, failures=[entry("a"), entry("b"), entry("a")], poison_pill=True), START
    )
    assert (bead.get("poison_pill"), bead.get("dead_lettered_at"), bead.attempts_counted) == (None, None, 0)
    for agent in ("a", "b"):
        bead = failed(claimed(bead, agent))
        assert bead.status == "open"
    assert failed(claimed(bead, "c")).get("poison_pill") is True


# --- a whole life -----------------------------------------------------------------------------

STEPS = ("claim", "fail", "lost", "final", "release", "forced release", "reopen", "close", "block", "defer")


@given(st.lists(st.sampled_from(STEPS), max_size=60), st.integers(1, 5), st.sampled_from(["a", "b"]))
@example(["claim", "close", "block", "reopen"], 1, "a")
def test_what_is_open_has_attempts_left(steps: list[str], limit: int, agent: str) -> None:
    """No bead that can be claimed has used up its attempts, whatever happened to it."""
    settings = merge([("hub", {"max_attempts": limit})])
    bead = make_bead()
    for step in steps:
        try:
            bead = _after(bead, step, agent, settings)
        except WrongState:
            continue
        if bead.status == "open":
            assert bead.claim is None
            assert bead.attempts_counted < limit
        if bead.claim is not None:
            assert bead.attempts_counted <= limit
        assert 0 <= bead.get("attempts_forgiven", 0) <= bead.attempts


def _after(bead: Bead, step: str, agent: str, settings: Any) -> Bead:
    if step == "claim":
        return claimed(bead, agent) if bead.status == "open" else bead
    if step in ("fail", "lost", "final"):
        kind = {"fail": "crash", "lost": "lost", "final": "budget_exceeded"}[step]
        return failed(bead, kind, settings=settings)
    if step in ("release", "forced release"):
        return lifecycle.released(bead, "no", START, spaced=step == "release")
    if step == "reopen":
        return lifecycle.reopened(bead, START)
    if step == "close":
        return lifecycle.closed(bead, "agent:a", "done", START) if bead.status != "closed" else bead
    if step == "defer":
        return lifecycle.released(bead, "later", START)
    return lifecycle.with_status(bead, "blocked", "human:Ada", "stuck", START) if bead.claim is None else bead


# --- in words ---------------------------------------------------------------------------------


def test_the_outlook() -> None:
    assert retry.outlook(failed(held()), SETTINGS, START) == "tried again in 10s, attempt 1 of 3"
    assert retry.outlook(failed(held(retry={"strategy": "immediate"})), SETTINGS, START) == "tried again at once, attempt 1 of 3"
    assert retry.outlook(failed(held(attempts=3)), SETTINGS, START) == "given up after 3 attempts: bd dlq show hub-a"
    assert retry.outlook(failed(held(), "cancelled"), SETTINGS, START) == "given up after 1 attempt: bd dlq show hub-a"
    poisoned = make_bead(status="dead_letter", attempts=4, poison_pill=True)
    assert (
        retry.outlook(poisoned, SETTINGS, START)
        == "given up after 4 attempts, because it fails for every agent: bd dlq show hub-a"
    )


# --- releases ---------------------------------------------------------------------------------


def test_releases_in_a_row_are_spaced_out_and_cost_nothing() -> None:
    bead, delays = make_bead(), []
    for _ in range(9):
        bead = lifecycle.released(claimed(bead), "not mine", START, spaced=True)
        delays.append(delay(bead))
        assert bead.attempts_counted == 0
    assert delays == [0, 10, 20, 40, 80, 160, 320, 640, 1280]


def test_a_failure_or_a_reopening_begins_the_row_anew() -> None:
    bead = make_bead()
    for _ in range(3):
        bead = lifecycle.released(claimed(bead), "not mine", START, spaced=True)
    bead = failed(claimed(bead))
    bead = lifecycle.released(claimed(bead), "not mine", START, spaced=True)
    assert delay(bead) == 0
    bead = lifecycle.reopened(failed(claimed(bead), "cancelled"), START)
    assert delay(lifecycle.released(claimed(bead), "not mine", START, spaced=True)) == 0


def test_who_is_freed_by_another_is_offered_at_once() -> None:
    bead = make_bead()
    for _ in range(5):
        bead = lifecycle.released(claimed(bead), "gone silent", START)
        assert bead.get("retry_at") is None


# --- what the hub says ------------------------------------------------------------------------


def of_hub(**defaults: Any) -> Any:
    return merge([("hub", {"defaults": defaults})])


HUB = of_hub(
    max_attempts=5,
    retry={
        "strategy": "fixed",
        "initial_delay": "1m",
        "no_retry_on": ["crash", "timeout"],
        "types": {"research": {"initial_delay": "10m", "max_attempts": 2}, "code": "often", "test": {"max_attempts": "4"}},
    },
)


@pytest.mark.parametrize(
    ("fields", "delay_s", "limit"),
    [
        ({}, 60, 5),
        ({"type": "research"}, 600, 2),
        ({"type": "research", "max_attempts": 7, "retry": {"initial_delay": "5s"}}, 5, 7),
        ({"type": "code"}, 60, 5),
        ({"type": "test"}, 60, 4),
        ({"retry": {"strategy": "immediate"}}, 0, 5),
    ],
)
def test_the_hub_says_how_beads_are_tried_again_for_all_and_for_a_type(
    fields: dict[str, Any], delay_s: float, limit: int
) -> None:
    bead = make_bead(**fields)
    assert retry.rule_of(bead, HUB).delay_s(2, MIDDLE) == delay_s
    assert retry.limit_of(bead, HUB) == limit


def test_what_a_bead_wants_tried_again_goes_before_what_the_hub_refuses() -> None:
    assert retry.rule_of(make_bead(), HUB).is_final("timeout")
    assert not retry.rule_of(make_bead(), HUB).is_final("budget_exceeded"), "the hub's list replaces the usual one"
    wanted = make_bead(retry={"retry_on": ["timeout"]})
    assert not retry.rule_of(wanted, HUB).is_final("timeout")
    assert retry.rule_of(wanted, HUB).is_final("crash")


def test_only_the_hubs_own_file_says_it() -> None:
    layers = [("clone", {"retry": {"strategy": "immediate"}}), ("hub", {"retry": ["x"]})]
    assert retry.rule_of(make_bead(), merge(layers)) == retry.Rule()
    assert retry.rule_of(make_bead(type="task"), of_hub(retry={"types": ["x"]})) == retry.Rule()
