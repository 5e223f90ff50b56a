"""Pacing: when an agent looks for work again (the source paper, section 5, with its figures).

Three empty cycles double the interval, up to two hours; work resets it to the base; after a finished bead the agent looks
immediately. The interval is the longest wait: any wake-up ends it early.
"""

from __future__ import annotations

from datetime import timedelta
from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.core.backoff import grown_s
from bd.core.times import instant_of, time_text

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from typing import Any

    from bd.policy.eligibility import Eligibility

CYCLES_TO_DOUBLE = 3
LONGEST_S = 7200.0
# Cron starts a little early or late: within this part of the interval, at most a minute, a poll counts as due.
SLACK = 0.1
_SLACK_LIMIT_S = 60.0
# Random spread, so that agents that woke together drift apart.
_SPREAD = 0.1
# How often a waiting agent asks the remote for the branch's tip: at this rate on this machine, less and less often elsewhere.
PEEK_NEAR_S = 1.0
PEEK_FAR_S = 30.0
_PEEK_GROWTH = 1.5
# How long a worker waits if the hub can't be reached or is too busy.
AGAIN_S = 15.0
# How long a client waits if its server is away: briefly at first, then longer and longer.
_AWAY_S, _AWAY_LONGEST_S = 5.0, 300.0


class Pace(NamedTuple):
    """An agent's pacing between two polls. Without `next_poll_at` it polls immediately."""

    base_s: float
    empty_cycles: int = 0
    next_poll_at: str | None = None
    idle_since: str | None = None

    @property
    def interval_s(self) -> float:
        """The current seconds between two polls."""
        return interval_s(self.base_s, self.empty_cycles)

    def is_due(self, now: datetime) -> bool:
        """Return whether it is time to poll."""
        return self.wait_s(now) <= min(_SLACK_LIMIT_S, SLACK * self.interval_s)

    def wait_s(self, now: datetime) -> float:
        """Return the seconds until the next poll; 0 if it is due."""
        if not self.next_poll_at:
            return 0.0
        # A clock that was set back must not delay the agent for longer than its interval.
        return min(max(0.0, (instant_of(self.next_poll_at) - now).total_seconds()), self.interval_s * (1 + _SPREAD))

    def found_nothing(self, now: datetime, spread: float) -> Pace:
        """Return the pace after an empty cycle; `spread` is a random number from 0 to 1."""
        after = self._replace(empty_cycles=self.empty_cycles + 1, idle_since=self.idle_since or time_text(now))
        wait_s = after.interval_s * (1 + _SPREAD * (spread - 0.5))
        return after._replace(next_poll_at=time_text(now + timedelta(seconds=wait_s)))

    def stood_by(self, now: datetime, spread: float, again_s: float) -> Pace:
        """Return the pace after a cycle in which the agent could take nothing: it was busy or paused, say.

        That says nothing about the queue, so it counts neither as empty nor as idle. `again_s` is after how long to ask again, if
        that is sooner than the interval.
        """
        wait_s = min(self.interval_s * (1 + _SPREAD * (spread - 0.5)), again_s)
        return self._replace(next_poll_at=time_text(now + timedelta(seconds=wait_s)), idle_since=None)

    def found_work(self, now: datetime, cool_down_s: float = 0.0) -> Pace:
        """Return the pace after work: the base interval, with the next poll now or after the agent's rest."""
        next_at = time_text(now + timedelta(seconds=cool_down_s)) if cool_down_s else None
        return Pace(self.base_s, 0, next_at)

    def as_json(self) -> dict[str, Any]:
        return {"empty_cycles": self.empty_cycles, "next_poll_at": self.next_poll_at, "idle_since": self.idle_since}


def after_none(pace: Pace, answer: Eligibility, now: datetime, spread: float) -> Pace:
    """Return the pace after a cycle in which the agent found no work, or could not have taken any."""
    reason = answer.idle()
    if reason is None:
        return pace.found_nothing(now, spread)
    before = pace._replace(empty_cycles=0) if reason.code == "busy" else pace  # it has found work since
    return before.stood_by(now, spread, answer.retry_after_s(reason))


def is_look_due(last: str | None, now: datetime, every_s: float) -> bool:
    """Return whether the last check was at least `every_s` ago. An unreadable or future time does not count."""
    try:
        since_s = (now - instant_of(last)).total_seconds() if last else every_s
    except ValueError:
        return True
    return not 0 <= since_s < every_s


def interval_s(base_s: float, empty_cycles: int) -> float:
    """Return the interval after this many empty cycles in a row."""
    return max(base_s, grown_s(base_s, empty_cycles // CYCLES_TO_DOUBLE, LONGEST_S))


def peek_pause_s(first_s: float, peeks: int, longest_s: float, spread: float) -> float:
    """Return the seconds until a waiting agent's next peek, after this many; `spread` is a random number from 0 to 1."""
    if first_s <= PEEK_NEAR_S:
        return first_s
    return grown_s(first_s, peeks, longest_s, factor=_PEEK_GROWTH) * (0.8 + 0.4 * spread)


def again_in_s(failures: int, spread: float) -> float:
    """Return the seconds until an unreachable server is tried again; `spread` is a random number from 0 to 1."""
    return grown_s(_AWAY_S, failures, _AWAY_LONGEST_S) * (0.8 + 0.4 * spread)


def pace_of(kept: Mapping[str, Any] | None, base_s: float) -> Pace:
    """Return the pace that a clone has kept; a fresh one if it can't be read."""
    kept = kept or {}
    try:
        cycles = max(0, int(kept.get("empty_cycles") or 0))
        next_at, since = kept.get("next_poll_at"), kept.get("idle_since")
        for text in (next_at, since):
            if text:
                instant_of(text)
    except (TypeError, ValueError):
        return Pace(base_s)
    return Pace(base_s, cycles, next_at, since)
