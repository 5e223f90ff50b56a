"""The operation that reports what an attempt cost, during the attempt or later.

close.py and fail.py take the cost reported at the end of an attempt; budgets are in policy/budget.py.
"""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.errors import BadInput, StaleToken
from bd.core.model import Change
from bd.operations.base import Operation, register, subject
from bd.operations.capacity_file import with_capacity
from bd.policy import budget, lifecycle, spending

if TYPE_CHECKING:
    from typing import ClassVar

    from bd.core.model import Bead, Snapshot
    from bd.core.operation import DecisionContext


@register
class Cost(Operation):
    """Add to the cost of an attempt: `ids` (one), `usd`, `token_counts` ({input, output}), `model`; `attempt`.

    `estimated`: the amounts are an estimate.

    Without `attempt`: the one whose token the author has, else the last one of a bead that nobody holds. Anybody may report the
    cost of an earlier attempt: it is often known late, and to others.
    """

    verb: ClassVar[str] = "cost"
    takes: ClassVar[frozenset[str]] = frozenset({"attempt", "estimated", "ids", "model", "token_counts", "usd"})

    def decide(self, snapshot: Snapshot, context: DecisionContext) -> Change:
        if not any(self.args.get(key) for key in ("usd", "token_counts", "model")):
            raise BadInput(
                "the cost is missing", hint=f"bd cost {self.args['ids'][0]} --usd 0.42 --tokens-in 900 --tokens-out 120"
            )
        owners: set[str] = set()

        def charge(bead: Bead) -> Bead:
            if spending.is_told(bead, self.uid):
                return bead
            attempt, agent = self._whose(bead, snapshot)
            owners.add(agent)
            told = {"usd": "usd", "tokens": "token_counts", "model": "model", "estimated": "estimated"}
            cost = {key: self.args.get(name) for key, name in told.items()}
            paid = spending.charged(bead, cost, self.asked_at, whole=False, attempt=attempt, agent=agent, uid=self.uid)
            return lifecycle.touch(paid, self.asked_at)

        beads, done, failed = self.each(self.args["ids"], snapshot, charge)
        change = Change(beads, subject("cost", done, self.by), touched=tuple(done), failures=tuple(failed))
        budgeted = [name for name in owners if name and budget.budget_of(snapshot.agent(name))]
        return with_capacity(change, snapshot, budgeted, context.now) if budgeted else change

    def _whose(self, bead: Bead, snapshot: Snapshot) -> tuple[int, str]:
        """Return the attempt, and whose it is. Raises BadInput and StaleToken."""
        token = self.proof_for(bead, snapshot)
        mine = bead.claim_under(token)
        wanted = self.args.get("attempt")
        if mine is not None and wanted in (None, mine.get("attempt", 1)):
            return mine.get("attempt", 1), mine["agent"]
        if bead.claims and (wanted is None or any(claim.get("attempt", 1) == wanted for claim in bead.claims)):
            who = " and ".join(bead.holders)
            hint = f"BD_TOKEN proves that it is yours; `bd cost {bead.id} --attempt N` reports the cost of an earlier one"
            raise StaleToken(f"{bead.id} is held by {who}", hint=hint, id=bead.id)
        attempt = wanted or bead.attempts
        if not 1 <= attempt <= bead.attempts:
            said = f"{bead.id} has had {bead.attempts} attempts" if bead.attempts else f"nobody has tried {bead.id} yet"
            raise BadInput(said, hint="costs belong to attempts; `bd claim` begins one", id=bead.id)
        return attempt, spending.agent_of_attempt(bead, attempt) or self.agent
