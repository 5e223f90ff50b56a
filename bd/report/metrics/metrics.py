"""A fleet's performance in numbers: queue, waits, throughput, conflicts, agents. Pure: a flow and a snapshot in, values out."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.core.times import time_of_seconds, time_text
from bd.policy.budget import remaining
from bd.policy.capacity import limit_of
from bd.policy.priority import TIERS, base_priority, tier_of
from bd.policy.readiness import Readiness
from bd.report import costs
from bd.report.bead_events import CLAIMING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime
    from typing import Any

    from bd.core.model import Snapshot
    from bd.report.metrics.flow import Flow, Row

QUANTILES = (50, 95, 99)
_FAILED = frozenset({"failed", "freed"})
# The most bars: days, or hours of the last two days.
BARS = 48


class Window(NamedTuple):
    """The period examined, in Unix seconds."""

    start_s: int
    end_s: int

    @property
    def length_s(self) -> int:
        return max(1, self.end_s - self.start_s)


def measure(flow: Flow, snapshot: Snapshot, now: datetime, since: datetime | None = None) -> dict[str, Any]:
    """Return the numbers of a period that ends now; without `since` it starts with the hub's first work."""
    end_s = int(now.timestamp())
    first_s = int(since.timestamp()) if since else min((row.at_s for row in flow.rows), default=end_s)
    window = Window(min(first_s, end_s), end_s)
    rows = [row for row in flow.rows if window.start_s <= row.at_s <= end_s]
    spent = list(costs.paid(snapshot, time_of_seconds(window.start_s) if since else ""))
    return {
        "since": time_of_seconds(window.start_s),
        "until": time_text(now),
        "queue": queue(snapshot, now),
        "wait_s": spread([row.wait_s for row in rows if row.what in CLAIMING and row.wait_s >= 0]),
        "work_s": spread([row.work_s for row in rows if row.done and row.work_s >= 0]),
        "throughput": _throughput(rows, window),
        "contention": contention(rows),
        "attempts": _attempts(rows),
        "dead_letters": {
            "now": sum(1 for bead in snapshot.live() if bead.status == "dead_letter"),
            "made": sum(row.what == "dead letter" for row in rows),
        },
        "cost": _cost(spent, now),
        "agents": [{**agent, **_budget(agent["agent"], spent, snapshot, now)} for agent in _agents(flow, rows, window, snapshot)],
    }


def queue(snapshot: Snapshot, now: datetime) -> list[dict[str, Any]]:
    """Return how many unfinished beads are in each phase and tier."""
    found: Counter[tuple[str, str]] = Counter()
    readiness = Readiness(snapshot, now)
    for bead in snapshot.live():
        found[readiness.phase(bead), tier_of(base_priority(bead))] += 1
    order = {tier: place for place, tier in enumerate(TIERS)}
    keys = sorted(found, key=lambda key: (key[0], order[key[1]]))
    return [{"phase": phase, "tier": tier, "beads": found[phase, tier]} for phase, tier in keys]


def spread(values: Sequence[int]) -> dict[str, Any]:
    """Return the count, the mean, and the quantiles: each the smallest value that this percentage does not exceed."""
    if not values:
        return {"count": 0}
    ordered = sorted(values)
    places = {f"p{part}": ordered[max(0, -(-len(ordered) * part // 100) - 1)] for part in QUANTILES}
    return {"count": len(ordered), "mean": round(sum(ordered) / len(ordered), 1), **places, "max": ordered[-1]}


def _throughput(rows: Iterable[Row], window: Window) -> dict[str, Any]:
    done = [row for row in rows if row.done]
    hours = window.length_s / 3600
    return {
        "created": sum(row.what == "created" for row in rows),
        "closed": len(done),
        "closed_per_hour": round(len(done) / hours, 2),
        "by_type": dict(sorted(Counter(row.type for row in done).items())),
        "bars": bars([row.at_s for row in done], window),
    }


def bars(instants: Iterable[int], window: Window) -> list[dict[str, Any]]:
    """Count events per part of the window: minutes, hours, days or weeks, so that there are not too many bars."""
    size = size_of(window)
    found = Counter(at_s // size for at_s in instants)
    first, last = window.start_s // size, window.end_s // size
    return [{"at": time_of_seconds(place * size), "closed": found[place]} for place in range(first, last + 1)][-BARS - 1 :]


def size_of(window: Window) -> int:
    """Return the length of a part, in seconds."""
    return next((size for size in (60, 600, 3600, 86400, 604800) if window.length_s / size <= BARS), 604800 * 4)


def contention(rows: Iterable[Row]) -> dict[str, Any]:
    """Return how often pushes for claims and their ends were lost to others, from the counts in the commits."""
    pushed = [row.tries for row in rows if row.tries]
    claims = sum(row.what in CLAIMING for row in rows)
    pushes, lost = sum(pushed), sum(pushed) - len(pushed)
    return {
        "claims": claims,
        "pushes": pushes,
        "lost": lost,
        "conflict_rate": round(lost / pushes, 4) if pushes else 0.0,
        "pushes_per_claim": round(pushes / claims, 2) if claims else 0.0,
    }


def _attempts(rows: Iterable[Row]) -> dict[str, Any]:
    ended = [row for row in rows if row.work_s >= 0 or row.reason]
    failed = Counter(row.reason or row.what for row in ended if row.what in _FAILED)
    return {
        "succeeded": sum(row.done for row in ended),
        "failed": sum(failed.values()),
        "given_back": sum(row.what in ("released", "parked", "taken back") for row in ended),
        "by_reason": dict(sorted(failed.items())),
    }


def _cost(spent: Sequence[costs.Paid], now: datetime) -> dict[str, Any]:
    """Return the cost of attempts: in total, today, and by type, agent and model."""
    groups: dict[tuple[str, str, str], float] = {}
    for one in spent:
        key = one.bead.type, one.agent, one.model
        groups[key] = groups.get(key, 0.0) + one.usd
    today = time_text(now)[:10]
    return {
        "usd": _usd(spent),
        "today_usd": _usd(one for one in spent if one.at[:10] == today),
        "groups": [
            {"type": key[0], "agent": key[1], "model": key[2], "usd": round(usd, 4)} for key, usd in sorted(groups.items())
        ],
    }


def _usd(spent: Iterable[costs.Paid]) -> float:
    return round(sum(one.usd for one in spent), 4)


def _budget(name: str, spent: Iterable[costs.Paid], snapshot: Snapshot, now: datetime) -> dict[str, Any]:
    left = remaining(name, snapshot, now)
    cost = {"cost_usd": _usd(one for one in spent if one.agent == name)}
    return cost if left is None else {**cost, "budget_remaining_usd": round(left, 4)}


def spans(flow: Flow, window: Window) -> dict[str, list[tuple[int, int]]]:
    """Return from when to when each agent held a bead, by agent; current claims last to the end of the window."""
    found: dict[str, list[tuple[int, int]]] = {}
    for row in flow.rows:
        if row.work_s >= 0 and row.at_s >= window.start_s:
            found.setdefault(row.agent, []).append((row.at_s - row.work_s, row.at_s))
    for agent, since_s in flow.begun.values():
        found.setdefault(agent, []).append((since_s, window.end_s))
    return found


def _agents(flow: Flow, rows: Sequence[Row], window: Window, snapshot: Snapshot) -> list[dict[str, Any]]:
    """Return each agent that had work: how much, how well, and for which part of the time."""
    in_hand = spans(flow, window)
    own: dict[str, list[Row]] = {}
    for row in rows:
        own.setdefault(row.agent, []).append(row)
    return [_agent(name, own.get(name, []), in_hand[name], window, snapshot) for name in sorted(in_hand)]


def _agent(
    name: str, rows: Sequence[Row], spans: Iterable[tuple[int, int]], window: Window, snapshot: Snapshot
) -> dict[str, Any]:
    attempts = _attempts(rows)
    ended = attempts["succeeded"] + attempts["failed"]
    told: dict[str, Any] = {
        "agent": name,
        "claims": sum(row.what in CLAIMING for row in rows),
        "closed": sum(row.done for row in rows),
        "failed": attempts["failed"],
        "stalled": sum(row.what == "freed" for row in rows),
        "utilisation": round(_covered_s(spans, window) / window.length_s, 4),
        "success_rate": round(attempts["succeeded"] / ended, 4) if ended else None,
        "max_concurrent": limit_of(name, snapshot),
    }
    return {key: value for key, value in told.items() if value is not None}


def _covered_s(spans: Iterable[tuple[int, int]], window: Window) -> int:
    """Return how much of the window these spans cover, counting overlaps once."""
    covered, reached = 0, window.start_s
    for start, end in sorted(spans):
        length = min(end, window.end_s) - max(start, reached)
        if length > 0:
            covered, reached = covered + length, min(end, window.end_s)
    return covered
