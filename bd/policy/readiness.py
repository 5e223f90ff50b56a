"""Is a bead ready, which phase is it in, and why.

This module covers the rules that hold for all agents; eligibility.py adds those for one agent.

Every bead is in exactly one phase. Time and closed dependencies move beads between phases without a commit: pending, ready and
retrying are derived here, never stored.
"""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.times import age_text, instant_of
from bd.core.value import Value
from bd.policy.dag import Graph, Lineage, awaited

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from bd.core.model import Bead, Snapshot

PHASES = (
    "ready",
    "pending",
    "retrying",
    "claimed",
    "running",
    "validating",
    "parked",
    "dead_lettered",
    "completed",
    "cancelled",
)
_PHASE_OF_STATUS = {
    "closed": "completed",
    "cancelled": "cancelled",
    "dead_letter": "dead_lettered",
    "validating": "validating",
}
# Types that are never handed out as work (compat: infrastructure of the Go tool).
NOT_WORK = frozenset({"merge-request", "gate", "molecule", "message", "agent", "role", "rig"})


class Reason(Value):
    """One link of a chain of reasons: a snake_case code, the end of a sentence, and the id that it comes from."""

    code: str
    text: str
    by: str | None = None


class Standing(Value):
    """The phase of a bead, and what keeps it from being ready."""

    phase: str
    reasons: tuple[Reason, ...] = ()


def is_past(instant: str | None, now: datetime) -> bool:
    """Return whether the stored time has come; True if it is unset."""
    return not instant or instant_of(instant) <= now


def status_now(bead: Bead, now: datetime) -> str:
    """Return the stored status, except that a deferred bead whose time has come is open."""
    if bead.status == "deferred" and bead.get("defer_until") and is_past(bead.get("defer_until"), now):
        return "open"
    return bead.status


class Readiness:
    """The phases of the beads of one snapshot at one instant: made once for a decision, then asked about many beads."""

    __slots__ = ("_graph", "_handed_down", "now", "snapshot")

    def __init__(self, snapshot: Snapshot, now: datetime) -> None:
        self.snapshot = snapshot
        self.now = now
        self._graph = Graph(snapshot)
        self._handed_down = Lineage(snapshot, self._held_by)

    def phase(self, bead: Bead) -> str:
        """Return the phase that a bead is in."""
        get = bead.fields.get
        status = get("status", "open")
        if status == "deferred":
            status = status_now(bead, self.now)
        if status in _PHASE_OF_STATUS:
            return _PHASE_OF_STATUS[status]
        if status == "in_progress" or get("claim"):
            return _phase_of_claim(bead)
        if status == "deferred":
            return "pending"
        if status != "open" or get("type") in NOT_WORK:
            return "parked"
        may_wait = get("depends_on") or get("parent") or get("links") or get("defer_until")
        if may_wait and next(self.holds(bead), None) is not None:
            return "pending"
        return "ready" if is_past(get("retry_at"), self.now) else "retrying"

    def standing(self, bead: Bead) -> Standing:
        """Return the bead's phase, and the reasons why it is not ready (none if it is)."""
        phase, now = self.phase(bead), self.now
        if phase == "ready":
            return Standing(phase)
        status = status_now(bead, now)
        if phase == "retrying":
            wait = (instant_of(bead.get("retry_at")) - now).total_seconds()
            return Standing(phase, (Reason("retrying", f"is tried again in {age_text(wait)}"),))
        if phase == "pending" and status == "deferred":
            return Standing(phase, (Reason("deferred", _deferred_words(bead), bead.id),))
        if phase == "pending":
            return Standing(phase, tuple(_reason(hold, now) for hold in self.holds(bead)))
        if bead.type in NOT_WORK and status == "open":
            return Standing(phase, (Reason("not_work", f"beads of type {bead.type} are never given to agents"),))
        code = "in_progress" if phase in ("claimed", "running") else status if phase != "parked" else "parked"
        return Standing(phase, (Reason(code, _status_words(bead, now)),))

    def holds(self, bead: Bead) -> Iterator[Hold]:
        """Yield everything that keeps an open bead from being ready: its deferral, its dependencies, its parents."""
        if bead.get("defer_until") and _is_deferred(bead, self.now):
            yield Hold("deferred", bead.id, bead)
        for target in awaited(bead):
            hold = _waiting(target, self.snapshot)
            if hold:
                yield hold
        if bead.parent:
            yield from self._handed_down.above(bead)

    def _held_by(self, parent: Bead) -> Iterator[Hold]:
        """Yield the parent's own reasons that keep the beads below it from being ready."""
        if parent.status in ("cancelled", "blocked"):
            yield Hold(f"parent_{parent.status}", parent.id, parent, parent)
        elif _is_deferred(parent, self.now):
            yield Hold("deferred", parent.id, parent, parent)
        for target in self._graph.inherited(parent):
            hold = _waiting(target, self.snapshot)
            if hold:
                yield hold.replace(code="parent_waits", parent=parent)

    def blockers(self, bead: Bead) -> list[str]:
        """Return the ids that keep a bead from being ready through dependencies, its own or inherited."""
        if bead.is_done:
            return []
        return list(dict.fromkeys(hold.by for hold in self.holds(bead) if hold.code != "deferred"))

    def since(self, bead: Bead) -> str:
        """Return since when a ready bead has been ready, judging by the files: the latest of the required events."""
        instants = [bead.created_at, *(bead.get(key) or "" for key in ("reopened_at", "retry_at", "defer_until"))]
        for target in self._graph.waits_on(bead) if bead.depends_on or bead.parent or bead.get("links") else ():
            other = self.snapshot.head(target)
            if other is not None:
                instants.append(other.get("closed_at") or "")
        return max((text for text in instants if text), key=instant_of, default="")


def _phase_of_claim(bead: Bead) -> str:
    claim = bead.get("claim")
    return "running" if not claim or claim.get("started_at") else "claimed"


# --- what holds an open bead back -----------------------------------------------------------


class Hold(Value):
    """One thing that an open bead waits for.

    `code` says what, `by` is the id it comes from, `other` that bead (None: it does not exist), and `parent` the one that it is
    inherited from.
    """

    code: str
    by: str
    other: Bead | None
    parent: Bead | None = None


def _is_deferred(bead: Bead, now: datetime) -> bool:
    until = bead.get("defer_until")
    if bead.status == "deferred":
        return not until or not is_past(until, now)
    return bool(until) and not is_past(until, now) and not bead.is_done


def _waiting(target: str, snapshot: Snapshot) -> Hold | None:
    other = snapshot.head(target)
    if other is None:
        return Hold("unknown_dependency", target, None)
    if other.status in ("closed", "pinned"):
        return None
    return Hold("dependency_ended" if other.status in ("cancelled", "dead_letter") else "waits_on", target, other)


def _reason(hold: Hold, now: datetime) -> Reason:
    """Describe a hold."""
    other, parent = hold.other, hold.parent
    if hold.code == "deferred" and other is not None:
        words = _deferred_words(other)
    elif hold.code == "parent_cancelled":
        words = "was cancelled"
    elif hold.code == "parent_blocked" and other is not None:
        words = _status_words(other, now)
    elif other is None:
        words = f"waits on {hold.by}, which does not exist"
    elif other.status in ("cancelled", "dead_letter"):
        ended = "cancelled" if other.status == "cancelled" else _given_up_words(other)
        words = f"waits on {hold.by}, which was {ended}"
    else:
        words = f"waits on {hold.by} ({_status_words(other, now)})"
    return Reason(hold.code, f"its parent {parent.id} {words}" if parent is not None else words, hold.by)


def _deferred_words(bead: Bead) -> str:
    until = bead.get("defer_until")
    return f"is deferred{f' until {until}' if until else ''}"


def _status_words(bead: Bead, now: datetime) -> str:
    status = status_now(bead, now)
    if status == "in_progress" or bead.get("claim"):
        who = (bead.get("claim") or {}).get("agent") or bead.assignee or bead.owner
        since = bead.get("claimed_at") or bead.updated_at
        age = f", {age_text((now - instant_of(since)).total_seconds())}" if since else ""
        return f"in progress{f', {who}' if who else ''}{age}"
    if status == "blocked":
        waits = bead.get("waiting_on")
        why = bead.get("status_reason")
        return f"is set to blocked{f', waiting on {waits}' if waits else ''}{f': {why}' if why else ''}"
    return f"was {_given_up_words(bead)}" if status == "dead_letter" else status.replace("_", " ")


def _given_up_words(bead: Bead) -> str:
    """Describe how a dead letter ended: after how many attempts, and whether it fails whoever tries it."""
    count = bead.attempts_counted
    tries = f" after {count} attempt{'' if count == 1 else 's'}" if count else ""
    return f"given up{tries}{', because it fails for every agent' if bead.get('poison_pill') else ''}"


def next_turn(snapshot: Snapshot, now: datetime) -> datetime | None:
    """Return when time alone next changes what is ready: the earliest end of a retry, a deferral or a preference."""
    instants = [
        instant_of(bead.get(key))
        for bead in snapshot.live()
        for key in ("retry_at", "defer_until", "prefer_until")
        if bead.get(key) and bead.status in ("open", "deferred")
    ]
    return min((instant for instant in instants if instant > now), default=None)
