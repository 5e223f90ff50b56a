"""Claims on a bead: made, started, resumed, confirmed by heartbeats. Bead in, new bead out, or Refused.

eligibility.py decides who may claim; lifecycle.py ends claims.
"""

from __future__ import annotations

from datetime import timedelta

from bd import TYPE_CHECKING
from bd.core.errors import AlreadyClaimed, WrongState
from bd.core.times import age_text, instant_of, time_text

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime
    from typing import Any

    from bd.core.model import Bead, Snapshot


def touch(bead: Bead, at: datetime) -> Bead:
    """Return the bead with `updated_at` moved to `at`, or just past its old value if clocks differ."""
    before = bead.get("updated_at")
    if before:
        last = instant_of(before)
        at = max(at, last + timedelta(microseconds=1) if last.year < 9999 else last)
    elif bead.created_at:
        at = max(at, instant_of(bead.created_at))
    return bead.evolve(updated_at=time_text(at, exact=True))


def refuse_held(bead: Bead, at: datetime) -> None:
    """Refuse a claim on a bead that somebody works on. Raises AlreadyClaimed."""
    claim = bead.claim
    if claim is None and bead.status != "in_progress":
        return
    who = bead.owner or bead.assignee or (claim.agent if claim else None)
    if who is None:
        raise WrongState(
            f"{bead.id} is in progress, held by nobody in particular",
            hint=f"`bd release {bead.id} --reason TEXT` opens it",
            id=bead.id,
        )
    since = claim.claimed_at if claim else bead.updated_at
    words = f"{bead.id} is already claimed by {who}"
    if since:
        words += f" since {since} ({age_text((at - instant_of(since)).total_seconds())})"
    raise AlreadyClaimed(
        words,
        hint="`bd claim --next` takes the best bead that is free",
        id=bead.id,
        owner=who,
    )


def ended(won: Iterable[tuple[str, str]], snapshot: Snapshot) -> list[str]:
    """Return the beads, of won claims (token, bead), whose claim is over: another writer ended it in the same push."""
    heads = ((token, bead_id, snapshot.head(bead_id)) for token, bead_id in won)
    return [bead_id for token, bead_id, bead in heads if bead is None or token not in bead.tokens]


def claimed(bead: Bead, claim: dict[str, Any], owner: str, at: datetime) -> Bead:
    """Return the bead held by this claim; `claim.routed` keeps its previous assignee."""
    stamp = time_text(at)
    claim = {**claim, "attempt": bead.attempts + 1, "claimed_at": stamp}
    if bead.assignee:
        claim["routed"] = bead.assignee
    held = bead.evolve(
        status="in_progress",
        assignee=claim["agent"],
        owner=owner,
        claim=claim,
        claims=None,
        claimed_at=stamp,
        attempts=bead.attempts + 1,
        retry_at=None,
        prefer_agent=None,
        prefer_until=None,
        defer_until=None,
        started_at=bead.get("started_at") or claim.get("started_at"),
    )
    return touch(held, at)


def started(bead: Bead, at: datetime) -> Bead:
    """Return the claimed bead with its work started; unchanged if it was started before."""
    claim = dict(bead.get("claim") or {})
    if claim.get("started_at"):
        return bead
    stamp = time_text(at)
    claim["started_at"] = stamp
    claim.pop("expires_at", None)
    return touch(bead.evolve(claim=claim, started_at=bead.get("started_at") or stamp), at)


def signed(bead: Bead, at: datetime) -> Bead:
    """Return the claimed bead with a heartbeat from its holder, unless there is a later one."""
    claim = dict(bead.get("claim") or {})
    stamp = time_text(at)
    if stamp <= max(claim.get("heartbeat_at") or "", claim.get("claimed_at") or ""):
        return bead
    return bead.evolve(claim={**claim, "heartbeat_at": stamp})


def resumed(bead: Bead, claim: dict[str, Any], owner: str, at: datetime) -> Bead:
    """Return the bead with the same attempt under a new token: its agent takes its own claim over."""
    before = dict(bead.get("claim") or {})
    kept = {key: before[key] for key in ("attempt", "claimed_at", "routed", "work_ref", "reserved_usd") if key in before}
    stamp = time_text(at)
    merged: dict[str, Any] = {"attempt": max(1, bead.attempts), "claimed_at": stamp, **kept, **claim}
    merged["started_at"] = before.get("started_at") or stamp
    held = bead.evolve(
        status="in_progress",
        assignee=claim["agent"],
        owner=owner,
        claim=merged,
        claimed_at=merged["claimed_at"],
        attempts=max(1, bead.attempts),
        started_at=bead.get("started_at") or stamp,
    )
    return touch(held, at)
