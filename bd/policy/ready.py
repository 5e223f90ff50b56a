"""Is a bead ready, in which phase is it, and why.

Belongs here: what holds for everybody. Does not belong here: whether one agent may take it
(fit.py, which starts from this).

Every bead is in exactly one phase. Time and closed dependencies move beads between phases
without a commit: pending, ready and retrying are derived here, never stored.
"""

from __future__ import annotations

from typing import NamedTuple

from bd.clock import age_text, instant_of
from bd.policy.dag import ancestors, awaited, inherited
from bd.policy.priority import order_key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime

    from bd.model import Bead, Snapshot

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
# Types that are never work to hand out (compat: infrastructure of the Go tool).
NOT_WORK = frozenset({"merge-request", "gate", "molecule", "message", "agent", "role", "rig"})


class Reason(NamedTuple):
    """One link of a chain: a snake_case code, a sentence's end for people, the id it comes from."""

    code: str
    text: str
    by: str | None = None


class Standing(NamedTuple):
    """Where a bead stands: its phase, and what keeps it from being ready."""

    phase: str
    reasons: tuple[Reason, ...] = ()


def is_past(instant: str | None, now: datetime) -> bool:
    """Whether the stored time has come; an unset one has."""
    return not instant or instant_of(instant) <= now


def status_now(bead: Bead, now: datetime) -> str:
    """The stored status, except that a deferred bead whose time has passed is open in every view."""
    if bead.status == "deferred" and bead.get("defer_until") and is_past(bead.get("defer_until"), now):
        return "open"
    return bead.status


def standing(bead: Bead, snapshot: Snapshot, now: datetime) -> Standing:
    """The bead's phase and the reasons why it is not ready (none when it is)."""
    status = status_now(bead, now)
    if status in _PHASE_OF_STATUS:
        return Standing(_PHASE_OF_STATUS[status], (Reason(status, _status_words(bead, now)),))
    if status == "in_progress" or bead.get("claim"):
        return Standing(_phase_of_claim(bead), (Reason("in_progress", _status_words(bead, now)),))
    if status == "deferred":
        return Standing("pending", (_deferral(bead, now),))
    if status != "open":
        return Standing("parked", (Reason("parked", _status_words(bead, now)),))
    if bead.type in NOT_WORK:
        return Standing("parked", (Reason("not_work", f"beads of type {bead.type} are not handed out"),))
    reasons = _holding_back(bead, snapshot, now)
    if reasons:
        return Standing("pending", tuple(reasons))
    if not is_past(bead.get("retry_at"), now):
        wait = (instant_of(bead.get("retry_at")) - now).total_seconds()
        return Standing("retrying", (Reason("retrying", f"is tried again in {age_text(wait)}"),))
    return Standing("ready")


def _phase_of_claim(bead: Bead) -> str:
    claim = bead.get("claim")
    return "running" if not claim or claim.get("started_at") else "claimed"


def _deferral(bead: Bead, now: datetime, whose: str = "") -> Reason:
    until = bead.get("defer_until")
    return Reason("deferred", f"{whose}is deferred{f' until {until}' if until else ''}", bead.id)


def _is_deferred(bead: Bead, now: datetime) -> bool:
    if status_now(bead, now) == "deferred":
        return True
    return not is_past(bead.get("defer_until"), now) and not bead.is_done


def _holding_back(bead: Bead, snapshot: Snapshot, now: datetime) -> list[Reason]:
    reasons: list[Reason] = []
    if bead.get("defer_until") and _is_deferred(bead, now):
        reasons.append(_deferral(bead, now))
    for target in awaited(bead):
        reason = _waiting(target, snapshot, now)
        if reason:
            reasons.append(reason)
    if bead.parent:
        reasons += _held_by_parents(bead, snapshot, now)
    return reasons


def _held_by_parents(bead: Bead, snapshot: Snapshot, now: datetime) -> list[Reason]:
    reasons: list[Reason] = []
    for parent in ancestors(bead, snapshot):
        if parent.status == "cancelled":
            reasons.append(Reason("parent_cancelled", f"its parent {parent.id} was cancelled", parent.id))
        elif parent.status == "blocked":
            reasons.append(Reason("parent_blocked", f"its parent {parent.id} {_status_words(parent, now)}", parent.id))
        elif _is_deferred(parent, now):
            reasons.append(_deferral(parent, now, f"its parent {parent.id} "))
        for target in inherited(parent, snapshot):
            reason = _waiting(target, snapshot, now)
            if reason:
                reasons.append(Reason("parent_waits", f"its parent {parent.id} {reason.text}", target))
    return reasons


def _waiting(target: str, snapshot: Snapshot, now: datetime) -> Reason | None:
    other = snapshot.head(target)
    if other is None:
        return Reason("unknown_dependency", f"waits on {target}, which does not exist", target)
    if other.status in ("closed", "pinned"):
        return None
    if other.status in ("cancelled", "dead_letter"):
        ended = "cancelled" if other.status == "cancelled" else "given up after its last attempt"
        return Reason("dependency_ended", f"waits on {target}, which was {ended}", target)
    return Reason("waits_on", f"waits on {target} ({_status_words(other, now)})", target)


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
    return {"dead_letter": "given up after its last attempt"}.get(status, status.replace("_", " "))


def phases(snapshot: Snapshot, now: datetime) -> dict[str, list[Bead]]:
    """Every live bead in its phase, each list in the order of work."""
    found: dict[str, list[Bead]] = {phase: [] for phase in PHASES}
    for bead in snapshot.live():
        found[standing(bead, snapshot, now).phase].append(bead)
    for beads in found.values():
        beads.sort(key=order_key)
    return found


def ready_beads(snapshot: Snapshot, now: datetime) -> list[Bead]:
    """The ready beads in the order of work."""
    found = [bead for bead in snapshot.live() if standing(bead, snapshot, now).phase == "ready"]
    found.sort(key=order_key)
    return found


def ready_since(bead: Bead, snapshot: Snapshot) -> str:
    """Since when a ready bead has been so, as far as the files tell: the latest of what had to happen."""
    instants = [bead.created_at, bead.get("retry_at") or "", bead.get("defer_until") or ""]
    for target in awaited(bead):
        other = snapshot.head(target)
        if other is not None:
            instants.append(other.get("closed_at") or "")
    return max((text for text in instants if text), key=instant_of, default="")


def is_blocked(bead: Bead, snapshot: Snapshot, now: datetime) -> list[str]:
    """The ids that keep a bead from being ready through dependencies, its own or inherited; compat's blocked_by."""
    codes = {"waits_on", "unknown_dependency", "dependency_ended", "parent_waits", "parent_blocked", "parent_cancelled"}
    if bead.is_done:
        return []
    held = _holding_back(bead, snapshot, now)
    return list(dict.fromkeys(reason.by for reason in held if reason.code in codes and reason.by))
