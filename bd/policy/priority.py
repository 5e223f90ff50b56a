"""What a bead's priority is made of: its base, its tier, and the points that move it.

Belongs here: the figures (docs/priority.md has them in a table) and what one bead's own file says at an
instant. Does not belong here: what other beads have a say in, and the order of many (ranking.py). All goes
by the hub's settings alone, so that every clone has the same order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from bd.core.queries import rank_of
from bd.core.settings import hub_setting
from bd.core.times import instant_of, time_text

if TYPE_CHECKING:
    from datetime import datetime

    from bd.core.model import Bead, Snapshot

# The finer scale behind P0..P4 (docs/format.md): the last value of the range of each.
_LAST_OF_PRIORITY = (9, 29, 59, 79, 100)
TIERS = ("critical", "high", "normal", "low", "background")

# No boost lifts a bead to or above the critical ones before it has starved.
FLOOR = 10.0
# At its deadline a bead is this many points more urgent, and half of that so much earlier, half of that again ...
DEADLINE_POINTS = 40.0
DEADLINE_HALVES_S = 6 * 3600.0
_NO_POINTS = 0.1  # a deadline further away than this many points tells is none yet
# Each bead of the longest chain that waits for this one counts so much.
POINTS_PER_LINK = 2.0

HOTTEST = 100.0
# A temperature of 100 counts for 10 points: less than lies between two of P0..P4, so attention
# orders the beads of one priority and lifts none of them into the next.
POINTS_PER_DEGREE = 0.1
# What has cooled below this is cold (a hundredth of a point): old attention one day leaves the order to age.
COLD = 0.1
# How much each kind of attention heats a bead.
HEAT = {
    "asked": 10.0,  # `bd heat` without a number: one point, which is what ten minutes of waiting are worth
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


def tier_of(base: float) -> str:
    """The name of the tier a base priority lies in."""
    return TIERS[priority_of_base(base)]


# --- age and deadline -----------------------------------------------------------------------


class Pace(NamedTuple):
    """How age counts in a hub: points a minute, and after how many minutes a bead has starved."""

    per_minute: float
    limit_min: float


def pace_of(snapshot: Snapshot) -> Pace:
    """The hub's pace, whatever this clone's settings may be."""
    config = snapshot.config()
    limit_s = float(hub_setting(config, "starvation_limit"))
    return Pace(float(hub_setting(config, "priority_boost_per_minute")), limit_s / 60)


def deadline_points(bead: Bead, now: datetime) -> float:
    """How many points the nearness of its deadline takes off; the most once it has passed, none once the bead is done."""
    deadline = bead.fields.get("deadline")
    if not deadline or bead.is_done:
        return 0.0
    left_s = (instant_of(deadline) - now).total_seconds()
    points = DEADLINE_POINTS * _left_after(left_s, DEADLINE_HALVES_S)
    return points if points >= _NO_POINTS else 0.0


# --- temperature ----------------------------------------------------------------------------


def half_life_of(snapshot: Snapshot) -> float:
    """Seconds in which a temperature falls to its half: the hub's setting, whatever this clone's may be."""
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
