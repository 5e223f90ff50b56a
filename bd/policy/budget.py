"""Budgets: the amount that a claim reserves, and what an agent and a DAG have left.

A budget is an amount per day, per month, or in total. What is left is never stored: it is the amount, less the reported spending,
less what live claims reserve. It is judged on the snapshot that a claim is decided on, so two agents together can't overspend.
Sums over beads are in core/costs.py, the cost of an attempt in spending.py.
"""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.costs import amount_of, reserved_of
from bd.core.times import time_text
from bd.core.value import Value
from bd.policy.dag import Lineage, is_under
from bd.policy.readiness import Reason

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from typing import Any

    from bd.core.model import Bead, Snapshot

PERIODS = {"day": 10, "month": 7, "total": 0}  # the length of the part of a time text that names the period
# After this many attempts, fallback models come first.
FALLBACK_AFTER = 2


class Budget(Value):
    """An amount of US dollars per day, per month, or in total."""

    usd: float
    per: str = "total"

    @property
    def words(self) -> str:
        return f"${self.usd:g}{f' a {self.per}' if self.per != 'total' else ''}"


def budget_of(agent: Mapping[str, Any] | None) -> Budget | None:
    """Return an agent's budget from its file; None if there is no limit."""
    given = (agent or {}).get("budget")
    if isinstance(given, dict) and given.get("usd") is not None:
        per = given.get("per")
        return Budget(amount_of(given["usd"]), per if per in PERIODS else "total")
    usd = (agent or {}).get("budget_usd")
    return None if usd is None else Budget(amount_of(usd))


def reserve_of(bead: Bead, snapshot: Snapshot) -> float:
    """Return what a claim on a bead reserves: the bead's maximum cost, else the hub's for its type; 0 if neither is set."""
    own = bead.get("max_cost_usd")  # of a head
    if own is None:
        own = (bead.get("spec") or {}).get("max_cost_usd")
    if own is not None:
        return amount_of(own)
    defaults = snapshot.config().get("defaults")
    types = (defaults if isinstance(defaults, dict) else {}).get("max_cost_usd")
    return amount_of(types.get(bead.type)) if isinstance(types, dict) else 0.0


def remaining(name: str, snapshot: Snapshot, now: datetime) -> float | None:
    """Return what an agent may still spend; None if there is no limit; negative if it has overspent."""
    budget = budget_of(snapshot.agent(name))
    if budget is None:
        return None
    stamp = time_text(now)
    held = sum(reserved_of(claim) for bead in snapshot.claimed(name) for claim in bead.claims if claim.get("agent") == name)
    return budget.usd - snapshot.spent_by(name, stamp[: PERIODS[budget.per]], stamp) - held


def left_under(root: Bead, snapshot: Snapshot, now: datetime) -> float | None:
    """Return what the tree under a bead may still cost; None if it has no ceiling."""
    ceiling = root.get("budget_ceiling_usd")
    if ceiling is None:
        return None
    held = sum(reserved_of(claim) for bead in snapshot.claimed() if is_under(bead.id, root.id, snapshot) for claim in bead.claims)
    return amount_of(ceiling) - snapshot.spent_under(root.id, time_text(now)) - held


class Purse:
    """An agent's budget on the beads of one snapshot: made once, then asked about many beads."""

    def __init__(self, name: str, snapshot: Snapshot, now: datetime) -> None:
        self._name, self._snapshot, self._now = name, snapshot, now
        self._budget = budget_of(snapshot.agent(name))
        self._left: float | None = None
        self._under: dict[str, float] = {}
        self._roots = Lineage(snapshot, _with_ceiling)

    def reason(self, bead: Bead) -> Reason | None:
        """Return why the money does not suffice for a bead; None if it does."""
        roots = [*_with_ceiling(bead), *self._roots.above(bead)]
        if self._budget is None and not roots:
            return None
        needed = reserve_of(bead, self._snapshot)
        if self._budget is not None:
            left = self._left_of_agent()
            if not _suffices(left, needed):
                words = f"may cost ${needed:.2f}" if needed else "costs money"
                return Reason("budget", f"{words}, and {self._name} has ${max(0.0, left):.2f} left of {self._budget.words}")
        for root in roots:
            left = self._left_under(root)
            if not _suffices(left, needed):
                words = f"may cost ${needed:.2f}" if needed else "costs money"
                ceiling = amount_of(root.get("budget_ceiling_usd"))
                return Reason("ceiling", f"{words}, and {root.id} has ${max(0.0, left):.2f} left of ${ceiling:g}", root.id)
        return None

    def _left_of_agent(self) -> float:
        if self._left is None:
            self._left = remaining(self._name, self._snapshot, self._now) or 0.0
        return self._left

    def _left_under(self, root: Bead) -> float:
        if root.id not in self._under:
            self._under[root.id] = left_under(root, self._snapshot, self._now) or 0.0
        return self._under[root.id]


def _with_ceiling(bead: Bead) -> tuple[Bead, ...]:
    return (bead,) if bead.get("budget_ceiling_usd") is not None else ()


def _suffices(left: float, needed: float) -> bool:
    """Return whether enough is left; work of unknown cost needs something to be left."""
    return left - needed > -1e-9 if needed else left > 1e-9


# --- models -----------------------------------------------------------------------------------


def model_of(bead: Bead, agent: Mapping[str, Any] | None, attempt: int) -> str:
    """Return the model for an attempt: the first preferred one that the agent has; from the third attempt on, fallbacks first."""
    spec = bead.get("spec") or {}
    preferred, fallback = (_names(spec.get(key)) for key in ("model_preferences", "fallback_models"))
    wanted = [*fallback, *preferred] if attempt > FALLBACK_AFTER else [*preferred, *fallback]
    available = _names((agent or {}).get("models_available"))
    return next((model for model in wanted if not available or model in available), "")


def _names(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    return [name for name in value if isinstance(name, str)] if isinstance(value, list) else []
