"""What a write does next, as values alone: no git, no clock, no process."""

from __future__ import annotations

import ast
import functools
import inspect
import re
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bd.core.errors import BdError, Contention, NoHub, RemoteLags, RemoteUnreachable, ServerRefused, StaleToken
from bd.store.contract import PushAnswer, PushLine, SideRef
from bd.store.group_commit.member import Member, Result
from bd.store.group_commit.requests import NOBODY, Asked, Others
from bd.store.transaction import effects, states, transitions
from bd.store.transaction.batch import Batch
from bd.store.transaction.effects import PUBLISHED, REMOTE, TRUSTED
from bd.store.transaction.findings import Findings, Recovered
from bd.store.transaction.outcome import Outcome
from bd.store.transaction.replay import RefusedReplay
from bd.store.transaction.states import ALONE, ASKING, CARRYING, PLAIN
from bd.store.transaction.transitions import STUCK_LIMIT, doubts, next_state
from bd.store.transaction.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeGuard

TIP, NEWER, RETRY_S = "1" * 40, "2" * 40, 10.0
BRANCH = "refs/heads/main"
DONE = Result(None, None)
TERMS = effects.Terms(are_met=True, retry_time_s=RETRY_S)
AWAY = RemoteUnreachable("the server is away")
DECLINED = "[remote rejected] (pre-receive hook declined)"


def operation(uid: str = "own", *, is_portable: bool = True, needs_heartbeats: bool = False) -> Any:
    return SimpleNamespace(uid=uid, is_portable=is_portable, needs_heartbeats=needs_heartbeats)


def member(uid: str = "own", **more: Any) -> Member:
    return Member(operation(uid), **more)


def facts(**changes: Any) -> states.Facts:
    plain = states.Facts("main", "origin", hand=None, creates_hub=False, needs_heartbeats=False, first_view=TIP, may_ask=True)
    return plain.replace(**changes)


def work(**changes: Any) -> states.Work:
    plain = states.Work(facts(), member(), base=TIP, turn=states.Turn(TIP, 0.0), deadline_s=RETRY_S)
    return plain.replace(**changes)


def batch(*uids: str, refused: Sequence[str] = (), carried: Sequence[str] = (), base: str = TIP, sides: int = 0) -> Batch:
    """A batch of steps for these operations; what is `refused` has none."""
    steps = [SimpleNamespace(operation=operation(uid)) for uid in uids]
    own: dict[str, Any] = {uid: (SimpleNamespace(is_empty=False), None) for uid in uids if uid not in carried}
    own |= {uid: (None, StaleToken("no")) for uid in refused}
    beside = [[SideRef(f"refs/bd/claims/{uid}", NEWER, None)] * sides for uid in uids]
    chain: Any = SimpleNamespace(steps=steps)
    return Batch(base, chain, SimpleNamespace(retry_time=RETRY_S), [], {}, own, beside, frozenset(carried))


def pushed(verdict: Verdict, made: Batch, *, exactly: bool = False, place: int | None = None, **changes: Any) -> states.Pushed:
    commits = tuple(f"c{place}" for place in range(len(made.chain.steps)))
    return states.Pushed(work(batches={commits[-1]: made}, **changes), states.Attempt(made, commits, place), exactly, verdict)


def after(state: Any, event: Any, now_s: float = 1.0) -> Any:
    return next_state(state, event, now_s)


LEARNED = effects.Learned(NEWER, TERMS)


# --- looking ----------------------------------------------------------------------------------


def test_a_tip_of_a_moment_ago_is_decided_on_at_once() -> None:
    state = after(states.Fetching(work(base=None), TRUSTED), effects.Trusted(TIP))
    assert isinstance(state, states.Deciding)
    assert (state.work.base, state.exactly) == (TIP, True)


def test_a_fetched_tip_shows_first_what_the_dead_have_left() -> None:
    state = after(states.Fetching(work(), REMOTE), effects.Fetched(NEWER, None, {"a": "x"}), 3.0)
    assert isinstance(state, states.Recovering)
    assert (state.tip, state.requests, state.work.base, state.work.turn) == (NEWER, {"a": "x"}, NEWER, states.Turn(NEWER, 3.0))


def test_patience_counts_from_when_a_tip_was_first_seen() -> None:
    state = after(states.Fetching(work(turn=states.Turn(TIP, 0.5)), REMOTE), effects.Fetched(TIP, None, {}), 3.0)
    assert state.work.turn == states.Turn(TIP, 0.5)


def test_without_a_branch_there_is_no_hub() -> None:
    state = after(states.Fetching(work(), REMOTE), effects.Fetched(None, None, {}))
    assert isinstance(state, states.Failed)
    assert isinstance(state.error, NoHub)
    assert "on origin" in str(state.error)
    made = after(states.Fetching(work(facts=facts(creates_hub=True)), REMOTE), effects.Fetched(None, None, {}))
    assert isinstance(made, states.Deciding)


def test_a_push_without_an_answer_that_the_tip_holds_settles_what_it_carried() -> None:
    first, second = batch("own", "b"), batch("own")
    before = work(neighbours=(member("b", path="p"),), batches={"c1": first, "c2": second}, unanswered=("c1", "c2"))
    state = after(states.Fetching(before, REMOTE), effects.Fetched(NEWER, "c1", {}))
    assert [one.is_settled for one in state.work.members] == [True, True]


LAGGING = effects.Lagging(RETRY_S, in_doubt=False)


def test_a_remote_that_lags_is_waited_for_and_looked_at_again() -> None:
    first = after(states.Fetching(work(deadline_s=None), REMOTE), LAGGING, 3.0)
    assert isinstance(first, states.CatchingUp)
    assert (first.work.lags, first.work.deadline_s, first.work.base) == (1, 3.0 + RETRY_S, TIP)
    again = after(first, effects.Woke(), 4.0)
    assert (type(again), again.source) == (states.Fetching, REMOTE)
    second = after(again, LAGGING, 4.0)
    assert (second.work.lags, second.work.deadline_s) == (2, 3.0 + RETRY_S)
    assert second.effect.seconds > first.effect.seconds
    assert after(states.Fetching(second.work, REMOTE), effects.Fetched(NEWER, None, {})).work.lags == 0


@pytest.mark.parametrize(
    ("in_doubt", "unanswered", "written"), [(False, (), "no"), (True, (), "unknown"), (False, ("c",), "unknown")]
)
def test_a_remote_that_lags_for_too_long_is_named(in_doubt: bool, unanswered: tuple[str, ...], written: str) -> None:
    late = states.Fetching(work(unanswered=unanswered), REMOTE)
    state = after(late, LAGGING.replace(in_doubt=in_doubt), RETRY_S)
    assert isinstance(state, states.Failed)
    assert state.error.data["written"] == written
    assert isinstance(state.error, RemoteLags) == (written == "no")
    assert isinstance(after(late, LAGGING.replace(in_doubt=in_doubt), RETRY_S - 1), states.CatchingUp)


def test_who_has_asked_others_takes_that_back_before_a_remote_that_lags_is_given_up() -> None:
    asked = work(own=member(request="x", asked_on=TIP), late_looks=0)
    state = after(states.Fetching(asked, REMOTE), LAGGING, RETRY_S)
    assert isinstance(state, states.Withdrawing)
    ended = after(state, effects.Withdrawn(frozenset({"own"})), RETRY_S)
    assert isinstance(ended.error, RemoteLags)


def test_who_is_settled_does_not_wait_for_a_remote_that_lags() -> None:
    settled = work(own=member(result=DONE), neighbours=(member("b", path="p"),))
    assert isinstance(after(states.Fetching(settled, REMOTE), LAGGING), states.Following)


def test_a_tip_that_the_remote_itself_called_old_is_that_of_one_that_lags() -> None:
    made = batch("own")
    pushing = states.Pushing(work(), states.Attempt(made, ("c0",)), exactly=False)
    lost = after(pushing, answered("[rejected] (fetch first)", ""))
    assert lost.work.passed == TIP
    again = after(states.Fetching(lost.work, REMOTE), effects.Fetched(TIP, None, {}))
    assert again.work.lags == 1
    late = states.Pushed(again.work, lost.attempt, exactly=False, verdict=lost.verdict)
    assert isinstance(after(late, effects.Learned(None, None), RETRY_S).error, RemoteLags)
    newer = after(states.Fetching(again.work, REMOTE), effects.Fetched(NEWER, None, {}))
    assert newer.work.lags == 0
    first = after(states.Fetching(work(facts=facts(creates_hub=True)), REMOTE), effects.Fetched(None, None, {}))
    assert first.work.lags == 0


@pytest.mark.parametrize("in_doubt", [True, False])
def test_out_of_reach(in_doubt: bool) -> None:
    state = after(states.Fetching(work(), REMOTE), effects.Unreachable(AWAY, in_doubt))
    if in_doubt:
        assert isinstance(state, states.Failed)
        assert state.error.data["written"] == "unknown"
    else:
        assert isinstance(state, states.Offline)
        assert state.effect == effects.Keep(state.work.own, AWAY, takes_side_refs=True)


def test_who_is_settled_keeps_nothing_here_when_the_remote_goes_away() -> None:
    settled = work(own=member(result=DONE), neighbours=(member("b", path="p"),))
    assert isinstance(after(states.Fetching(settled, REMOTE), effects.Unreachable(AWAY, in_doubt=False)), states.Following)


def recovered(before: states.Work, *, is_unsure: bool = False, **found: Any) -> Recovered:
    return Recovered(Findings(looks=1, **found), before.open, is_unsure)


def test_what_only_another_look_can_tell_is_looked_for() -> None:
    state = after(states.Recovering(work(), TIP, {}), recovered(work(), is_unsure=True))
    assert (type(state), state.source) == (states.Fetching, REMOTE)


def test_a_request_of_the_dead_is_its_authors_again() -> None:
    side = SideRef("refs/bd/intents/own", None, "asked")
    found = recovered(work(), left={"own": side}, asked_on={"own": "tip"})
    state = after(states.Recovering(work(), TIP, {"own": "asked"}), found)
    assert (state.work.own.request, state.work.own.asked_on, state.work.findings.left) == ("asked", "tip", {})


def test_a_request_that_is_gone_has_its_answer_looked_for() -> None:
    asked = work(own=member(request="asked", asked_on=TIP))
    state = after(states.Recovering(asked, NEWER, {}), recovered(asked))
    assert isinstance(state, states.Hearing)
    assert state.effect == effects.ReadAnswers(NEWER, asked.open)
    there = after(states.Recovering(asked, NEWER, {"own": "asked"}), recovered(asked))
    assert isinstance(there, states.Inviting)


def test_gone_without_an_answer_it_is_looked_for_once_more_and_then_forgotten() -> None:
    asked = work(own=member(request="asked", asked_on=TIP))
    once = after(states.Hearing(asked, NEWER, {}), effects.Answers({}))
    assert (type(once), once.work.own.misses, once.work.own.request) == (states.Fetching, 1, "asked")
    twice = after(states.Hearing(once.work, NEWER, {}), effects.Answers({}))
    assert (type(twice), twice.work.own.request, twice.work.own.asked_on) == (states.Inviting, None, "")


def test_an_ask_without_an_answer_may_still_arrive() -> None:
    doubted = member(request="asked", asked_on=TIP, may_arrive=frozenset({"asked"}))
    gone = after(states.Hearing(work(own=doubted.replace(misses=1)), NEWER, {}), effects.Answers({}))
    assert gone.work.own.asked_on == TIP, "what it was asked on is still needed"
    assert doubts(gone.work, gone.work.own)
    late = after(
        states.Recovering(work(own=doubted.replace(request=None)), NEWER, {"own": "asked"}),
        recovered(work(own=doubted.replace(request=None))),
    )
    assert (late.work.own.request, late.work.own.may_arrive) == ("asked", frozenset())


def test_what_somebody_else_has_carried_out_is_settled() -> None:
    asked = work(own=member(request="asked", asked_on=TIP))
    state = after(states.Hearing(asked, NEWER, {}), effects.Answers({"own": DONE}))
    assert isinstance(state, states.Inviting)
    ended = after(state, effects.Taken((), Findings()))
    assert (type(ended), ended.batch, ended.landed) == (states.Following, None, None)


@pytest.mark.parametrize("change", [{"hand": "c"}, {"creates_hub": True}])
def test_a_persons_commits_and_a_new_hub_go_alone(change: dict[str, Any]) -> None:
    before = work(facts=facts(**change))
    assert isinstance(after(states.Recovering(before, TIP, {}), recovered(before)), states.Deciding)
    synced = work(own=None)
    assert isinstance(after(states.Recovering(synced, TIP, {}), recovered(synced)), states.Deciding)


def test_so_many_may_come_along() -> None:
    state = states.Inviting(work(neighbours=(member("b", path="p"),)), TIP, {})
    assert state.effect == effects.TakeWaiting(TIP, 62, Findings())
    joined = after(state, effects.Taken((member("c", path="q"),), Findings(looks=2)))
    assert [one.uid for one in joined.work.members] == ["own", "b", "c"]
    assert joined.work.findings.looks == 2


# --- whose turn it is -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "requests", "reads"),
    [
        (work(), {}, False),
        (work(), {"a": "x"}, True),
        (work(losses=1), {}, True),
        (work(own=member(request="x")), {"own": "x"}, True),
        (work(facts=facts(remote=None)), {"a": "x"}, False),
    ],
)
def test_other_clones_are_looked_at_where_there_may_be_any(before: states.Work, requests: dict[str, str], reads: bool) -> None:
    state = after(states.Inviting(before, TIP, requests), effects.Taken((), Findings()))
    assert isinstance(state, states.Reading if reads else states.Deciding)


def requested(*uids: str) -> Others:
    return Others([SimpleNamespace(request=SimpleNamespace(uid=uid)) for uid in uids], [])  # type: ignore[misc]


def order_of(*uids: str) -> list[str]:
    from bd.store.group_commit.order import order

    return order(TIP, uids)


def test_who_has_lost_asks_and_forgets_that_it_has() -> None:
    state = after(states.Reading(work(losses=2), TIP), effects.RequestsRead(NOBODY, TERMS))
    assert isinstance(state, states.Requesting)
    assert (state.work.losses, state.effect) == (0, effects.Ask(TIP, state.work.open, 0))


@pytest.mark.parametrize(
    "change",
    [{"mode": CARRYING}, {"mode": ALONE}, {"own": Member(operation(is_portable=False))}, {"facts": facts(), "own": None}],
)
def test_who_may_not_ask_decides(change: dict[str, Any]) -> None:
    state = after(states.Reading(work(losses=1, **change), TIP), effects.RequestsRead(NOBODY, TERMS))
    assert isinstance(state, states.Deciding)
    unmet = effects.RequestsRead(NOBODY, TERMS.replace(are_met=False))
    assert isinstance(after(states.Reading(work(losses=1), TIP), unmet), states.Deciding)


def test_who_comes_first_publishes_for_those_who_ask() -> None:
    first, second = order_of("own", "other")
    state = after(states.Reading(work(own=member(first)), TIP), effects.RequestsRead(requested(second), TERMS))
    assert isinstance(state, states.Deciding)
    assert state.others.requested
    late = after(states.Reading(work(own=member(second)), TIP), effects.RequestsRead(requested(first), TERMS))
    assert isinstance(late, states.Requesting)


def test_nobody_asks_before_a_race_is_lost() -> None:
    assert isinstance(after(states.Reading(work(), TIP), effects.RequestsRead(NOBODY, TERMS)), states.Deciding)


def test_the_time_for_a_write_counts_from_its_first_wait() -> None:
    begun = work(deadline_s=None, own=member(request="asked", asked_on=TIP))
    first = after(states.Watching(begun, TERMS, 9.0), effects.Listed(None, {}), 2.0)
    assert first.work.deadline_s == 2.0 + RETRY_S
    assert after(states.Watching(first.work, TERMS, 9.0), effects.Listed(None, {}), 5.0).work.deadline_s == 2.0 + RETRY_S


@pytest.mark.parametrize("kind", ["made", "unknown", "refused"])
def test_an_ask(kind: str) -> None:
    state = after(states.Requesting(work(), TIP, TERMS), Asked(kind, {"own": "asked"}, 0.4), 2.0)
    own = state.work.own
    if kind == "refused":
        assert (type(state), state.work.mode, own.request) == (states.Fetching, CARRYING, None)
        return
    assert (type(state), state.pause_s, state.until_s) == (states.Waiting, 0.2, 2.0 + 3 * 0.4)
    assert (own.request, own.asked_on, own.in_doubt) == ("asked", TIP, True)
    assert own.may_arrive == ({"asked"} if kind == "unknown" else set())


def waiting_for(uids: Sequence[str], own: str) -> states.Watching:
    asked = work(own=member(own, request="asked", asked_on=TIP), ask_s=1.0)
    return states.Watching(asked, TERMS, until_s=100.0)


def test_who_waits_lists_until_its_turn_comes() -> None:
    first, second = order_of("own", "other")
    watching = waiting_for([first, second], second)
    listed = effects.Listed(TIP, {first: "x", second: "asked"})
    again = after(watching, listed, 0.1)
    assert (type(again), again.pause_s) == (states.Waiting, 0.5)
    assert isinstance(after(again, effects.Woke()), states.Watching)
    assert isinstance(after(watching, listed, 1.6), states.Fetching), "one and a half push times later it is its turn"
    assert isinstance(after(watching, effects.Listed(TIP, {second: "asked"}), 0.1), states.Fetching), "it is the first"


@pytest.mark.parametrize("event", [effects.Unreachable(AWAY, in_doubt=True), effects.Listed(None, {}), effects.Listed(TIP, {})])
def test_what_a_list_does_not_show_is_looked_for(event: Any) -> None:
    watching = waiting_for(["own"], "own")
    assert isinstance(after(watching, event, 0.1), states.Fetching)


def test_a_wait_ends_with_a_proper_look() -> None:
    first, second = order_of("own", "other")
    watching = waiting_for([first, second], second).replace(until_s=0.1)
    assert isinstance(after(watching, effects.Listed(TIP, {first: "x", second: "asked"}), 0.1), states.Fetching)


def test_who_waits_for_its_turn_decides_when_it_has_come() -> None:
    first, second = order_of("own", "other")
    asked = work(own=member(second, request="asked", asked_on=TIP), push_s=1.0)
    event = effects.RequestsRead(requested(first), TERMS)
    waits = after(states.Reading(asked, TIP), event, 0.5)
    assert (type(waits), waits.pause_s) == (states.Waiting, 1.0)
    assert isinstance(after(states.Reading(asked, TIP), event, 1.6), states.Deciding)


# --- a batch ----------------------------------------------------------------------------------


def test_what_is_decided_is_built_and_counted() -> None:
    state = after(states.Deciding(work(deadline_s=None), NOBODY, exactly=False), effects.Decided(batch("own")), 3.0)
    assert isinstance(state, states.Building)
    assert (state.work.tries, state.work.deadline_s) == (1, 3.0 + RETRY_S)
    built = after(state, effects.Built(("c0",)))
    assert isinstance(built, states.Pushing)
    assert built.effect == effects.Push("c0", TIP, (), exactly=False)
    assert (built.work.unanswered, list(built.work.batches)) == (("c0",), ["c0"])
    here = after(state.replace(work=state.work.replace(facts=facts(remote=None))), effects.Built(("c0",)))
    assert here.work.unanswered == ()


@pytest.mark.parametrize("made", [batch(refused=["own"]), batch("own", refused=["b"]), batch(), batch("a", carried=["a"])])
def test_what_is_no_news_on_an_old_tip_is_decided_on_a_new_one(made: Batch) -> None:
    state = after(states.Deciding(work(), NOBODY, exactly=True), effects.Decided(made))
    assert (type(state), state.source) == (states.Fetching, REMOTE)


def test_a_kept_write_that_an_old_tip_refuses_is_decided_on_a_new_one() -> None:
    made = batch("own").replace(refused=[RefusedReplay("a", "c", StaleToken("no"))])
    assert isinstance(after(states.Deciding(work(), NOBODY, exactly=True), effects.Decided(made)), states.Fetching)
    assert isinstance(after(states.Deciding(work(), NOBODY, exactly=False), effects.Decided(made)), states.Building)


def test_what_is_refused_is_told_without_a_push() -> None:
    state = after(states.Deciding(work(), NOBODY, exactly=False), effects.Decided(batch(refused=["own"])))
    assert isinstance(state, states.Following)
    assert isinstance(state.work.own.refusal, StaleToken)
    asked = work(own=member(request="asked"))
    withdraws = after(states.Deciding(asked, NOBODY, exactly=False), effects.Decided(batch(refused=["own"])))
    assert (type(withdraws), withdraws.effect) == (states.Withdrawing, effects.Withdraw(asked.open))
    assert isinstance(after(withdraws, effects.Withdrawn(frozenset({"own"}))), states.Following)
    assert isinstance(after(withdraws, effects.Withdrawn(frozenset())), states.Fetching)


def test_a_server_that_takes_nothing_has_its_refusal_told() -> None:
    error = ServerRefused("declined")
    declined = work(declined={"own": error})
    state = after(states.Deciding(declined, NOBODY, exactly=False), effects.Decided(batch(refused=["own"])))
    assert isinstance(state, states.Failed)
    took = after(
        states.Deciding(declined.replace(accepted=("c",)), NOBODY, exactly=False), effects.Decided(batch(refused=["own"]))
    )
    assert isinstance(took, states.Following)
    synced = after(states.Deciding(declined.replace(own=None), NOBODY, exactly=False), effects.Decided(batch()))
    assert synced.error is error


LANDED = PushLine("*", "")


def answered(summary: str | None, words: str = "", *, flag: str = "!") -> effects.Answered:
    lines = {} if summary is None else {BRANCH: PushLine(flag, summary)}
    return effects.Answered(PushAnswer(lines, words), 0.3)


def pushing(*, exactly: bool = False, unanswered: tuple[str, ...] = ("c0",)) -> states.Pushing:
    made = batch("own")
    return states.Pushing(work(batches={"c0": made}, unanswered=unanswered), states.Attempt(made, ("c0",)), exactly)


def test_a_push_that_is_accepted_has_landed() -> None:
    state = after(pushing(unanswered=("b", "c0")), answered("", flag="*"))
    assert (type(state), state.verdict.kind, state.verdict.commit) == (states.Pushed, "landed", "c0")
    assert (state.work.unanswered, state.work.push_s) == ((), 0.3)
    ended = after(state, effects.Learned(None, None))
    assert (type(ended), ended.landed) == (states.Following, "c0")
    assert ended.work.own.is_settled


def test_an_answer_that_tells_of_a_newer_tip_needs_no_look() -> None:
    state = after(pushing(), answered("[rejected] (fetch first)"))
    assert (state.verdict.kind, state.verdict.is_looked, state.work.unanswered) == ("lost", False, ())
    doubted = after(pushing(unanswered=("b", "c0")), answered("[rejected] (fetch first)"))
    assert isinstance(doubted, states.Unconfirmed), "an earlier push may be what is newer"
    assert doubted.work.unanswered == ("b",)


@pytest.mark.parametrize(
    ("exactly", "words", "left"),
    [(False, "unable to access", 0), (True, "unable to access", 0), (True, "hung up", 1), (False, "hung up", 1)],
)
def test_without_an_answer_a_push_may_still_land(exactly: bool, words: str, left: int) -> None:
    state = after(pushing(exactly=exactly), answered(None, words))
    assert isinstance(state, states.Unconfirmed)
    assert state.effect == effects.Confirm("c0", state.work.unanswered)
    assert len(state.work.unanswered) == left


def unconfirmed(answer: PushAnswer, sides: int = 0) -> states.Unconfirmed:
    made = batch("own", sides=sides)
    return states.Unconfirmed(
        work(batches={"c0": made}, unanswered=("c0",)), states.Attempt(made, ("c0",)), exactly=False, answer=answer
    )


@pytest.mark.parametrize(
    ("answer", "tip", "holds", "kind", "left"),
    [
        (PushAnswer({}, ""), NEWER, "c0", "landed", 0),
        (PushAnswer({}, ""), NEWER, None, "lost", 0),
        (PushAnswer({}, ""), TIP, None, "unknown", 1),
        (PushAnswer({}, "hook declined"), TIP, None, "refused", 0),
        (PushAnswer({BRANCH: PushLine("!", "failed to update ref")}, ""), TIP, None, "stuck", 0),
        (PushAnswer({}, "fatal: the remote end hung up unexpectedly"), TIP, None, "unknown", 1),
        (PushAnswer({}, "fatal: the receiving end does not support this repository's hash algorithm"), TIP, None, "refused", 0),
        (PushAnswer({}, "fatal: unable to access 'u': The requested URL returned error: 503"), TIP, None, "busy", 0),
        (PushAnswer({}, "fatal: unable to access 'u': Could not resolve host: u"), TIP, None, "unknown", 1),
        (PushAnswer({BRANCH: PushLine("!", "[remote rejected] (unheard of)")}, ""), TIP, None, "refused", 0),
    ],
)
def test_what_a_look_says_of_a_push(answer: PushAnswer, tip: str, holds: str | None, kind: str, left: int) -> None:
    state = after(unconfirmed(answer), effects.Fetched(tip, holds, {}))
    assert (state.verdict.kind, len(state.work.unanswered)) == (kind, left)
    for blind in (effects.Unreachable(AWAY, in_doubt=True), LAGGING):
        silent = after(unconfirmed(answer), blind)
        assert (silent.verdict.kind, len(silent.work.unanswered)) == ("unknown", 1)


def test_side_refs_that_are_refused_are_told_from_the_branch() -> None:
    lines = {
        BRANCH: PushLine("!", "[remote rejected] (atomic push failed)"),
        "refs/bd/claims/own": PushLine("!", "[remote rejected] (deny updating a hidden ref)"),
    }
    state = after(unconfirmed(PushAnswer(lines, ""), sides=1), effects.Fetched(TIP, None, {}))
    assert state.verdict.kind == "unsided"
    plain = after(unconfirmed(PushAnswer(lines, "")), effects.Fetched(TIP, None, {}))
    assert plain.verdict.kind == "stuck"


def test_a_tip_that_was_old_is_no_race() -> None:
    state = after(pushed(Verdict("lost"), batch("own"), exactly=True), effects.Learned(None, None))
    assert (type(state), state.source, state.work.losses) == (states.Fetching, PUBLISHED, 0)


@pytest.mark.parametrize(("is_looked", "source"), [(True, PUBLISHED), (False, PUBLISHED)])
def test_who_loses_asks_before_it_looks(is_looked: bool, source: str) -> None:
    state = after(pushed(Verdict("lost", is_looked=is_looked), batch("own")), LEARNED)
    assert (type(state), state.source, state.work.losses, state.work.base) == (states.Fetching, source, 1, NEWER)


def test_who_has_asked_or_carried_others_looks_after_a_loss() -> None:
    carried = after(pushed(Verdict("lost", is_looked=False), batch("own", "a", carried=["a"])), LEARNED)
    assert carried.source == REMOTE
    asked = after(pushed(Verdict("lost", is_looked=False), batch("own"), own=member(request="x")), LEARNED)
    assert asked.source == REMOTE


@pytest.mark.parametrize("event", [effects.Learned(None, None), effects.Learned(NEWER, TERMS.replace(are_met=False))])
def test_who_can_ask_nobody_backs_off(event: effects.Learned) -> None:
    state = after(pushed(Verdict("lost"), batch("own"), tries=1), event)
    assert (type(state), state.effect) == (states.BackingOff, effects.Sleep(0.1, jitter=True))
    assert isinstance(after(state, effects.Woke()), states.Fetching)


def test_time_is_over_at_its_deadline() -> None:
    lost = pushed(Verdict("lost"), batch("own"), tries=3)
    state = after(lost, effects.Learned(None, None), RETRY_S)
    assert isinstance(state, states.Failed)
    assert isinstance(state.error, Contention)
    doubted = after(lost.replace(work=lost.work.replace(unanswered=("c",))), effects.Learned(None, None), RETRY_S)
    assert doubted.error.data["written"] == "unknown"


@pytest.mark.parametrize("asked", [{}, {"request": "x", "asked_on": TIP}])
@pytest.mark.parametrize(
    ("verdict", "unanswered", "told"),
    [
        (Verdict("lost"), (), "another writer was faster"),
        (Verdict("stuck", "no space left"), (), "can't take the push, and nothing else moves: no space left"),
        (Verdict("stuck", "no space left"), ("earlier",), "did not say whether"),
        (Verdict("unknown", "connection refused"), (), "can't be pushed to: connection refused"),
        (Verdict("unknown", "hung up"), ("c0",), "did not say whether"),
    ],
)
def test_out_of_time_what_stood_in_the_way_is_told(
    verdict: Verdict, unanswered: tuple[str, ...], told: str, asked: dict[str, Any]
) -> None:
    state = after(pushed(verdict, batch("own"), unanswered=unanswered, own=member(**asked)), LEARNED, RETRY_S)
    if asked:
        state = after(state, effects.Withdrawn(frozenset({"own"})), RETRY_S)
    assert told in str(state.error)
    assert isinstance(state, states.Offline if "pushed to" in told else states.Failed)


def test_an_obstacle_that_is_gone_is_not_told() -> None:
    stuck = after(pushed(Verdict("stuck", "no space left"), batch("own")), effects.Learned(None, None))
    lost = pushed(Verdict("lost"), batch("own"))
    state = after(lost.replace(work=stuck.work), effects.Learned(None, None), RETRY_S)
    assert isinstance(state.error, Contention)


def test_out_of_time_requests_are_taken_back_and_looked_for_once_more() -> None:
    lost = pushed(Verdict("lost"), batch("own"), own=member(request="x", asked_on=TIP))
    state = after(lost, LEARNED, RETRY_S)
    assert isinstance(state, states.Withdrawing)
    gone = after(state, effects.Withdrawn(frozenset({"own"})), RETRY_S)
    assert isinstance(gone, states.Failed)
    assert isinstance(gone.error, Contention)
    look = after(state, effects.Withdrawn(frozenset()), RETRY_S)
    assert (type(look), look.work.late_looks) == (states.Fetching, 0)
    again = after(states.Withdrawing(look.work, "give up"), effects.Withdrawn(frozenset()), RETRY_S)
    assert again.error.data["written"] == "unknown", "others may still carry it out"


def test_a_stuck_server_is_tried_plainly_before_it_is_given_up() -> None:
    stuck = Verdict("stuck", "no space left")
    state = pushed(stuck, batch("own"))
    for number in range(1, STUCK_LIMIT):
        rested = after(state, effects.Learned(None, None))
        assert (type(rested), rested.work.stuck, rested.work.mode) == (states.BackingOff, number, ASKING)
        state = state.replace(work=rested.work)
    plain = after(state, effects.Learned(None, None))
    assert (type(plain), plain.work.mode) == (states.BackingOff, PLAIN)
    last = after(state.replace(work=plain.work), effects.Learned(None, None))
    assert isinstance(last, states.Failed)
    assert "no space left" in str(last.error)
    moved = after(pushed(Verdict("unknown"), batch("own"), stuck=2), effects.Learned(None, None))
    assert moved.work.stuck == 0


def test_without_side_refs_the_requests_are_taken_back() -> None:
    state = after(pushed(Verdict("unsided", "no"), batch("own"), own=member(request="x")), effects.Learned(None, None))
    assert (type(state), state.work.mode) == (states.Withdrawing, PLAIN)
    on = after(state, effects.Withdrawn(frozenset({"own"})))
    assert (type(on), on.work.own.request) == (states.BackingOff, None)
    kept = after(state, effects.Withdrawn(frozenset()))
    assert kept.work.own.request == "x"
    push = states.Pushing(on.work, states.Attempt(batch("own", sides=1), ("c0",)), exactly=False)
    assert push.effect.sides == ()


# --- a batch that is declined -----------------------------------------------------------------


@pytest.mark.parametrize(("unsure", "next_one"), [("own", "Fetching"), ("kin", "Following")])
def test_a_refusal_is_told_only_when_nothing_can_bring_the_operation_to_the_hub(unsure: str, next_one: str) -> None:
    """The batch that landed refused one whose request may still arrive: one's own is looked for, a neighbour looks for its own."""
    both = {uid: member(uid, may_arrive=frozenset({"r"} if uid == unsure else ())) for uid in ("own", "kin")}
    made = batch("kin" if unsure == "own" else "own", refused=[unsure])
    landed = pushed(Verdict("landed", commit="c0"), made, own=both["own"], neighbours=(both["kin"],))
    state = after(landed, LEARNED)
    assert type(state).__name__ == next_one
    assert [one.uid for one in state.work.open] == [unsure]


def test_a_declined_operation_of_ones_own_is_refused() -> None:
    state = after(pushed(Verdict("refused", DECLINED), batch("own")), effects.Learned(None, None))
    assert isinstance(state, states.Declined)
    assert (state.effect.commit, state.effect.error) == ("c0", state.error)
    kept = ServerRefused("declined", written="local")
    failed = after(state, effects.Aside(kept))
    assert isinstance(failed, states.Failed)
    assert failed.error is kept


@pytest.mark.parametrize("unanswered", [(), ("earlier",)])
def test_who_lacks_a_right_keeps_it_here_as_if_the_hub_were_away(unanswered: tuple[str, ...]) -> None:
    verdict = Verdict("refused", "remote: You do not have permission to push")
    state = after(pushed(verdict, batch("own"), unanswered=unanswered), effects.Learned(None, None))
    assert isinstance(state, states.Failed if unanswered else states.Offline)
    assert state.error.data["written" if unanswered else "scope"] == ("unknown" if unanswered else "hub")


def test_who_is_declined_with_others_goes_on_alone() -> None:
    state = after(pushed(Verdict("refused", DECLINED), batch("own", "a", carried=["a"])), effects.Learned(None, None))
    assert (type(state), state.work.mode, state.work.declined) == (states.Fetching, ALONE, {})


def test_a_declined_batch_is_pushed_one_by_one() -> None:
    both = (member("own"), (member("b", path="p"),))
    made = batch("b", "own", sides=1)
    first = after(pushed(Verdict("refused", DECLINED), made, own=both[0], neighbours=both[1]), effects.Learned(None, None))
    assert (type(first), first.effect.commit, first.effect.base) == (states.Pushing, "c0", TIP)
    landed = states.Pushed(first.work, first.attempt, exactly=False, verdict=Verdict("landed", commit="c0"))
    assert landed.effect == effects.Learn(landed.verdict, "c0", (SideRef("refs/bd/claims/b", NEWER, None),), is_race=False)
    second = after(landed, effects.Learned(None, None))
    assert (type(second), second.effect.commit, second.effect.base) == (states.Pushing, "c1", "c0")
    assert [one.is_settled for one in second.work.members] == [False, True]
    answered_work = second.work.replace(unanswered=())
    refused = states.Pushed(answered_work, second.attempt, exactly=False, verdict=Verdict("refused", DECLINED))
    declined = after(refused, effects.Learned(None, None))
    assert (type(declined), declined.operation.uid) == (states.Declined, "own")
    left = after(declined, effects.Aside(declined.error))
    assert (type(left), left.work.mode, list(left.work.declined), left.work.accepted) == (
        states.Fetching,
        ALONE,
        ["own"],
        ("c0",),
    )
    last = states.Pushed(second.work, second.attempt, exactly=False, verdict=Verdict("landed", commit="c1"))
    assert isinstance(after(last, effects.Learned(None, None)), states.Following)


@pytest.mark.parametrize(
    ("change", "uid"), [({"unanswered": ("earlier",)}, "own"), ({"own": member(result=DONE)}, "own"), ({}, "an earlier write")]
)
def test_what_may_still_land_and_what_waits_here_anyway_is_not_set_aside(change: dict[str, Any], uid: str) -> None:
    state = after(pushed(Verdict("refused", DECLINED), batch(uid), **change), effects.Learned(None, None))
    assert (type(state), list(state.work.declined)) == (states.Fetching, [uid])


@pytest.mark.parametrize("unanswered", [(), ("earlier",)])
def test_a_busy_server_is_asked_for_nothing_more(unanswered: tuple[str, ...]) -> None:
    busy = pushed(Verdict("busy", "error: 429"), batch("own"), unanswered=unanswered)
    state = after(busy, effects.Learned(None, None))
    if unanswered:
        assert state.error.data["written"] == "unknown"
    else:
        assert isinstance(state, states.Offline)
        assert state.error.data["retry_after_s"] == 60
    settled = busy.replace(work=busy.work.replace(own=member(result=DONE), neighbours=(member("b", path="p"),)))
    assert isinstance(after(settled, effects.Learned(None, None)), states.Following)


@pytest.mark.parametrize(("verdict", "base"), [(Verdict("landed", commit="c0"), "c0"), (Verdict("lost"), TIP)])
def test_without_a_remote_the_branch_is_where_the_push_left_it(verdict: Verdict, base: str) -> None:
    assert after(pushing(), effects.Judged(verdict)).work.base == base


@pytest.mark.parametrize(("looks", "tries", "may_clear"), [(0, 0, True), (1, 1, True), (2, 0, True), (2, 1, False)])
def test_what_nobody_waits_for_is_cleared_away_at_first(looks: int, tries: int, may_clear: bool) -> None:
    assert states.Reading(work(findings=Findings(looks=looks), tries=tries), TIP).effect.may_clear == may_clear


def test_what_was_accepted_is_where_the_clone_goes_when_the_rest_fails() -> None:
    made = batch("own", "b")
    both = {"own": member("own"), "neighbours": (member("b", path="p"),)}
    landed = after(
        states.Pushing(
            work(batches={"c1": made}, unanswered=("c0",), **both), states.Attempt(made, ("c0", "c1"), 0), exactly=False
        ),
        answered("", flag="*"),
    )
    second = after(landed, effects.Learned(None, None))
    declined = states.Pushed(second.work, second.attempt, exactly=False, verdict=Verdict("refused", DECLINED))
    left = after(declined, effects.Learned(None, None))
    away = after(left, effects.Unreachable(AWAY, in_doubt=False))
    assert (type(away), away.effect.tip) == (states.Following, "c0")
    failed = after(left, effects.Refused(BdError("no space left")))
    assert failed.effect.tip == "c0"


def test_what_a_late_push_refused_to_replay_is_kept_in_the_end() -> None:
    made = batch("own").replace(refused=[RefusedReplay("a", "c", StaleToken("no"))])
    before = work(batches={"c0": made}, unanswered=("c0",))
    seen = after(states.Fetching(before, REMOTE), effects.Fetched(NEWER, "c0", {}))
    invited = after(seen, recovered(seen.work))
    ended = after(invited, effects.Taken((), Findings()))
    assert (type(ended), ended.effect.batch, ended.effect.tip, ended.effect.landed) == (states.Following, made, NEWER, False)


def test_requests_that_are_taken_back_in_part_are_forgotten_in_part() -> None:
    asked = work(own=member(request="x", asked_on=TIP), neighbours=(member("b", path="p", request="y", asked_on=TIP),))
    state = after(states.Withdrawing(asked, "give up"), effects.Withdrawn(frozenset({"b"})), RETRY_S)
    assert [one.request for one in state.work.members] == ["x", None]
    assert isinstance(state, states.Fetching), "somebody may have carried the other one out"


def test_an_earlier_push_that_landed_after_all_settles_its_own_batch() -> None:
    earlier, later = batch("own"), batch("own", "b")
    state = pushed(Verdict("landed", commit="b0"), later, neighbours=(member("b", path="p"),))
    state = state.replace(work=state.work.replace(batches={**state.work.batches, "b0": earlier}))
    on = after(state, effects.Learned(None, None))
    assert isinstance(on, states.Fetching)
    assert [one.is_settled for one in on.work.members] == [True, False]
    unknown = state.replace(verdict=Verdict("landed", commit="of a batch that was split"))
    assert isinstance(after(unknown, effects.Learned(None, None)), states.BackingOff)


# --- ends -------------------------------------------------------------------------------------


def test_an_error_about_a_neighbour_does_not_end_what_is_settled() -> None:
    error = BdError("no space left")
    assert after(states.Building(work(), batch("own"), exactly=False), effects.Refused(error)).error is error
    settled = work(own=member(result=DONE), neighbours=(member("b", path="p"),))
    assert isinstance(after(states.Building(settled, batch("b"), exactly=False), effects.Refused(error)), states.Following)
    assert isinstance(after(states.Following(settled, None, None), effects.Refused(error)), states.Failed)


def test_the_end() -> None:
    outcome = Outcome(None, published=True, commit=TIP)
    state = after(states.Following(work(own=member(result=DONE)), None, None), effects.Followed(outcome, all_heard=False))
    assert (state.outcome, state.all_heard, state.effect) == (outcome, False, None)
    kept = after(states.Offline(work(), AWAY), effects.Kept(outcome))
    assert (kept.outcome, kept.all_heard) == (outcome, True)


def test_what_a_clone_follows_is_its_own_commit_or_the_tip() -> None:
    made = batch("own", base=NEWER)
    own = member(result=DONE)
    landed = states.Following(work(own=own, tries=2), made, "c0").effect
    assert (landed.tip, landed.base, landed.landed, landed.tries) == ("c0", NEWER, True, 2)
    seen = states.Following(work(own=own), None, None).effect
    assert (seen.tip, seen.base, seen.landed, seen.tries) == (TIP, TIP, False, 1)


STATES = {name for name, kind in vars(states).items() if isinstance(kind, type) and hasattr(kind, "effect")}


@functools.cache
def edges_in_the_protocol() -> dict[str, set[str]]:
    """The next states of each state, as the table in docs/protocol.md has them."""
    page = (Path(__file__).parents[2] / "docs" / "protocol.md").read_text(encoding="utf-8")
    table = page.partition("| state | what it does")[2].partition("\n\n")[0]
    rows = [row.split("|")[1:4] for row in table.splitlines()[2:]]
    return {name.strip(): STATES & set(re.findall(r"\w+", after)) for names, _, after in rows for name in names.split(",")}


def edges_in_the_code() -> dict[str, set[str]]:
    """The states that the function of each state makes, itself or through others. The page has a rule for `_ended`."""
    functions = {node.name: node for node in ast.parse(inspect.getsource(transitions)).body if isinstance(node, ast.FunctionDef)}

    def made_by(name: str, seen: set[str]) -> set[str]:
        if name == "_ended":
            return {"Failed"}
        calls = [node.func.id for node in ast.walk(functions[name]) if is_call_of_name(node)]
        inner = [made_by(call, seen | {name}) for call in calls if call in functions and call not in seen]
        return (STATES & set(calls)).union(*inner)

    return {kind.__name__: made_by(function.__name__, set()) for kind, function in transitions._TRANSITIONS.items()}


def is_call_of_name(node: ast.AST) -> TypeGuard[Any]:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name)


def test_the_protocol_names_every_state_and_every_edge() -> None:
    made = edges_in_the_code()
    assert all(made.values())
    assert {**edges_in_the_protocol()} == {**made, "Settled": set(), "Failed": set()}
    assert made.keys() | {"Settled", "Failed"} == STATES


def is_in_the_protocol(before: Any, event: Any, after: Any) -> bool:
    """Return whether the page has this step, by its table or by the rules below it."""
    was, now = type(before).__name__, type(after).__name__
    is_settled = bool(before.work.own and before.work.own.is_settled)
    if isinstance(event, effects.Refused):
        return now == ("Following" if is_settled and was != "Following" else "Failed")
    known = edges_in_the_protocol()[was]
    return now in known or (now == "Following" and "Failed" in known)


# --- how it begins, and how it is shown --------------------------------------------------------


def replica(**more: Any) -> Any:
    plain = {"branch_name": "main", "remote_name": "origin", "published_before": TIP, "repo": SimpleNamespace(ref=lambda _: TIP)}
    return SimpleNamespace(**{**plain, **more})


@pytest.mark.parametrize(
    ("here", "hand", "creates_hub", "mode"),
    [
        (replica(), None, False, ASKING),
        (replica(), "c", False, CARRYING),
        (replica(), None, True, CARRYING),
        (replica(remote_name=None), None, False, CARRYING),
        (replica(published_before=NEWER), None, False, CARRYING),
        (replica(published_before=NEWER, repo=SimpleNamespace(ref=lambda _: None)), None, False, ASKING),
        (replica(published_before=NEWER, remote_name=None), None, False, CARRYING),
    ],
)
def test_only_what_others_can_publish_too_is_asked_for(here: Any, hand: str | None, creates_hub: bool, mode: int) -> None:
    begun = states.work_of(here, operation(), hand, creates_hub=creates_hub)
    assert (begun.mode, begun.facts.may_ask) == (mode, mode == ASKING)


def test_heartbeats_are_listed_for_who_needs_them() -> None:
    for needs in (True, False):
        asked = operation(needs_heartbeats=needs)
        assert states.work_of(replica(), asked, None, creates_hub=False).facts.needs_heartbeats == needs
    synced = states.work_of(replica(), None, None, creates_hub=False)
    assert (synced.facts.needs_heartbeats, synced.own) == (False, None)


@pytest.mark.parametrize(
    ("exactly", "is_looked", "is_race"), [(False, True, True), (False, False, True), (True, False, True), (True, True, False)]
)
def test_a_lost_push_is_a_race_unless_the_tip_was_old(exactly: bool, is_looked: bool, is_race: bool) -> None:
    assert pushed(Verdict("lost", is_looked=is_looked), batch("own"), exactly=exactly).effect.is_race == is_race
    assert not pushed(Verdict("stuck"), batch("own")).effect.is_race


def test_a_state_is_shown_on_one_line() -> None:
    push = states.Pushing(work(), states.Attempt(batch("own"), ("c" * 40,)), exactly=False)
    assert states.on_one_line(push) == f"Pushing: Push commit={'c' * 10} base={TIP[:10]} exactly=False"
    assert states.on_one_line(states.BackingOff(work(), 0.12345)) == "BackingOff: Sleep seconds=0.123 jitter=True"
    assert states.on_one_line(states.Recovering(work(), TIP, {})) == f"Recovering: Recover tip={TIP[:10]} members=1"
    assert states.on_one_line(pushed(Verdict("lost"), batch("own"))) == "Pushed: Learn verdict=lost is_race=True"
    assert states.on_one_line(states.Settled(work(), Outcome(None, published=True, commit=TIP))) == "Settled"


# --- any sequence of reports ------------------------------------------------------------------


@st.composite
def reports(draw: st.DrawFn, state: Any) -> Any:  # noqa: C901  a report for each effect
    """Something that the world may report to a state's effect."""
    effect, tip = state.effect, draw(st.sampled_from([TIP, NEWER]))
    open_uids = [one.uid for one in state.work.open]
    if draw(st.integers(0, 19)) == 0:
        return effects.Refused(BdError("no space left"))
    if isinstance(effect, effects.Fetch):
        if effect.source == TRUSTED and draw(st.booleans()):
            return effects.Trusted(tip)
        if draw(st.integers(0, 9)) == 0:
            return effects.Unreachable(AWAY, in_doubt=bool(state.work.unanswered))
        if draw(st.integers(0, 9)) == 0:
            return LAGGING.replace(in_doubt=bool(state.work.unanswered))
        holds = draw(st.sampled_from([None, *effect.unanswered]))
        listed = draw(st.sets(st.sampled_from(["own", "b", "other"])))
        asked = {one.uid: one.request or "x" for one in state.work.members}
        return effects.Fetched(tip, holds, {uid: asked.get(uid, "x") for uid in listed})
    if isinstance(effect, effects.Recover):
        return Recovered(effect.known.replace(looks=effect.known.looks + 1), effect.members, draw(st.integers(0, 9)) == 0)
    if isinstance(effect, effects.ReadAnswers):
        return effects.Answers({one.uid: DONE for one in effect.members if draw(st.booleans())})
    if isinstance(effect, effects.TakeWaiting):
        joins = "b" not in [one.uid for one in state.work.members] and draw(st.booleans())
        return effects.Taken((member("b", path="p"),) if joins else (), effect.findings)
    if isinstance(effect, effects.ReadRequests):
        return effects.RequestsRead(
            requested("other") if draw(st.booleans()) else NOBODY, TERMS.replace(are_met=draw(st.booleans()))
        )
    if isinstance(effect, effects.Ask):
        return Asked(draw(st.sampled_from(["made", "refused", "unknown"])), {uid: f"r{uid}" for uid in open_uids}, 0.1)
    if isinstance(effect, effects.Sleep):
        return effects.Woke()
    if isinstance(effect, effects.ListRequests):
        return effects.Listed(tip, {one.uid: one.request or "" for one in state.work.asked})
    if isinstance(effect, effects.Decide):
        named = [uid for uid in open_uids if draw(st.booleans())]
        carried = ["other"] if effect.others.requested else []
        return effects.Decided(batch(*named, *carried, refused=[uid for uid in open_uids if uid not in named], carried=carried))
    if isinstance(effect, effects.Build):
        number = len(state.work.batches)
        return effects.Built(tuple(f"b{number}c{place}" for place in range(len(effect.batch.chain.steps))))
    if isinstance(effect, effects.Push):
        return answered(
            *draw(
                st.sampled_from(
                    [
                        ("", ""),
                        ("[rejected] (fetch first)", ""),
                        (None, "hung up"),
                        (None, "error: 429"),
                        (DECLINED, "no"),
                        ("failed to update ref", ""),
                    ]
                )
            ),
            flag=draw(st.sampled_from("!*")),
        )
    if isinstance(effect, effects.Confirm) and draw(st.integers(0, 9)) == 0:
        return LAGGING
    if isinstance(effect, effects.Confirm):
        return effects.Fetched(tip, draw(st.sampled_from([None, effect.commit, *effect.unanswered])), {})
    if isinstance(effect, effects.SetAside):
        return effects.Aside(effect.error)
    if isinstance(effect, effects.Learn):
        return effects.Learned(tip, TERMS) if effect.is_race else effects.Learned(None, None)
    if isinstance(effect, effects.Withdraw):
        return effects.Withdrawn(frozenset(one.uid for one in effect.members if draw(st.booleans())))
    outcome = Outcome(None, published=True, commit=TIP)
    return effects.Followed(outcome, all_heard=True) if isinstance(effect, effects.Follow) else effects.Kept(outcome)


@given(st.data())
def test_no_sequence_of_reports_loses_or_forgets_anything(data: st.DataObject) -> None:
    state: Any = states.Fetching(states.Work(facts(), member()), TRUSTED)
    now_s = 0.0
    for _ in range(400):
        if state.effect is None:
            break
        before = state.work
        event = data.draw(reports(state))
        now_s += 0.05 + (state.effect.seconds if isinstance(state.effect, effects.Sleep) else 0.0)
        was, state = state, next_state(state, event, now_s)
        assert is_in_the_protocol(was, event, state), "docs/protocol.md has every step"
        work_ = state.work
        assert work_.mode >= before.mode, "a mode only ever descends"
        assert work_.tries >= before.tries
        assert [one.uid for one in before.members] == [one.uid for one in work_.members][: len(before.members)]
        for old, new in zip(before.members, work_.members, strict=False):
            assert not old.is_settled or new == old, "what is settled stays so"
        if isinstance(state, states.Pushing):
            assert state.effect.commit in work_.unanswered, "what is on its way is known to be"
        if set(before.unanswered) - set(work_.unanswered):
            assert isinstance(event, (effects.Answered, effects.Fetched)), "only the server's word ends a doubt"
    else:
        pytest.fail(f"it goes on without end: {state}")
    if isinstance(state, states.Settled) and not isinstance(event, effects.Kept):
        assert state.work.own.is_settled
    if isinstance(state, states.Failed) and not isinstance(event, effects.Refused) and state.error.transient:
        is_open = bool(state.work.unanswered) or any(doubts(state.work, one) for one in state.work.open)
        assert (state.error.data["written"] == "unknown") == is_open
