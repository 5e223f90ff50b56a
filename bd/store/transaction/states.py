"""The states of a write. Each holds what it needs; its `effect` is what the driver does next.

`Work` is the same value in all of them: the operations to carry out, and what is known so far.
"""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.value import Value
from bd.store.contract import VIEW
from bd.store.group_commit import local
from bd.store.group_commit.member import Member
from bd.store.transaction import effects
from bd.store.transaction.findings import Findings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, TypeAlias

    from bd.core.errors import BdError, RemoteUnreachable, ServerRefused
    from bd.core.operation import Operation
    from bd.store.contract import PushAnswer, SideRef
    from bd.store.group_commit.member import Result
    from bd.store.group_commit.requests import Others
    from bd.store.replica import Replica
    from bd.store.transaction.batch import Batch
    from bd.store.transaction.outcome import Outcome
    from bd.store.transaction.verdict import Verdict

# The modes of a write, which only descends through them. ASKING: ask other clones after a lost race, and carry out their
# requests; CARRYING: only carry out requests; ALONE: publish this clone's own operations only; PLAIN: the last try, without side
# refs.
ASKING, CARRYING, ALONE, PLAIN = range(4)


class Facts(Value):
    """Facts about a write that are known when the lock is taken and do not change.

    `hand` is the tip of a person's commits to publish as well. `first_view` is where this clone stood. `may_ask`: other clones
    may be asked, because there is a remote and nothing here that only this clone can publish.
    """

    branch: str
    remote: str | None
    hand: str | None
    creates_hub: bool
    needs_heartbeats: bool
    first_view: str | None
    may_ask: bool


class Turn(Value):
    """The moment from which turns are counted: when `tip` was first seen, in seconds of the monotonic clock."""

    tip: str | None = None
    since_s: float | None = None

    def at(self, tip: str | None, now_s: float) -> Turn:
        """Return the turn for the hub at this tip: the same if the tip has not moved."""
        return self if tip == self.tip and self.since_s is not None else Turn(tip, now_s)


class Work(Value):
    """The operations that a write has to carry out, and what is known so far.

    `own` is the caller's operation, `neighbours` are those of other processes of this clone. `base` is the tip to build on.
    `batches` are the pushed ones by their last commit; `landed` is the last one known to be on the hub; `unanswered` are the
    commits whose push got no answer. `declined` are the operations that the server refuses, by uid; `accepted` are the commits it
    took one by one from a declined batch. `stuck` counts consecutive pushes that were rejected although nothing had moved;
    `obstacle` is what the last push failed with if that was no lost race;
    `lags` counts consecutive fetches that showed an old tip, and `passed` is a tip that the server itself called old;
    `losses` counts the races lost since other clones were last asked. `deadline_s` is on the monotonic clock; `late_looks` is how
    many fetches are left after it.
    """

    facts: Facts
    own: Member | None
    neighbours: tuple[Member, ...] = ()
    mode: int = ASKING
    base: str | None = None
    turn: Turn = Turn()
    findings: Findings = Findings()
    batches: Mapping[str, Batch] = {}
    landed: Batch | None = None
    unanswered: tuple[str, ...] = ()
    declined: Mapping[str, BdError] = {}
    accepted: tuple[str, ...] = ()
    tries: int = 0
    stuck: int = 0
    obstacle: BdError | None = None
    lags: int = 0
    passed: str | None = None
    losses: int = 0
    deadline_s: float | None = None
    late_looks: int = 1
    push_s: float = 0.0
    ask_s: float = 0.0

    @property
    def members(self) -> tuple[Member, ...]:
        return (self.own, *self.neighbours) if self.own else self.neighbours

    @property
    def open(self) -> tuple[Member, ...]:
        """The members whose result is not known yet."""
        return tuple(member for member in self.members if not member.is_settled)

    @property
    def asked(self) -> tuple[Member, ...]:
        """The members that other clones are asked for."""
        return tuple(member for member in self.open if member.request)

    @property
    def round_trip_s(self) -> float:
        """The duration of a push, in seconds."""
        return max(self.push_s, self.ask_s)

    def with_members(self, change: Callable[[Member], Member]) -> Work:
        """Return the work with each open member changed."""
        own, *neighbours = (
            change(one) if one is not None and not one.is_settled else one for one in (self.own, *self.neighbours)
        )
        return self.replace(own=own, neighbours=tuple(one for one in neighbours if one is not None))

    def with_results(self, results: Mapping[str, Result]) -> Work:
        """Return the work with these operations settled, by uid."""
        return self.with_members(lambda member: member.settled(results[member.uid]) if member.uid in results else member)

    def descended(self, mode: int) -> Work:
        return self.replace(mode=max(self.mode, mode))


def work_of(replica: Replica, operation: Operation | None, hand: str | None, *, creates_hub: bool) -> Work:
    """Return the work of a write that begins, under the clone's lock."""
    view = replica.repo.ref(VIEW)
    has_unpublished = bool(replica.remote_name) and view not in (None, replica.published_before)
    facts = Facts(
        replica.branch_name,
        replica.remote_name,
        hand,
        creates_hub,
        operation is not None and operation.needs_heartbeats,
        view,
        may_ask=bool(replica.remote_name) and hand is None and not creates_hub and not has_unpublished,
    )
    return Work(facts, Member(operation) if operation is not None else None, mode=ASKING if facts.may_ask else CARRYING)


class Attempt(Value):
    """A push of a batch's commits: all of them, or up to the one at `place` if the server declined them together."""

    batch: Batch
    commits: tuple[str, ...]
    place: int | None = None

    @property
    def commit(self) -> str:
        return self.commits[-1 if self.place is None else self.place]

    @property
    def base(self) -> str | None:
        return self.commits[self.place - 1] if self.place else self.batch.base

    def sides_in(self, mode: int) -> tuple[SideRef, ...]:
        """Return the side refs that are pushed with it in this mode."""
        if mode == PLAIN:
            return ()
        return tuple(self.batch.all_sides if self.place is None else self.batch.sides[self.place])

    @property
    def is_last(self) -> bool:
        return self.commit == self.commits[-1]

    @property
    def step(self) -> Any:
        """The chain's step that a push of a single commit publishes."""
        return self.batch.chain.steps[-1 if self.place is None else self.place]


# --- states -----------------------------------------------------------------------------------


class Fetching(Value):
    """Finding the tip to build on."""

    work: Work
    source: str

    @property
    def effect(self) -> effects.Effect:
        return effects.Fetch(self.source, self.work.unanswered, self.work.facts.needs_heartbeats)


class Recovering(Value):
    """Checking, at a tip, what dead processes of this clone left. `requests` are those on the remote, by uid."""

    work: Work
    tip: str
    requests: Mapping[str, str]

    @property
    def effect(self) -> effects.Effect:
        return effects.Recover(self.tip, self.work.open, self.work.findings)


class Hearing(Value):
    """Some requests of this clone are gone: checking whether somebody carried them out."""

    work: Work
    tip: str
    requests: Mapping[str, str]

    @property
    def gone(self) -> tuple[Member, ...]:
        return tuple(member for member in self.work.open if member.is_gone(self.requests))

    @property
    def effect(self) -> effects.Effect:
        return effects.ReadAnswers(self.tip, self.gone)


class Inviting(Value):
    """Letting other processes of this clone join."""

    work: Work
    tip: str
    requests: Mapping[str, str]

    @property
    def effect(self) -> effects.Effect:
        return effects.TakeWaiting(self.tip, local.AT_ONCE - len(self.work.members), self.work.findings)


class Reading(Value):
    """Reading what other clones ask for, and on which terms."""

    work: Work
    tip: str

    @property
    def effect(self) -> effects.Effect:
        own = frozenset((*(member.uid for member in self.work.members), *self.work.findings.left))
        may_carry = self.work.mode <= CARRYING
        # Clear once, as far as possible: after the first fetch, or before the first push.
        is_first_look = self.work.findings.looks == 1 or not self.work.tries
        return effects.ReadRequests(self.tip, own, self.work.findings.left, may_carry, may_clear=is_first_look)


class Requesting(Value):
    """A race was lost: asking other clones to carry this out."""

    work: Work
    tip: str
    terms: effects.Terms

    @property
    def effect(self) -> effects.Effect:
        return effects.Ask(self.tip, self.work.open, self.work.tries)


class Waiting(Value):
    """The requests are made, and it is another writer's turn to push. Sleeps for `pause_s`; fetches from `until_s` on."""

    work: Work
    terms: effects.Terms
    pause_s: float
    until_s: float

    @property
    def effect(self) -> effects.Effect:
        return effects.Sleep(self.pause_s, jitter=False)


class Watching(Value):
    """The pause is over. As long as all requests are still listed, nobody has carried out any of them, wherever the tip is."""

    work: Work
    terms: effects.Terms
    until_s: float

    @property
    def effect(self) -> effects.Effect:
        return effects.ListRequests()


class Deciding(Value):
    """It is this clone's turn, on `work.base`. `exactly` if that base was not fetched just now."""

    work: Work
    others: Others
    exactly: bool

    @property
    def effect(self) -> effects.Effect:
        work = self.work
        return effects.Decide(work.base, work.open, self.others, work.declined, work.tries + 1, work.mode < PLAIN)


class Building(Value):
    """The batch is decided and becomes commits."""

    work: Work
    batch: Batch
    exactly: bool

    @property
    def effect(self) -> effects.Effect:
        own = self.work.own.uid if self.work.own else None
        return effects.Build(self.batch, own, self.work.findings.inherited)


class Pushing(Value):
    """The commits are being pushed; from here on the hub may have them."""

    work: Work
    attempt: Attempt
    exactly: bool

    @property
    def effect(self) -> effects.Effect:
        return effects.Push(self.attempt.commit, self.attempt.base, self.attempt.sides_in(self.work.mode), self.exactly)


class Unconfirmed(Value):
    """The push is over, but its answer does not say whether it landed."""

    work: Work
    attempt: Attempt
    exactly: bool
    answer: PushAnswer

    @property
    def effect(self) -> effects.Effect:
        return effects.Confirm(self.attempt.commit, self.work.unanswered)


class Pushed(Value):
    """The push has a verdict, as far as there can be one."""

    work: Work
    attempt: Attempt
    exactly: bool
    verdict: Verdict

    @property
    def effect(self) -> effects.Effect:
        is_race = self.verdict.kind == "lost" and not (self.exactly and self.verdict.is_looked)
        if self.attempt.place is None or self.verdict.commit != self.attempt.commit:
            return effects.Learn(self.verdict, None, (), is_race)
        return effects.Learn(self.verdict, self.attempt.commit, self.attempt.sides_in(self.work.mode), is_race)


class Declined(Value):
    """The server refuses an operation for good: it is kept in this clone, and the others go on without it."""

    work: Work
    attempt: Attempt
    operation: Operation
    error: ServerRefused

    @property
    def effect(self) -> effects.Effect:
        return effects.SetAside(self.operation, self.attempt.commit, self.error)


class BackingOff(Value):
    """The race was lost, and nobody else can be asked."""

    work: Work
    longest_s: float

    @property
    def effect(self) -> effects.Effect:
        return effects.Sleep(self.longest_s, jitter=True)


class CatchingUp(Value):
    """The remote lags: fetches are served by a replica that is behind. Waiting for it."""

    work: Work
    longest_s: float

    @property
    def effect(self) -> effects.Effect:
        return effects.Sleep(self.longest_s, jitter=True)


class Withdrawing(Value):
    """Taking back the requests: others have settled everything (in `batch`), time is up, or this clone goes on alone."""

    work: Work
    then: str
    batch: Batch | None = None

    @property
    def effect(self) -> effects.Effect:
        return effects.Withdraw(self.work.asked)


class Offline(Value):
    """The remote is unreachable or refuses this clone, and nothing is under way."""

    work: Work
    error: RemoteUnreachable | ServerRefused

    @property
    def effect(self) -> effects.Effect:
        return effects.Keep(self.work.own, self.error, self.work.mode < PLAIN)


class Following(Value):
    """Everything is settled: updating this clone and telling everybody.

    `landed` is the last commit of `batch` if that was pushed.
    """

    work: Work
    batch: Batch | None
    landed: str | None

    @property
    def effect(self) -> effects.Effect:
        work = self.work
        base = self.batch.base if self.batch else work.base
        tip = self.landed or work.base or ""
        half_way, tries = work.findings.landed, max(work.tries, 1)
        return effects.Follow(tip, base, self.batch, self.landed is not None, work.own, work.neighbours, half_way, tries)


class Settled(Value):
    """The end. `all_heard`: every waiting process was answered."""

    work: Work
    outcome: Outcome
    all_heard: bool = True

    @property
    def effect(self) -> None:
        return None


class Failed(Value):
    """The end, with an error."""

    work: Work
    error: BdError

    @property
    def effect(self) -> None:
        return None


if TYPE_CHECKING:
    State: TypeAlias = (
        Fetching
        | Recovering
        | Hearing
        | Inviting
        | Reading
        | Requesting
        | Waiting
        | Watching
        | Deciding
        | Building
        | Pushing
        | Unconfirmed
        | Pushed
        | Declined
        | BackingOff
        | CatchingUp
        | Withdrawing
        | Offline
        | Following
        | Settled
        | Failed
    )


def on_one_line(state: State) -> str:
    """Format a state and its effect as one line, for `bd -v`."""
    effect = state.effect
    if effect is None:
        return type(state).__name__
    values = ((name, _short(getattr(effect, name))) for name in effect._fields)
    shown = " ".join(f"{name}={value}" for name, value in values if value)
    return f"{type(state).__name__}: {type(effect).__name__} {shown}".rstrip()


def _short(value: object) -> str:
    """Format a value in one word; empty if it adds nothing."""
    if isinstance(value, (str, int, float)):
        return value[:10] if isinstance(value, str) else f"{value:.3g}" if isinstance(value, float) else str(value)
    kind = getattr(value, "kind", "")  # verdicts have one
    is_plain = type(value) in (tuple, dict, frozenset)
    return kind or (str(len(value)) if is_plain and value else "")  # type: ignore[arg-type]
