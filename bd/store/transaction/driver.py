"""The loop of docs/protocol.md: decide, build, publish by compare-and-swap, or decide again. The only writer.

Git's fast-forward push is the compare-and-swap. What happened is always found out by looking (is our commit in the tip?
did the tip move?), never believed from an exit status. One transaction carries the caller's operation, those that wait
for the lock in the same clone (group_commit/local.py), and what other clones ask for (group_commit/requests.py).
"""

from __future__ import annotations

from bd.core.errors import BdError, NoHub, RemoteUnreachable
from bd.core.light import cached_property
from bd.store.contract import PUBLISHED, VIEW
from bd.store.group_commit.member import Member, told, won
from bd.store.group_commit.others import NOBODY
from bd.store.transaction.outcome import Outcome
from bd.store.transaction.verdict import Pushing, refused_by_server

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from bd.core.operation import Operation
    from bd.store.contract import JournalEntry, Repository
    from bd.store.group_commit.coordinator import Folding
    from bd.store.group_commit.others import Others
    from bd.store.replica import Replica
    from bd.store.transaction.batch import Round, Rounds
    from bd.store.transaction.recovery import Settling
    from bd.store.transaction.verdict import Verdict

STUCK_LIMIT = 3


class Transaction:
    """One write of one clone, under its lock; made by `Writing`, run once."""

    def __init__(
        self,
        hub: Replica,
        entry: JournalEntry,
        rounds: Rounds,
        *,
        operation: Operation | None,
        hand: str | None,
        creates_hub: bool,
        on_step: Callable[[str], None],
    ) -> None:
        self._hub = hub
        self._repo: Repository = hub.repo
        self._entry = entry
        self._rounds = rounds
        self._hand = hand
        self._creates_hub = creates_hub
        self._step = on_step
        self._pushing = Pushing(hub, on_step, hand)
        self._own = Member(operation) if operation is not None else None
        self._party = [self._own] if self._own else []
        self._needs_heartbeats = operation is not None and operation.needs_heartbeats
        self._made: dict[str, Round] = {}
        self._declined: dict[str, BdError] = {}
        self.lapsed: list[str] = []  # what was found out of operations that never arrived
        self._some_landed = self._is_unheard = False
        # The last try goes without the refs beside the branch.
        self._is_bare = False
        self._tries = self._stuck = 0
        self._deadline: float | None = None
        self._base: str | None = None
        self._may_push_first = hub.was_fresh and not creates_hub and hand is None and not self._needs_heartbeats
        self._has_looked = self._has_just_looked = self._is_last_look = False
        self._first_view = self._repo.ref(VIEW)
        self._has_unpublished = bool(hub.remote_name) and self._first_view not in (None, hub.published_before)

    # What only a look has a use for: who may push first imports none of it, and who fetches does so meanwhile.

    @cached_property
    def _folding(self) -> Folding:
        """This transaction among those of other clones."""
        from bd.store.group_commit.coordinator import Folding as Among  # noqa: PLC0415

        may_ask = self._hand is None and not self._creates_hub and not self._has_unpublished
        return Among(
            self._hub,
            self._entry,
            self._rounds.revive,
            self._rounds.author,
            lambda: self._pushing.push_s,
            may_ask=may_ask,
            on_step=self._step,
        )

    @cached_property
    def settling(self) -> Settling:
        """What dead processes of this clone had begun."""
        from bd.store.transaction.recovery import Settling as Settled  # noqa: PLC0415

        return Settled(self._hub, self.lapsed)

    # --- the loop ---

    def run(self) -> Outcome:
        """Until every operation is published or refused. Raises TryAgain (with `written`), ServerRefused, Damaged."""
        try:
            return self._until_settled()
        except BdError:
            # About an operation that was carried out for another process, whose author will try again; our own is settled.
            if self._own is None or not self._own.is_settled:
                raise
            return self._finished(None)

    def _until_settled(self) -> Outcome:
        while True:
            self._step("look")
            try:
                is_looked = self._look()
            except RemoteUnreachable as error:
                return self._unreachable(error)
            snapshot = self._snapshot()
            if is_looked and self._base:
                if not self._hear(snapshot):
                    continue
                self._invite(snapshot)
                if self._party and not self._open():
                    return self._finished(None)
            others = self._waiting() if is_looked else NOBODY
            if is_looked and self._stands_back(others, snapshot):
                continue
            made = self._decide(snapshot, others)
            if not is_looked and not self._is_news(made):
                self._may_push_first = False
                continue
            outcome = self._publish(made) if self._carries_own(made) else self._without_a_push(made)
            if outcome is not None:
                return outcome

    def _look(self) -> bool:
        """Find the tip to build on; False where it is the one of a moment ago. Raises RemoteUnreachable, NoHub."""
        if self._may_push_first:
            if self._hub.journal.is_empty() and not self._has_unpublished:
                self._base = self._hub.published()
                if self._base:
                    return False
            self._may_push_first = False
        if self._needs_heartbeats:  # listed first: the branch must not be older than the list
            self._rounds.heartbeats = self._hub.sides.beats() if self._hub.sides.may_list() else None
        if not self._hub.remote_name:
            tip = self._repo.ref(self._hub.branch)
        elif self._has_just_looked and self._rounds.heartbeats is None:
            tip = self._repo.ref(PUBLISHED)
        else:
            from bd.store.group_commit import coordinator  # noqa: PLC0415  while git fetches
            from bd.store.transaction import pending, recovery  # noqa: PLC0415  while git fetches

            assert coordinator and pending and recovery  # noqa: PT018
            tip = self._hub.finish_fetch()
        self._has_looked, self._has_just_looked = True, False
        if tip is None and not self._creates_hub:
            where = f" on {self._hub.remote_name}" if self._hub.remote_name else ""
            raise NoHub(f"the hub branch {self._hub.branch_name} does not exist{where}", hint="`bd init` makes a hub")
        self._see(tip)
        return True

    def _see(self, tip: str | None) -> None:
        self._base = tip
        self._folding.see(tip)

    def _snapshot(self) -> Any:
        if not self._base:
            from bd.store.empty_snapshot import EMPTY  # noqa: PLC0415  only init needs it

            return EMPTY
        snapshot = self._hub.snapshot(self._base)
        if not self._creates_hub:
            self._hub.check_format(snapshot, self._operation)
        return snapshot

    @property
    def _operation(self) -> Operation | None:
        """The caller's own, as it is by now."""
        return self._own.operation if self._own else None

    def _open(self) -> list[Member]:
        return [member for member in self._party if not member.is_settled]

    def _hear(self, snapshot: Any) -> bool:
        """What this look says of everything that is on its way; False when only another look can tell."""
        landed = self._pushing.landed_in(self._base)
        if landed in self._made:  # not necessarily the last one that was tried
            self._take_results(self._made[landed])
        self.settling.settle(self._base or "", snapshot, self._open())
        if self.settling.is_unsure:
            return False
        self.settling.tell(self._open(), snapshot)
        from bd.store.transaction import pending  # noqa: PLC0415  imported while git fetches

        return pending.hear(self._repo, self._open(), self._hub.requests, self._base or "", snapshot)

    def _invite(self, snapshot: Any) -> None:
        """Take the operations along that wait for this clone's lock, once."""
        if self._own is None or self._creates_hub or self._hand:
            return
        from bd.store.transaction import pending  # noqa: PLC0415  imported while git fetches

        self._party += pending.invited(self._hub, self._rounds, self.settling, snapshot, len(self._party))

    # --- a round ---

    def _waiting(self) -> Others:
        is_asked = self._base and not self._creates_hub
        return self._folding.waiting(self._base or "", self._party, self.settling.left) if is_asked else NOBODY

    def _stands_back(self, others: Others, snapshot: Any) -> bool:
        """Whether the push is left to others for now, within the time there is. Raises TryAgain."""
        if not self._folding.leaves_it_to_others(self._open(), others, snapshot, self._base or "", self._tries):
            return False
        self._deadline = self._deadline or self._hub.runtime.monotonic() + self._hub.settings(snapshot).retry_time
        self._refuse_to_go_on()
        return True

    def _is_news(self, made: Round) -> bool:
        """Whether a round on a tip that was not looked at just now is worth a push: what is refused there may only be old."""
        return self._carries_own(made) and not made.refused and all(error is None for _, error in made.decided.values())

    def _decide(self, snapshot: Any, others: Others) -> Round:
        made = self._rounds.decide(
            snapshot,
            self._base,
            self._open(),
            others,
            hand=self._hand,
            declined=self._declined,
            tries=self._tries + 1,
        )
        self._deadline = self._deadline or self._hub.runtime.monotonic() + made.settings.retry_time
        return made

    def _carries_own(self, made: Round) -> bool:
        """Whether the round publishes anything of this clone: an operation, or what it had kept until now."""
        return any(step.operation.uid not in made.folded for step in made.chain.steps)

    def _without_a_push(self, made: Round) -> Outcome | None:
        """Everything of this clone is refused, or the hub has it already; None where an intent has to be asked after first."""
        if self._declined and not self._some_landed and (self._own is None or self._refusal_in(made)):
            # The server takes nothing at all now: everything goes on waiting.
            raise self._refusal_in(made) or next(iter(self._declined.values()))
        if not self._folding.asking.withdraw(self._open()):
            self._refuse_to_go_on()
            return None
        self._take_results(made)
        return self._finished(made)

    def _refusal_in(self, made: Round) -> BdError | None:
        return made.decided[self._own.uid][1] if self._own and self._own.uid in made.decided else None

    def _publish(self, made: Round) -> Outcome | None:
        """Push a round; its outcome when that settles everything."""
        self._tries += 1
        self._step("build")
        commits = self._repo.write_commits(made.base, made.chain.drafts)
        self._note(made, commits)
        self._made[commits[-1]] = made
        self._step("push")
        was_first, self._may_push_first = self._may_push_first, False
        sides = [] if self._is_bare else made.all_sides
        verdict = self._pushing.publish(
            commits[-1], made.base, sides, exactly=was_first, meanwhile=lambda: self._while_pushing(commits[-1])
        )
        self._step("pushed")
        if verdict.kind == "refused" and not made.has_strangers:
            verdict = self._one_by_one(verdict, commits, made)
        if verdict.kind == "refused":
            self._folding.is_alone = True
            return None
        if verdict.kind == "landed" and verdict.commit in self._made:
            landed = self._made[verdict.commit]
            self._take_results(landed)
            if not self._open():
                return self._finished(landed, verdict.commit)
            return None
        if was_first and verdict.kind == "lost" and verdict.is_looked:  # the tip was old, which is no race yet
            self._hub.looked.raced()
            self._has_just_looked = True
        else:
            self._after_a_loss(verdict, made)
        return None

    def _while_pushing(self, commit: str) -> None:
        """Do what has to be done when the push has landed, as far as it can be done before."""
        self._entry.sync()
        self._hub.cache.write_derived()
        from bd.store.transaction import finish  # noqa: PLC0415  imported while git pushes

        assert finish
        if self._hub.worktree:
            self._hub.worktree.prepare(commit)

    def _note(self, made: Round, commits: list[str]) -> None:
        """Write to the journal what is about to be pushed, and what it answers to whom."""
        change = made.decided.get(self._own.uid, (None, None))[0] if self._own else None
        batch = {uid: told(*result) for uid, result in made.decided.items()} if len(made.decided) > 1 else {}
        inherited = self.settling.inherited if self._has_looked else ()
        tokens = won(change, made.chain.base, inherited)
        self._entry.write(
            durably=False, state="pushing", base=made.base, commits=commits, tokens=tokens, hand=self._hand, batch=batch
        )

    def _take_results(self, made: Round) -> None:
        for member in self._open():
            if member.uid in made.decided:
                member.settle(*made.decided[member.uid])

    def _after_a_loss(self, verdict: Verdict, made: Round) -> None:
        """What the next round does differently; waits where nobody else can be asked. Raises TryAgain."""
        if verdict.kind == "lost":
            self._hub.looked.raced()
        if verdict.kind in ("unsided", "lost") and verdict.words:
            self._look_beside(verdict)
        self._stuck = self._stuck + 1 if verdict.kind == "stuck" else 0
        if self._stuck >= STUCK_LIMIT:
            if self._is_bare:
                from bd.store.transaction import give_up  # noqa: PLC0415  few writes give up

                raise give_up.stuck(verdict.words, in_doubt=self.in_doubt)
            self._go_bare()
        self._refuse_to_go_on()
        if verdict.kind == "lost" and self._hub.remote_name:
            self._see(self._repo.ref(PUBLISHED))
            has_asked = any(member.intent for member in self._open())
            if has_asked or self._folding.may_ask(self._open(), self._snapshot()):
                self._folding.has_lost = True
                # Who has lost asks first; what there is to know is seen afterwards.
                self._has_just_looked = verdict.is_looked or not (has_asked or made.has_strangers)
                return
        from bd.store.transaction import backoff  # noqa: PLC0415  only after a lost race

        self._hub.runtime.sleep(backoff.pause_s(self._tries, self._hub.runtime.random()))  # full jitter before the next try

    def _refuse_to_go_on(self) -> None:
        """Raises TryAgain when the time is over."""
        if self._deadline is None or self._hub.runtime.monotonic() < self._deadline:
            return
        if not self._folding.asking.withdraw(self._open()) and not self._is_last_look:
            self._is_last_look = True  # somebody has carried it out meanwhile: one more look says so
            return
        from bd.store.transaction import give_up  # noqa: PLC0415  few writes give up

        raise give_up.out_of_time(self._tries, in_doubt=self.in_doubt)

    def _go_bare(self) -> None:
        """The last try: this clone's own operations alone, without refs beside the branch."""
        self._folding.is_alone = self._is_bare = True
        self._folding.asking.withdraw(self._open())
        self._stuck = STUCK_LIMIT - 1
        self._rounds.takes_side_refs = False

    def _look_beside(self, verdict: Verdict) -> None:
        """A ref beside the branch is not as this clone knew it, or the server refuses such refs after all."""
        if verdict.kind == "unsided":
            self._hub.sides.give_up(verdict.words, self._hub.runtime.now())
            self._go_bare()
        elif self._rounds.beating is not None:
            self._rounds.beating.relist()

    def _one_by_one(self, verdict: Verdict, commits: list[str], made: Round) -> Verdict:
        """A push was declined: push a batch's commits singly. What is declined alone is left out from now on.

        The last push's verdict. Raises ServerRefused when that is for the caller's operation.
        """
        base = made.base
        for commit, step, sides in zip(commits, made.chain.steps, made.sides, strict=True):
            if len(commits) > 1:
                verdict = self._pushing.publish(commit, base, sides)
            if verdict.kind == "refused":
                error = refused_by_server(verdict.words)
                if self._own is not None and step.operation.uid == self._own.uid and len(self._party) == 1:
                    raise error
                self._declined[step.operation.uid] = error
            if verdict.kind != "landed" or verdict.commit != commit:
                break
            for member in self._open():
                if member.uid == step.operation.uid:
                    member.settle(*made.decided[member.uid])
            base, self._some_landed = commit, True
            self._repo.set_private_refs({PUBLISHED: commit})
        return verdict

    # --- ends ---

    def _finished(self, made: Round | None, landed: str | None = None) -> Outcome:
        """Everything is settled, at our own commit or at the tip that was looked at: bring this clone along, and answer."""
        tip = landed or self._base or ""
        from bd.store.transaction import finish  # noqa: PLC0415  imported while git pushes

        half_way = self.settling.landed if self._has_looked else []
        base = made.base if made else self._base
        arrival = finish.Arrival(tip, made, base, self._first_view, self._hand, half_way, landed is not None)
        outcome = finish.arrive(self._hub, arrival, self._own, self._rounds, self._step)
        tries = max(self._tries, 1)
        self._is_unheard = not finish.answer(self._hub, self._party, tip, tries)
        return outcome._replace(tries=tries, notes=(*self.lapsed, *outcome.notes))

    def _unreachable(self, error: RemoteUnreachable) -> Outcome:
        """Keep what may be kept in this clone. Raises for claims, and (kept all the same) for what names a token."""
        from bd.store.transaction import give_up, offline  # noqa: PLC0415  while git fetches

        if self.in_doubt:
            raise give_up.doubt() from error
        return offline.keep_here(self._hub, self._rounds, self._operation, error, self._step)

    @property
    def in_doubt(self) -> bool:
        """Whether something of this transaction may still come to the hub, or a neighbour has not heard that it did."""
        return self._pushing.in_doubt or self._is_unheard or any(self.settling.doubts(member) for member in self._open())

    def may_land(self, uid: str) -> Mapping[str, Any]:
        """What the dead have pushed of an operation that it may still bring to the hub; empty for nothing."""
        return self.settling.may_land.get(uid, {})

    @property
    def is_own_in_doubt(self) -> bool:
        """Whether the caller's operation may still come to the hub."""
        return self._own is not None and not self._own.is_settled and (self._pushing.in_doubt or self.settling.doubts(self._own))
