"""The transitions of a write: (state, event, time) -> next state. Pure: no I/O and no waiting.

`_TRANSITIONS` at the end names the function of each state; `next_state` calls it. Other functions are parts of these.
docs/protocol.md explains the protocol and has the table of states; docs/architecture.md says how to add one.
"""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.backoff import grown_s
from bd.core.errors import NoHub, RemoteUnreachable
from bd.store.group_commit import order
from bd.store.group_commit.member import Result
from bd.store.group_commit.requests import NOBODY
from bd.store.transaction import give_up, verdict
from bd.store.transaction.effects import (
    PUBLISHED,
    REMOTE,
    Answered,
    Answers,
    Aside,
    Built,
    Decided,
    Fetched,
    Followed,
    Judged,
    Kept,
    Lagging,
    Learned,
    Listed,
    Refused,
    RequestsRead,
    Taken,
    Trusted,
    Unreachable,
    Withdrawn,
    Woke,
)
from bd.store.transaction.findings import Recovered, hand_over
from bd.store.transaction.states import (
    ALONE,
    ASKING,
    CARRYING,
    PLAIN,
    Attempt,
    BackingOff,
    Building,
    CatchingUp,
    Deciding,
    Declined,
    Failed,
    Fetching,
    Following,
    Hearing,
    Inviting,
    Offline,
    Pushed,
    Pushing,
    Reading,
    Recovering,
    Requesting,
    Settled,
    Unconfirmed,
    Waiting,
    Watching,
    Withdrawing,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from bd.core.errors import BdError, ServerRefused
    from bd.store.group_commit.member import Member
    from bd.store.group_commit.requests import Asked
    from bd.store.transaction.batch import Batch
    from bd.store.transaction.effects import Event, Terms
    from bd.store.transaction.states import State, Work
    from bd.store.transaction.verdict import Verdict

# After this many consecutive rejections with nothing moved, the server is taken to accept no pushes.
STUCK_LIMIT = 3
# The wait after a lost race when no other clone can be asked.
_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.05, 2.0


def next_state(state: State, event: Event, now_s: float) -> State:
    """Return the state after an event; `now_s` is on the monotonic clock."""
    if isinstance(event, Refused):
        return Failed(state.work, event.error) if isinstance(state, Following) else _ended(state.work, event.error)
    return _TRANSITIONS[type(state)](state, event, now_s)


def _ended(work: Work, error: BdError) -> State:
    """End with an error; if the caller's own operation is settled, the error concerns a neighbour's, whose author will retry."""
    return Following(work, work.landed, None) if work.own and work.own.is_settled else Failed(work, error)


# --- fetching ---------------------------------------------------------------------------------


def _fetching(state: Fetching, event: Trusted | Fetched | Unreachable | Lagging, now_s: float) -> State:
    work = state.work
    if isinstance(event, Lagging):
        return _catching_up(work, event, now_s)
    if isinstance(event, Unreachable):
        return _away(work, event.error, in_doubt=event.in_doubt)
    if isinstance(event, Trusted):
        return Deciding(work.replace(base=event.tip), NOBODY, exactly=True)
    facts = work.facts
    if event.tip is None and not facts.creates_hub:
        where = f" on {facts.remote}" if facts.remote else ""
        return _ended(work, NoHub(f"the hub branch {facts.branch} does not exist{where}", hint="`bd init` makes a hub"))
    work = work.replace(base=event.tip, turn=work.turn.at(event.tip, now_s))
    work = work.replace(lags=work.lags + 1 if event.tip is not None and event.tip == work.passed else 0)
    if event.tip is None:
        return Deciding(work, NOBODY, exactly=False)
    if event.holds and event.holds in work.batches:  # not necessarily the last one tried
        work = _with_landed(work, work.batches[event.holds])
    return Recovering(work, event.tip, event.requests)


def _catching_up(work: Work, event: Lagging, now_s: float) -> State:
    """Wait until the remote shows what this clone has seen there, within the time there is."""
    if work.own and work.own.is_settled:
        return Following(work, work.landed, None)
    work = work.replace(lags=work.lags + 1, deadline_s=work.deadline_s or now_s + event.retry_time_s)
    state = _in_time(CatchingUp(work, _longest_wait_s(work.lags)), now_s)
    return _ended(work, give_up.doubt()) if isinstance(state, Failed) and event.in_doubt else state


def _caught_up(state: CatchingUp, event: Woke, now_s: float) -> State:
    return Fetching(state.work, REMOTE)


def _away(work: Work, error: RemoteUnreachable | ServerRefused, *, in_doubt: bool) -> State:
    """Stop talking to the server for now."""
    if work.own and work.own.is_settled:
        return Following(work, work.landed, None)
    return Failed(work, give_up.doubt()) if in_doubt else Offline(work, error)


def _recovering(state: Recovering, event: Recovered, now_s: float) -> State:
    after = {member.uid: member for member in event.members}
    work = state.work.replace(findings=event.findings).with_members(lambda member: after[member.uid])
    if event.is_unsure:
        return Fetching(work, REMOTE)
    members, findings = hand_over(work.open, work.findings)
    taken = {member.uid: member for member in members}
    work = work.replace(findings=findings).with_members(lambda member: taken[member.uid].seen(state.requests))
    hearing = Hearing(work, state.tip, state.requests)
    return hearing if hearing.gone else _heard(hearing)


def _hearing(state: Hearing, event: Answers, now_s: float) -> State:
    def after(member: Member) -> Member:
        if not member.is_gone(state.requests):
            return member
        if member.uid in event.results:
            return member.settled(event.results[member.uid])
        if member.request is None or state.requests.get(member.uid) == member.request:
            return member  # an unanswered request: nothing has come of it so far
        # A request that is gone without a verdict proves nothing until the branch is fetched once more.
        return member.forgotten() if member.misses else member.replace(misses=1)

    work = state.work.with_members(after)
    if any(member.misses for member in work.open):
        return Fetching(work, REMOTE)
    return _heard(state.replace(work=work))


def _heard(state: Hearing) -> State:
    facts = state.work.facts
    inviting = Inviting(state.work, state.tip, state.requests)
    if state.work.own is None or facts.creates_hub or facts.hand:
        return _invited(inviting)
    return inviting


def _inviting(state: Inviting, event: Taken, now_s: float) -> State:
    work = state.work.replace(neighbours=(*state.work.neighbours, *event.members), findings=event.findings)
    return _invited(state.replace(work=work))


def _invited(state: Inviting) -> State:
    work = state.work
    if work.members and not work.open:
        return Following(work, work.landed, None)
    is_shared = bool(work.facts.remote) and not work.facts.creates_hub
    if is_shared and (state.requests or work.asked or work.losses):
        return Reading(work, state.tip)
    return Deciding(work, NOBODY, exactly=False)


# --- whose turn it is -------------------------------------------------------------------------


def _reading(state: Reading, event: RequestsRead, now_s: float) -> State:
    """Ask other clones, wait for them, or publish for everybody."""
    work, others = state.work, event.others
    decides = Deciding(work, others, exactly=False)
    if not work.open or not (others.requested or work.asked or work.losses):
        return decides
    place = _place(work, state.tip, [one.request.uid for one in others.requested])
    if not work.asked:
        if (others.requested and place == 0) or not _may_ask(work, event.terms):
            return decides
        return Requesting(work.replace(losses=0), state.tip, event.terms)
    wait_s = _wait_s(work, place, now_s)
    if wait_s <= 0:
        return decides
    return _waiting_for(work, event.terms, min(wait_s, max(work.round_trip_s, order.PAUSE_S)), now_s)


def _may_ask(work: Work, terms: Terms) -> bool:
    return work.mode == ASKING and terms.are_met and all(member.operation.is_portable for member in work.open)


def _requesting(state: Requesting, event: Asked, now_s: float) -> State:
    work = state.work
    if event.kind == "refused":
        return _go_on(work.descended(CARRYING), state.terms, now_s)
    is_answered = event.kind == "made"
    work = work.with_members(
        lambda member: member.requested(event.requests[member.uid], state.tip, is_answered=is_answered)
    ).replace(ask_s=event.took_s)
    # Give other writers time to add their requests, so that the first to push carries more.
    return _waiting_for(work, state.terms, order.GATHERING * event.took_s, now_s)


def _waiting_for(work: Work, terms: Terms, pause_s: float, now_s: float) -> State:
    return Waiting(work, terms, pause_s, now_s + max(pause_s, order.WATCHED * work.round_trip_s))


def _waiting(state: Waiting, event: Woke, now_s: float) -> State:
    return Watching(state.work, state.terms, state.until_s)


def _watching(state: Watching, event: Listed | Unreachable, now_s: float) -> State:
    work = state.work
    if isinstance(event, Unreachable) or event.tip is None:  # the next fetch reports it
        return _go_on(work, state.terms, now_s)
    if any(event.requests.get(member.uid) != member.request for member in work.asked):
        return _go_on(work, state.terms, now_s)
    work = work.replace(turn=work.turn.at(event.tip, now_s))
    wait_s = _wait_s(work, _place(work, event.tip, event.requests), now_s)
    if wait_s <= 0 or now_s >= state.until_s:
        return _go_on(work, state.terms, now_s)
    pause_s = min(wait_s, max(work.round_trip_s * order.AGAIN, order.PAUSE_S))
    return Waiting(work, state.terms, pause_s, state.until_s)


def _go_on(work: Work, terms: Terms, now_s: float) -> State:
    """Fetch again, unless time is up."""
    work = work.replace(deadline_s=work.deadline_s or now_s + terms.retry_time_s)
    return _in_time(Fetching(work, REMOTE), now_s)


def _place(work: Work, tip: str, others: Any) -> int:
    return order.place(tip, [member.uid for member in work.open], others)


def _wait_s(work: Work, place: int, now_s: float) -> float:
    """Return how much longer a writer at this place leaves the push to those before it, in seconds."""
    return (work.turn.since_s or 0.0) + order.patience_s(place, work.round_trip_s) - now_s


# --- a batch ----------------------------------------------------------------------------------


def _deciding(state: Deciding, event: Decided, now_s: float) -> State:
    batch = event.batch
    work = state.work.replace(deadline_s=state.work.deadline_s or now_s + batch.settings.retry_time)
    carries_own = any(step.operation.uid not in batch.carried for step in batch.chain.steps)
    is_refused = bool(batch.refused) or any(error is not None for _, error in batch.decided.values())
    if state.exactly and (is_refused or not carries_own):  # a refusal on an older tip may be out of date
        return Fetching(work, REMOTE)
    if carries_own:
        return Building(work.replace(tries=work.tries + 1), batch, state.exactly)
    refusal = batch.decided[work.own.uid][1] if work.own and work.own.uid in batch.decided else None
    if work.declined and not work.accepted and (work.own is None or refusal):
        # The server accepts nothing now: everything stays queued.
        return _ended(work, refusal or next(iter(work.declined.values())))
    if work.asked:
        return Withdrawing(work, "follow", batch)
    return _without_push(work, batch)


def _building(state: Building, event: Built, now_s: float) -> State:
    attempt = Attempt(state.batch, event.commits)
    work = state.work.replace(batches={**state.work.batches, attempt.commit: state.batch})
    return _pushing_of(work, attempt, exactly=state.exactly)


def _pushing_of(work: Work, attempt: Attempt, *, exactly: bool) -> State:
    if work.facts.remote:
        work = work.replace(unanswered=(*work.unanswered, attempt.commit))
    return Pushing(work, attempt, exactly)


def _pushing(state: Pushing, event: Answered | Judged, now_s: float) -> State:
    if isinstance(event, Judged):
        base = event.verdict.commit or state.work.base
        return Pushed(state.work.replace(base=base), state.attempt, state.exactly, event.verdict)
    work, attempt = state.work.replace(push_s=event.took_s), state.attempt
    answer, branch = event.answer, f"refs/heads/{work.facts.branch}"
    line = answer.lines.get(branch)
    if line is not None and line.landed:
        work = work.replace(base=attempt.commit, unanswered=())
        return Pushed(work, attempt, state.exactly, verdict.Verdict("landed", commit=attempt.commit))
    if line is not None or verdict.never_sent(answer.words):
        work = _without_unanswered(work, attempt.commit)
    if line is not None and not work.unanswered and verdict.was_overtaken(line.summary, answer.words, branch):
        return Pushed(work.replace(passed=attempt.base), attempt, state.exactly, verdict.Verdict("lost", is_looked=False))
    return Unconfirmed(work, attempt, state.exactly, answer)


def _unconfirmed(state: Unconfirmed, event: Fetched | Unreachable | Lagging, now_s: float) -> State:
    work, attempt = state.work, state.attempt
    if isinstance(event, (Unreachable, Lagging)):
        return Pushed(work, attempt, state.exactly, verdict.Verdict("unknown"))
    found = verdict.seen(state.answer, f"refs/heads/{work.facts.branch}", attempt.commit, attempt.base, event.tip, event.holds)
    if found.kind in ("landed", "lost"):  # the branch has moved on, so no earlier push can land any more
        work = work.replace(base=event.tip, unanswered=())
    elif found.kind != "unknown":  # the server has answered, and did not accept it
        work = _without_unanswered(work, attempt.commit)
    if attempt.sides_in(work.mode) and found.kind in ("stuck", "refused"):
        found = verdict.beside(state.answer.lines, f"refs/heads/{work.facts.branch}") or found
    return Pushed(work, attempt, state.exactly, found)


def _without_unanswered(work: Work, commit: str) -> Work:
    return work.replace(unanswered=tuple(one for one in work.unanswered if one != commit))


def _pushed(state: Pushed, event: Learned, now_s: float) -> State:
    work, attempt, found = state.work, state.attempt, state.verdict
    if found.kind == "refused":
        return _declined(state, now_s)
    if found.kind == "landed":
        return _landed(state, now_s)
    if found.kind == "busy":
        return _away(work, verdict.asked_to_wait(found.words), in_doubt=_in_doubt(work))
    if state.exactly and found.kind == "lost" and found.is_looked:  # the base was out of date: not a lost race yet
        return Fetching(work, PUBLISHED)
    if found.kind == "unsided":
        return _without_side_refs(work.replace(stuck=0), now_s)
    work = work.replace(stuck=work.stuck + 1 if found.kind == "stuck" else 0, obstacle=_obstacle(work, attempt, found))
    if work.stuck >= STUCK_LIMIT:
        if work.mode == PLAIN:
            return _failed(work, lambda in_doubt: give_up.stuck(found.words, in_doubt=in_doubt))
        return _without_side_refs(work.replace(stuck=STUCK_LIMIT - 1), now_s)
    return _lost(work, attempt, found, event, now_s) if found.kind == "lost" else _in_time(_backing_off(work), now_s)


def _obstacle(work: Work, attempt: Attempt, found: Verdict) -> BdError | None:
    """Return the error for a push that failed, and can't land, although no other writer was faster."""
    if found.kind == "stuck":
        return give_up.stuck(found.words, in_doubt=False)
    is_unsent = found.kind == "unknown" and work.facts.remote and attempt.commit not in work.unanswered
    return give_up.unsent(found.words) if is_unsent else None


def _declined(state: Pushed, now_s: float) -> State:
    """The server refuses a push for good: try the operations of a batch one by one."""
    work, attempt = state.work, state.attempt
    if attempt.batch.carries_others:
        return Fetching(work.descended(ALONE), REMOTE)
    if attempt.place is None and len(attempt.commits) > 1:
        return _pushing_of(work, attempt.replace(place=0), exactly=False)
    operation, error = attempt.step.operation, verdict.refused_by_server(state.verdict.words)
    if error.data.get("scope") == "hub":  # whatever this clone pushes: it waits until that is repaired
        return _away(work, error, in_doubt=_in_doubt(work))
    if any(operation.uid == member.uid and not _may_land_yet(work, member) for member in work.open):
        return Declined(work, attempt, operation, error)
    return _without(work, operation.uid, error)  # unpublished anyway, or still in doubt


def _set_aside(state: Declined, event: Aside, now_s: float) -> State:
    work, uid = state.work, state.operation.uid
    if work.own is not None and uid == work.own.uid and not work.neighbours:
        return _ended(work, event.error)
    return _without(work, uid, event.error)


def _without(work: Work, uid: str, error: ServerRefused) -> State:
    """Go on without an operation that the server has declined."""
    return Fetching(work.descended(ALONE).replace(declined={**work.declined, uid: error}), REMOTE)


def _landed(state: Pushed, now_s: float) -> State:
    """The hub has this push, or an earlier one whose answer was lost."""
    work, attempt, commit = state.work, state.attempt, state.verdict.commit
    if attempt.place is not None and commit == attempt.commit:
        uid = attempt.step.operation.uid
        decided = attempt.batch.decided
        work = work.replace(accepted=(*work.accepted, commit))
        work = work.with_results({uid: Result(*decided[uid])} if uid in decided else {})
        if not attempt.is_last:
            return _pushing_of(work, attempt.replace(place=attempt.place + 1), exactly=False)
    if commit not in work.batches:
        return _in_time(_backing_off(work), now_s)
    batch = work.batches[commit]
    work = _with_landed(work, batch)
    # A neighbour that it refused without being sure takes over itself again.
    if any(member is work.own or member.uid not in batch.decided for member in work.open):
        return Fetching(work, REMOTE)
    return Following(work, batch, commit)


def _lost(work: Work, attempt: Attempt, found: Verdict, event: Learned, now_s: float) -> State:
    """Another writer was faster. The loser asks other clones first, and fetches afterwards."""
    terms = event.terms
    if terms is None:  # a hub without a remote: nobody can be asked
        return _in_time(_backing_off(work), now_s)
    work = work.replace(base=event.tip, turn=work.turn.at(event.tip, now_s))
    if work.asked or _may_ask(work, terms):
        knows_tip = found.is_looked or not (work.asked or attempt.batch.carries_others)
        return _in_time(Fetching(work.replace(losses=work.losses + 1), PUBLISHED if knows_tip else REMOTE), now_s)
    return _in_time(_backing_off(work), now_s)


def _without_side_refs(work: Work, now_s: float) -> State:
    """Make the last try: this clone's own operations alone, without side refs."""
    work = work.descended(PLAIN)
    return Withdrawing(work, "go on") if work.asked else _in_time(_backing_off(work), now_s)


def _backing_off(work: Work) -> BackingOff:
    return BackingOff(work, _longest_wait_s(work.tries))


def _longest_wait_s(tries: int) -> float:
    """Return the upper limit of the wait after this many tries. A write waits for a random part of it ("full jitter").

    After M. Brooker, "Exponential Backoff And Jitter" (AWS Architecture Blog, 2015); docs/protocol.md.
    """
    return grown_s(_FIRST_WAIT_S, tries, _LONGEST_WAIT_S)


def _rested(state: BackingOff, event: Woke, now_s: float) -> State:
    return Fetching(state.work, REMOTE)


# --- ends -------------------------------------------------------------------------------------


def _in_time(state: State, now_s: float) -> State:
    """Return the state, or give up if time is over."""
    work = state.work
    if work.deadline_s is None or now_s < work.deadline_s:
        return state
    return Withdrawing(work, "give up") if work.asked else _out_of_time(work)


def _out_of_time(work: Work) -> State:
    if work.lags:
        return _failed(work, lambda in_doubt: give_up.lagging(in_doubt=in_doubt))
    if isinstance(work.obstacle, RemoteUnreachable):
        return _away(work, work.obstacle, in_doubt=_in_doubt(work))
    return _failed(work, lambda in_doubt: give_up.out_of_time(work.tries, work.obstacle, in_doubt=in_doubt))


def _failed(work: Work, error: Callable[..., BdError]) -> State:
    return _ended(work, error(_in_doubt(work)))


def _in_doubt(work: Work) -> bool:
    """Return whether something of this write may still reach the hub."""
    return bool(work.unanswered) or any(doubts(work, member) for member in work.open)


def doubts(work: Work, member: Member) -> bool:
    """Return whether an operation may still reach the hub unseen: by its own request, or by the push of a dead process."""
    return member.in_doubt or member.uid in work.findings.may_land


def _may_land_yet(work: Work, member: Member) -> bool:
    """Return whether an operation may still reach the hub by something that got no answer and can't be taken back."""
    return bool(work.unanswered or member.may_arrive) or member.uid in work.findings.may_land


def _withdrawing(state: Withdrawing, event: Withdrawn, now_s: float) -> State:
    work = state.work.with_members(lambda member: member.forgotten() if member.uid in event.gone else member)
    are_gone = not work.asked
    if state.then == "go on":
        return _in_time(_backing_off(work), now_s)
    if state.then == "follow":
        if are_gone and state.batch:
            return _without_push(work, state.batch)
        return _in_time(Fetching(work, REMOTE), now_s)
    if are_gone or not work.late_looks:
        return _out_of_time(work)
    # Somebody has carried it out meanwhile: one more fetch will show it.
    return Fetching(work.replace(late_looks=work.late_looks - 1), REMOTE)


def _offline(state: Offline, event: Kept, now_s: float) -> State:
    return Settled(state.work, event.outcome)


def _following(state: Following, event: Followed, now_s: float) -> State:
    return Settled(state.work, event.outcome, event.all_heard)


def _without_push(work: Work, batch: Batch) -> State:
    """End with what a batch decided that is not to be pushed."""
    work = _with_batch(work, batch)
    return Following(work, batch, None) if work.own is None or work.own.is_settled else _ended(work, give_up.doubt())


def _with_batch(work: Work, batch: Batch) -> Work:
    """Settle what a batch decided: the hub has it, or it changes nothing there."""
    return work.with_results(final_results(work, batch))


def final_results(work: Work, batch: Batch) -> dict[str, Result]:
    """Return what a batch decided, by uid, without refusals of operations that something else may still bring to the hub."""
    unsure = {member.uid for member in work.open if _may_land_yet(work, member)}
    return {uid: Result(*decided) for uid, decided in batch.decided.items() if decided[1] is None or uid not in unsure}


def _with_landed(work: Work, batch: Batch) -> Work:
    """Settle a batch that the hub has; what it refused to replay is kept in the end."""
    return _with_batch(work, batch).replace(landed=batch)


_TRANSITIONS: Mapping[type, Callable[..., State]] = {
    Fetching: _fetching,
    Recovering: _recovering,
    Hearing: _hearing,
    Inviting: _inviting,
    Reading: _reading,
    Requesting: _requesting,
    Waiting: _waiting,
    Watching: _watching,
    Deciding: _deciding,
    Building: _building,
    Pushing: _pushing,
    Unconfirmed: _unconfirmed,
    Pushed: _pushed,
    Declined: _set_aside,
    BackingOff: _rested,
    CatchingUp: _caught_up,
    Withdrawing: _withdrawing,
    Offline: _offline,
    Following: _following,
}
