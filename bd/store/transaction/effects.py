"""Effects that a write asks for, and the events that report their results. Values; driver.py carries effects out on git.

An effect that git or the journal refuses is reported as `Refused`, one that needs an unreachable server as `Unreachable`.
"""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.value import Value

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypeAlias

    from bd.core.errors import BdError, RemoteUnreachable, ServerRefused
    from bd.core.operation import Operation
    from bd.store.contract import PushAnswer, SideRef
    from bd.store.group_commit.member import Member, Result
    from bd.store.group_commit.requests import Asked, Others
    from bd.store.transaction.batch import Batch
    from bd.store.transaction.findings import Findings, Recovered
    from bd.store.transaction.outcome import Outcome
    from bd.store.transaction.verdict import Verdict

# The sources of the hub's tip. TRUSTED: the last fetch, if it was a moment ago and nothing is unpublished here;
# PUBLISHED: the newest tip that this clone has, without a fetch (after a lost race); REMOTE: a new fetch. If the race is known from
# the push's answer alone, nothing was fetched, and PUBLISHED is still the old tip.
TRUSTED, PUBLISHED, REMOTE = "trusted", "published", "remote"


# --- effects ----------------------------------------------------------------------------------


class Fetch(Value):
    """Find the tip to build on, and which of the unanswered pushes it contains. With `heartbeats`, list those first."""

    source: str
    unanswered: tuple[str, ...]
    heartbeats: bool


class Recover(Value):
    """Find out, at this tip, how the operations ended that dead processes of this clone had begun."""

    tip: str
    members: tuple[Member, ...]
    known: Findings


class ReadAnswers(Value):
    """Read what the hub's commits say about operations whose requests are gone."""

    tip: str
    members: tuple[Member, ...]


class TakeWaiting(Value):
    """Take along up to `room` operations of other processes of this clone that wait for the lock."""

    tip: str
    room: int
    findings: Findings


class ReadRequests(Value):
    """Read the requests of other clones at this tip. `own` are the uids to skip, `left` the requests of dead processes."""

    tip: str
    own: frozenset[str]
    left: Mapping[str, SideRef]
    may_carry: bool
    may_clear: bool


class Ask(Value):
    """Ask other clones to carry out these operations."""

    tip: str
    members: tuple[Member, ...]
    tries: int


class Sleep(Value):
    """Sleep for `seconds`; with `jitter`, for a random part of them."""

    seconds: float
    jitter: bool


class ListRequests(Value):
    """List the requests and the hub's tip without fetching."""


class Decide(Value):
    """Decide everything that goes into one push."""

    tip: str | None
    members: tuple[Member, ...]
    others: Others
    declined: Mapping[str, BdError]
    tries: int
    takes_side_refs: bool


class Build(Value):
    """Store the commits of a batch, and note in the journal what will be pushed and the answers for each operation."""

    batch: Batch
    own: str | None
    inherited: frozenset[str]


class Push(Value):
    """Move the hub's branch from `base` to `commit`, and the side refs with it, all or nothing.

    `exactly`: only if the branch is still at `base`; needed when `base` was not fetched just now.
    """

    commit: str
    base: str | None
    sides: tuple[SideRef, ...]
    exactly: bool


class Confirm(Value):
    """Fetch to find out whether a push landed if its answer did not say so, and whether unanswered ones did."""

    commit: str
    unanswered: tuple[str, ...]


class SetAside(Value):
    """Keep an operation that the server refuses for good, as its unpublished `commit`: it may hold somebody's text."""

    operation: Operation
    commit: str
    error: ServerRefused


class Learn(Value):
    """Record in this clone what a push has shown about the branch and the server.

    `published` is the commit that the server took when the commits of a batch are pushed one by one, and `sides` are the side
    refs that landed with it. `is_race`: another writer was faster, so other clones may be asked.
    """

    verdict: Verdict
    published: str | None
    sides: tuple[SideRef, ...]
    is_race: bool


class Withdraw(Value):
    """Take back the requests for these operations."""

    members: tuple[Member, ...]


class Follow(Value):
    """Bring this clone to the tip that settles everything, and answer the waiting processes.

    `landed`: the tip is the last commit of `batch`, pushed by this write.
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
    """Keep the caller's operation in this clone while the remote is unreachable or refuses this clone. `own` is None if there is none."""

    own: Member | None
    error: RemoteUnreachable | ServerRefused
    takes_side_refs: bool


# --- events -----------------------------------------------------------------------------------


class Refused(Value):
    """The effect ended with an error."""

    error: BdError


class Unreachable(Value):
    """The remote can't be reached, or refuses this clone.

    `in_doubt`: something of this write, or of a dead process of this clone, may still reach the hub.
    """

    error: RemoteUnreachable | ServerRefused
    in_doubt: bool


class Lagging(Value):
    """The remote showed an older tip than this clone has seen there. `retry_time_s` is how long a write may try, in seconds.

    `in_doubt`: as of `Unreachable`.
    """

    retry_time_s: float
    in_doubt: bool


class Trusted(Value):
    """The tip of a fetch a moment ago."""

    tip: str


class Fetched(Value):
    """The tip, the newest unanswered push that it contains, and the requests of clones by uid."""

    tip: str | None
    holds: str | None
    requests: Mapping[str, str]


class Answers(Value):
    """The results of operations by uid, as recorded in the hub's commits."""

    results: Mapping[str, Result]


class Taken(Value):
    """The operations taken along."""

    members: tuple[Member, ...]
    findings: Findings


class Terms(Value):
    """Terms for group commit.

    `are_met`: clones of this hub carry out each other's operations, and this one decides by the same settings. `retry_time_s`:
    how long a write may try.
    """

    are_met: bool
    retry_time_s: float


class RequestsRead(Value):
    """The requests of other clones."""

    others: Others
    terms: Terms


class Woke(Value):
    """The sleep is over."""


class Listed(Value):
    """The tip, and the requests by uid."""

    tip: str | None
    requests: Mapping[str, str]


class Decided(Value):
    """The decided batch."""

    batch: Batch


class Built(Value):
    """The commits of a batch."""

    commits: tuple[str, ...]


class Answered(Value):
    """The server's answer to a push; without lines if none came in time."""

    answer: PushAnswer
    took_s: float


class Judged(Value):
    """The result of a push in a hub without a remote."""

    verdict: Verdict


class Learned(Value):
    """The tip known to this clone after a lost race, and the terms there. Both None in all other cases."""

    tip: str | None
    terms: Terms | None


class Aside(Value):
    """The refusal to report: it says whether the operation was kept."""

    error: ServerRefused


class Withdrawn(Value):
    """The uids of the operations whose requests were removed before anybody carried them out."""

    gone: frozenset[str]


class Followed(Value):
    """The outcome, and whether every waiting process was told its result."""

    outcome: Outcome
    all_heard: bool


class Kept(Value):
    """The outcome of an operation that was kept in this clone."""

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
        | SetAside
        | Learn
        | Withdraw
        | Follow
        | Keep
    )
    Event: TypeAlias = (
        Refused
        | Unreachable
        | Lagging
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
        | Aside
        | Learned
        | Withdrawn
        | Followed
        | Kept
    )
