"""Operations on heartbeats: one as a commit if there are no side refs, and freeing stalled claims.

Which claims have stalled is judged before (policy/liveness.py, worker/fleet_state.py); here it is only checked that nothing has
happened since.
"""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.errors import BdError, WrongState
from bd.core.model import Change
from bd.core.times import time_text
from bd.operations.base import Operation, minting, register, subject
from bd.operations.capacity_file import with_capacity
from bd.policy import advisory_claims, claims, lifecycle, retry, spending
from bd.policy.liveness import IN_WORK, last_commit_of
from bd.policy.overload import Ending

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, ClassVar

    from bd.core.model import Bead, Snapshot
    from bd.core.operation import DecisionContext
    from bd.core.runtime import Runtime


@register
class Heartbeat(Operation):
    """Send a heartbeat as a commit: `ids`, whose claims the author holds.

    For hubs without side refs, and for advisory claims, whose expiry moves with it.
    """

    verb: ClassVar[str] = "heartbeat"
    takes: ClassVar[frozenset[str]] = frozenset({"ids"})

    def decide(self, snapshot: Snapshot, context: DecisionContext) -> Change:
        def beat(bead: Bead) -> Bead:
            if not bead.claims:
                raise WrongState(f"{bead.id} is {bead.status}, nobody holds it", id=bead.id)
            self.guard(bead, snapshot)
            if bead.get("claims"):
                return advisory_claims.signed(bead, self.proof_for(bead, snapshot), context.settings, self.asked_at)
            signed = claims.signed(bead, self.asked_at)
            return bead if signed == bead else lifecycle.touch(signed, self.asked_at)

        beads, done, failed = self.each(self.args["ids"], snapshot, beat)
        change = Change(beads, subject("heartbeat", done, self.by), touched=tuple(done), failures=tuple(failed))
        return with_capacity(change, snapshot, [self.agent], context.now, alive=self.agent) if beads else change


@register
class Reassign(Operation):
    """Free stalled claims: `stalls`, each {id, token, attempt, why, text, since, beat, is_unheard}, as observed.

    A compare-and-swap on token, attempt and the last heartbeat: a bead that was finished, renewed or claimed again, or whose
    holder sent a heartbeat, is left alone, with a note.
    """

    verb: ClassVar[str] = "reassign"
    takes: ClassVar[frozenset[str]] = frozenset({"jitter", "stalls"})

    @classmethod
    def prepare(cls, args: dict[str, Any], runtime: Runtime | None) -> None:
        if "jitter" not in args:
            args["jitter"] = minting(runtime).random()

    @property
    def needs_remote(self) -> bool:
        return True

    @property
    def needs_heartbeats(self) -> bool:
        return True

    def decide(self, snapshot: Snapshot, context: DecisionContext) -> Change:
        beads: dict[str, Bead | None] = {}
        notes: list[str] = []
        done: list[str] = []
        owners: set[str] = set()
        endings: list[Ending] = []
        for stall in self.args["stalls"]:
            try:
                bead = self.find(stall["id"], snapshot)
            except BdError as gone:
                notes.append(str(gone))
                continue
            if self._is_freed(bead, stall):
                done.append(bead.id)
                continue
            moved = _news(bead, stall, context.heartbeats)
            if moved:
                notes.append(f"{bead.id} was not freed: {moved}")
                continue
            if bead.claim is not None:
                owners.add(bead.claim.agent)
                endings += [] if stall.get("is_unheard") else [Ending(bead.claim.agent, "stalled", bead.id)]
            beads[bead.id] = self._freed(bead, stall, context)
            done.append(bead.id)
        change = Change(beads, subject("reassign", beads, self.by), touched=tuple(done), notes=tuple(notes))
        return with_capacity(change, snapshot, owners, context.now, endings=endings) if beads else change

    def _is_freed(self, bead: Bead, stall: Mapping[str, Any]) -> bool:
        """Return whether the bead already contains this operation's failure."""
        at = time_text(self.asked_at)
        failures = bead.get("failures", [])
        return any(one.get("at") == at and one.get("attempt") == stall["attempt"] for one in failures)

    def _freed(self, bead: Bead, stall: Mapping[str, Any], context: DecisionContext) -> Bead:
        claim = bead.get("claim")
        if not claim:
            return lifecycle.released(bead, stall["text"], self.asked_at, forgiven=False)
        if stall.get("is_unheard"):  # requested by a process that died before the claim was made: nobody has failed
            return lifecycle.released(bead, stall["text"], self.asked_at)
        words = f"{stall['text']} since {stall['since']}"
        cost = spending.cost_of_attempt(bead, claim.get("attempt", 1))
        failure = retry.failure_of(bead, stall.get("reason", "stalled"), words, self.asked_at, cost_usd=cost)
        return retry.after_failure(
            spending.presumed(bead, self.asked_at), failure, context.settings, self.asked_at, self.args["jitter"], self.uid
        )


def _news(bead: Bead, stall: Mapping[str, Any], beats: Mapping[str, str] | None) -> str:
    """Describe what has happened to a claim since it was found stalled; "" if nothing."""
    claim = bead.get("claim")
    if bead.get("claims"):
        return f"{' and '.join(bead.holders)} claimed it meanwhile"
    if not claim:
        unclaimed = (
            not stall["token"] and bead.status in IN_WORK and (bead.get("started_at") or bead.updated_at) == stall["since"]
        )
        return "" if unclaimed else f"it is {bead.status} by now"
    if claim["token"] != stall["token"] or claim.get("attempt", 1) != stall["attempt"]:
        return f"{claim['agent']} has claimed it meanwhile"
    if last_commit_of(claim) != stall["since"]:
        return f"{claim['agent']} sent a heartbeat meanwhile"
    if beats is not None and beats.get(claim["token"]) != stall.get("beat"):
        return f"{claim['agent']} sent a heartbeat meanwhile"
    return ""
