"""What this clone saw when: for each claim, since when its sign is the same. `<git common dir>/bd/looks.json`.

Times are those of the machine's boot-time clock, which goes on in its sleep and is nobody's to set; across a reboot
the wall clock serves. A look that failed is never recorded.
"""

from __future__ import annotations

from bd import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from bd.store.hub import Hub

NAME = "looks.json"


def record(hub: Hub, signs: Mapping[str, str]) -> dict[str, float]:
    """Note a successful look, and say for how long each sign has been the same, in seconds, by token."""
    return since(hub, NAME, signs)


def since(hub: Hub, name: str, signs: Mapping[str, str]) -> dict[str, float]:
    """The same for any signs, kept in a note of this name."""
    known: dict[str, Any] = hub.noted_json(name) or {}
    present = {"boot": clock.boot_id(), "up_s": clock.uptime(), "at_s": clock.now().timestamp()}
    seen: dict[str, Any] = {}
    for key, sign in signs.items():
        before = known.get("claims", {}).get(key, {})
        first = before["first"] if before.get("sign") == sign and "first" in before else present
        seen[key] = {"sign": sign, "first": first}
    hub.note_json(name, {"last": present, "claims": seen})
    return {key: _between(entry["first"], present) for key, entry in seen.items()}


def last_look_s(hub: Hub) -> float | None:
    """How many seconds ago this clone last looked; None when it never did."""
    last = (hub.noted_json(NAME) or {}).get("last")
    present = {"boot": clock.boot_id(), "up_s": clock.uptime(), "at_s": clock.now().timestamp()}
    return _between(last, present) if last else None


def _between(first: Mapping[str, Any], last: Mapping[str, Any]) -> float:
    key = "up_s" if first.get("boot") == last.get("boot") else "at_s"
    return max(0.0, float(last[key]) - float(first[key]))
