"""Observations: since when this clone has seen each heartbeat unchanged. `<git common dir>/bd/looks.json`.

Times are those of the machine's boot-time clock, which continues during sleep and can't be set; across a reboot the wall clock is
used. Failed fetches are never recorded.
"""

from __future__ import annotations

from bd import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from bd.core.runtime import Runtime
    from bd.store.replica import Replica

NAME = "looks.json"


def since(replica: Replica, name: str, signs: Mapping[str, str]) -> dict[str, float]:
    """Record an observation in the named note. Return for how many seconds each heartbeat has been the same."""
    noted = (replica.noted_json(name) or {}).get("claims")
    known: dict[str, Any] = noted if isinstance(noted, dict) else {}
    present = _present(replica.runtime)
    seen: dict[str, Any] = {}
    for key, sign in signs.items():
        before = known.get(key)
        first = before.get("first") if isinstance(before, dict) and before.get("sign") == sign else None
        seen[key] = {"sign": sign, "first": first if _is_instant(first) else present}
    replica.note_json(name, {"last": present, "claims": seen})
    return {key: _between(entry["first"], present) for key, entry in seen.items()}


def last_look_s(replica: Replica) -> float | None:
    """Return how many seconds ago this clone last observed heartbeats; None if it never did."""
    last: Any = (replica.noted_json(NAME) or {}).get("last")
    return _between(last, _present(replica.runtime)) if _is_instant(last) else None


def _present(runtime: Runtime) -> dict[str, Any]:
    return {"boot": runtime.boot_id(), "up_s": runtime.uptime(), "at_s": runtime.now().timestamp()}


def _is_instant(value: Any) -> bool:
    """Return whether a note's value is an instant.

    If not, the heartbeat counts as not seen before, which only makes a claim look younger.
    """
    return isinstance(value, dict) and all(type(value.get(key)) in (int, float) for key in ("up_s", "at_s"))


def _between(first: Mapping[str, Any], last: Mapping[str, Any]) -> float:
    key = "up_s" if first.get("boot") == last.get("boot") else "at_s"
    return max(0.0, float(last[key]) - float(first[key]))
