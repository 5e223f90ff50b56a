"""Times and durations, and their texts.

Instants are aware and UTC; their text is RFC 3339 ending in Z. A duration is `90s`, `45m`, `2h` or `1d`. The current time comes
from the Runtime (runtime.py).
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from bd.core.errors import BadInput

# The largest difference expected between two clocks of a fleet.
SKEW_S = 1800.0
_UNIT_S = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_LONGEST_S = 36525 * 86400
_FIGURES = "0123456789."
_BACK = "write 2026-02-21, 2026-02-21T15:00Z, yesterday, or 2h for two hours ago"
_FRACTION = r"(?<=:\d\d)\.\d+"


def at_seconds(seconds: float) -> datetime:
    """Return the instant of a Unix time, aware, UTC."""
    return datetime.fromtimestamp(seconds, UTC)


def time_text(instant: datetime, *, exact: bool = False) -> str:
    """Return the RFC 3339 form ending in Z: whole seconds, or microseconds if `exact`."""
    utc = instant.astimezone(UTC).replace(tzinfo=None)
    return utc.isoformat(timespec="microseconds" if exact else "seconds") + "Z"


def time_of_seconds(seconds: int) -> str:
    """Return the canonical text of a Unix time, as in git's commits."""
    return time_text(at_seconds(seconds))


def instant_of(text: str) -> datetime:
    """Parse a canonical time text. Raises ValueError for anything else."""
    return datetime.fromisoformat(text)


def unix_seconds(text: str) -> int:
    """Return the Unix time of a canonical text, in whole seconds."""
    return int(instant_of(text).timestamp())


def is_canonical(text: str) -> bool:
    """Return whether the text has the form `2026-02-21T15:00:00Z`, possibly with a fraction. Its numbers are not checked."""
    if len(text) < 20 or not text.isascii() or text[4] + text[7] + text[10] + text[13] + text[16] + text[-1] != "--T::Z":
        return False
    numbers = text[:4] + text[5:7] + text[8:10] + text[11:13] + text[14:16] + text[17:19]
    return numbers.isdigit() and (len(text) == 20 or (text[19] == "." and text[20:-1].isdigit()))


def canonical_time(text: str) -> str:
    """Return a stored time in its canonical form: UTC ending in Z, with the fraction as written.

    A time with an offset is converted; one without is UTC. Raises ValueError.
    """
    text = text.strip()
    if is_canonical(text):
        datetime.fromisoformat(text)
        return text
    instant = datetime.fromisoformat(text.replace(" ", "T", 1) if "T" not in text else text)
    if instant.tzinfo is None:
        instant = instant.replace(tzinfo=UTC)
    fraction = re.search(_FRACTION, text)
    try:
        whole = time_text(instant)
        return f"{whole[:-1]}{fraction.group()}Z" if fraction else whole
    except OverflowError:
        raise ValueError(f"{text!r} is out of range") from None


def duration_s(text: str) -> float:
    """Return the seconds of a duration such as `90s`, `1h30m`, `2d`; a bare number is seconds. Raises BadInput."""
    seconds = _seconds_of(text.strip().lower())
    if seconds is None:
        raise BadInput(f"{text!r} is not a duration", hint="write 90s, 45m, 2h or 1d")
    if seconds > _LONGEST_S:
        raise BadInput(f"{text!r} is longer than a century")
    return seconds


def _seconds_of(text: str) -> float | None:
    """Return the seconds of a duration; None if it is not one."""
    if _is_number(text):
        return float(text)
    seconds, rest = 0.0, text
    while rest:
        behind = rest.lstrip(_FIGURES)
        number, behind = rest[: len(rest) - len(behind)], behind.lstrip()
        if not _is_number(number) or behind[:1] not in _UNIT_S:
            return None
        seconds += float(number) * _UNIT_S[behind[0]]
        rest = behind[1:]
    return seconds if text else None


def _is_duration(text: str) -> bool:
    """Return whether a typed time is a distance from now. A bare number is not: it may be a date, and has no unit."""
    return not _is_number(text) and _seconds_of(text) is not None


def _is_number(text: str) -> bool:
    """Return whether the text is digits, possibly with a decimal point."""
    whole, point, part = text.partition(".")
    return text.isascii() and whole.isdigit() and (part.isdigit() if point else True)


def duration_text(seconds: float) -> str:
    """Return the shortest exact text of a duration: `90s`, `45m`, `2h`, `1d`."""
    whole = int(seconds)
    for unit in ("d", "h", "m"):
        if whole and whole % _UNIT_S[unit] == 0:
            return f"{whole // _UNIT_S[unit]}{unit}"
    return f"{whole}s"


def age_text(seconds: float) -> str:
    """Return an approximate duration for people: `40s`, `2m`, `3h`, `5d`."""
    seconds = max(0.0, seconds)
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= size:
            return f"{int(seconds // size)}{unit}"
    return f"{int(seconds)}s"


def typed_time(text: str, present: datetime) -> str:
    """Return the canonical time that a person typed: a date, a time, `tomorrow`, `2h` or `+3d` from now.

    A date alone means its first second, UTC. Raises BadInput.
    """
    word = text.strip().lower()
    midnight = present.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    days = {"today": 0, "tomorrow": 1, "next week": 7}
    if word in days:
        return time_text(midnight + timedelta(days=days[word]))
    if word == "now":
        return time_text(present)
    later = word.removeprefix("+")
    if _is_duration(later):
        return time_text(present + timedelta(seconds=duration_s(later)))
    try:
        return canonical_time(text)
    except ValueError:
        raise BadInput(
            f"{text!r} is not a time", hint="write 2026-02-21, 2026-02-21T15:00Z, tomorrow, or 2h for in two hours"
        ) from None


def past_instant(text: str, present: datetime) -> datetime:
    """Return the instant that a person typed as a time, or as a duration ago. Raises BadInput if it is in the future."""
    instant = instant_back(text, present)
    if instant > present:
        raise BadInput(f"{text} is in the future", hint=_BACK)
    return instant


def instant_back(text: str, present: datetime) -> datetime:
    """Return the instant that a person typed as a time, past or future, or as a duration ago. Raises BadInput."""
    word = text.strip().lower()
    ago = word.removesuffix(" ago").strip().removeprefix("+")
    if _is_duration(ago):
        return present - timedelta(seconds=duration_s(ago))
    if word == "yesterday":
        return instant_of(typed_time("today", present)) - timedelta(days=1)
    try:
        return instant_of(typed_time(text, present))
    except BadInput as error:
        raise BadInput(error.message, hint=_BACK) from None
