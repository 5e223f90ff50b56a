"""Overload: an agent whose attempts fail on several beads gets no work until a probe succeeds.

The rule, and an agent's record of its last attempts: the keys `recent`, `failed_tasks` and `overloaded_at` of its capacity file.
What follows for its room is in capacity.py.
"""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.times import instant_of, time_text
from bd.core.value import Value

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from typing import Any

    from bd.core.model import Snapshot

DONE = "done"
# An overloaded agent may try one bead after this many of its intervals.
PROBE_AFTER_INTERVALS = 2


class Rules(Value):
    """Overloaded after failures of this many different beads among the last attempts; 0 failures: never."""

    failures: int = 2
    attempts: int = 5


class Ending(Value):
    """How an attempt of an agent on a bead ended: `what` is done, failed or stalled."""

    agent: str
    what: str
    bead: str


def rules_of(snapshot: Snapshot) -> Rules:
    """Return the hub's figures (`overload`); unreadable ones keep the defaults."""
    given = snapshot.config().get("overload")
    figures = {key: given.get(key) for key in Rules._fields} if isinstance(given, dict) else {}
    whole = {
        key: value for key, value in figures.items() if isinstance(value, int) and not isinstance(value, bool) and value >= 0
    }
    return Rules(**{key: max(1, value) if key == "attempts" else value for key, value in whole.items()})


def failed_attempts(record: Mapping[str, Any], rules: Rules) -> int:
    """Return how many of the last attempts failed or stalled."""
    return len(_failures(record, rules))


def failed_beads(record: Mapping[str, Any], rules: Rules) -> list[str]:
    """Return the beads that failed among the last attempts, each once; "" for each whose name was not kept (bd 0.9)."""
    names = [entry.partition(" ")[2] for entry in _failures(record, rules)]
    return [name for number, name in enumerate(names) if not name or name not in names[:number]]


def is_overloaded(record: Mapping[str, Any], rules: Rules) -> bool:
    """Return whether failures of too many different beads are among the last attempts."""
    return 0 < rules.failures <= len(failed_beads(record, rules))


def words_of(record: Mapping[str, Any]) -> list[str]:
    """Return how the last attempts ended, without their beads."""
    return [str(entry).partition(" ")[0] for entry in record.get("recent") or []]


def _failures(record: Mapping[str, Any], rules: Rules) -> list[str]:
    recent = [str(entry) for entry in record.get("recent") or []]
    return [entry for entry in recent[-rules.attempts :] if entry.partition(" ")[0] != DONE]


def after(record: Mapping[str, Any], ending: Ending, at: datetime, interval_s: float, rules: Rules) -> dict[str, Any]:
    """Return the keys of a capacity record after one more attempt: `recent`, `failed_tasks`, `overloaded_at` (None unsets).

    An overload ends when the agent finishes a bead once a probe was due, or one of those that it had failed.
    """
    was_overloaded = is_overloaded(record, rules)
    is_done = ending.what == DONE
    if (
        is_done
        and was_overloaded
        and (probe_in_s(record, at, interval_s) <= 0 or (ending.bead and ending.bead in failed_beads(record, rules)))
    ):
        return {"recent": None, "failed_tasks": 0, "overloaded_at": None}
    entry = DONE if is_done else f"{ending.what} {ending.bead}".rstrip()
    now = {"recent": [*(record.get("recent") or []), entry][-rules.attempts :]}
    since = None
    if is_overloaded(now, rules):
        since = record.get("overloaded_at") if is_done else time_text(at)
    return {**now, "failed_tasks": failed_attempts(now, rules), "overloaded_at": since}


def probe_in_s(record: Mapping[str, Any], now: datetime, interval_s: float) -> float:
    """Return the seconds until an overloaded agent may try any bead; 0 or less if it may now."""
    since = record.get("overloaded_at")
    return PROBE_AFTER_INTERVALS * interval_s - (now - instant_of(since)).total_seconds() if since else 0.0
