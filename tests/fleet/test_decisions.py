"""What a worker does next, as values alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from bd.core.errors import BadInput, BdError, Damaged, NothingReady, RemoteUnreachable, ServerRefused, StaleToken, TryAgain
from bd.policy.pacing import AGAIN_S
from bd.worker import decisions
from bd.worker.decisions import Standing
from bd.worker.options import Plan
from bd.worker.result import DONE, FAILED, Outcome

if TYPE_CHECKING:
    from bd.worker.job import Command

COMMAND: Command = None  # type: ignore[assignment]
NOTHING = NothingReady("nothing")


def plan(**more: Any) -> Plan:
    return Plan("coder", COMMAND, **more)


def standing(**more: Any) -> Standing:
    return Standing(0.0, **more)


@pytest.mark.parametrize(
    ("now", "asked", "wants"),
    [
        (standing(), plan(), True),
        (standing(running=1), plan(), False),
        (standing(running=1), plan(jobs=2), True),
        (standing(started=2), plan(max_tasks=2), False),
        (standing(started=1), plan(max_tasks=2), True),
        (standing(is_draining=True), plan(), False),
    ],
)
def test_who_takes_another_bead(now: Standing, asked: Plan, wants: bool) -> None:
    assert decisions.wants_more(now, asked) == wants


def test_it_looks_when_it_is_time_and_never_when_it_was_stopped() -> None:
    waits = standing().found_nothing(NOTHING, "tip", 5.0)
    assert not decisions.is_due(waits, plan(), 4.9)
    assert decisions.is_due(waits, plan(), 5.0)
    assert decisions.is_due(waits.woken(), plan(), 0.0)
    assert not decisions.is_due(waits.replace(stops=1), plan(), 5.0)


@pytest.mark.parametrize(
    ("now", "asked", "at_s", "is_done"),
    [
        (standing(), plan(), 9.0, False),
        (standing(stops=1), plan(), 9.0, True),
        (standing(stops=1, running=1), plan(), 9.0, False),
        (standing(is_draining=True), plan(), 9.0, True),
        (standing(nothing=NOTHING), plan(once=True), 0.0, True),
        (standing(nothing=NOTHING), plan(), 0.0, False),
        (standing(), plan(once=True), 0.0, False),
        (standing(), plan(max_idle_s=10.0), 9.9, False),
        (standing(), plan(max_idle_s=10.0), 10.0, True),
        (standing().ended(5.0), plan(max_idle_s=10.0), 10.0, False),
        (standing(started=3), plan(max_tasks=3), 0.0, True),
    ],
)
def test_it_leaves_when_nothing_is_left_to_stay_for(now: Standing, asked: Plan, at_s: float, is_done: bool) -> None:
    assert decisions.is_done(now, asked, at_s) == is_done


def test_it_waits_for_what_comes_first() -> None:
    waits = standing().found_nothing(NOTHING, "tip", 8.0)
    assert decisions.pause_s(waits, plan(), 3.0, [], 60.0) == 5.0
    assert decisions.pause_s(waits, plan(), 3.0, [], 2.0) == 2.0, "a peek at the hub"
    assert decisions.pause_s(waits, plan(max_idle_s=4.0), 3.0, [], 60.0) == 1.0
    assert decisions.pause_s(waits.replace(running=1), plan(jobs=2, max_idle_s=4.0), 3.0, [4.0], 60.0) == 4.0
    assert decisions.pause_s(waits, plan(), 9.0, [], 60.0) == 0.01, "never not at all"
    assert decisions.pause_s(waits.replace(stops=1), plan(), 3.0, [], 60.0) == 0.2
    assert decisions.pause_s(waits.replace(running=1), plan(), 3.0, [], 60.0) == 3600.0, "for its job alone"


def test_trouble_that_passes_has_it_look_again_soon() -> None:
    away = RemoteUnreachable("away")
    assert standing().failed_to_look(away, 3.0) == standing(nothing=away, next_look_s=3.0 + AGAIN_S)


def test_a_rest_puts_off_the_next_look_and_work_does_not() -> None:
    waits = standing().found_nothing(NOTHING, "tip", 8.0)
    assert waits.found_work().next_look_s == 8.0
    assert waits.found_work(rests_until_s=20.0) == standing(tip="tip", next_look_s=20.0)


@pytest.mark.parametrize("reason", ["is_idle_for_a_reason", "is_due_by_pace", "has_moved", "has_stalls"])
def test_a_timer_leaves_out_the_looks_that_its_pace_leaves_out(reason: str) -> None:
    none = dict.fromkeys(["is_idle_for_a_reason", "is_due_by_pace", "has_moved", "has_stalls"], False)
    assert not decisions.may_claim(standing(), plan(once=True), **none)
    assert decisions.may_claim(standing(), plan(once=True), **{**none, reason: True})
    assert decisions.may_claim(standing(started=1), plan(once=True), **none)
    assert decisions.may_claim(standing(), plan(), **none)


def test_it_looks_again_once_for_what_it_has_made_itself() -> None:
    nothing = NothingReady("nothing")
    first = standing().found_nothing(nothing, "a", 60.0)
    assert decisions.looks_again(standing(), plan(), tip="a", tip_now="b")
    assert not decisions.looks_again(standing(), plan(), tip="a", tip_now="a"), "it has made nothing"
    assert not decisions.looks_again(standing(stops=1), plan(), tip="a", tip_now="b")
    assert not decisions.looks_again(standing(is_draining=True), plan(), tip="a", tip_now="b")
    again = first.made_work()
    assert not decisions.is_done(again, plan(once=True), 0.0)
    assert decisions.is_due(again, plan(), 0.0)
    assert not decisions.looks_again(again, plan(), tip="b", tip_now="c"), "what is due at each look keeps nobody at it"
    for later in (again.found_nothing(nothing, "c", 60.0), again.found_work()):
        assert decisions.looks_again(later, plan(), tip="c", tip_now="d")


def test_after_nothing_it_looks_when_something_may_have_changed() -> None:
    assert decisions.next_look_in_s(60.0, None, None) == 60.0
    assert decisions.next_look_in_s(60.0, 10.0, None) == 11.0, "a second after a claim may be stalled"
    assert decisions.next_look_in_s(60.0, 10.0, 5.0) == 5.0


def test_a_busy_server_is_looked_at_again_when_it_said() -> None:
    busy = RemoteUnreachable("busy", retry_after_s=60)
    assert standing().failed_to_look(busy, 5.0).next_look_s == 65.0
    assert standing().failed_to_look(RemoteUnreachable("away"), 5.0).next_look_s == 5.0 + AGAIN_S


def test_finished_work_is_written_again_and_again_for_a_while() -> None:
    away = RemoteUnreachable("away")
    pauses = [decisions.pause_before_try_s(tried, standing(), away) for tried in range(5)]
    assert pauses == [1.0, 2.0, 4.0, 8.0, None]
    assert [decisions.pause_before_try_s(tried, standing(stops=2), away) for tried in range(2)] == [1.0, None]
    assert decisions.pause_before_try_s(0, standing(), TryAgain("kept", written="local")) is None
    assert decisions.pause_before_try_s(0, standing(), ServerRefused("no right", scope="hub", written="local")) is None
    assert decisions.pause_before_try_s(0, standing(), ServerRefused("declined", kept="uid", written="local")) == 1.0


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (TryAgain("kept", written="local"), (DONE, "fine (kept)")),
        (ServerRefused("no right", scope="hub", written="local"), (DONE, "fine (no right)")),
        (TryAgain("away", written="unknown"), ("unknown", "away; the hub frees it when it stalls")),
        (StaleToken("no longer yours"), ("lost", "no longer yours")),
        (Damaged("a file"), ("unknown", "a file")),
    ],
)
def test_what_is_told_of_an_outcome_that_could_not_be_written(error: BdError, told: tuple[str, str]) -> None:
    assert decisions.after_error(error, Outcome(DONE, "", "fine")) == told


def test_what_the_hub_does_not_take_as_done_is_a_failure_that_says_why() -> None:
    done = Outcome(DONE, "", "fine")
    assert decisions.after_error(BadInput("odd"), done) == Outcome(FAILED, "invalid_output", "can't be kept as done: odd")
    assert decisions.after_error(BdError("full"), done) == Outcome(FAILED, "other", "can't be kept as done: full")
    declined = ServerRefused("declined", kept="uid", written="local")
    assert decisions.after_error(declined, done) == Outcome(FAILED, "other", "can't be kept as done: declined")
    assert decisions.after_error(BdError("full"), Outcome(FAILED, "other", "no")) == ("lost", "full")
