"""Costs of work: by bead, agent, DAG or day. Pure."""

from __future__ import annotations

from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.core.costs import amount_of, attempts_of
from bd.policy.dag import Lineage

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from bd.core.model import Bead, Snapshot

GROUPS = ("bead", "agent", "dag", "day", "model")


class Paid(NamedTuple):
    """The cost of one attempt on a bead; attempt 0 is for costs without one. Dollars that `is_estimated` may be unknown: 0."""

    bead: Bead
    attempt: int
    agent: str
    at: str
    usd: float
    tokens: dict[str, int]
    model: str
    is_estimated: bool = False


def paid(snapshot: Snapshot, since: str = "") -> Iterator[Paid]:
    """Yield every attempt that cost something, from a time on."""
    for bead in snapshot.wholes(snapshot.costly()):
        for entry in entries(bead):
            if entry.at >= since:
                yield entry


def entries(bead: Bead) -> list[Paid]:
    """Return the attempts of one bead that cost something, in order."""
    cost = bead.get("cost")
    cost = cost if isinstance(cost, dict) else {}
    found = []
    for entry in attempts_of(cost):
        if "reserved_usd" in entry:
            continue
        attempt = entry.get("attempt")
        number = attempt if isinstance(attempt, int) else 0
        agent, at, model = (str(entry.get(key) or "") for key in ("agent", "at", "model"))
        found.append(
            Paid(bead, number, agent, at, amount_of(entry.get("usd")), _tokens(entry), model, bool(entry.get("estimated")))
        )
    rest = amount_of(cost.get("usd")) - sum(one.usd for one in found)
    if rest > 1e-9:
        found.append(Paid(bead, 0, "", bead.updated_at, round(rest, 6), {} if found else _tokens(cost), ""))
    return found


def _tokens(entry: dict[str, Any]) -> dict[str, int]:
    tokens = entry.get("tokens")
    return {kind: number for kind, number in tokens.items() if isinstance(number, int)} if isinstance(tokens, dict) else {}


def sums(found: Iterator[Paid] | list[Paid], by: str, snapshot: Snapshot) -> list[dict[str, Any]]:
    """Return the sums of a group, the most expensive first: its name, `usd`, `tokens`, and the number of `attempts`.

    `estimated` is the number of those whose dollars are unknown or an estimate, where there are any.
    """
    groups: dict[str, dict[str, Any]] = {}
    roots = Lineage(snapshot, lambda parent: () if parent.parent and snapshot.exists(parent.parent) else (parent.id,))
    for one in found:
        name = _name(one, by, roots)
        group = groups.setdefault(name, {by: name, "usd": 0.0, "tokens": {}, "attempts": 0})
        group["usd"] = round(group["usd"] + one.usd, 6)
        group["attempts"] += one.attempt > 0
        if one.is_estimated:
            group["estimated"] = group.get("estimated", 0) + 1
        for kind, number in one.tokens.items():
            group["tokens"][kind] = group["tokens"].get(kind, 0) + number
    ordered = sorted(groups.values(), key=lambda group: (-group["usd"], group[by]))
    return sorted(ordered, key=lambda group: str(group[by])) if by == "day" else ordered


def _name(one: Paid, by: str, roots: Lineage) -> str:
    if by == "bead":
        return one.bead.id
    if by == "day":
        return one.at[:10]
    if by == "dag":
        return next(iter(roots.above(one.bead)), one.bead.id)
    return one.agent if by == "agent" else one.model
