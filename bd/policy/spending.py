"""The cost of an attempt: reported once or in parts, presumed if nobody reports it, and stored in the bead.

Limits are in budget.py, sums over beads in core/costs.py.
"""

from __future__ import annotations

from datetime import timedelta

from bd import TYPE_CHECKING
from bd.core.costs import amount_of, attempts_of, reserved_of
from bd.core.times import time_text

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from typing import Any

    from bd.core.model import Bead

# For how long the budget of a stalled attempt counts as spent, unless its cost is reported earlier.
PRESUMED = timedelta(days=1)
# How many report ids an entry keeps, to recognise repeated reports.
REPORTS_KEPT = 20


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
    """Return the bead with the cost of an attempt: `usd`, `tokens` ({input, output}), `model`, `estimated`.

    Default: the held or last attempt.

    `whole`: the amounts are the attempt's total, including earlier reports; otherwise they are added, once for each `uid`. What
    is reported for the held attempt is no longer reserved.
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
    """Return an attempt's entry with a new report."""
    entry = dict(told)
    if cost.get("usd") is not None:
        entry["usd"] = _added(told.get("usd"), cost["usd"], whole=whole)
    if cost.get("tokens") is not None:
        entry["tokens"] = _tokens(told.get("tokens"), cost["tokens"], whole=whole)
    if cost.get("model"):
        entry["model"] = cost["model"]
    if cost.get("estimated"):
        entry["estimated"] = True
    return entry


def _in_order(entry: Mapping[str, Any]) -> dict[str, Any]:
    keys = ("attempt", "agent", "at", "model", "usd", "tokens", "estimated", "reports")
    known = {key: entry[key] for key in keys if entry.get(key) not in (None, "")}
    return {**known, **{key: value for key, value in entry.items() if key not in keys}}


def _less_reserved(bead: Bead, attempt: int, spent: float) -> Bead:
    """Return the bead with the claim's reservation for this attempt reduced by what was spent."""
    claim = bead.get("claim") or {}
    if claim.get("attempt") != attempt or not reserved_of(claim) or spent <= 0:
        return bead
    left = round(reserved_of(claim) - spent, 6)
    kept = {key: value for key, value in claim.items() if key != "reserved_usd"}
    return bead.evolve(claim={**kept, "reserved_usd": left} if left > 0 else kept)


def is_told(bead: Bead, uid: str) -> bool:
    """Return whether the bead already contains a report."""
    return any(uid in (entry.get("reports") or []) for entry in attempts_of(bead.get("cost")))


def agent_of_attempt(bead: Bead, attempt: int) -> str:
    """Return whose an attempt is, or was; "" if the bead does not say."""
    named = [*bead.claims, *attempts_of(bead.get("cost")), *bead.get("failures", [])]
    found = next((entry.get("agent") for entry in named if entry.get("attempt") == attempt and entry.get("agent")), None)
    if found is None and attempt == bead.attempts and not bead.claims:  # the claim has ended; a closed bead keeps its assignee
        return bead.assignee or ""
    return str(found or "")


def _cost_of(bead: Bead) -> dict[str, Any]:
    cost = bead.get("cost")
    return cost if isinstance(cost, dict) else {}


def presumed(bead: Bead, at: datetime) -> Bead:
    """Return the bead after its attempt stalled: its reservation counts as spent, for a day or until the cost is reported."""
    claim = bead.get("claim") or {}
    cost = _cost_of(bead)
    if not reserved_of(claim) or any(entry.get("attempt") == claim.get("attempt") for entry in attempts_of(cost)):
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
    """Return the reported cost of an attempt; None if there is none."""
    found = (entry.get("usd") for entry in attempts_of(bead.get("cost")) if entry.get("attempt") == attempt)
    return next((amount_of(usd) for usd in found if usd is not None), None)


def _added(before: Any, told: Any, *, whole: bool) -> float:
    was, now = amount_of(before), amount_of(told)
    return round(max(was, now) if whole else was + now, 6)


def _tokens(before: Any, told: Any, *, whole: bool) -> Any:
    """Add tokens key by key; anything that is not counts is kept as reported."""
    if not isinstance(told, dict) or not all(isinstance(number, (int, float)) for number in told.values()):
        return told
    was = before if isinstance(before, dict) else {}
    return {**was, **{key: int(_added(was.get(key), number, whole=whole)) for key, number in told.items()}}


def _number(value: Any) -> int:
    return value if isinstance(value, int) else 0


def _summed(before: Mapping[str, Any], entries: list[dict[str, Any]], after: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the `cost` of a bead with these entries; a surplus of its sums over the old entries is kept."""
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
