"""What a write asks of the world, and what the world reports back. Values: driver.py carries effects out on git.

An effect that git or the journal refuses is reported as `Refused`, one that needs a server out of reach as `Unreachable`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bd.core.value import Value

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypeAlias

    from bd.core.errors import BdError, RemoteUnreachable
    from bd.store.contract import PushAnswer, SideRef
    from bd.store.group_commit.member import Member, Result
    from bd.store.group_commit.requests import Asked, Others
    from bd.store.transaction.batch import Batch
    from bd.store.transaction.outcome import Outcome
    from bd.store.transaction.recovery import Findings, Recovered
    from bd.store.transaction.verdict import Verdict

# Where a write takes the hub's tip from: the last fetch, where it was a moment ago and this clone has nothing unpublished;
# what a push that lost its race has fetched; or the remote.
TRUSTED, PUBLISHED, REMOTE = "trusted", "published", "remote"


# --- effects ----------------------------------------------------------------------------------


class Fetch(Value):
    """Find the tip to build on, and which of the pushes that got no answer it holds. `heartbeats`: list these first."""

    source: str
    unanswered: tuple[str, ...]
    heartbeats: bool


class Recover(Value):
    """Find out what dead processes of this clone had begun, as the tip shows it."""

    tip: str
    members: tuple[Member, ...]
    known: Findings


class ReadAnswers(Value):
    """Read what the hub's commits say of operations whose requests are gone."""

    tip: str
    members: tuple[Member, ...]


class TakeWaiting(Value):
    """Take up to so many operations along that other processes of this clone wait with."""

    tip: str
    room: int
    findings: Findings


class ReadRequests(Value):
    """Read what other clones ask for at this tip. `own` are the uids that are none of theirs, `left` the requests of the dead."""

    tip: str
    own: frozenset[str]
    left: Mapping[str, SideRef]
    may_carry: bool
    may_clear: bool


class Ask(Value):
    """Ask other clones to carry these operations out."""

    tip: str
    members: tuple[Member, ...]
    tries: int


class Sleep(Value):
    """Wait for so many seconds; with `jitter` for a random part of them."""

    seconds: float
    jitter: bool


class ListRequests(Value):
    """List the names of the requests, and the hub's tip, without fetching anything."""


class Decide(Value):
    """Decide everything that goes into one push."""

    tip: str | None
    members: tuple[Member, ...]
    others: Others
    declined: Mapping[str, BdError]
    tries: int
    takes_side_refs: bool


class Build(Value):
    """Store the commits of a batch, and note in the journal what is about to be pushed and what it answers to whom."""

    batch: Batch
    own: str | None
    inherited: frozenset[str]


class Push(Value):
    """Move the hub's branch from `base` to `commit`, and the side refs with it, all or nothing.

    `exactly`: only if the branch is at `base`, for who has not looked just now.
    """

    commit: str
    base: str | None
    sides: tuple[SideRef, ...]
    exactly: bool


class Confirm(Value):
    """Look what became of a push whose answer did not say it, and of those that got none."""

    commit: str
    unanswered: tuple[str, ...]


class Learn(Value):
    """Remember in this clone what a push has shown: of the branch, and of the server.

    `published` is a commit of several that it took. `is_race`: others were faster, who may be asked.
    """

    verdict: Verdict
    published: str | None
    is_race: bool


class Withdraw(Value):
    """Take the requests for these operations back."""

    members: tuple[Member, ...]


class Follow(Value):
    """Bring this clone to the tip that has everything of it, and answer the processes that wait.

    `landed`: the tip is the last commit of `batch`, which this write has pushed.
    """

    tip: str
    base: str | None
    batch: Batch | None
    landed: bool
    own: Member | None
    neighbours: tuple[Member, ...]
    half_way: tuple[str, ...]
    tries: int


class Keep(Value):
    """Keep the caller's operation in this clone while the remote is away; None where there is none."""

    own: Member | None
    error: RemoteUnreachable
    takes_side_refs: bool


# --- reports ----------------------------------------------------------------------------------


class Refused(Value):
    """An effect ended with an error."""

    error: BdError


class Unreachable(Value):
    """The remote can't be reached. `in_doubt`: something of this write may still come to the hub, or of the dead of this clone."""

    error: RemoteUnreachable
    in_doubt: bool


class Trusted(Value):
    """The tip of a moment ago."""

    tip: str


class Fetched(Value):
    """The tip, the newest unanswered push that it holds, and the requests of clones by uid."""

    tip: str | None
    holds: str | None
    requests: Mapping[str, str]


class Answers(Value):
    """What became of operations, by uid, as the hub's commits say it."""

    results: Mapping[str, Result]


class Taken(Value):
    """The operations that were taken along."""

    members: tuple[Member, ...]
    findings: Findings


class Terms(Value):
    """Whether clones of this hub carry each other's operations out, and this one decides as they would; how long a write may try, in seconds."""

    are_met: bool
    retry_time_s: float


class RequestsRead(Value):
    """What other clones ask for."""

    others: Others
    terms: Terms


class Woke(Value):
    """The time is over."""


class Listed(Value):
    """The tip, and the requests by uid."""

    tip: str | None
    requests: Mapping[str, str]


class Decided(Value):
    """A batch."""

    batch: Batch


class Built(Value):
    """The commits of a batch."""

    commits: tuple[str, ...]


class Answered(Value):
    """What the server said of a push; no lines where it said nothing in time."""

    answer: PushAnswer
    took_s: float


class Judged(Value):
    """What became of a push in a hub without a remote."""

    verdict: Verdict


class Learned(Value):
    """The tip that this clone knows after a lost race, and the terms there; None after anything else."""

    tip: str | None
    terms: Terms | None


class Withdrawn(Value):
    """The operations, by uid, whose requests are gone, and which nobody has carried out."""

    gone: frozenset[str]


class Followed(Value):
    """The outcome, and whether all who wait have heard theirs."""

    outcome: Outcome
    all_heard: bool


class Kept(Value):
    """The outcome of what is kept here."""

    outcome: Outcome


if TYPE_CHECKING:
    Effect: TypeAlias = (
        Fetch
        | Recover
        | ReadAnswers
        | TakeWaiting
        | ReadRequests
        | Ask
        | Sleep
        | ListRequests
        | Decide
        | Build
        | Push
        | Confirm
        | Learn
        | Withdraw
        | Follow
        | Keep
    )
    Event: TypeAlias = (
        Refused
        | Unreachable
        | Trusted
        | Fetched
        | Recovered
        | Answers
        | Taken
        | RequestsRead
        | Asked
        | Woke
        | Listed
        | Decided
        | Built
        | Answered
        | Judged
        | Learned
        | Withdrawn
        | Followed
        | Kept
    )
