"""Schedules: when a cron expression is due, in its time zone, and the fields of the beads it makes.

A tick is due once: ticks up to `last_tick` are past forever, and of several missed ones only the last is due. Agents' own cron
lines are in schedule/crontab.py.
"""

from __future__ import annotations

from datetime import UTC, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError

from bd import TYPE_CHECKING
from bd.core.errors import BadInput
from bd.core.times import instant_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime, tzinfo
    from typing import Any

    from bd.core.model import Snapshot

# The fields that a schedule gives its beads.
BEAD_KEYS = ("title", "type", "priority", "labels", "description", "assignee", "needs", "expected", "parent")
_FIELDS = 5
# What a step goes through, by field.
_RANGES = (("minutes", 0, 59), ("hours", 0, 23), ("days", 1, 31), ("months", 1, 12), ("weekdays", 0, 6))
_DIGITS = 9


def schedules_of(snapshot: Snapshot) -> list[dict[str, Any]]:
    """Return the hub's schedules, in their order; entries without a name are ignored."""
    found = snapshot.config().get("schedules")
    return [dict(one) for one in found or [] if isinstance(one, dict) and one.get("name")] if isinstance(found, list) else []


def schedule_of(name: str, snapshot: Snapshot) -> dict[str, Any] | None:
    """Return the schedule with a name."""
    return next((one for one in schedules_of(snapshot) if one["name"] == name), None)


def check(cron: str, tz: str, at: datetime) -> None:
    """Raise BadInput if the cron expression or the time zone is invalid, or it never fires after an instant."""
    _refuse_wide_steps(cron)
    if next(_ticks(cron, _zone(tz), at), None) is None:
        raise BadInput(f"the schedule {cron!r} never fires", hint='minute hour day month weekday, such as "0 9 * * 1"')


def _refuse_wide_steps(cron: str) -> None:
    """Raise BadInput for a step that is longer than what it steps through: it comes as if it said something else."""
    for text, (name, low, high) in zip(cron.split(), _RANGES, strict=False):
        for part in text.split(","):
            span, _, step = part.partition("/")
            first, dash, last = span.partition("-")
            begin, end = _whole(first), _whole(last)
            length = end - begin + 1 if dash and begin is not None and end is not None else high - low + 1
            if (_whole(step) or 0) > length:
                words = f"the step {step} in {part!r} is longer than the {length} {name} of its {'range' if dash else 'field'}"
                raise BadInput(f"{cron!r}: {words}", hint=f"a step of at most {length}, or a list such as 0,30")


def _whole(text: str) -> int | None:
    """The number that is written in digits, as far as it matters; None for any other text."""
    if not (text.isascii() and text.isdigit()):
        return None
    return int(text) if len(text) <= _DIGITS else 10**_DIGITS


def due_tick(schedule: Mapping[str, Any], now: datetime) -> datetime | None:
    """Return the last due tick that was not made; None if there is none. Raises BadInput if the schedule can't be read."""
    minute = now.replace(second=0, microsecond=0) + timedelta(minutes=1)
    found = next(_ticks(str(schedule.get("cron")), _zone(schedule.get("tz")), minute, back=True), None)
    last = schedule.get("last_tick")
    return None if found is None or (last and found <= instant_of(last)) else found


def next_tick(schedule: Mapping[str, Any], now: datetime) -> datetime | None:
    """Return when it is next due."""
    return next(_ticks(str(schedule.get("cron")), _zone(schedule.get("tz")), now), None)


def next_or_why(schedule: Mapping[str, Any], now: datetime) -> tuple[datetime | None, str]:
    """Return when it is next due; or why it never is."""
    try:
        tick = next_tick(schedule, now)
    except BadInput as error:
        return None, error.message
    return tick, "" if tick else "never fires"


def _ticks(cron: str, zone: tzinfo, start: datetime, *, back: bool = False) -> Iterator[datetime]:
    if len(cron.split()) != _FIELDS:
        raise BadInput(
            f"{cron!r} is not a cron expression", hint='five fields: minute hour day month weekday, such as "0 9 * * 1"'
        )
    try:
        for tick in CronSim(cron, start.astimezone(zone), reverse=back):
            yield tick.astimezone(UTC)
    except (CronSimError, ValueError) as error:  # a ValueError for a number of thousands of digits
        words = f"{cron!r} is not a cron expression: {str(error).lower()}"
        raise BadInput(words, hint='minute hour day month weekday, such as "0 9 * * 1"') from None


def _zone(name: str | None) -> tzinfo:
    try:
        return ZoneInfo(name or "UTC")
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise BadInput(f"there is no time zone {name!r}", hint="--tz Europe/Berlin, --tz UTC") from None
