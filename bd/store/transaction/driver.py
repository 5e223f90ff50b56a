"""The driver of a write: carries out on git the effects that the states ask for, and reports the events.

Only this module moves the hub branch; side refs also move without it (heartbeat/side_refs.py). Git's fast-forward push is the
compare-and-swap. Its outcome comes from the server's answer or from a fetch (is our commit in the tip? did the tip move?), never
from an exit status.
"""

from __future__ import annotations

from contextlib import suppress

from bd import TYPE_CHECKING
from bd.core import os_errors
from bd.core.errors import BdError, RemoteUnreachable, ServerRefused
from bd.core.settings import of_hub, same_decisions
from bd.store.contract import PUBLISHED, PushAnswer
from bd.store.empty_snapshot import EMPTY
from bd.store.group_commit import answer, local, requests, verdict_trailers
from bd.store.group_commit.member import Member, Result
from bd.store.group_commit.requests import INTENTS, NOBODY
from bd.store.transaction import effects, finish
from bd.store.transaction.batch import won
from bd.store.transaction.effects import REMOTE, TRUSTED
from bd.store.transaction.findings import hand_over
from bd.store.transaction.states import Failed, Fetching, Settled, on_one_line, work_of
from bd.store.transaction.transitions import doubts, final_results, next_state
from bd.store.transaction.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
    from typing import Any

    from bd.core.operation import Operation
    from bd.store.contract import JournalEntry, Repository, SideRef
    from bd.store.replica import Replica
    from bd.store.transaction.batch import Batches
    from bd.store.transaction.effects import Effect, Event
    from bd.store.transaction.findings import Findings
    from bd.store.transaction.outcome import Outcome
    from bd.store.transaction.states import State, Work

# The step names that a Runtime hears of (`on_step`), just before the effect is carried out. Some effects report further steps
# while they are carried out: asked, checked-out, refs, keep.
_STEPS = {
    effects.Fetch: "look",
    effects.Build: "build",
    effects.Push: "push",
    effects.Confirm: "look-after-push",
    effects.Learn: "pushed",
}


class Transaction:
    """One write of one clone, under its lock. Made by `Writing`, run once."""

    def __init__(
        self,
        replica: Replica,
        entry: JournalEntry,
        batches: Batches,
        *,
        operation: Operation | None,
        hand: str | None,
        creates_hub: bool,
        on_step: Callable[[str], None],
    ) -> None:
        self._replica = replica
        self._repo: Repository = replica.repo
        self._entry = entry
        self._batches = batches
        self._step = on_step
        self.lapsed: list[str] = []  # notes about earlier operations that never reached the hub
        work = work_of(replica, operation, hand, creates_hub=creates_hub)
        is_plain = hand is None and not creates_hub and not work.facts.needs_heartbeats
        self._state: State = Fetching(work, TRUSTED if replica.was_fresh and is_plain else REMOTE)

        self._handlers: Mapping[type, Callable[[Any], Event]] = {
            effects.Fetch: self._fetch,
            effects.Recover: self._recover,
            effects.ReadAnswers: self._read_answers,
            effects.TakeWaiting: self._take_waiting,
            effects.ReadRequests: self._read_requests,
            effects.Ask: self._ask,
            effects.Sleep: self._sleep,
            effects.ListRequests: self._list_requests,
            effects.Decide: self._decide,
            effects.Build: self._build,
            effects.Push: self._push,
            effects.Confirm: self._confirm,
            effects.SetAside: self._set_aside,
            effects.Learn: self._learn,
            effects.Withdraw: self._withdraw,
            effects.Follow: self._follow,
            effects.Keep: self._keep,
        }

    # --- the loop ---

    def steps(self) -> Generator[Effect, None, Outcome]:
        """Publish or refuse every operation; yield each effect just before it is carried out.

        Raises TryAgain (with `written`), ServerRefused, Damaged.
        """
        now_s, follow = self._replica.runtime.monotonic, self._replica.on_state
        while (effect := self._state.effect) is not None:
            if follow:
                follow(on_one_line(self._state))
            yield effect
            if type(effect) in _STEPS:
                self._step(_STEPS[type(effect)])
            try:
                event = self._handlers[type(effect)](effect)
            except BdError as error:
                event = effects.Refused(error)
            except OSError as error:
                known = os_errors.told(error, written="no")  # of this effect alone: `is_own_in_doubt` knows of earlier ones
                if known is None:
                    raise
                event = effects.Refused(known)
            self._state = next_state(self._state, event, now_s())
        if follow:
            follow(on_one_line(self._state))
        if isinstance(self._state, Failed):
            raise self._state.error
        assert isinstance(self._state, Settled)
        return self._state.outcome.replace(tries=max(self._work.tries, 1), notes=(*self.lapsed, *self._state.outcome.notes))

    @property
    def _work(self) -> Work:
        return self._state.work

    @property
    def in_doubt(self) -> bool:
        """True while something of this write may still reach the hub, or a neighbour has not been told its result."""
        is_unheard = isinstance(self._state, Settled) and not self._state.all_heard
        return bool(self._work.unanswered) or is_unheard or any(self._doubts(member) for member in self._work.open)

    @property
    def is_own_in_doubt(self) -> bool:
        """Return whether the caller's own operation, or what a sync publishes, may still reach the hub."""
        own = self._work.own
        if own is None:
            return bool(self._work.unanswered)
        return not own.is_settled and (bool(self._work.unanswered) or self._doubts(own))

    def _doubts(self, member: Member) -> bool:
        if doubts(self._work, member):
            return True
        return not self._work.findings.looks and member.uid in self._suspects()

    def may_land(self, uid: str) -> Mapping[str, Any]:
        """Return what a dead process pushed of an operation and the hub may still accept; empty if nothing."""
        findings = self._work.findings
        return (findings.may_land if findings.looks else self._suspects()).get(uid, {})

    def _suspects(self) -> Mapping[str, Mapping[str, Any]]:
        from bd.store.transaction import recovery  # noqa: PLC0415  only for a write that ended badly

        return recovery.suspects(self._replica)

    def _snapshot(self, tip: str | None) -> Any:
        if not tip:
            return EMPTY
        snapshot = self._replica.snapshot(tip)
        if not self._work.facts.creates_hub:
            own = self._work.own
            self._replica.check_format(snapshot, own.operation if own else None)
        return snapshot

    # --- fetching ---

    def _fetch(self, effect: effects.Fetch) -> Event:
        replica = self._replica
        if effect.source == TRUSTED:
            is_settled = replica.journal.is_empty() and self._work.facts.first_view in (None, replica.published_before)
            tip = replica.published() if is_settled else None
            if tip:
                return effects.Trusted(tip)
        try:
            if effect.heartbeats:  # listed before the fetch: the branch must not be older than the list
                self._batches.heartbeats = replica.listen() if replica.sides.may_list() else None
            if not replica.remote_name:
                tip = self._repo.ref(replica.branch)
            elif effect.source == effects.PUBLISHED and self._batches.heartbeats is None:
                tip = self._repo.ref(PUBLISHED)
            else:
                tip = replica.finish_fetch()
                if replica.lags:
                    return self._lagging()
        except (RemoteUnreachable, ServerRefused) as error:
            return effects.Unreachable(error, self.in_doubt)
        return effects.Fetched(tip, self._held_by(tip, effect.unanswered), replica.requests)

    def _lagging(self) -> Event:
        return effects.Lagging(self._replica.settings(self._replica.snapshot()).retry_time, self.in_doubt)

    def _held_by(self, tip: str | None, commits: Sequence[str]) -> str | None:
        """Return the last of these commits that the tip contains."""
        return next((one for one in reversed(commits) if tip and self._repo.is_ancestor(one, tip)), None)

    def _recover(self, effect: effects.Recover) -> Event:
        from bd.store.transaction import recovery  # noqa: PLC0415  a write on a trusted tip needs none of it

        snapshot = self._snapshot(effect.tip)
        found = recovery.settle(
            self._replica, effect.tip, snapshot, effect.members, effect.known, self.lapsed.append, self._inherit
        )
        return found if found.is_unsure else found.replace(members=_told(found.members, found.findings, snapshot))

    def _inherit(self, member: Member, won: Mapping[str, Any]) -> bool:
        """Note in the caller's journal entry that it takes over a claim; nobody else's entry can be written here."""
        if self._work.own is None or member.uid != self._work.own.uid:
            return False
        self._entry.write(state="won", tokens=won.get("tokens") or [])
        return True

    def _read_answers(self, effect: effects.ReadAnswers) -> Event:
        found = verdict_trailers.since(self._repo, [member.asked_on for member in effect.members], effect.tip)
        snapshot = self._snapshot(effect.tip)
        own = (member.uid for member in effect.members if member.uid in found)
        return effects.Answers({uid: _result(found[uid].answer, snapshot) for uid in own})

    def _take_waiting(self, effect: effects.TakeWaiting) -> Event:
        kin, revive = local.kin(self._replica), self._batches.revive
        found = local.take(self._replica.journal, kin, effect.room, lambda form: requests.revived(revive, form))
        taken = [Member(operation, key) for key, operation in found]
        if not taken:
            return effects.Taken((), effect.findings)
        members = _told(taken, effect.findings, self._snapshot(effect.tip))
        return effects.Taken(*hand_over(members, effect.findings))

    # --- other clones ---

    def _read_requests(self, effect: effects.ReadRequests) -> Event:
        replica, snapshot = self._replica, self._snapshot(effect.tip)
        are_carried, others = self._are_carried(), NOBODY
        if replica.requests and not are_carried and effect.may_clear:
            self._clear_away(effect.left)
        elif replica.requests and are_carried and effect.may_carry:
            others = requests.others(replica, self._batches.revive, effect.tip, set(effect.own))
            others = others.replace(removals=[*others.removals, *effect.left.values()])
        return effects.RequestsRead(others, self._terms(snapshot))

    def _are_carried(self) -> bool:
        """Return whether clones of this hub carry out each other's operations."""
        return self._replica.sides.usable() and not self._replica.cache.requires_signatures()  # a clone can't sign for another

    def _terms(self, snapshot: Any) -> effects.Terms:
        settings = self._replica.settings(snapshot)
        are_met = self._are_carried() and same_decisions(settings, of_hub(snapshot.config()))
        return effects.Terms(are_met, settings.retry_time)

    def _clear_away(self, left: Mapping[str, SideRef]) -> None:
        """Remove, one by one, requests that nobody will answer: this clone's dead processes', and old ones of other clones."""
        replica = self._replica
        gone = requests.abandoned(replica, requests.read(replica, replica.requests), replica.runtime.now())
        for side in {**{request.uid: request.removal for request in gone}, **left}.values():
            with suppress(RemoteUnreachable, ServerRefused):  # the server takes no side refs now; another write will try
                replica.sides.move([side])

    def _ask(self, effect: effects.Ask) -> Event:
        snapshot, author = self._snapshot(effect.tip), self._batches.author
        asked = requests.publish(
            self._replica, self._entry, effect.members, effect.tip, lambda by: author(by, snapshot), effect.tries
        )
        if asked.kind != "refused":
            self._step("asked")
        return asked

    def _sleep(self, effect: effects.Sleep) -> Event:
        runtime = self._replica.runtime
        runtime.sleep(effect.seconds * runtime.random() if effect.jitter else effect.seconds)
        return effects.Woke()

    def _list_requests(self, _: effects.ListRequests) -> Event:
        try:
            listed = self._replica.sides.listing(INTENTS, self._replica.branch)
        except (RemoteUnreachable, ServerRefused) as error:
            return effects.Unreachable(error, in_doubt=True)
        named = {ref.removeprefix(INTENTS): oid for ref, oid in listed.items() if ref.startswith(INTENTS)}
        return effects.Listed(listed.get(self._replica.branch), named)

    def _withdraw(self, effect: effects.Withdraw) -> Event:
        return effects.Withdrawn(requests.take_back(self._replica, self._entry, effect.members))

    # --- a batch ---

    def _decide(self, effect: effects.Decide) -> Event:
        self._batches.takes_side_refs = effect.takes_side_refs
        made = self._batches.decide(
            self._snapshot(effect.tip),
            effect.tip,
            effect.members,
            effect.others,
            hand=self._work.facts.hand,
            declined=effect.declined,
            tries=effect.tries,
        )
        return effects.Decided(made)

    def _build(self, effect: effects.Build) -> Event:
        batch = effect.batch
        commits = self._repo.write_commits(batch.base, batch.chain.drafts)
        change = batch.decided.get(effect.own, (None, None))[0] if effect.own else None
        results = final_results(self._work, batch) if len(batch.decided) > 1 else {}
        answers = {uid: answer.of_result(result.change, result.refusal) for uid, result in results.items()}
        tokens = won(change, batch.chain.base, effect.inherited)
        data = self._entry.data
        pushes = [*(data.get("earlier") or ()), {"commits": data.get("commits") or [], "batch": data.get("batch") or {}}]
        self._entry.write(
            durably=False,
            state="pushing",
            base=batch.base,
            commits=commits,
            tokens=tokens,
            hand=self._work.facts.hand,
            batch=answers,
            earlier=[push for push in pushes if not {*self._work.unanswered}.isdisjoint(push["commits"])],
        )
        return effects.Built(tuple(commits))

    def _push(self, effect: effects.Push) -> Event:
        replica = self._replica
        if not replica.remote_name:
            self._while_pushing()
            return effects.Judged(self._push_here(effect))
        begun_s = replica.runtime.monotonic()
        try:
            answered = replica.remote.push(
                effect.commit,
                effect.base,
                effect.sides,
                exactly=effect.exactly,
                meanwhile=self._while_pushing,
            )
        except RemoteUnreachable:
            answered = PushAnswer({}, "")  # the words would be bd's own: no server has refused anything
        return effects.Answered(answered, replica.runtime.monotonic() - begun_s)

    def _while_pushing(self) -> None:
        """Do the work that must be done by the time the push has landed, while it is under way."""
        self._entry.sync()
        self._replica.cache.write_derived()

    def _push_here(self, effect: effects.Push) -> Verdict:
        """Push in a hub without a remote: move the checkout first, then the branch by compare-and-swap."""
        replica, hand = self._replica, self._work.facts.hand
        files = replica.worktree
        if files and files.move_ahead(hand or effect.base, effect.commit):
            self._step("checked-out")
        answer = replica.remote.push(effect.commit, effect.base, effect.sides)
        if answer.lines[replica.branch].landed:
            return Verdict("landed", commit=effect.commit)
        tip = self._repo.ref(replica.branch)
        if files:
            files.take_back(effect.commit, hand or tip)
        return Verdict("stuck", answer.words) if tip == effect.base else Verdict("lost")

    def _confirm(self, effect: effects.Confirm) -> Event:
        try:
            tip = self._replica.finish_fetch()
        except (RemoteUnreachable, ServerRefused) as error:
            return effects.Unreachable(error, in_doubt=True)
        if self._replica.lags:
            return self._lagging()
        held = self._held_by(tip, (*effect.unanswered, effect.commit))
        return effects.Fetched(tip, held, self._replica.requests)

    def _set_aside(self, effect: effects.SetAside) -> Event:
        from bd.store.transaction import unpublished  # noqa: PLC0415  only for what the hub refuses

        return effects.Aside(unpublished.set_aside(self._replica, effect.operation, effect.commit, effect.error))

    def _learn(self, effect: effects.Learn) -> Event:
        replica, verdict = self._replica, effect.verdict
        if effect.published:
            with suppress(BdError, OSError):  # the hub has it: the next fetch sets this ref as well
                self._repo.set_private_refs({PUBLISHED: effect.published})
            if self._batches.beating is not None:
                self._batches.beating.note(effect.sides)
        if verdict.kind == "lost":
            replica.looked.raced()
        if verdict.kind == "unsided":
            replica.sides.give_up(verdict.words, replica.runtime.now())
        elif verdict.kind == "lost" and verdict.words and self._batches.beating is not None:
            self._batches.beating.relist()  # a side ref is not where this clone thought it was
        if not (effect.is_race and replica.remote_name):
            return effects.Learned(None, None)
        tip = self._repo.ref(PUBLISHED)
        return effects.Learned(tip, self._terms(self._snapshot(tip)))

    # --- ends ---

    def _follow(self, effect: effects.Follow) -> Event:
        work = self._work
        arrival = finish.Arrival(
            effect.tip,
            effect.batch,
            effect.base,
            work.facts.first_view,
            work.facts.hand,
            list(effect.half_way),
            effect.landed,
        )
        outcome = finish.arrive(self._replica, arrival, effect.own, self._batches, self._step)
        members = (effect.own, *effect.neighbours) if effect.own else effect.neighbours
        return effects.Followed(outcome, finish.answer(self._replica, members, effect.tip, effect.tries))

    def _keep(self, effect: effects.Keep) -> Event:
        from bd.store.transaction import offline  # noqa: PLC0415  only where the hub can't be reached

        self._batches.takes_side_refs = effect.takes_side_refs
        operation = effect.own.operation if effect.own else None
        return effects.Kept(offline.keep_here(self._replica, self._batches, operation, effect.error, self._step))


def _told(members: Iterable[Member], findings: Findings, snapshot: Any) -> tuple[Member, ...]:
    """Settle the members that dead processes had already carried out."""
    heard = findings.heard
    return tuple(
        member.settled(_result(heard[member.uid].answer, snapshot)) if member.uid in heard else member for member in members
    )


def _result(told: Mapping[str, Any], snapshot: Any) -> Result:
    """Turn somebody else's answer into the result of an operation."""
    refusal = answer.error_of(told)
    return Result(None if refusal else answer.change_of(told, snapshot), refusal)
