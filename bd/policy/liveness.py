"""Is a claim's holder still at work, and if not, since when: signs, their age, stalls (docs/protocol.md, "Signs of life").

Belongs here: judging what was seen. Does not belong here: looking (worker/fleet_state.py), freeing (operations/heartbeat.py).

An age is the larger of two lower bounds, so that neither a clock that is off nor an observer that was away steals a
claim: how long this observer has seen the same sign, on its own clock, and the stamp's age less the most by which two
clocks of a fleet may differ.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from bd.core.times import SKEW_S, instant_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime
    from typing import Any

    from bd.core.model import Bead, Snapshot
    from bd.core.settings import Settings

# Stamps are cut to whole seconds: what happened may be this much younger than its stamp says.
_CUT_S = 1.0
# A claim that gives signs of life is stalled after this many of its intervals without one.
MISSED_BEATS = 3
# How often a claim gives a sign of life: where the hub is on this machine, and elsewhere.
NEAR_INTERVAL_S = 30.0
FAR_INTERVAL_S = 300.0
# An agent's record that says nothing new moves no more often than this.
RECORD_EVERY_S = 900.0
IN_WORK = ("in_progress", "validating")


class Sight(NamedTuple):
    """What an observer knows of one claim's signs: the beat now, its age by its own time, and how long nothing has changed.

    `beat` is None where the claim gives none, or where the observer can't see it; `same_s` is the time between the first
    and the last successful look that showed the same sign.
    """

    beat: str | None = None
    beat_age_s: float | None = None
    same_s: float = 0.0


class Stall(NamedTuple):
    """A claim whose holder is taken to be gone. `why` is a code, `text` a sentence's end, `since` the last sign.

    `is_unheard`: another clone had made the claim for it, and it never gave a sign that it knew.
    """

    id: str
    owner: str
    token: str
    attempt: int
    why: str
    text: str
    since: str
    beat: str | None = None
    is_unheard: bool = False


class Silence(NamedTuple):
    """How long a claim has given no sign: `age_s` for sure, `stamp_age_s` by its stamp alone, against `limit_s`."""

    why: str
    age_s: float
    stamp_age_s: float
    limit_s: float
    since: str


def sign_of(claim: Mapping[str, Any], beat: str | None) -> str:
    """What changes with every sign of a claim: its commits' stamps, and its beat."""
    return " ".join([claim.get("started_at") or "", claim.get("heartbeat_at") or claim.get("claimed_at") or "", beat or ""])


def last_commit_of(claim: Mapping[str, Any]) -> str:
    """The stamp of the last commit that was a sign of this claim."""
    return max(claim.get(key) or "" for key in ("claimed_at", "started_at", "heartbeat_at"))


def beats_by_ref(claim: Mapping[str, Any]) -> bool:
    return claim.get("heartbeat_by") == "ref" and bool(claim.get("heartbeat_interval_s"))


def stall_time_s(claim: Mapping[str, Any], expected_s: float, settings: Settings) -> float:
    """How long this claim may be silent, in seconds, as far as an observer can see its signs."""
    if not claim.get("started_at"):
        return settings.claim_ttl
    interval_s = claim.get("heartbeat_interval_s")
    if interval_s and claim.get("heartbeat_by") in ("ref", "branch"):
        return MISSED_BEATS * float(interval_s)
    return settings.stall_factor * expected_s


def silence_of(bead: Bead, claim: Mapping[str, Any], sight: Sight, now: datetime, settings: Settings) -> Silence:
    """How long a claim has been silent, and what that is measured against."""
    expected_s = settings.expected_s(bead.type, bead.get("expected"))
    since = last_commit_of(claim)
    stamp_age_s = _age_s(since, now)
    why = "never_started" if not claim.get("started_at") else "silent" if claim.get("heartbeat_by") else "overdue"
    limit_s = stall_time_s(claim, expected_s, settings)
    doubt_s = SKEW_S + (_CUT_S if sight.beat is None else 0.0)
    if sight.beat is not None:
        # A beat that tells no time bounds nothing: then only looks count.
        stamp_age_s = min(stamp_age_s, max(0.0, sight.beat_age_s)) if sight.beat_age_s is not None else 0.0
    elif beats_by_ref(claim) and claim.get("started_at"):
        # Its beats should be there and are not: this observer is blind, so that only commits count.
        why, limit_s = "overdue", settings.stall_factor * expected_s
    return Silence(why, max(sight.same_s, stamp_age_s - doubt_s), stamp_age_s, limit_s, since)


def stall_of(bead: Bead, claim: Mapping[str, Any], sight: Sight, now: datetime, settings: Settings) -> Stall | None:
    """Why a claim counts as stalled; None while it does not."""
    silence = silence_of(bead, claim, sight, now, settings)
    if silence.age_s <= silence.limit_s:
        return None
    words = {
        "never_started": "was reserved and never started",
        "silent": "gives no more signs of life",
        "overdue": f"is over {_times(settings)} its expected time without a sign"
        if bead.status != "validating"
        else "died while validating",
    }[silence.why]
    if bead.status == "validating":
        silence = silence._replace(why="validating")
    owner = bead.owner or str(claim.get("agent", ""))
    attempt = int(claim.get("attempt", 1))
    unheard = is_unheard(claim, sight, now)
    return Stall(bead.id, owner, str(claim["token"]), attempt, silence.why, words, silence.since, sight.beat, unheard)


def is_unheard(claim: Mapping[str, Any], sight: Sight, now: datetime) -> bool:
    """Whether nothing shows that the holder of a claim that others made for it ever knew of it."""
    if not claim.get("folded") or claim.get("heartbeat_at"):
        return False
    if sight.beat is None or sight.beat_age_s is None:
        return True
    # The first beat came with the claim itself: only a later one is a sign.
    return _age_s(last_commit_of(claim), now) - sight.beat_age_s < 2 * float(claim.get("heartbeat_interval_s") or 0)


def stalls(snapshot: Snapshot, sights: Mapping[str, Sight], now: datetime, settings: Settings) -> list[Stall]:
    """Every stalled claim, and every bead that is in work for too long with nobody's claim on it; the longest silent first."""
    found = [stall for bead in snapshot.live() if (stall := stall_on(bead, sights, now, settings))]
    return sorted(found, key=lambda stall: (stall.since, stall.id))


def stall_on(bead: Bead, sights: Mapping[str, Sight], now: datetime, settings: Settings) -> Stall | None:
    """Why a bead in work has stalled; None while it has not. Without `sights` its stamps alone tell."""
    claim = bead.get("claim")
    if claim:
        return stall_of(bead, claim, sights.get(claim["token"], Sight()), now, settings)
    return _unclaimed(bead, now, settings) if bead.status in IN_WORK else None


def _unclaimed(bead: Bead, now: datetime, settings: Settings) -> Stall | None:
    """In work by hand, without a claim: judged by its expected time alone; nothing frees it but a person."""
    since = bead.get("started_at") or bead.updated_at
    limit_s = settings.stall_factor * settings.expected_s(bead.type, bead.get("expected"))
    if bead.get("claims") or not since or _age_s(max(since, bead.updated_at), now) - SKEW_S - _CUT_S <= limit_s:
        return None
    words = f"is over {_times(settings)} its expected time, under nobody's claim"
    return Stall(bead.id, bead.owner or bead.assignee or "", "", bead.attempts, "overdue", words, since)


def _times(settings: Settings) -> str:
    """How many times the expected time a claim may take, in words."""
    return "twice" if settings.stall_factor == 2 else f"{settings.stall_factor:g} times"


def overdue_claims(snapshot: Snapshot, now: datetime, settings: Settings) -> Iterator[Bead]:
    """The claimed beads that a look might show to be stalled: silent for too long by their commits' stamps alone."""
    for bead in snapshot.claimed():
        claim = bead.get("claim")
        if claim and _age_s(last_commit_of(claim), now) > stall_time_s(
            claim, settings.expected_s(bead.type, bead.get("expected")), settings
        ):
            yield bead


def is_ahead(stamp: str, now: datetime) -> bool:
    """Whether a stamp is from the future by more than clocks may differ: worth a warning, never a negative age."""
    return bool(stamp) and (instant_of(stamp) - now).total_seconds() > SKEW_S


def _age_s(stamp: str, now: datetime) -> float:
    return max(0.0, (now - instant_of(stamp)).total_seconds()) if stamp else 0.0
