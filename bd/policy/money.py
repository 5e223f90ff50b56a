"""What work may cost: what a claim reserves, what an agent and a DAG have left, and what an attempt did cost.

A budget is an amount a day, a month, or in all; nothing keeps what is left of it: that is the amount, less what
was told to have been spent, less what live claims reserve. Judged on the snapshot that a claim is decided on, so
that two agents together can't overspend. Does not belong here: summing over beads (ledger.py).
"""

from __future__ import annotations

from bd.clock import time_text, timedelta
from bd.ledger import amount_of, attempts_of
from bd.light import NamedTuple
from bd.policy.dag import ancestors, is_under
from bd.policy.ready import Reason

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from typing import Any

    from bd.model import Bead, Snapshot

PERIODS = {"day": 10, "month": 7, "total": 0}  # how much of an instant's text names the period
# For how long the budget of an attempt that stalled counts as spent, unless its cost is told before.
PRESUMED = timedelta(days=1)
# By so many of its last reports an attempt's entry is known to have them already.
REPORTS_KEPT = 20
# After so many attempts the fallback models come first.
FALLBACK_AFTER = 2


class Budget(NamedTuple):
    """So many US dollars a day, a month, or in total."""

    usd: float
    per: str = "total"

    @property
    def words(self) -> str:
        return f"${self.usd:g}{f' a {self.per}' if self.per != 'total' else ''}"


def budget_of(agent: Mapping[str, Any] | None) -> Budget | None:
    """An agent's budget as its file has it; None when nothing limits it."""
    given = (agent or {}).get("budget")
    if isinstance(given, dict) and given.get("usd") is not None:
        per = given.get("per")
        return Budget(amount_of(given["usd"]), per if per in PERIODS else "total")
    usd = (agent or {}).get("budget_usd")
    return None if usd is None else Budget(amount_of(usd))


def reserve_of(bead: Bead, snapshot: Snapshot) -> float:
    """What a claim on a bead reserves: the most it may cost, else what the hub says for its type; 0 where nothing does."""
    own = bead.get("max_cost_usd")  # of a head
    if own is None:
        own = (bead.get("spec") or {}).get("max_cost_usd")
    if own is not None:
        return amount_of(own)
    defaults = snapshot.config().get("defaults")
    types = (defaults if isinstance(defaults, dict) else {}).get("max_cost_usd")
    return amount_of(types.get(bead.type)) if isinstance(types, dict) else 0.0


def remaining(name: str, snapshot: Snapshot, now: datetime) -> float | None:
    """What an agent may still spend; None when nothing limits it, below 0 when it has spent more than it may."""
    budget = budget_of(snapshot.agent(name))
    if budget is None:
        return None
    stamp = time_text(now)
    held = sum(_reserved(claim) for bead in snapshot.claimed() for claim in bead.claims if claim.get("agent") == name)
    return budget.usd - snapshot.spent_by(name, stamp[: PERIODS[budget.per]], stamp) - held


def left_under(root: Bead, snapshot: Snapshot, now: datetime) -> float | None:
    """What the tree under a bead may still cost; None where it has no ceiling."""
    ceiling = root.get("budget_ceiling_usd")
    if ceiling is None:
        return None
    held = sum(_reserved(claim) for bead in snapshot.claimed() if is_under(bead.id, root.id, snapshot) for claim in bead.claims)
    return amount_of(ceiling) - snapshot.spent_under(root.id, time_text(now)) - held


def _reserved(claim: Mapping[str, Any]) -> float:
    return amount_of(claim.get("reserved_usd"))


class Purse:
    """What an agent may spend on the beads of one snapshot: made once, then asked about many of them."""

    def __init__(self, name: str, snapshot: Snapshot, now: datetime) -> None:
        self._name, self._snapshot, self._now = name, snapshot, now
        self._budget = budget_of(snapshot.agent(name))
        self._left: float | None = None
        self._under: dict[str, float] = {}

    def reason(self, bead: Bead) -> Reason | None:
        """Why the money does not suffice for a bead; None when it does."""
        roots = [
            one
            for one in (bead, *(ancestors(bead, self._snapshot) if bead.parent else ()))
            if one.get("budget_ceiling_usd") is not None
        ]
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


def _suffices(left: float, needed: float) -> bool:
    """Whether so much is left; what costs an unknown amount needs something to be left."""
    return left - needed > -1e-9 if needed else left > 1e-9


# --- what an attempt did cost -------------------------------------------------------------------


def charged(
    bead: Bead,
    cost: Mapping[str, Any],
    at: datetime,
    *,
    whole: bool,
    attempt: int | None = None,
    agent: str = "",
    uid: str = "",
) -> Bead:
    """The bead with the cost of an attempt: `usd`, `tokens` ({input, output}), `model`. Of the held attempt, else the last.

    `whole`: the amounts are the attempt's, and what was told before is part of them; else they come on top, once for
    each `uid`. What is told of the held attempt is reserved no longer.
    """
    claim = bead.claims[0] if bead.claims else {}
    number = attempt or claim.get("attempt") or bead.attempts
    before = _cost_of(bead)
    entries = attempts_of(before)
    same = [entry for entry in entries if entry.get("attempt") == number]
    known = next((entry for entry in same if entry.get("usd") is not None), same[0] if same else {})
    told = {key: value for key, value in known.items() if key not in ("reserved_usd", "until")}
    entry = _entry(told, cost, whole=whole)
    entry.update({"attempt": number, "agent": agent or agent_of_attempt(bead, number), "at": time_text(at)})
    if uid:
        entry["reports"] = [*(told.get("reports") or []), uid][-REPORTS_KEPT:]
    others = [one for one in entries if one.get("attempt") != number]
    in_order = sorted([*others, _in_order(entry)], key=lambda one: _number(one.get("attempt")))
    paid = bead.evolve(cost=_summed(before, entries, in_order))
    return _less_reserved(paid, number, amount_of(entry.get("usd")) - amount_of(told.get("usd")))


def _entry(told: Mapping[str, Any], cost: Mapping[str, Any], *, whole: bool) -> dict[str, Any]:
    """An attempt's entry with what is told now."""
    entry = dict(told)
    if cost.get("usd") is not None:
        entry["usd"] = _added(told.get("usd"), cost["usd"], whole=whole)
    if cost.get("tokens") is not None:
        entry["tokens"] = _tokens(told.get("tokens"), cost["tokens"], whole=whole)
    if cost.get("model"):
        entry["model"] = cost["model"]
    return entry


def _in_order(entry: Mapping[str, Any]) -> dict[str, Any]:
    keys = ("attempt", "agent", "at", "model", "usd", "tokens", "reports")
    known = {key: entry[key] for key in keys if entry.get(key) not in (None, "")}
    return {**known, **{key: value for key, value in entry.items() if key not in keys}}


def _less_reserved(bead: Bead, attempt: int, spent: float) -> Bead:
    """The bead whose claim on this attempt reserves no more what was told to be spent."""
    claim = bead.get("claim") or {}
    if claim.get("attempt") != attempt or not _reserved(claim) or spent <= 0:
        return bead
    left = round(_reserved(claim) - spent, 6)
    kept = {key: value for key, value in claim.items() if key != "reserved_usd"}
    return bead.evolve(claim={**kept, "reserved_usd": left} if left > 0 else kept)


def is_told(bead: Bead, uid: str) -> bool:
    """Whether a report of a cost is in the bead already."""
    return any(uid in (entry.get("reports") or []) for entry in attempts_of(bead.get("cost")))


def agent_of_attempt(bead: Bead, attempt: int) -> str:
    """Whose an attempt is, or was; empty where the bead does not say."""
    named = [*bead.claims, *attempts_of(bead.get("cost")), *bead.get("failures", [])]
    found = next((entry.get("agent") for entry in named if entry.get("attempt") == attempt and entry.get("agent")), None)
    if found is None and attempt == bead.attempts and not bead.claims:  # the claim has ended; a closed bead keeps its assignee
        return bead.assignee or ""
    return str(found or "")


def _cost_of(bead: Bead) -> dict[str, Any]:
    cost = bead.get("cost")
    return cost if isinstance(cost, dict) else {}


def presumed(bead: Bead, at: datetime) -> Bead:
    """The bead whose held attempt stalled: what is still reserved counts as spent, until its cost is told or a day has passed."""
    claim = bead.get("claim") or {}
    cost = _cost_of(bead)
    if not _reserved(claim) or any(entry.get("attempt") == claim.get("attempt") for entry in attempts_of(cost)):
        return bead
    entry = {
        "attempt": claim.get("attempt", 1),
        "agent": claim["agent"],
        "at": time_text(at),
        "reserved_usd": claim["reserved_usd"],
        "until": time_text(at + PRESUMED),
    }
    return bead.evolve(cost={**cost, "attempts": [*attempts_of(cost), entry]})


def cost_of_attempt(bead: Bead, attempt: int) -> float | None:
    """What an attempt was told to have cost; None where nothing was."""
    found = (entry.get("usd") for entry in attempts_of(bead.get("cost")) if entry.get("attempt") == attempt)
    return next((amount_of(usd) for usd in found if usd is not None), None)


def _added(before: Any, told: Any, *, whole: bool) -> float:
    was, now = amount_of(before), amount_of(told)
    return round(max(was, now) if whole else was + now, 6)


def _tokens(before: Any, told: Any, *, whole: bool) -> Any:
    """Tokens added key by key; what is no count of tokens is kept as it was told."""
    if not isinstance(told, dict) or not all(isinstance(number, (int, float)) for number in told.values()):
        return told
    was = before if isinstance(before, dict) else {}
    return {**was, **{key: int(_added(was.get(key), number, whole=whole)) for key, number in told.items()}}


def _number(value: Any) -> int:
    return value if isinstance(value, int) else 0


def _summed(before: Mapping[str, Any], entries: list[dict[str, Any]], after: list[dict[str, Any]]) -> dict[str, Any]:
    """The `cost` of a bead with these entries; what its sums had beyond the old ones stays."""
    cost: dict[str, Any] = dict(before)
    if before.get("usd") is not None or any("usd" in entry for entry in after):
        rest = amount_of(before.get("usd")) - sum(amount_of(entry.get("usd")) for entry in entries)
        cost["usd"] = round(max(0.0, rest) + sum(amount_of(entry.get("usd")) for entry in after), 6)
    counted = [entry["tokens"] for entry in after if isinstance(entry.get("tokens"), dict)]
    if counted:
        kinds = dict.fromkeys(kind for tokens in counted for kind in tokens)
        cost["tokens"] = {kind: sum(_number(tokens.get(kind)) for tokens in counted) for kind in kinds}
    elif after and after[-1].get("tokens") is not None:
        cost["tokens"] = after[-1]["tokens"]
    return {**cost, "attempts": after}


# --- models -----------------------------------------------------------------------------------


def model_of(bead: Bead, agent: Mapping[str, Any] | None, attempt: int) -> str:
    """The model an attempt should use: the first preference the agent has, from the third attempt on a fallback first."""
    spec = bead.get("spec") or {}
    preferred, fallback = (_names(spec.get(key)) for key in ("model_preferences", "fallback_models"))
    wanted = [*fallback, *preferred] if attempt > FALLBACK_AFTER else [*preferred, *fallback]
    available = _names((agent or {}).get("models_available"))
    return next((model for model in wanted if not available or model in available), "")


def _names(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    return [name for name in value if isinstance(name, str)] if isinstance(value, list) else []
