"""Is a claim's holder still working, and if not, since when: heartbeats, their age, stalls (docs/protocol.md, "Heartbeats").

This module judges observations; worker/fleet_state.py makes them, and operations/heartbeat.py frees stalled beads.

Heartbeats are judged by observation alone: for how long this observer has seen the same one, on its own boot-time clock. So
neither a wrong clock, nor one that is set while a worker runs, takes a claim from a live holder. The age of a claim without
heartbeats is the larger of two lower bounds: that observation; and the age of its stamp, less the largest difference
between two clocks of a fleet. The stamp counts only if both clocks can be believed (clocks.py).
"""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.times import SKEW_S, instant_of
from bd.core.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime
    from typing import Any

    from bd.core.model import Bead, Snapshot
    from bd.core.settings import Settings

# Stamps are truncated to whole seconds: an event may be this much younger than its stamp.
_CUT_S = 1.0
# A claim that sends heartbeats has stalled after this many of its intervals without one.
MISSED_BEATS = 3
# The interval of a claim's heartbeats: for a hub on this machine, and elsewhere.
NEAR_INTERVAL_S = 30.0
FAR_INTERVAL_S = 300.0
# An agent's record without news is not sent more often than this.
RECORD_EVERY_S = 900.0
IN_WORK = ("in_progress", "validating")


class Sight(Value):
    """An observer's knowledge of one claim: its heartbeat, the heartbeat's age, and for how long nothing has changed.

    `beat` is None if the claim sends none, or the observer can't see it; `same_s` is the time between the first and the last
    successful fetch that showed the same state. `trusts_stamps`: the clocks of observer and holder agree.
    """

    beat: str | None = None
    beat_age_s: float | None = None
    same_s: float = 0.0
    trusts_stamps: bool = False


# What the commits alone say: for reads that observe nothing, and for the past.
STAMPS_ALONE = Sight(trusts_stamps=True)


class Stall(Value):
    """A claim whose holder is presumed gone. `why` is a code, `text` the end of a sentence, `since` its latest activity.

    `is_unheard`: another clone made the claim on request, and its holder never showed that it knew.
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


class Silence(Value):
    """The silence of a claim: `age_s` is certain, `stamp_age_s` relies on its stamp alone; it has stalled after `limit_s`."""

    why: str
    age_s: float
    stamp_age_s: float
    limit_s: float
    since: str

    @property
    def seems_over(self) -> bool:
        """True if it has stalled by its stamp alone, if the clocks of observer and holder are right."""
        return self.stamp_age_s - SKEW_S > self.limit_s

    @property
    def rest_s(self) -> float | None:
        """For how many more seconds a claim that is overdue by its stamp must be watched; None if it is not overdue."""
        return self.limit_s - self.age_s if self.stamp_age_s > self.limit_s >= self.age_s else None


def sign_of(claim: Mapping[str, Any], beat: str | None) -> str:
    """Return a text that changes with every activity of a claim: its commits' stamps, and its heartbeat."""
    return " ".join([claim.get("started_at") or "", claim.get("heartbeat_at") or claim.get("claimed_at") or "", beat or ""])


def last_commit_of(claim: Mapping[str, Any]) -> str:
    """Return the time of the last commit by the holder of this claim."""
    return max(claim.get(key) or "" for key in ("claimed_at", "started_at", "heartbeat_at"))


def beats_by_ref(claim: Mapping[str, Any]) -> bool:
    return claim.get("heartbeat_by") == "ref" and bool(claim.get("heartbeat_interval_s"))


def stall_time_s(claim: Mapping[str, Any], expected_s: float, settings: Settings) -> float:
    """Return how many seconds this claim may be silent, as far as an observer can see its heartbeats."""
    if not claim.get("started_at"):
        return ttl_s(claim, settings)
    interval_s = claim.get("heartbeat_interval_s")
    if interval_s and claim.get("heartbeat_by") in ("ref", "branch"):
        return MISSED_BEATS * float(interval_s)
    return settings.stall_factor * expected_s


def ttl_s(claim: Mapping[str, Any], settings: Settings) -> float:
    """Return for how many seconds a reserved claim may wait to be started: what it says itself, else the settings'."""
    since, until = claim.get("claimed_at"), claim.get("expires_at")
    return (instant_of(until) - instant_of(since)).total_seconds() if since and until else settings.claim_ttl


def limit_for(why: str, claim: Mapping[str, Any], expected_s: float, settings: Settings) -> float | None:
    """Return how many seconds a claim may be silent by one rule (`why` of a Stall); None if that rule is not for such a claim."""
    if why == "overdue":
        return settings.stall_factor * expected_s
    if why == "never_started":
        return None if claim.get("started_at") else ttl_s(claim, settings)
    if why == "silent" and not _sends_heartbeats(claim):
        return None
    return stall_time_s(claim, expected_s, settings) if why in ("silent", "validating") else None


def _sends_heartbeats(claim: Mapping[str, Any]) -> bool:
    return bool(claim.get("heartbeat_by")) and bool(claim.get("heartbeat_interval_s"))


def silence_of(bead: Bead, claim: Mapping[str, Any], sight: Sight, now: datetime, settings: Settings) -> Silence:
    """Return for how long a claim has been silent, and its limit."""
    expected_s = settings.expected_s(bead.type, bead.get("expected"))
    since = last_commit_of(claim)
    stamp_age_s = _age_s(since, now)
    why = "never_started" if not claim.get("started_at") else "silent" if _sends_heartbeats(claim) else "overdue"
    sure_s = stamp_age_s - SKEW_S - _CUT_S if sight.trusts_stamps and sight.beat is None else 0.0
    if sight.beat is not None:
        stamp_age_s = min(stamp_age_s, max(0.0, sight.beat_age_s)) if sight.beat_age_s is not None else 0.0
    elif beats_by_ref(claim) and why == "silent":
        why = "overdue"  # its heartbeats should be there but can't be seen: only commits count
    limit_s = limit_for(why, claim, expected_s, settings)
    assert limit_s is not None, f"no claim like this is {why}"
    return Silence(why, max(sight.same_s, sure_s), stamp_age_s, limit_s, since)


def stall_of(bead: Bead, claim: Mapping[str, Any], sight: Sight, now: datetime, settings: Settings) -> Stall | None:
    """Return why a claim counts as stalled; None if it does not."""
    silence = silence_of(bead, claim, sight, now, settings)
    if silence.age_s <= silence.limit_s:
        return None
    words = {
        "never_started": "was reserved and never started",
        "silent": "sends no heartbeats any more",
        "overdue": f"is over {_times(settings)} its expected time without a sign"
        if bead.status != "validating"
        else "died while validating",
    }[silence.why]
    if bead.status == "validating":
        silence = silence.replace(why="validating")
    owner = bead.owner or str(claim.get("agent", ""))
    attempt = int(claim.get("attempt", 1))
    unheard = is_unheard(claim, sight, now)
    return Stall(bead.id, owner, str(claim["token"]), attempt, silence.why, words, silence.since, sight.beat, unheard)


def is_unheard(claim: Mapping[str, Any], sight: Sight, now: datetime) -> bool:
    """Return whether nothing shows that the holder of a claim made on request ever knew of it."""
    if not claim.get("folded") or claim.get("heartbeat_at"):
        return False
    if sight.beat is None or sight.beat_age_s is None:
        return True
    # The first heartbeat was made with the claim itself: only a later one proves something.
    return _age_s(last_commit_of(claim), now) - sight.beat_age_s < 2 * float(claim.get("heartbeat_interval_s") or 0)


def stalls(snapshot: Snapshot, sights: Mapping[str, Sight], now: datetime, settings: Settings) -> list[Stall]:
    """Return every stalled claim, and every bead in progress for too long without a claim; the longest silent first."""
    found = [stall for bead in snapshot.live() if (stall := stall_on(bead, sights, now, settings))]
    return sorted(found, key=lambda stall: (stall.since, stall.id))


def stall_on(bead: Bead, sights: Mapping[str, Sight], now: datetime, settings: Settings) -> Stall | None:
    """Return why a bead in progress has stalled; None if it has not. A claim without a sight is judged by its stamps alone."""
    claim = bead.get("claim")
    if claim:
        return stall_of(bead, claim, sights.get(claim["token"], STAMPS_ALONE), now, settings)
    return _unclaimed(bead, now, settings) if bead.status in IN_WORK else None


def _unclaimed(bead: Bead, now: datetime, settings: Settings) -> Stall | None:
    """Judge a bead in progress without a claim by its expected time alone; only a person frees it."""
    since = bead.get("started_at") or bead.updated_at
    limit_s = settings.stall_factor * settings.expected_s(bead.type, bead.get("expected"))
    if bead.get("claims") or not since or _age_s(max(since, bead.updated_at), now) - SKEW_S - _CUT_S <= limit_s:
        return None
    words = f"is over {_times(settings)} its expected time, without a claim"
    return Stall(bead.id, bead.owner or bead.assignee or "", "", bead.attempts, "overdue", words, since)


def _times(settings: Settings) -> str:
    """Return how many times the expected time a claim may take, in words."""
    return "twice" if settings.stall_factor == 2 else f"{settings.stall_factor:g} times"


def overdue_claims(snapshot: Snapshot, now: datetime, settings: Settings) -> Iterator[Bead]:
    """Yield the claimed beads that may have stalled: by their commits' stamps silent for too long, or from the future."""
    for bead in snapshot.claimed():
        claim = bead.get("claim")
        if not claim:
            continue
        limit_s = stall_time_s(claim, settings.expected_s(bead.type, bead.get("expected")), settings)
        if _age_s(last_commit_of(claim), now) > limit_s or is_ahead(last_commit_of(claim), now):
            yield bead


def is_ahead(stamp: str, now: datetime) -> bool:
    """Return whether a stamp is further in the future than clocks may differ: reported, but never a negative age."""
    return bool(stamp) and (instant_of(stamp) - now).total_seconds() > SKEW_S


def _age_s(stamp: str, now: datetime) -> float:
    return max(0.0, (now - instant_of(stamp)).total_seconds()) if stamp else 0.0
