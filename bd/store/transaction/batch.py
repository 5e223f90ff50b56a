"""A batch: everything that goes to the hub in one push, decided on one base.

The unpublished commits of this clone come first (replay.py), then its own operations and those of other clones
(group_commit/requests.py) in the order that the tip gives them (order.py). Each is decided on the result of the ones before it,
and fails alone. Whose turn it is, the push and its outcome belong to driver.py.
"""

from __future__ import annotations

from functools import cached_property

from bd import TYPE_CHECKING
from bd.core import times
from bd.core.errors import BdError
from bd.core.value import Value
from bd.store.contract import VIEW, SideRef
from bd.store.group_commit import order, requests
from bd.store.transaction.drafts import Chain

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from datetime import datetime
    from typing import Any

    from bd.core.model import Change, Snapshot
    from bd.core.operation import DecisionContext, Operation
    from bd.store.group_commit.member import Member
    from bd.store.group_commit.requests import Others, RequestedOperation
    from bd.store.heartbeat.claim_refs import Beating
    from bd.store.replica import Replica
    from bd.store.snapshot import CachedSnapshot
    from bd.store.transaction.replay import Pending, RefusedReplay, Replay

    Decided = tuple[Change | None, BdError | None]


class Batch(Value):
    """The decisions on one base.

    `sides` are the side refs of each step; `decided` has this clone's operations by uid; `carried` are the uids of other clones'
    operations.
    """

    base: str | None
    chain: Chain
    settings: Any
    refused: list[RefusedReplay]
    renamed: dict[str, str]
    decided: dict[str, Decided]
    sides: list[list[SideRef]]
    carried: frozenset[str]

    @property
    def carries_others(self) -> bool:
        return bool(self.carried)

    @property
    def all_sides(self) -> list[SideRef]:
        return [side for sides in self.sides for side in sides]


class Batches:
    """Decides the batches of one transaction."""

    def __init__(
        self,
        replica: Replica,
        *,
        context: Callable[..., DecisionContext],
        author: Callable[[str, Any], str],
        revive: Callable[[Mapping[str, Any]], Operation],
        by_difference: Callable[[str, str, str, str | None], Operation],
    ) -> None:
        self._replica = replica
        self._context = context
        self._author = author
        self.revive = revive
        self._by_difference = by_difference
        self.beating: Beating | None = None
        self.heartbeats: Mapping[str, str] | None = None
        self._has_replayed = False
        self.takes_side_refs = True  # until the remote refuses them

    def author(self, by: str, snapshot: CachedSnapshot) -> str:
        """Return the git author for an agent or person, by the settings of a snapshot."""
        return self._author(by, self._replica.settings(snapshot))

    # --- deciding ---

    def context(
        self, snapshot: CachedSnapshot, heartbeats: Mapping[str, str] | None = None, *, is_request: bool = False
    ) -> DecisionContext:
        """Return the decision context for a snapshot."""
        made = self._context(snapshot, heartbeats, is_request=is_request)
        return made if self.takes_side_refs else made.replace(takes_side_refs=False)

    def decide(
        self,
        snapshot: Any,
        base: str | None,
        members: Sequence[Member],
        others: Others,
        *,
        hand: str | None,
        declined: Mapping[str, BdError],
        tries: int,
    ) -> Batch:
        """Decide a batch on this base. On no base at all (a new hub), raises the refusal instead of recording it."""
        context = self.context(snapshot, self.heartbeats)
        chain = Chain(self._replica.repo, snapshot, context)
        refused, renamed = self._onto(chain, self._pending(base, hand), declined, tries)
        by_uid = {member.uid: member for member in members}
        foreign = {one.request.uid: one for one in others.requested}
        decided: dict[str, Decided] = {}
        requests_of: dict[str, SideRef] = {}
        told: list[str] = []
        for uid in _in_turn(base, [*by_uid, *foreign]):
            if uid in foreign:
                if self._carry_out(chain, foreign[uid], snapshot, told):
                    requests_of[uid] = foreign[uid].request.removal
                continue
            member = by_uid[uid]
            decided[uid] = self._own(chain, member, context, renamed, base, tries, declined)
            if member.removal:
                requests_of[uid] = member.removal
        if told and chain.steps:
            chain.tell("".join(told))
        sides = self._beside(chain, context.now)
        _with_requests(chain, sides, requests_of, others.removals)
        return Batch(base, chain, context.settings, refused, renamed, decided, sides, frozenset(foreign))

    def _own(
        self,
        chain: Chain,
        member: Member,
        context: DecisionContext,
        renamed: Mapping[str, str],
        base: str | None,
        tries: int,
        declined: Mapping[str, BdError],
    ) -> Decided:
        if member.uid in declined:
            return None, declined[member.uid]
        operation = member.operation.renamed(renamed) if renamed else member.operation
        try:
            author = self._author(operation.by, context.settings)
            return chain.add(operation, author, times.unix_seconds(operation.at), tries=tries), None
        except BdError as error:
            if base is None:
                raise
            return None, error
        except Exception as error:
            if not member.path:
                raise
            # a crash in a neighbour's operation is the answer to that operation alone
            return None, BdError(f"a bug in bd: {type(error).__name__}: {error}")

    def _carry_out(self, chain: Chain, one: RequestedOperation, snapshot: CachedSnapshot, told: list[str]) -> bool:
        return requests.carry_out(chain.add, one, lambda: self.context(snapshot, is_request=True), told)

    # --- what is not published yet ---

    @cached_property
    def _replay(self) -> Replay:
        from bd.store.transaction.replay import Replay  # noqa: PLC0415  most writes find everything published

        return Replay(self._replica, self.revive, self._by_difference)

    def _pending(self, base: str | None, hand: str | None) -> list[Pending]:
        """Return the operations that this clone has not published yet."""
        view = self._replica.repo.ref(VIEW) if self._replica.remote_name else None
        if view == self._replica.published_before:  # a fetch removes no commits: an unchanged view has nothing unpublished
            view = None
        return self._replay.unpublished(base, view, hand) if {view, hand} - {None, base} else []

    def _onto(
        self, chain: Chain, pending: list[Pending], declined: Mapping[str, BdError], tries: int
    ) -> tuple[list[RefusedReplay], dict[str, str]]:
        if not pending and not self._has_replayed:
            return [], {}
        self._has_replayed = True
        return self._replay.onto(chain, pending, declined, tries)

    # --- side refs ---

    def _beside(self, chain: Chain, at: datetime) -> list[list[SideRef]]:
        """Return the side refs of each step: the heartbeats of the claims it makes and ends."""
        claims = [claim for step in chain.steps for claim in (*step.claims_before, *step.claims_after)]
        if not claims or not (self._replica.has_beaten() or any(claim.get("heartbeat_by") == "ref" for claim in claims)):
            return [[] for _ in chain.steps]
        if self.beating is None:
            from bd.store.heartbeat.claim_refs import Beating  # noqa: PLC0415  a plain claim has no such refs

            self.beating = Beating(self._replica.sides)
        if self.heartbeats is not None:
            self.beating.take(self.heartbeats)
        return [self.beating.refs_of(step.claims_before, step.claims_after, at) for step in chain.steps]


def _with_requests(
    chain: Chain, sides: list[list[SideRef]], requests_of: Mapping[str, SideRef], removals: Sequence[SideRef]
) -> None:
    """Push each request's removal with the commit that answers it; those without one go with the last commit."""
    if not chain.steps:
        return
    rest = dict(requests_of)
    for step, beside in zip(chain.steps, sides, strict=True):
        if step.operation.uid in rest:
            beside.append(rest.pop(step.operation.uid))
    sides[-1].extend([*rest.values(), *removals])


def _in_turn(base: str | None, uids: list[str]) -> list[str]:
    """Return the operations' uids in the order in which they are decided on this base."""
    if len(uids) < 2:
        return uids
    return order.order(base or "0" * 40, uids)


def won(change: Change | None, before: Snapshot, inherited: Collection[str]) -> list[str]:
    """Return the tokens of the claims that a change makes or that its author has inherited.

    Claims that existed before are left out: an earlier command has already reported them.
    """

    def was_there(token: str, bead_id: str) -> bool:
        bead = before.head(bead_id)
        return bead is not None and token in bead.tokens

    pairs = change.tokens if change else ()
    return [token for token, bead_id in pairs if token in inherited or not was_there(token, bead_id)]
