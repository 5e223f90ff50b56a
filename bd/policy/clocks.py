"""Which clocks of a fleet can be believed, by what its commits and heartbeats are stamped with.

Two clocks of a fleet may differ by `SKEW_S`. Nobody can ask a clock whether it is right; but a stamp that somebody else gave
a moment ago shows that two clocks agree, and a commit dated long before what it follows shows that two of them do not.
"""

from __future__ import annotations

from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.core.times import SKEW_S, age_text, time_text

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime


class Stamp(NamedTuple):
    """When somebody wrote something, by their own clock; `after` is the newest date of what it was written onto, if known."""

    by: str
    at: datetime
    after: datetime | None = None

    @property
    def is_backdated(self) -> bool:
        """True if it is dated before what it follows, by more than two clocks may differ."""
        return self.after is not None and (self.after - self.at).total_seconds() > SKEW_S


class Clocks(NamedTuple):
    """The state of the clocks by the stamps on a hub: `is_confirmed` for the observer's, and the names whose clock is `doubted`.

    `nearest` is the stamp of somebody else that comes closest to the observer's `now`.
    """

    now: datetime
    is_confirmed: bool
    doubted: frozenset[str] = frozenset()
    nearest: Stamp | None = None

    def trusts(self, name: str) -> bool:
        """Return whether the observer's clock can measure the age of this name's stamps."""
        return self.is_confirmed and name not in self.doubted

    def words(self) -> str:
        """Return why the observer's clock is not confirmed, as a sentence; empty if it is."""
        if self.is_confirmed:
            return ""
        mine = f"this machine's clock ({time_text(self.now)})"
        if self.nearest is None:
            return f"nothing that others wrote to the hub confirms {mine}"
        apart = age_text(_apart_s(self.nearest, self.now) + 30)  # to the nearest minute
        return f"{mine} and the closest stamp of others on the hub ({time_text(self.nearest.at)}, by {self.nearest.by}) differ by {apart}"


def judged(stamps: Iterable[Stamp], me: str, now: datetime) -> Clocks:
    """Judge the clocks by these stamps, for an observer called `me`. Any clock that is not doubted is enough to confirm another."""
    known = list(stamps)
    doubted = frozenset(stamp.by for stamp in known if stamp.is_backdated)
    others = [stamp for stamp in known if stamp.by not in (me, *doubted)]
    nearest = min(others, key=lambda stamp: _apart_s(stamp, now), default=None)
    return Clocks(now, nearest is not None and _apart_s(nearest, now) <= SKEW_S, doubted, nearest)


def _apart_s(stamp: Stamp, now: datetime) -> float:
    return abs((stamp.at - now).total_seconds())
