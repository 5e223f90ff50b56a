"""The order of work: one number per bead, lower first, then the older one, then the id.

The same order is used by ready, claim and poll. Beads that age at the same rate keep their order forever, since time lifts all
of them equally. So the compared number (`place`) does not move with the clock, and a store can keep it; the effective priority is
its value now.

A critical bead comes before all others, however long they have waited. So that none of the others starves, one claim in ten takes
the one that has waited longest (`longest_waiting_is_due`).
"""

from __future__ import annotations

from zlib import crc32

from bd import TYPE_CHECKING
from bd.core.queries import LONGEST_CHAIN, made_of, rank_of
from bd.core.times import instant_of
from bd.policy.dag import chains
from bd.policy.priority import (
    FLOOR,
    POINTS_PER_DEGREE,
    POINTS_PER_LINK,
    deadline_points,
    half_life_of,
    pace_of,
    temperature_at,
)
from bd.policy.readiness import Readiness

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from bd.core.model import Bead, Snapshot
    from bd.core.queries import Place

# More minutes than lie between any two times, so that no age lifts a bead above a critical one.
_ALL_TIME_MIN = 6e9
# One claim in this many takes the bead that has waited longest.
CLAIMS_PER_TURN = 10


class Ranking:
    """The order of work on one snapshot at one instant: made once, then asked about many beads."""

    __slots__ = ("_behind_critical", "_chains", "_half_life_s", "_now_min", "_per_minute", "now", "readiness", "snapshot")

    def __init__(self, snapshot: Snapshot, now: datetime) -> None:
        self.snapshot = snapshot
        self.now = now
        self.readiness = Readiness(snapshot, now)
        self._now_min = now.timestamp() / 60
        self._per_minute = pace_of(snapshot)
        self._behind_critical = self._per_minute * _ALL_TIME_MIN
        self._half_life_s: float | None = None
        self._chains: dict[str, int] = {}

    def temperature(self, bead: Bead) -> float:
        """Return the current temperature, 0-100."""
        if not bead.fields.get("temperature"):
            return 0.0
        if self._half_life_s is None:
            self._half_life_s = half_life_of(self.snapshot)
        return temperature_at(bead, self.now, self._half_life_s)

    def weigh(self, ids: Iterable[str]) -> None:
        """Determine for many beads at once how much work waits behind each."""
        self._chains.update(chains((bead_id for bead_id in ids if bead_id not in self._chains), self.snapshot, LONGEST_CHAIN))

    def effective(self, bead: Bead) -> float:
        """Return the current effective priority."""
        return self.at_place(self.place(bead), critical=is_critical(bead))

    def at_place(self, place: float, *, critical: bool) -> float:
        """Return the current effective priority for a place."""
        points = place - self._per_minute * self._now_min
        return points if critical else max(FLOOR, points - self._behind_critical)

    def parts(self, bead: Bead) -> dict[str, float]:
        """Return the terms of the effective priority: `base`, each term that counts, and `held_back` if a rule limits them."""
        effective = self.effective(bead)
        terms = {
            "base": rank_of(bead.fields),
            **self._terms(bead),
            "age": -self._rate_of(bead) * self._age_min(bead),
        }
        terms["held_back"] = round(effective - sum(terms.values()), 6)
        return {name: points for name, points in terms.items() if points or name == "base"}

    def place(self, bead: Bead, *, is_ready: bool | None = None) -> float:
        """Return the number that the order compares. `is_ready`, if the caller knows the phase: only ready beads age."""
        if is_ready is None:
            is_ready = self.readiness.phase(bead) == "ready"
        since_min = self._since_min(bead) if is_ready else self._now_min
        faster = self._rate_of(bead) - self._per_minute  # than time lifts all beads
        lifted = rank_of(bead.fields) + sum(self._terms(bead).values()) - faster * (self._now_min - since_min)
        if not is_critical(bead):
            lifted = max(FLOOR, lifted) + self._behind_critical
        return round(lifted + self._per_minute * since_min, 6)

    def key(self, bead: Bead) -> Place:
        """Return the sort key for the order of work."""
        return (self.place(bead), made_of(bead.fields), bead.id)

    def ready_key(self, bead: Bead) -> Place:
        """Return the sort key of a bead that is known to be ready."""
        return (self.place(bead, is_ready=True), made_of(bead.fields), bead.id)

    def unready_key(self, bead: Bead) -> Place:
        """Return the sort key of a bead that is known not to be ready."""
        return (self.place(bead, is_ready=False), made_of(bead.fields), bead.id)

    def unready(self, beads: Iterable[Bead]) -> list[tuple[Place, Bead]]:
        """Sort beads that are known not to be ready into the order of work, each with its key."""
        found = list(beads)
        self.weigh(bead.id for bead in found)
        return sorted(((self.unready_key(bead), bead) for bead in found), key=lambda entry: entry[0])

    def age(self, bead: Bead) -> Place:
        """Return the sort key of a ready bead by waiting time: since when it has been ready, then the older one, then the id."""
        return (self.readiness.since(bead).rstrip("Z"), made_of(bead.fields), bead.id)

    def listed(self, bead: Bead) -> Place:
        """Return the sort key for lists: base and temperature only, regardless of waiting beads and age."""
        return (rank_of(bead.fields) - POINTS_PER_DEGREE * self.temperature(bead), made_of(bead.fields), bead.id)

    def _terms(self, bead: Bead) -> dict[str, float]:
        """Return what moves a bead from its base apart from its age, in points (negative: more urgent)."""
        if bead.id not in self._chains:
            self.weigh((bead.id,))
        return {
            "deadline": -deadline_points(bead, self.now),
            "critical_path": -POINTS_PER_LINK * self._chains[bead.id],
            "temperature": -POINTS_PER_DEGREE * self.temperature(bead),
        }

    def _rate_of(self, bead: Bead) -> float:
        """Return the points per minute: the bead's own, else the hub's."""
        own = bead.fields.get("priority_boost_per_minute")
        return self._per_minute if own is None else max(0.0, float(own))

    def _age_min(self, bead: Bead) -> float:
        """Return for how many minutes the bead has been ready; 0 if it is not."""
        is_ready = self.readiness.phase(bead) == "ready"
        return self._now_min - self._since_min(bead) if is_ready else 0.0

    def _since_min(self, bead: Bead) -> float:
        """Return the minute since when the bead has been ready, judging by the files."""
        since = self.readiness.since(bead)
        return instant_of(since).timestamp() / 60 if since else self._now_min


def is_critical(bead: Bead) -> bool:
    """Return whether the base is critical: no other bead is ever lifted above these."""
    return rank_of(bead.fields) < FLOOR


def longest_waiting_is_due(uid: str) -> bool:
    """Return whether the claim with this uid takes the bead that has waited longest.

    The operation's uid decides: it is drawn once, so a claim that is decided again after a lost race decides the same, no clone
    has to agree with another on a count, and agents that come and go restart none.
    """
    return crc32(uid.encode()) % CLAIMS_PER_TURN == 0
