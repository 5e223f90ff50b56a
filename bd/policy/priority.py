"""The parts of a bead's priority: its base, its tier, and the points that move it.

The figures (docs/priority.md has a table), and what one bead's own file says at an instant. The influence of other beads, and the
order of many, is in ranking.py. Only the hub's settings count, so that every clone has the same order.
"""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.queries import rank_of
from bd.core.settings import hub_setting
from bd.core.times import instant_of, time_text

if TYPE_CHECKING:
    from datetime import datetime

    from bd.core.model import Bead, Snapshot

# The finer scale of P0..P4 (docs/format.md): the last value of each range.
_LAST_OF_PRIORITY = (9, 29, 59, 79, 100)
TIERS = ("critical", "high", "normal", "low", "background")

# No boost lifts a bead to the critical ones or above.
FLOOR = 10.0
# At its deadline a bead is DEADLINE_POINTS more urgent; half of that DEADLINE_HALVES_S earlier, a quarter twice as early, and so
# on.
DEADLINE_POINTS = 40.0
DEADLINE_HALVES_S = 6 * 3600.0
_NO_POINTS = 0.1  # a deadline that counts for fewer points than this is ignored
# Points for each bead of the longest chain that waits for this one.
POINTS_PER_LINK = 2.0

HOTTEST = 100.0
# A temperature of 100 counts for 10 points, less than the distance between two of P0..P4: attention reorders the beads of one
# priority, and lifts none into the next.
POINTS_PER_DEGREE = 0.1
# Below this a bead is cold (a hundredth of a point), so that old attention eventually leaves the order to age.
COLD = 0.1
# The degrees that each kind of attention adds.
HEAT = {
    "asked": 10.0,  # `bd heat` without a number: one point, worth ten minutes of waiting
    "comment": 5.0,  # somebody took an interest; a lively discussion of 20 comments reaches the maximum
    "link": 3.0,  # other work touches it; links are made by the dozen, so each counts little
    "reopening": 10.0,  # it was thought done and is not: somebody waits for it a second time
}


def base_priority(bead: Bead) -> float:
    """Return the base priority, 0-100, lower is more urgent: the bead's own, else the value of its P0..P4."""
    return rank_of(bead.fields)


def priority_of_base(base: float) -> int:
    """Return the P0..P4 whose range contains this base priority."""
    return next((level for level, last in enumerate(_LAST_OF_PRIORITY) if base <= last), 4)


def tier_of(base: float) -> str:
    """Return the name of the tier that contains a base priority."""
    return TIERS[priority_of_base(base)]


# --- age and deadline -----------------------------------------------------------------------


def pace_of(snapshot: Snapshot) -> float:
    """Return the points per minute that a ready bead gains: the hub's setting, regardless of this clone's."""
    return float(hub_setting(snapshot.config(), "priority_boost_per_minute"))


def starvation_limit_s(snapshot: Snapshot) -> float:
    """Return after how many seconds of waiting a bead starves: the hub's setting, regardless of this clone's."""
    return float(hub_setting(snapshot.config(), "starvation_limit"))


def deadline_points(bead: Bead, now: datetime) -> float:
    """Return the points that an approaching deadline takes off; the most after it has passed, none once the bead is done."""
    deadline = bead.fields.get("deadline")
    if not deadline or bead.is_done:
        return 0.0
    left_s = (instant_of(deadline) - now).total_seconds()
    points = DEADLINE_POINTS * _left_after(left_s, DEADLINE_HALVES_S)
    return points if points >= _NO_POINTS else 0.0


# --- temperature ----------------------------------------------------------------------------


def half_life_of(snapshot: Snapshot) -> float:
    """Return in how many seconds a temperature halves: the hub's setting, regardless of this clone's."""
    return float(hub_setting(snapshot.config(), "heat_half_life"))


def temperature_at(bead: Bead, at: datetime, half_life_s: float) -> float:
    """Return the temperature at an instant, 0-100: the stored one, halved every half-life.

    It never rises by itself, even before its stamp.
    """
    stored = bead.fields.get("temperature")
    if not stored:
        return 0.0
    since = bead.get("heated_at") or bead.updated_at
    elapsed_s = (at - instant_of(since)).total_seconds() if since else 0.0
    warm = min(HOTTEST, max(0.0, float(stored))) * _left_after(elapsed_s, half_life_s)
    return warm if warm >= COLD else 0.0


def _left_after(elapsed_s: float, half_life_s: float) -> float:
    """Return the fraction of a temperature that is left after this time."""
    return float(0.5 ** (max(0.0, elapsed_s) / half_life_s))


def heated(bead: Bead, by: float, at: datetime, half_life_s: float, *, now: datetime) -> Bead:
    """Return the bead heated by this many degrees (negative: cooled) as of `at`.

    A heating that arrives after a later one has cooled on its way. A stamp ahead of `now` comes from a wrong clock, and is set
    back to `now`.
    """
    stamp = bead.get("heated_at")
    when = max(at, min(instant_of(stamp), now)) if stamp else at
    degrees = temperature_at(bead, when, half_life_s) + by * _left_after((when - at).total_seconds(), half_life_s)
    stored = round(min(HOTTEST, max(0.0, degrees)), 2)
    if stored < COLD:
        return bead.evolve(temperature=None, heated_at=None)
    return bead.evolve(temperature=int(stored) if stored.is_integer() else stored, heated_at=time_text(when, exact=True))
