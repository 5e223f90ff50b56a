"""Operations on who works on what: claim, start, release.

Each that changes a claim rewrites the agent's capacity file in the same commit. Work ends in close.py and fail.py; heartbeat.py
frees stalled claims.
"""

from __future__ import annotations

from datetime import timedelta
from itertools import chain

from bd import TYPE_CHECKING, __version__
from bd.core.errors import (
    AgentBusy,
    DoesNotFit,
    NothingReady,
    OverCapacity,
    StillBlocked,
    WrongState,
)
from bd.core.model import Change, Overlay
from bd.core.times import time_text
from bd.operations.base import Operation, minting, register, subject
from bd.operations.capacity_file import with_capacity
from bd.policy import account_rest, advisory_claims, budget, capacity, claims, lifecycle
from bd.policy.eligibility import BINDING, ONLY_NAMED, Eligibility, refuse_rival
from bd.policy.readiness import Readiness
from bd.policy.roles import claim_ttl_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from typing import Any, ClassVar, Self

    from bd.core.model import Bead, Snapshot
    from bd.core.operation import DecisionContext
    from bd.core.runtime import Runtime


# Hints for an agent that gets no work.
_HINTS = {
    "paused": "wait; `bd resume` lets the fleet claim again",
    "offline": "`bd online {}` brings it back",
    "draining": "`bd undrain {}` lets it claim again",
    "overloaded": "`bd agent clear {}` forgets its failures",
    account_rest.CODE: "wait; `bd agent wake {}` ends the rest of its account",
    "busy": "`bd list --assignee {}` shows what it holds",
    "pool_full": "wait until one of them is done; `bd pool status` shows the pools",
}


_MONEY_HINTS = {
    "budget": "`bd cost --by agent` shows what it spent; `bd agent add {} --budget USD` gives it more",
    "ceiling": "`bd cost {1}` shows what it cost; `bd update {1} --budget-ceiling USD` raises the ceiling",
}

# The verbs that claim the beads that were named.
_WON_BY_ID = frozenset({"claim", "take"})
# Heartbeats that are commits on the branch are sent no more often than this.
_BRANCH_INTERVAL_S = 900


@register
class Claim(Operation):
    """Claim beads for an agent: `agent`; `ids`, or `next` with `count`; `reserve`, `resume`, `force`, `host`.

    `heartbeat` ({interval_s, by}) says how, and how often, the holder will send heartbeats. `account` names the installation that
    it works with (policy/account_rest.py).

    `held_tokens` are the author's tokens; a bead it holds already counts as claimed. `new_tokens`: one per bead, minted with the
    operation. Which beads `next` takes is decided here, on the snapshot that the commit is built on, so after a lost race it
    takes the next best. `without_repos` are code repositories that the author's machine can't work on now.
    """

    verb: ClassVar[str] = "claim"
    force_ends_claims: ClassVar[bool] = False
    takes: ClassVar[frozenset[str]] = frozenset(
        {
            "account",
            "agent",
            "also_me",
            "count",
            "force",
            "heartbeat",
            "held_tokens",
            "host",
            "ids",
            "inherited",
            "new_tokens",
            "next",
            "reserve",
            "resume",
            "without_repos",
        }
    )

    @property
    def needs_remote(self) -> bool:
        return True

    @classmethod
    def prepare(cls, args: dict[str, Any], runtime: Runtime | None) -> None:
        wanted = len(args.get("ids") or []) or args.get("count", 1)
        if "new_tokens" not in args:
            args["new_tokens"] = [minting(runtime).new_id() for _ in range(wanted)]

    def decide(self, snapshot: Snapshot, context: DecisionContext) -> Change:
        won = self._already_won(snapshot)
        if won:
            return Change({}, "", touched=tuple(won), tokens=tuple((won[bead_id], bead_id) for bead_id in won))
        if self.args.get("resume"):
            return self._resume(snapshot, context)
        if self.args.get("next"):
            return self._take_best(snapshot, context)
        return self._take_named(snapshot, context)

    def exact_form(self, change: Change, before: Snapshot) -> dict[str, Any]:
        form = super().exact_form(change, before)
        tokens = [token for token, _ in change.tokens]
        form["args"] = {**as_promised(form["args"], change), "new_tokens": tokens, "ids": list(change.touched)}
        for key in ("next", "inherited", "held_tokens", "without_repos"):
            form["args"].pop(key, None)
        return form

    @property
    def name(self) -> str:
        return str(self.args["agent"])

    @property
    def _account(self) -> str:
        return str(self.args.get("account") or "")

    def inheriting(self, entry: Mapping[str, Any]) -> Self | None:
        mine = entry.get("agent") == self.name and not self.args.get("resume")
        asked = self.args.get("ids")
        if not mine or (asked and (entry.get("verb") not in _WON_BY_ID or set(asked) != set(entry.get("ids") or []))):
            return None
        return self._with({**self.args, "inherited": list(entry["tokens"])})

    def _already_won(self, snapshot: Snapshot) -> dict[str, str]:
        mine = (*self.args["new_tokens"], *self.args.get("inherited", ()))
        held = ((bead.id, claim) for token in mine for bead in snapshot.claimed(token) for claim in bead.claims)
        return {bead_id: claim["token"] for bead_id, claim in held if claim.get("token") in mine}

    def _refuse_agent(self, answer: Eligibility, *, takes_over: bool = False) -> None:
        """Refuse every claim of an agent that gets no work at all now. Raises AgentBusy."""
        reason = answer.idle(takes_over=takes_over)
        if reason:
            wait_s = answer.retry_after_s(reason)
            raise AgentBusy(reason.text, hint=_HINTS[reason.code].format(self.name), reason=reason.code, retry_after_s=wait_s)

    def _claim_map(self, token: str, snapshot: Snapshot, *, started: bool, context: DecisionContext) -> dict[str, Any]:
        stamp = time_text(self.asked_at)
        claim: dict[str, Any] = {"agent": self.name, "token": token}
        if started:
            claim["started_at"] = stamp
        else:
            ttl_s = claim_ttl_of(snapshot.agent(self.name) or {}, context.settings)
            claim["expires_at"] = time_text(self.asked_at + timedelta(seconds=ttl_s))
        if self.args.get("host"):
            claim["host"] = self.args["host"]
        claim["version"] = __version__
        if context.is_request:  # its author may have died while it waited: see policy/liveness.py
            claim["folded"] = True
        heartbeat = self.args.get("heartbeat")
        if heartbeat and context.takes_side_refs:
            claim["heartbeat_interval_s"], claim["heartbeat_by"] = heartbeat["interval_s"], heartbeat["by"]
        elif heartbeat:  # then each heartbeat is a commit
            claim["heartbeat_interval_s"], claim["heartbeat_by"] = max(_BRANCH_INTERVAL_S, heartbeat["interval_s"]), "branch"
        return claim

    def _take(self, bead: Bead, index: int, snapshot: Snapshot, context: DecisionContext) -> Bead:
        started = not self.args.get("reserve") and index == 0
        claim = self._claim_map(self.args["new_tokens"][index], snapshot, started=started, context=context)
        reserved = budget.reserve_of(bead, snapshot)
        if reserved:
            claim["reserved_usd"] = reserved
        if (bead.get("claim_mode") or context.settings.claim_mode) == "advisory":
            return advisory_claims.claimed(bead, claim, context.settings, self.asked_at)
        return claims.claimed(bead, claim, context.settings.owner(self.name), self.asked_at)

    def _take_best(self, snapshot: Snapshot, context: DecisionContext) -> Change:
        answer = Eligibility(snapshot, self.name, context.now, self._account)
        self._refuse_agent(answer)
        count = self.args.get("count", 1)
        room = answer.room()
        beads: dict[str, Bead | None] = {}
        starving, without = answer.starving(self.uid), frozenset(self.args.get("without_repos") or ())
        offered = (bead for bead in _with_first(starving, answer.beads()) if bead.get("repo") not in without)
        for bead in _untouched_first(offered, context):
            if len(beads) >= (count if room is None else min(count, room)):
                break
            if beads and Eligibility(Overlay(snapshot, Change(beads, "")), self.name, context.now).reasons(bead):
                continue
            whole = snapshot.bead(bead.id)
            if whole is not None:
                beads[bead.id] = self._take(whole, len(beads), snapshot, context)
        if not beads:
            raise NothingReady(
                f"nothing is ready that fits {self.name}",
                hint=f"`bd ready --all` shows what is ready, `bd why ID --agent {self.name}` why it does not fit",
            )
        change = self._finish(beads, list(beads), snapshot, context)
        if starving is None or starving.id not in beads:
            return change
        return change.replace(notes=(*change.notes, f"{starving.id} has waited longest; one claim in ten takes such a bead"))

    def _take_named(self, snapshot: Snapshot, context: DecisionContext, *, freed: Collection[str] = ()) -> Change:
        """Claim the named beads; `freed` are those whose claims of others end in the same commit."""
        taken: dict[str, Bead | None] = {}
        answer = Eligibility(snapshot, self.name, context.now, self._account)
        room = answer.room()
        held_tokens = self.args.get("held_tokens") or {}

        def take(bead: Bead) -> Bead:
            if bead.claim and bead.claim.token in (held_tokens.get(bead.id), held_tokens.get("*")):
                return bead
            renewed = self._renewed(bead, held_tokens, taken, snapshot, context) if bead.get("claims") else None
            if renewed is not None:
                return renewed
            self._refuse_agent(answer, takes_over=bead.id in freed)
            after = Overlay(snapshot, Change(taken, ""))
            self._refuse(bead, after, context)
            if room is not None and len(taken) >= room:
                raise OverCapacity(f"{self.name} has room for {room} more", id=bead.id)
            taken[bead.id] = self._take(bead, len(taken), snapshot, context)
            return taken[bead.id]  # type: ignore[return-value]

        _, done, failed = self.each(self.args["ids"], snapshot, take)
        return self._finish(taken, done, snapshot, context, failed)

    def _renewed(
        self,
        bead: Bead,
        given: Mapping[str, str],
        taken: dict[str, Bead | None],
        snapshot: Snapshot,
        context: DecisionContext,
    ) -> Bead | None:
        """Renew this agent's own claim on an advisory bead; a presented token is kept. None if it has no claim."""
        mine = advisory_claims.claim_of(bead, self.name, self.asked_at)
        if mine is None:
            return None
        is_known = mine.get("token") in (given.get(bead.id), given.get("*"))
        token = mine["token"] if is_known else self.args["new_tokens"][len(taken)]
        claim = self._claim_map(token, snapshot, started=not self.args.get("reserve"), context=context)
        after = advisory_claims.renewed(bead, mine, claim, context.settings, self.asked_at)
        if after != bead:
            taken[bead.id] = after
        return after

    def _refuse(self, bead: Bead, snapshot: Snapshot, context: DecisionContext) -> None:
        claims.refuse_held(bead, context.now)
        where = Readiness(snapshot, context.now).standing(bead)
        if where.phase == "pending":
            raise StillBlocked(
                f"{bead.id} is not ready: it {where.reasons[0].text}",
                hint=f"`bd why {bead.id}` shows the whole chain",
                id=bead.id,
            )
        if where.phase != "ready":
            words = where.reasons[0].text.removeprefix("is ")
            raise WrongState(f"{bead.id} is not ready: {words}", hint=f"`bd why {bead.id}` says more", id=bead.id)
        reasons = [
            reason for reason in Eligibility(snapshot, self.name, context.now).reasons(bead) if reason.code not in ONLY_NAMED
        ]
        binding = [reason for reason in reasons if reason.code in BINDING]
        if reasons and (binding or not self.args.get("force")):
            first = (binding or reasons)[0]
            hint = f"`bd claim {bead.id} --agent {self.name} --force` takes it anyway"
            if first.code in _MONEY_HINTS:
                hint = _MONEY_HINTS[first.code].format(self.name, first.by)
            raise DoesNotFit(f"{bead.id} {first.text}", hint=hint, id=bead.id, reason=first.code)

    def _resume(self, snapshot: Snapshot, context: DecisionContext) -> Change:
        names = (
            self.args.get("ids")
            or [bead.id for bead in capacity.held_by(self.name, snapshot, self.asked_at)][: len(self.args["new_tokens"])]
        )
        taken: dict[str, Bead | None] = {}

        def take_over(bead: Bead) -> Bead:
            renewed = self._renewed(bead, {}, taken, snapshot, context) if bead.get("claims") else None
            if renewed is not None:
                return renewed
            holders = {bead.claim.agent} if bead.claim else {bead.assignee or "", bead.owner or ""} - {""}
            if bead.status != "in_progress" or not holders:
                raise WrongState(f"{bead.id} is {bead.status}: there is nothing to resume", id=bead.id)
            if not any(self._is_me(holder, context) for holder in holders):
                hint = f"`bd release {bead.id} --force --reason TEXT` frees it"
                raise DoesNotFit(f"{bead.id} is {' and '.join(sorted(holders))}'s, not {self.name}'s", hint=hint, id=bead.id)
            if bead.claim is None:
                self._refuse_crowd(bead, taken, snapshot, context)
            claim = self._claim_map(self.args["new_tokens"][len(taken)], snapshot, started=True, context=context)
            taken[bead.id] = claims.resumed(bead, claim, context.settings.owner(self.name), self.asked_at)
            return taken[bead.id]  # type: ignore[return-value]

        if not names:
            raise NothingReady(f"{self.name} holds nothing to resume")
        _, done, failed = self.each(names, snapshot, take_over)
        return self._finish(taken, done, snapshot, context, failed)

    def _refuse_crowd(self, bead: Bead, taken: dict[str, Bead | None], snapshot: Snapshot, context: DecisionContext) -> None:
        """Check that the agent has room for a bead in progress without a claim, and that no rival has its exclusive name."""
        after = Overlay(snapshot, Change(taken, ""))
        if capacity.room(self.name, after, context.now) == 0:
            raise OverCapacity(f"{self.name} has room for 0 more", id=bead.id)
        refuse_rival(bead, after)

    def _is_me(self, holder: str, context: DecisionContext) -> bool:
        """Return whether a holder's name refers to this agent: as agent, owner or git's user, or as the part before an imported
        @.
        """
        mine = {self.name, context.settings.owner(self.name), *self.args.get("also_me", [])}
        return holder in mine or holder.split("@", 1)[0].casefold() == self.name

    def _finish(
        self,
        taken: dict[str, Bead | None],
        done: list[str],
        snapshot: Snapshot,
        context: DecisionContext,
        failed: list[dict[str, Any]] | None = None,
    ) -> Change:
        beads = ((bead_id, taken.get(bead_id) or snapshot.bead(bead_id)) for bead_id in done)
        tokens = tuple((self._own(bead)["token"], bead_id) for bead_id, bead in beads if bead)
        if not taken:
            return Change({}, "", touched=tuple(done), tokens=tokens, failures=tuple(failed or ()))
        words = subject(self.verb, taken, f"agent:{self.name}")
        change = Change(taken, words, touched=tuple(done), tokens=tokens, failures=tuple(failed or ()))
        account = {"account": self._account} if self._account else None
        return with_capacity(change, snapshot, [self.name], context.now, alive=self.name, changes=account)

    def _own(self, bead: Bead) -> dict[str, Any]:
        """Return this agent's claim on a bead, or the claim of an exclusive bead."""
        return bead.get("claim") or next(claim for claim in bead.claims[::-1] if claim.get("agent") == self.name)


def as_promised(args: Mapping[str, Any], change: Change) -> dict[str, Any]:
    """Return a claim's arguments as decided: without side refs its heartbeats differ from those requested.

    Which repositories the author's machine can't work on says nothing about the claim any more.
    """
    args = {key: value for key, value in args.items() if key != "without_repos"}
    made = {token for token, _ in change.tokens}
    there = (claim for bead in change.beads.values() if bead is not None for claim in bead.claims)
    promised = next((claim for claim in there if claim.get("token") in made and claim.get("heartbeat_by")), None)
    if promised is None or not args.get("heartbeat"):
        return args
    return {**args, "heartbeat": {"interval_s": promised["heartbeat_interval_s"], "by": promised["heartbeat_by"]}}


def _with_first(first: Bead | None, beads: Iterable[Bead]) -> Iterable[Bead]:
    """Return the beads in their order, but this one before all others."""
    return beads if first is None else chain((first,), (bead for bead in beads if bead.id != first.id))


def _untouched_first(beads: Iterable[Bead], context: DecisionContext) -> Iterator[Bead]:
    """Yield the beads in their order, but those with other agents' advisory claims last."""
    shared: list[Bead] = []
    for bead in beads:
        if bead.get("claims") and _is_shared(bead, context):
            shared.append(bead)
        else:
            yield bead
    yield from shared


def _is_shared(bead: Bead, context: DecisionContext) -> bool:
    return bool(advisory_claims.live(bead, context.now))


@register
class Start(Operation):
    """Start the work on reserved beads: `ids`."""

    verb: ClassVar[str] = "start"
    takes: ClassVar[frozenset[str]] = frozenset({"ids"})

    def decide(self, snapshot: Snapshot, context: DecisionContext) -> Change:
        def begin(bead: Bead) -> Bead:
            if not bead.claims:
                raise WrongState(f"{bead.id} is not claimed", hint=f"`bd claim {bead.id}` first", id=bead.id)
            self.guard(bead, snapshot)
            if bead.get("claims"):
                return advisory_claims.started(bead, self.proof_for(bead, snapshot), context.settings, self.asked_at)
            return claims.started(bead, self.asked_at)

        beads, done, failed = self.each(self.args["ids"], snapshot, begin)
        return Change(beads, subject("start", done, self.by), touched=tuple(done), failures=tuple(failed))


@register
class Release(Operation):
    """Give beads back: `ids`, `reason`, `force`. Costs no attempt.

    A bead that its holder releases repeatedly is hidden for a while; one taken from another agent is available immediately.
    """

    verb: ClassVar[str] = "release"
    takes: ClassVar[frozenset[str]] = frozenset({"force", "ids", "progress", "reason"})

    def decide(self, snapshot: Snapshot, context: DecisionContext) -> Change:
        owners: set[str | None] = set()

        def give_back(bead: Bead) -> Bead:
            self.guard(bead, snapshot)
            owners.update(bead.holders)
            reason = self.args.get("reason")
            if bead.get("claims"):
                return advisory_claims.released(bead, self.proof_for(bead, snapshot), reason, self.asked_at)
            is_own = self.holder_of(bead, snapshot) is not None
            return lifecycle.released(bead, reason, self.asked_at, spaced=is_own)

        beads, done, failed = self.each(self.args["ids"], snapshot, give_back)
        notes = [
            f"{bead.id} is not offered before {bead.get('retry_at')}" for bead in beads.values() if bead and bead.get("retry_at")
        ]
        words = subject("release", done, self.by)
        change = Change(beads, words, touched=tuple(done), failures=tuple(failed), notes=tuple(notes))
        return with_capacity(change, snapshot, owners, context.now, alive=self.agent if self.agent in owners else None)
