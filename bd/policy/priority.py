"""The order of work: one number a bead, lower first, then age, then id.

The same order serves ready, list, claim and `why`. It goes by the hub's settings alone, so that every clone has it.
"""

from __future__ import annotations

from bd.clock import instant_of, time_text
from bd.lineup import made_of, rank_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from bd.model import Bead, Snapshot

# The finer scale behind P0..P4 (docs/format.md): the last value of the range of each.
_LAST_OF_PRIORITY = (9, 29, 59, 79, 100)

HOTTEST = 100.0
# A temperature of 100 counts for 10 points: less than lies between two of P0..P4, so attention
# orders the beads of one priority and lifts none of them into the next.
POINTS_PER_DEGREE = 0.1
# What has cooled below this is cold (a hundredth of a point): old attention one day leaves the order to age.
COLD = 0.1
# How much each kind of attention heats a bead.
HEAT = {
    "asked": 10.0,  # `bd heat` without a number: one point, enough to go before its equals for a few days
    "comment": 5.0,  # somebody looked at it and had something to say; a lively talk of 20 comments is as hot as it gets
    "link": 3.0,  # other work turned out to touch it; links are made by the dozen, so each counts little
    "reopening": 10.0,  # it was thought done and is not: somebody is waiting for it a second time
}


def base_priority(bead: Bead) -> float:
    """0-100, lower is more urgent: the bead's own, else what its P0..P4 stands for."""
    return rank_of(bead.fields)


def priority_of_base(base: float) -> int:
    """The P0..P4 whose range holds this base priority."""
    return next((level for level, last in enumerate(_LAST_OF_PRIORITY) if base <= last), 4)


# --- temperature ----------------------------------------------------------------------------


def half_life_of(snapshot: Snapshot) -> float:
    """Seconds in which a temperature falls to its half: the hub's setting, whatever this clone's may be."""
    from bd.config import hub_setting  # noqa: PLC0415  only warm beads need it

    return float(hub_setting(snapshot.config(), "heat_half_life"))


def temperature_at(bead: Bead, at: datetime, half_life_s: float) -> float:
    """0-100 at an instant: as stored, halved every half-life since. It never rises by itself, also not before its stamp."""
    stored = bead.fields.get("temperature")
    if not stored:
        return 0.0
    since = bead.get("heated_at") or bead.updated_at
    elapsed_s = (at - instant_of(since)).total_seconds() if since else 0.0
    warm = min(HOTTEST, max(0.0, float(stored))) * _left_after(elapsed_s, half_life_s)
    return warm if warm >= COLD else 0.0


def _left_after(elapsed_s: float, half_life_s: float) -> float:
    """The part of a temperature that is left after so long."""
    return float(0.5 ** (max(0.0, elapsed_s) / half_life_s))


def heated(bead: Bead, by: float, at: datetime, half_life_s: float, *, now: datetime) -> Bead:
    """The bead hotter by so many degrees (below 0: cooler) as of `at`.

    A heating that arrives after a later one has cooled on its way. A stamp ahead of `now` is a wrong clock's, and is
    brought back to it.
    """
    stamp = bead.get("heated_at")
    when = max(at, min(instant_of(stamp), now)) if stamp else at
    degrees = temperature_at(bead, when, half_life_s) + by * _left_after((when - at).total_seconds(), half_life_s)
    stored = round(min(HOTTEST, max(0.0, degrees)), 2)
    if stored < COLD:
        return bead.evolve(temperature=None, heated_at=None)
    return bead.evolve(temperature=int(stored) if stored.is_integer() else stored, heated_at=time_text(when, exact=True))


# --- the order ------------------------------------------------------------------------------


class Ranking:
    """The order of work on one snapshot at one instant: made once, then asked about every bead.

    The effective priority is the base and whatever `TERMS` say, in points.
    """

    __slots__ = ("_half_life_s", "now", "snapshot")

    def __init__(self, snapshot: Snapshot, now: datetime) -> None:
        self.snapshot = snapshot
        self.now = now
        self._half_life_s: float | None = None

    def temperature(self, bead: Bead) -> float:
        """The temperature now, 0-100."""
        if not bead.fields.get("temperature"):
            return 0.0
        if self._half_life_s is None:
            self._half_life_s = half_life_of(self.snapshot)
        return temperature_at(bead, self.now, self._half_life_s)

    def effective(self, bead: Bead) -> float:
        """The number the order compares."""
        points = base_priority(bead)
        for term in TERMS.values():
            points += term(self, bead)
        return points

    def parts(self, bead: Bead) -> dict[str, float]:
        """What the effective priority is the sum of: `base`, and each term that counts."""
        terms = {name: term(self, bead) for name, term in TERMS.items()}
        return {"base": base_priority(bead), **{name: points for name, points in terms.items() if points}}

    def key(self, bead: Bead) -> tuple[float, str, str]:
        """Sorts beads into the order of work: effective priority, then the oldest, then the id."""
        return (self.effective(bead), made_of(bead.fields), bead.id)


def _warmth(ranking: Ranking, bead: Bead) -> float:
    return -POINTS_PER_DEGREE * ranking.temperature(bead)


# What moves a bead from its base, in points (below 0: more urgent). A term costs a cold bead one look into its fields.
# Calm beads (bd.lineup) are ordered by their base alone: what a term looks at belongs to CLOCK_FIELDS.
TERMS: dict[str, Callable[[Ranking, Bead], float]] = {"temperature": _warmth}
