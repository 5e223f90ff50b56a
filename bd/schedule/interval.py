"""When an agent wakes up: an interval as minutes and hours of the day, its own by the agent's name.

Two agents with one interval wake up at different minutes, and each always at the same ones. Belongs
here: which minutes. Does not belong here: the files they are written into (crontab.py, systemd_units.py).
"""

from __future__ import annotations

import hashlib
from typing import NamedTuple

from bd.core.errors import BadInput

MINUTES = 60
DAY = 24 * MINUTES
# What can be said in lists of minutes and hours that are the same every day: the divisors of an hour, and of a day.
EXPRESSIBLE = tuple(
    [number for number in range(1, MINUTES) if MINUTES % number == 0]
    + [number * MINUTES for number in range(1, 25) if 24 % number == 0]
)


class Timetable(NamedTuple):
    """`minutes` of each of the `hours` (none: of every hour). `interval_s` is kept, `asked_s` was asked for."""

    interval_s: int
    asked_s: float
    minutes: tuple[int, ...]
    hours: tuple[int, ...]

    @property
    def is_rounded(self) -> bool:
        return self.interval_s != self.asked_s

    @property
    def cron(self) -> str:
        """The five fields of a crontab's line."""
        minutes = "*" if len(self.minutes) == MINUTES else ",".join(map(str, self.minutes))
        return f"{minutes} {','.join(map(str, self.hours)) or '*'} * * *"

    @property
    def calendar(self) -> str:
        """The same as a calendar event of systemd."""
        minutes = "*" if len(self.minutes) == MINUTES else ",".join(f"{minute:02}" for minute in self.minutes)
        return f"*-*-* {','.join(f'{hour:02}' for hour in self.hours) or '*'}:{minutes}:00"

    @property
    def spread_s(self) -> int:
        """By how much a timer that can may vary each start."""
        return max(1, min(300, self.interval_s // 20))


def timetable(agent: str, interval_s: float) -> Timetable:
    """The agent's times. An interval that is in no lists becomes the next shorter one. Raises BadInput below a minute."""
    if interval_s < 60:
        raise BadInput(
            "nothing is started by the clock more than once a minute", hint="--interval 1m, or `bd work` without --once"
        )
    interval = max(number for number in EXPRESSIBLE if number * 60 <= interval_s)
    shift = int.from_bytes(hashlib.sha256(agent.encode()).digest()[:8], "big") % interval
    minutes = range(shift % MINUTES, MINUTES, min(interval, MINUTES))
    hours = range(shift // MINUTES, 24, interval // MINUTES) if interval > MINUTES else ()
    return Timetable(interval * 60, interval_s, tuple(minutes), tuple(hours))
