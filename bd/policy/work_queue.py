"""Beads by phase, in the order of work, read only as far as they are used.

The lists that ready, claim and poll start from. readiness.py decides what is ready, ranking.py the order.
"""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.queries import Lineup, Resorted, Sought, Together
from bd.core.times import instant_of
from bd.policy.priority import starvation_limit_s
from bd.policy.ranking import Ranking, is_critical
from bd.policy.readiness import PHASES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime

    from bd.core.model import Bead, Snapshot
    from bd.core.queries import Place, Settled


def phases(snapshot: Snapshot, now: datetime) -> dict[str, list[Bead]]:
    """Return all live beads by phase, each list in the order of work."""
    found: dict[str, list[Bead]] = {phase: [] for phase in PHASES}
    ranking = Ranking(snapshot, now)
    for bead in snapshot.live():
        found[ranking.readiness.phase(bead)].append(bead)
    ranking.weigh(bead.id for beads in found.values() for bead in beads)
    for beads in found.values():
        beads.sort(key=ranking.key)
    return found


def in_phases(
    sought: Sought,
    snapshot: Snapshot,
    ranking: Ranking,
    key: Callable[[Bead], Place],
    passes: Callable[[Bead], bool] = bool,
) -> Lineup:
    """Return the live beads in the sought phases, ordered by a key.

    `passes` decides whether an examined bead meets the other conditions.
    """
    settled, others = snapshot.settled(sought)
    phase_by_id = _phases_of(others, ranking)
    found = (bead for bead in others if phase_by_id[bead.id] in sought.phases and passes(bead))
    return Lineup(found, key, settled)


def _phases_of(beads: list[Bead], ranking: Ranking) -> dict[str, str]:
    """Return the phase of each bead by id, and weigh the ready ones in the ranking."""
    phase_by_id = {bead.id: ranking.readiness.phase(bead) for bead in beads}
    ranking.weigh(bead_id for bead_id, phase in phase_by_id.items() if phase == "ready")
    return phase_by_id


def in_work_order(sought: Sought, snapshot: Snapshot, ranking: Ranking, passes: Callable[[Bead], bool]) -> Lineup:
    """Return the matching live beads in the order of work, whether ready or not; the store has the places of ready ones."""
    wanted = sought.phases or PHASES
    rest = tuple(phase for phase in wanted if phase != "ready")
    parts: list[Settled] = []
    others: list[Bead] = []
    if "ready" in wanted:
        ready, others = snapshot.settled(sought.replace(phases=("ready",), by_work=True))
        parts += [ready] if ready is not None else []
    if rest:
        waiting, others = snapshot.settled(sought.replace(phases=rest))
        parts += [Resorted(waiting, ranking.unready)] if waiting is not None else []
    phase_by_id = _phases_of(others, ranking)
    found = [bead for bead in others if phase_by_id[bead.id] in wanted and passes(bead)]
    ranking.weigh(bead.id for bead in found)

    def key(bead: Bead) -> Place:
        return ranking.ready_key(bead) if phase_by_id[bead.id] == "ready" else ranking.unready_key(bead)

    return Lineup(found, key, Together(parts))


def ready_beads(snapshot: Snapshot, now: datetime) -> Lineup:
    """Return the ready beads in the order of work."""
    ranking = Ranking(snapshot, now)
    return in_phases(Sought(phases=("ready",), by_work=True), snapshot, ranking, ranking.ready_key)


def starving_beads(snapshot: Snapshot, now: datetime) -> Iterator[Bead]:
    """Yield the ready beads that have waited for the starvation limit, none of them critical; the longest waiting first."""
    ranking, limit_s = Ranking(snapshot, now), starvation_limit_s(snapshot)
    for bead in in_phases(Sought(phases=("ready",), by_age=True), snapshot, ranking, ranking.age):
        since = ranking.readiness.since(bead)
        if not since or (now - instant_of(since)).total_seconds() < limit_s:
            return
        if not is_critical(bead):
            yield bead
