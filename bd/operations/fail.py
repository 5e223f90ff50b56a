"""Operations on failed attempts: fail, and people's decisions about dead letters.

The rules of retries are in policy/retry.py; heartbeat.py frees stalled claims.
"""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.errors import BadInput, WrongState
from bd.core.model import Change
from bd.core.times import instant_of, time_text
from bd.operations.account_rests import with_rest
from bd.operations.base import Operation, mint, minting, register, subject
from bd.operations.capacity_file import with_capacity
from bd.operations.heat import attended
from bd.policy import advisory_claims, failure_kinds, lifecycle, retry, spending
from bd.policy.overload import Ending
from bd.policy.reset_times import stated_reset

if TYPE_CHECKING:
    from datetime import datetime
    from typing import Any, ClassVar

    from bd.core.model import Bead, Snapshot
    from bd.core.operation import DecisionContext
    from bd.core.runtime import Runtime


# What a cost is called among the arguments of `fail`.
COST_ARGS = {"usd": "cost_usd", "tokens": "token_counts", "model": "model", "estimated": "estimated"}


@register
class Fail(Operation):
    """Record failed attempts on beads: `ids`, `reason` (a kind of failure), `error` (free text), `force`.

    A kind that is not the bead's own (policy/failure_kinds.py) gives the bead back, and the agent's account rests: until
    `resets_at`, if the provider stated a time. `duration_s`, `cost_usd`, `token_counts` and `model`, if known; `estimated`: the
    cost is an estimate; `branch`, if the attempt's commits are on one. `jitter` is drawn with the operation, so that a replay
    computes the same time for the next try.
    """

    verb: ClassVar[str] = "fail"
    takes: ClassVar[frozenset[str]] = frozenset(
        {
            "branch",
            "cost_usd",
            "duration_s",
            "error",
            "estimated",
            "force",
            "ids",
            "jitter",
            "model",
            "progress",
            "reason",
            "resets_at",
            "token_counts",
        }
    )

    @classmethod
    def prepare(cls, args: dict[str, Any], runtime: Runtime | None) -> None:
        if "jitter" not in args:
            args["jitter"] = round(minting(runtime).random(), 4)
        rests = failure_kinds.of(args.get("reason") or "").rests != "nobody"
        if rests and runtime is not None and not args.get("resets_at"):
            stated = stated_reset(str(args.get("error") or ""), runtime.now())
            if stated is not None:
                args["resets_at"] = time_text(stated)

    def decide(self, snapshot: Snapshot, context: DecisionContext) -> Change:
        kind = retry.check_kind(self.args.get("reason") or "")
        if not (self.args.get("error") or "").strip():
            raise BadInput(
                "a failure needs a description (--error)",
                hint=f'bd fail {self.args["ids"][0]} --reason {kind} --error "what happened"',
            )
        endings: list[Ending] = []
        left: set[str] = set()

        def give_up(bead: Bead) -> Bead:
            if self._is_noted(bead):
                return bead
            self.guard(bead, snapshot)
            if not bead.claims:
                hint = f"`bd comment {bead.id} TEXT` records what went wrong"
                raise WrongState(f"{bead.id} is {bead.status}, nobody holds it", hint=hint, id=bead.id)
            token = self.proof_for(bead, snapshot)
            held = advisory_claims.alone(bead, token, self.asked_at) if bead.get("claims") else bead
            endings.extend(Ending(holder, "failed", bead.id) for holder in held.holders)
            left.update(bead.holders)
            held = self._charged(held)
            failed = retry.after_failure(
                held, self._failure(held), context.settings, self.asked_at, self.args["jitter"], self.uid
            )
            return (
                advisory_claims.rejoined(failed, bead, held.claims[0].get("token"), self.asked_at)
                if bead.get("claims")
                else failed
            )

        beads, done, failed = self.each(self.args["ids"], snapshot, give_up)
        change = Change(beads, subject("fail", done, self.by), touched=tuple(done), failures=tuple(failed))
        alive = self.agent if any(ending.agent == self.agent for ending in endings) else None
        row = failure_kinds.of(kind)
        counted = endings if row.counts_for_agent else []
        # A dead letter ends every claim on it.
        change = with_capacity(change, snapshot, left, context.now, alive=alive, endings=counted)
        for ending in endings if row.rests != "nobody" else ():
            change = with_rest(change, snapshot, ending.agent, kind, self.asked_at, self._resets_at())
        return change

    def _resets_at(self) -> datetime | None:
        stated = self.args.get("resets_at")
        return instant_of(stated) if stated else None

    def _charged(self, bead: Bead) -> Bead:
        """Return the bead with the total cost of the attempt, if measured."""
        cost = {key: self.args.get(name) for key, name in COST_ARGS.items()}
        is_told = any(value is not None for value in cost.values())
        return spending.charged(bead, cost, self.asked_at, whole=True) if is_told else bead

    def _failure(self, bead: Bead) -> dict[str, Any]:
        attempt = bead.claims[0].get("attempt", bead.attempts)
        known = {"duration_s": self.args.get("duration_s"), "cost_usd": spending.cost_of_attempt(bead, attempt)}
        known["branch"] = self.args.get("branch")
        return retry.failure_of(bead, self.args["reason"], self.args["error"].strip(), self.asked_at, **known)

    def _is_noted(self, bead: Bead) -> bool:
        """Return whether the bead already contains this failure, and its claim is gone."""
        token, claim = self.token_for(bead.id), bead.claim
        if token in bead.tokens or (claim is not None and token is None):
            return False
        mine = (self.args["reason"], self.args["error"].strip(), time_text(self.asked_at))
        return any(mine == (entry.get("reason"), entry.get("error"), entry.get("at")) for entry in bead.get("failures", []))


@register
class DlqRetry(Operation):
    """Reopen dead letters: `ids`, `reason` (kept as a comment), `resolution` (retry, or modify_and_retry).

    Their attempts count from zero; their failures stay.
    """

    verb: ClassVar[str] = "dlq-retry"
    takes: ClassVar[frozenset[str]] = frozenset({"comment_id", "ids", "reason", "resolution"})

    @classmethod
    def prepare(cls, args: dict[str, Any], runtime: Runtime | None) -> None:
        mint(args, "comment_id", runtime)

    def decide(self, snapshot: Snapshot, context: DecisionContext) -> Change:
        def open_again(bead: Bead) -> Bead:
            if any(comment.get("id") == self.args["comment_id"] for comment in bead.comments):
                return bead
            if bead.status != "dead_letter":
                hint = "`bd dlq list` shows the dead letters"
                raise WrongState(f"{bead.id} is {bead.status}, not a dead letter", hint=hint, id=bead.id)
            opened = attended(lifecycle.reopened(bead, self.asked_at), "reopening", self, snapshot, context)
            opened = opened.evolve(reviewed=True, resolution=self.args.get("resolution") or "retry")
            if not self.args.get("reason"):
                return opened
            entry = {
                "id": self.args["comment_id"],
                "author": self.agent,
                "at": time_text(self.asked_at),
                "text": self.args["reason"],
            }
            return opened.evolve(comments=[*opened.comments, entry])

        beads, done, failed = self.each(self.args["ids"], snapshot, open_again)
        return Change(beads, subject("dlq-retry", done, self.by), touched=tuple(done), failures=tuple(failed))


@register
class DlqReview(Operation):
    """Mark dead letters as reviewed: `ids`, `note` (kept as a comment); `undone` reverts it."""

    verb: ClassVar[str] = "dlq-review"
    takes: ClassVar[frozenset[str]] = frozenset({"comment_id", "ids", "note", "undone"})

    @classmethod
    def prepare(cls, args: dict[str, Any], runtime: Runtime | None) -> None:
        mint(args, "comment_id", runtime)

    def decide(self, snapshot: Snapshot, context: DecisionContext) -> Change:
        def review(bead: Bead) -> Bead:
            if bead.status != "dead_letter":
                hint = "`bd dlq list` shows the dead letters"
                raise WrongState(f"{bead.id} is {bead.status}, not a dead letter", hint=hint, id=bead.id)
            is_noted = any(comment.get("id") == self.args["comment_id"] for comment in bead.comments)
            after = bead.evolve(reviewed=None if self.args.get("undone") else True)
            if self.args.get("note") and not is_noted:
                entry = {
                    "id": self.args["comment_id"],
                    "author": self.agent,
                    "at": time_text(self.asked_at),
                    "text": self.args["note"],
                }
                after = after.evolve(comments=[*after.comments, entry])
            return bead if after == bead else lifecycle.touch(after, self.asked_at)

        beads, done, failed = self.each(self.args["ids"], snapshot, review)
        return Change(beads, subject("dlq-review", done, self.by), touched=tuple(done), failures=tuple(failed))
