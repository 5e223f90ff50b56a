"""The costs of attempts: the entries in a bead's file, and their sums, as far as a store can tell without reading beads.

Reads entries, and defines the questions that a store answers about them. Budgets are in policy/budget.py; operations/costs.py
writes entries.
"""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any


class Spent(Value):
    """The cost of one attempt. With `until` it is presumed, and counts only until then."""

    agent: str
    at: str
    usd: float
    until: str = ""


def amount_of(value: Any) -> float:
    """Return an amount of money; 0 if the value is not one."""
    if isinstance(value, bool):
        return 0.0
    try:
        amount = float(value)
    except (TypeError, ValueError, OverflowError):
        return 0.0
    return amount if 0 < amount < float("inf") else 0.0


def reserved_of(claim: Mapping[str, Any]) -> float:
    """Return the amount of the budget that a claim reserves."""
    return amount_of(claim.get("reserved_usd"))


def attempts_of(cost: Any) -> list[dict[str, Any]]:
    """Return the entries of a bead's `cost`: one for each attempt whose cost was reported."""
    found = cost.get("attempts") if isinstance(cost, dict) else None
    return [entry for entry in found if isinstance(entry, dict)] if isinstance(found, list) else []


def spent_of(fields: Mapping[str, Any]) -> list[Spent]:
    """Return the costs of a bead's attempts. A rest of the sum belongs to no agent, and counts only for the DAG."""
    cost = fields.get("cost")
    if not isinstance(cost, dict):
        return []
    found: list[Spent] = []
    rest = amount_of(cost.get("usd"))
    for entry in attempts_of(cost):
        usd, reserved = amount_of(entry.get("usd")), amount_of(entry.get("reserved_usd"))
        if usd or reserved or entry.get("tokens"):  # tokens alone cost nothing that is known, and are shown
            until = "" if usd else str(entry.get("until", ""))
            found.append(Spent(str(entry.get("agent", "")), str(entry.get("at", "")), usd or reserved, until))
        rest -= usd
    if rest > 1e-9:
        found.append(Spent("", str(fields.get("updated_at", "")), rest))
    return found


class Ledger:
    """The questions about costs that a snapshot answers; here by reading every bead."""

    def costly(self) -> list[str]:
        """Return the ids of the beads that have cost something."""
        return [bead.id for bead in self._all() if spent_of(bead.fields)]

    def spent_by(self, agent: str, since: str, now: str) -> float:
        """Return what an agent's attempts have cost since a time (a day, a month, or "").

        Presumed costs count until they expire.
        """
        return sum(
            _counted((spent for bead in self._all() for spent in spent_of(bead.fields) if spent.agent == agent), since, now)
        )

    def spent_under(self, root: str, now: str) -> float:
        """Return what the beads of the tree under a root have cost, including the root."""
        beads = {bead.id: bead for bead in self._all()}
        inside = (bead for bead in beads.values() if _is_under(bead, root, beads))
        return sum(_counted((spent for bead in inside for spent in spent_of(bead.fields)), "", now))

    def _all(self) -> Iterator[Any]:
        snapshot: Any = self
        return (whole for bead in snapshot.every() if (whole := snapshot.bead(bead.id)) is not None)


class LedgerOverlay(Ledger):
    """The ledger of a snapshot over another one: the costs below it, with the changed beads replaced."""

    _below: Any
    _beads: Mapping[str, Any]

    def costly(self) -> list[str]:
        below = [bead_id for bead_id in self._below.costly() if bead_id not in self._beads]
        return [*below, *(bead.id for bead in self._beads.values() if bead is not None and spent_of(bead.fields))]

    def spent_by(self, agent: str, since: str, now: str) -> float:
        def of(beads: Iterable[Any]) -> float:
            every = (spent for bead in beads if bead is not None for spent in spent_of(bead.fields))
            return sum(_counted((spent for spent in every if spent.agent == agent), since, now))

        before = of(map(self._below.bead, self._beads))
        return float(self._below.spent_by(agent, since, now)) - before + of(self._beads.values())

    def spent_under(self, root: str, now: str) -> float:
        def of(snapshot: Any) -> float:
            beads = [bead for bead_id in self._beads if (bead := snapshot.bead(bead_id)) is not None]
            inside = (bead for bead in beads if _is_under(bead, root, _Heads(snapshot)))
            return sum(_counted((spent for bead in inside for spent in spent_of(bead.fields)), "", now))

        return float(self._below.spent_under(root, now)) - of(self._below) + of(self)


class _Heads:
    """The heads of a snapshot, looked up like a mapping."""

    def __init__(self, snapshot: Any) -> None:
        self._snapshot = snapshot

    def get(self, bead_id: str) -> Any:
        return self._snapshot.head(bead_id)


def _is_under(bead: Any, root: str, beads: Any) -> bool:
    seen: set[str] = set()
    while bead is not None and bead.id not in seen:
        if bead.id == root:
            return True
        seen.add(bead.id)
        bead = beads.get(bead.parent) if bead.parent else None
    return False


def _counted(found: Iterable[Spent], since: str, now: str) -> Iterator[float]:
    return (spent.usd for spent in found if spent.at >= since and (not spent.until or spent.until > now))
