"""Work stealing: idle agents get assigned beads that wait in the queues of overloaded ones.

A snapshot in, moves out, one cycle at a time. The same snapshot and instant give the same moves; afterwards the same rules find
nothing more for those who received some. operations/work_stealing.py makes the moves.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.core.errors import BdError
from bd.core.schema import AGENTS_DIR, CAPACITY_DIR
from bd.core.times import SKEW_S, age_text, duration_s, duration_text, instant_of
from bd.policy import capacity
from bd.policy.eligibility import Eligibility
from bd.policy.priority import base_priority
from bd.policy.readiness import status_now
from bd.policy.work_queue import ready_beads

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from typing import Any

    from bd.core.model import Bead, Snapshot

# The label of a moved bead, which is not moved again.
LABEL = "stolen"
INTERVAL_S = 300.0
# Reasons that keep a bead within its domain; simple work without labels may leave it.
_DOMAIN = frozenset({"skills", "prefix"})


class Rules(NamedTuple):
    """The figures: those of the source paper, unless the hub's `stealing` sets others."""

    idle_s: float = 120.0
    pending: int = 5
    per_agent: int = 3
    per_cycle: int = 10
    base: float = 50.0
    cross_base: float = 80.0


class Move(NamedTuple):
    """One bead that moves from one agent's queue to another's."""

    id: str
    source: str
    to: str
    base: float


class Cycle(NamedTuple):
    """The result of one cycle, with the reasons why not more moves.

    `pending` is the length of each agent's queue; `idle` are the receivers, the longest idle first; `busy` are the givers, the
    busiest first; `not_idle` and `kept` are reasons by agent and by bead.
    """

    moves: tuple[Move, ...]
    pending: Mapping[str, int]
    idle: tuple[str, ...]
    busy: tuple[str, ...]
    not_idle: Mapping[str, str]
    kept: Mapping[str, str]


def rules_of(snapshot: Snapshot) -> Rules:
    """Return the hub's figures; unreadable ones keep the paper's."""
    given = snapshot.config().get("stealing")
    given = given if isinstance(given, dict) else {}
    figures: dict[str, Any] = {}
    for field, key in (("idle_s", "idle"), *((name, name) for name in Rules._fields[1:])):
        try:
            value = duration_s(str(given[key])) if key == "idle" else float(given[key])
        except (BdError, KeyError, TypeError, ValueError, OverflowError):
            continue
        if 0 <= value < math.inf:
            figures[field] = value if field in ("idle_s", "base", "cross_base") else int(value)
    return Rules(**figures)


def is_allowed_to_polls(snapshot: Snapshot) -> bool:
    """Return whether an agent whose poll finds nothing may take beads at once, without waiting for a rebalancer."""
    given = snapshot.config().get("stealing")
    return isinstance(given, dict) and given.get("on_poll") in (True, "true", "yes")


def moves_on_poll(agent: str, snapshot: Snapshot, now: datetime) -> tuple[Move, ...]:
    """Return what an agent whose poll found nothing may take over now; nothing where the hub does not allow it."""
    return cycle(snapshot, now, to=agent).moves if is_allowed_to_polls(snapshot) else ()


def queues(snapshot: Snapshot, now: datetime) -> dict[str, list[Bead]]:
    """Return the queue of each name: open beads that are assigned to it and unclaimed."""
    found: dict[str, list[Bead]] = {}
    for bead in snapshot.live():
        if bead.assignee and not bead.claims and status_now(bead, now) == "open":
            found.setdefault(bead.assignee, []).append(bead)
    return found


def cycle(snapshot: Snapshot, now: datetime, rules: Rules | None = None, *, to: str | None = None) -> Cycle:
    """Return the moves of one cycle at this commit; those to one agent if it asks for work itself (`to`).

    That agent has just looked and found nothing, so it need not have been idle for a while.
    """
    rules = rules or rules_of(snapshot)
    waiting = {name: beads for name, beads in queues(snapshot, now).items() if capacity.is_known(name, snapshot)}
    away = frozenset(name for name in waiting if capacity.is_away(name, snapshot, now))
    names = {*snapshot.records(AGENTS_DIR), *snapshot.records(CAPACITY_DIR), *snapshot.heard}
    if to:
        words = {to: _why_not_free(to, len(waiting.get(to, ())), snapshot, now)}
    else:
        words = {name: _why_not_idle(name, len(waiting.get(name, ())), snapshot, now, rules) for name in sorted(names)}
    idle = sorted((name for name, why in words.items() if not why), key=lambda name: (_idle_since(name, snapshot), name))
    kept = {bead.id: why for beads in waiting.values() for bead in beads if (why := _why_fixed(bead, rules))}
    ready = {bead.id for bead in ready_beads(snapshot, now)}
    for beads in waiting.values():
        kept.update({bead.id: "it is not ready" for bead in beads if bead.id not in ready and bead.id not in kept})
    exchange = _Exchange(snapshot, now, rules, waiting, away, kept)
    busy = exchange.sources()
    moves = exchange.moves(idle)
    moved = {move.id for move in moves}
    stay = {bead.id: kept.get(bead.id) or exchange.why(bead, idle) for name in busy for bead in waiting[name]}
    return Cycle(
        tuple(moves),
        {name: len(beads) for name, beads in sorted(waiting.items())},
        tuple(idle),
        tuple(busy),
        {name: why for name, why in words.items() if why},
        {bead_id: why for bead_id, why in stay.items() if bead_id not in moved},
    )


def _idle_since(name: str, snapshot: Snapshot) -> str:
    return str((snapshot.capacity(name) or {}).get("idle_since") or "")


def _why_not_idle(name: str, pending: int, snapshot: Snapshot, now: datetime, rules: Rules) -> str:
    """Return why the agent receives nothing; "" if it may."""
    silent_s = capacity.silence_s(name, snapshot, now)
    if silent_s is None:
        return "it never sent a heartbeat"
    if silent_s > capacity.SILENT_INTERVALS * capacity.current_interval_s(name, snapshot) + SKEW_S:
        return f"no heartbeat for {age_text(silent_s)}"
    if why := _why_not_free(name, pending, snapshot, now):
        return why
    since = _idle_since(name, snapshot)
    if not since or not (snapshot.capacity(name) or {}).get("idle"):
        return "it has not said that it is idle"
    idle_s = (now - instant_of(since)).total_seconds()
    return "" if idle_s >= rules.idle_s else f"it is idle for less than {duration_text(rules.idle_s)}"


def _why_not_free(name: str, pending: int, snapshot: Snapshot, now: datetime) -> str:
    """Return why the agent can't start on anything now, or has work of its own; "" if neither."""
    reason = Eligibility(snapshot, name, now).idle()
    if reason:
        return reason.text
    held = capacity.held_by(name, snapshot, now)
    if held:
        return f"it works on {held[0].id}"
    return f"{pending} {'waits' if pending == 1 else 'wait'} in its own queue" if pending else ""


def _why_fixed(bead: Bead, rules: Rules) -> str:
    """Return why the bead stays, whoever is idle; "" if it may move."""
    if LABEL in bead.labels:
        return "it was moved before"
    base = base_priority(bead)
    return "" if base >= rules.base else f"its base priority {base:g} is more urgent than {rules.base:g}"


class _Exchange:
    """The queues as they change during one cycle."""

    def __init__(
        self,
        snapshot: Snapshot,
        now: datetime,
        rules: Rules,
        waiting: Mapping[str, list[Bead]],
        away: frozenset[str],
        kept: Mapping[str, str],
    ) -> None:
        self._snapshot, self._now, self._rules, self._away = snapshot, now, rules, away
        self._left = {name: len(beads) for name, beads in waiting.items()}
        self._movable = {
            name: sorted((bead for bead in beads if bead.id not in kept), key=_last_first) for name, beads in waiting.items()
        }
        self._answers: dict[str, Eligibility] = {}

    def sources(self) -> list[str]:
        """Return the givers: their queue is over the threshold, or they are away; the busiest first."""
        busy = (name for name, left in self._left.items() if left > (0 if name in self._away else self._rules.pending))
        return sorted(busy, key=lambda name: (-self._left[name], name))

    def moves(self, idle: list[str]) -> list[Move]:
        """Give each idle agent one bead in turn, and repeat, until a cap is reached or nothing fits."""
        found: list[Move] = []
        for _ in range(self._rules.per_agent):
            for name in idle:
                move = self._next_for(name) if len(found) < self._rules.per_cycle else None
                if move is not None:
                    found.append(move)
        return found

    def _next_for(self, name: str) -> Move | None:
        for source in self.sources():
            for bead in self._movable[source]:
                if not self._misfit(bead, name):
                    self._movable[source].remove(bead)
                    self._left[source] -= 1
                    return Move(bead.id, source, name, base_priority(bead))
        return None

    def _misfit(self, bead: Bead, name: str) -> str:
        """Return why the idle agent can't do this bead; "" if it can."""
        if name not in self._answers:
            self._answers[name] = Eligibility(self._snapshot, name, self._now)
        free = bead.evolve(assignee=None)  # its routing does not affect whether another could do it
        reasons = self._answers[name].reasons(free)
        if not bead.labels and base_priority(bead) >= self._rules.cross_base:
            reasons = [reason for reason in reasons if reason.code not in _DOMAIN]
        return reasons[0].text if reasons else ""

    def why(self, bead: Bead, idle: list[str]) -> str:
        """Return why a movable bead is not moved in this cycle."""
        if not idle:
            return "nobody is idle"
        misfits = [self._misfit(bead, name) for name in idle]
        if all(misfits):
            return f"it {misfits[0]}" if len(idle) == 1 else f"it fits none of {', '.join(idle)}"
        return "the caps of this cycle are reached" if bead.assignee in self.sources() else "its queue is short enough now"


def _last_first(bead: Bead) -> tuple[float, float, str]:
    """Return the sort key by which the last bead of a queue moves first: the lowest priority, then the youngest."""
    made = instant_of(bead.created_at).timestamp() if bead.created_at else 0.0
    return -base_priority(bead), -made, bead.id
