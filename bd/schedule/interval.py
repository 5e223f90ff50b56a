"""The times at which an agent is started: an interval as minutes and hours of the day, shifted by the agent's name.

Agents with the same interval start at different minutes, each always at the same ones. crontab.py and systemd_units.py write the
times into files.
"""

from __future__ import annotations

import hashlib
from typing import NamedTuple

from bd.core.errors import BadInput

MINUTES = 60
DAY = 24 * MINUTES
# Intervals that lists of minutes and hours can express for every day: the divisors of an hour, and of a day.
EXPRESSIBLE = tuple(
    [number for number in range(1, MINUTES) if MINUTES % number == 0]
    + [number * MINUTES for number in range(1, 25) if 24 % number == 0]
)


class Timetable(NamedTuple):
    """`minutes` in each of the `hours` (empty for every hour). `interval_s` is the real interval, `asked_s` the requested one."""

    interval_s: int
    asked_s: float
    minutes: tuple[int, ...]
    hours: tuple[int, ...]

    @property
    def is_rounded(self) -> bool:
        return self.interval_s != self.asked_s

    @property
    def cron(self) -> str:
        """The first five fields of a crontab line."""
        minutes = "*" if len(self.minutes) == MINUTES else ",".join(map(str, self.minutes))
        return f"{minutes} {','.join(map(str, self.hours)) or '*'} * * *"

    @property
    def calendar(self) -> str:
        """The same as a systemd calendar event."""
        minutes = "*" if len(self.minutes) == MINUTES else ",".join(f"{minute:02}" for minute in self.minutes)
        return f"*-*-* {','.join(f'{hour:02}' for hour in self.hours) or '*'}:{minutes}:00"

    @property
    def spread_s(self) -> int:
        """The random delay that a timer may add to each start."""
        return max(1, min(300, self.interval_s // 20))


def timetable(agent: str, interval_s: float) -> Timetable:
    """Return the agent's times. An interval that lists can't express becomes the next shorter one.

    Raises BadInput below a minute.
    """
    if interval_s < 60:
        raise BadInput("the shortest interval is one minute", hint="--interval 1m, or `bd work` without --once")
    interval = max(number for number in EXPRESSIBLE if number * 60 <= interval_s)
    shift = int.from_bytes(hashlib.sha256(agent.encode()).digest()[:8], "big") % interval
    minutes = range(shift % MINUTES, MINUTES, min(interval, MINUTES))
    hours = range(shift // MINUTES, 24, interval // MINUTES) if interval > MINUTES else ()
    return Timetable(interval * 60, interval_s, tuple(minutes), tuple(hours))
