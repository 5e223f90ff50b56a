"""When a provider works again, by what it said: a time stated in data, or in the words of an error.

Words count only with a time zone, or as a duration from now: a bare "3pm" may be anybody's.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from bd import TYPE_CHECKING
from bd.core.times import at_seconds, canonical_time, instant_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_TEXT_LIMIT = 4000
# A time counts only shortly after one of these words.
_ABOUT = r"(?:\bresets?\b|\bretry\b|\btry(?:ing)? again\b|\bavailable\b|\buntil\b|\blimit reached\b)[^\n]{0,60}?"
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_UNITS = {"ms": 0.001, "s": 1, "sec": 1, "second": 1, "m": 60, "min": 60, "minute": 60, "h": 3600, "hr": 3600, "hour": 3600}
_UNITS |= {"d": 86400, "day": 86400}
_AMOUNT = r"(\d+(?:\.\d+)?)\s*(ms|s|sec|second|m|min|minute|h|hr|hour|d|day)s?(?![a-z])"
_ISO = re.compile(_ABOUT + r"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?)\s?(Z|UTC|GMT|[+-]\d\d:?\d\d)", re.IGNORECASE)
_EPOCH = re.compile(_ABOUT + r"(?<![\d.])(\d{10}|\d{13})(?!\d)", re.IGNORECASE)
_SPAN = re.compile(_ABOUT + rf"\b(?:in|after)\s+((?:{_AMOUNT}(?:,?\s*(?:and\s+)?)?)+)", re.IGNORECASE)
_CLOCK = re.compile(
    _ABOUT + r"(?:\b([a-z]{3})[a-z]*\.?\s+(\d{1,2})(?:,|\s+at)?\s+)?(?<![\d:.])(\d{1,2})(?::(\d\d))?\s*([ap]m)?\s*"
    r"\(?\s*([A-Z][A-Za-z_]+/[A-Za-z_]+(?:/[A-Za-z_]+)?|UTC|GMT)\b",
    re.IGNORECASE,
)


def stated_time(said: Any) -> datetime | None:
    """Return a time from data: a text with a zone, or Unix seconds or milliseconds; None if it is neither."""
    try:
        if isinstance(said, (int, float)) and not isinstance(said, bool) and math.isfinite(said):
            return at_seconds(said / 1000 if said > 1e11 else said)
        if isinstance(said, str) and said.strip().isascii() and said.strip().isdigit():
            return stated_time(int(said.strip()))
        if isinstance(said, str) and re.search(r"(?:Z|[+-]\d\d:?\d\d)\s*$", said):
            return instant_of(canonical_time(said))
    except (ValueError, OverflowError, OSError):
        pass
    return None


def stated_reset(text: str, now: datetime) -> datetime | None:
    """Return when an error's words say that it is over; None if they don't, or not in a way that one can rely on."""
    for pattern, read in _READERS:
        match = pattern.search(text[:_TEXT_LIMIT])
        try:
            found = read(match, now) if match else None
        except (ValueError, OverflowError, OSError, KeyError):  # no such hour, day or zone
            found = None
        if found is not None:
            return found
    return None


def _iso(match: re.Match[str], _now: datetime) -> datetime | None:
    zone = "+00:00" if match[2].upper() in ("Z", "UTC", "GMT") else match[2]
    return datetime.fromisoformat(match[1].replace(" ", "T") + zone).astimezone(UTC)


def _epoch(match: re.Match[str], _now: datetime) -> datetime | None:
    return stated_time(int(match[1]))


def _span(match: re.Match[str], now: datetime) -> datetime | None:
    amounts = re.findall(_AMOUNT, match[1], re.IGNORECASE)
    return now + timedelta(seconds=sum(float(number) * _UNITS[unit.lower()] for number, unit in amounts))


def _clock(match: re.Match[str], now: datetime) -> datetime | None:
    """Return the next such time of day in its zone, on the stated day if there is one."""
    month, day, hour, minute, half, zone = match.groups()
    if minute is None and half is None:
        return None
    number = int(hour)
    if half:
        if not 1 <= number <= 12:
            return None
        number = number % 12 + (12 if half.lower() == "pm" else 0)
    here = now.astimezone(UTC if zone.upper() in ("UTC", "GMT") else ZoneInfo(zone))
    there = here.replace(hour=number, minute=int(minute or 0), second=0, microsecond=0)
    if month:
        there = there.replace(month=_MONTHS.index(month.lower()) + 1, day=int(day))
        return there if there >= here - timedelta(days=30) else there.replace(year=there.year + 1)
    return there if there > here else there + timedelta(days=1)


_READERS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str], datetime], datetime | None]], ...] = (
    (_ISO, _iso),
    (_EPOCH, _epoch),
    (_SPAN, _span),
    (_CLOCK, _clock),
)
