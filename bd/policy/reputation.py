"""Reputation: how often an agent's attempts on beads of a type succeed, and what that changes in its order of work.

Counted from the beads that are not archived. The members of a pool share the record of their pool. A hub's `reputation_points`
decide whether the order goes by it; the record itself is only shown.
"""

from __future__ import annotations

from itertools import chain

from bd import TYPE_CHECKING
from bd.core.pools import template_of
from bd.core.settings import hub_setting
from bd.core.value import Value
from bd.policy import failure_kinds
from bd.policy.ranking import Ranking, is_critical

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime

    from bd.core.model import Bead, Snapshot


class Record(Value):
    """The attempts of an agent on beads of one type."""

    done: int = 0
    failed: int = 0

    @property
    def rate(self) -> float:
        """The part of the attempts that succeeded; 0.5 without any, and close to that after a few."""
        return (self.done + 1) / (self.done + self.failed + 2)


def records_of(agent: str, snapshot: Snapshot) -> dict[str, Record]:
    """Return an agent's record by type of bead, for the types that it has attempted."""
    mine = template_of(agent, snapshot) or agent
    found: dict[str, Record] = {}
    whose: dict[str, bool] = {}
    for name, kind, is_done in _attempts(snapshot):
        if name not in whose:
            whose[name] = (template_of(name, snapshot) or name) == mine
        if whose[name]:
            one = found.get(kind, Record())
            found[kind] = one.replace(done=one.done + 1) if is_done else one.replace(failed=one.failed + 1)
    return dict(sorted(found.items()))


def _attempts(snapshot: Snapshot) -> Iterator[tuple[str, str, bool]]:
    """Yield agent, type of bead, and whether it was done, for each attempt that says something about its agent."""
    tried = [bead.id for bead in chain(snapshot.live(), snapshot.ended()) if bead.attempts]
    for bead in snapshot.wholes(tried):
        for failure in bead.get("failures", []):
            if failure_kinds.of(str(failure.get("reason"))).counts_for_agent:
                yield str(failure.get("agent", "")), bead.type, False
        by = str(bead.get("closed_by") or "")
        if bead.status == "closed" and by.startswith("agent:"):
            yield by.removeprefix("agent:"), bead.type, True


def points_of(snapshot: Snapshot) -> float:
    """Return the most points by which an agent's record moves a bead in its order; 0: none."""
    return float(hub_setting(snapshot.config(), "reputation_points"))


def in_order(ready: Iterable[Bead], agent: str, snapshot: Snapshot, now: datetime) -> list[Bead]:
    """Return ready beads in the order of work for one agent: what it does well comes earlier, what it fails later.

    Critical beads stay before all others.
    """
    ranking, records, most = Ranking(snapshot, now), records_of(agent, snapshot), points_of(snapshot)
    found = list(ready)
    ranking.weigh(bead.id for bead in found)

    def key(bead: Bead) -> tuple[bool, float]:
        place, *_ = ranking.ready_key(bead)
        return not is_critical(bead), float(place) - most * (2 * records.get(bead.type, Record()).rate - 1)

    return sorted(found, key=key)
