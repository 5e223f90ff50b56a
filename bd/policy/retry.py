"""Failed attempts: the bead is tried again after a delay, or given up.

The rules of retries, dead letters and poison pills. lifecycle.py has the other ends of a claim.
"""

from __future__ import annotations

from datetime import timedelta
from math import ceil, isfinite
from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.core.backoff import grown_s
from bd.core.errors import BadInput, WrongState
from bd.core.times import age_text, duration_s, instant_of, time_text
from bd.policy import failure_kinds, lifecycle, notification
from bd.policy.failure_kinds import KINDS, LOST, NO_RETRY_ON, NOT_OF_THE_BEAD

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from typing import Any

    from bd.core.model import Bead
    from bd.core.settings import Settings

STRATEGIES = ("exponential", "fixed", "immediate")
POISON_AGENTS, POISON_ATTEMPTS = 2, 3


class Rule(NamedTuple):
    """A bead's retry rule. Unset or unreadable values have the defaults given here."""

    strategy: str = "exponential"
    initial_s: float = 10.0
    multiplier: float = 2.0
    max_s: float = 300.0
    jitter: bool = True
    retry_on: frozenset[str] | None = None
    no_retry_on: frozenset[str] = NO_RETRY_ON

    def is_final(self, kind: str) -> bool:
        """Return whether a failure of this kind was the last attempt, however many are left.

        The bead's own lists override the defaults. A lost worker is no reason to give up.
        """
        if kind in self.no_retry_on:
            return True
        return self.retry_on is not None and kind not in self.retry_on and kind != LOST

    def delay_s(self, failed: int, jitter: float) -> float:
        """Return the seconds until the next try after this many failed attempts; `jitter` is a number from 0 to 1.

        The longest delay limits the steps; a jitter of up to half in either direction comes on top, so that beads that failed
        together do not return together.
        """
        if self.strategy == "immediate":
            return 0.0
        base = self.initial_s
        if self.strategy == "exponential":
            try:
                base = grown_s(base, failed - 1, self.max_s, factor=self.multiplier)
            except OverflowError:
                base = self.max_s
        return base * (0.5 + min(1.0, max(0.0, jitter))) if self.jitter else base


def rule_of(bead: Bead, settings: Settings) -> Rule:
    """Return the bead's retry rule: its own `retry` map, else the hub's for its type, else the hub's for all."""
    given = _given(bead, settings)
    usual = Rule()
    retry_on = _kinds(given.get("retry_on"))
    no_retry_on = _kinds(given.get("no_retry_on"))
    return Rule(
        given["strategy"] if given.get("strategy") in STRATEGIES else usual.strategy,
        _seconds(given.get("initial_delay"), usual.initial_s),
        _multiplier(given.get("backoff_multiplier"), usual.multiplier),
        _seconds(given.get("max_delay"), usual.max_s),
        _truth(given.get("jitter"), usual.jitter),
        retry_on,
        NO_RETRY_ON - (retry_on or frozenset()) if no_retry_on is None else no_retry_on,
    )


def limit_of(bead: Bead, settings: Settings) -> int:
    """Return how many attempts the bead may use."""
    return settings.attempt_limit(bead.type, bead.get("max_attempts"))


def _given(bead: Bead, settings: Settings) -> dict[str, Any]:
    """Return every key of a `retry` map that is set, by precedence."""
    own = bead.get("retry")
    own = own if isinstance(own, dict) else {}
    given = {**settings.retry, **settings.retry_of(bead.type), **own}
    wanted, refused = _kinds(own.get("retry_on")), _kinds(given.get("no_retry_on"))
    if wanted and refused and "no_retry_on" not in own:  # the bead's values override the hub's
        given["no_retry_on"] = sorted(refused - wanted)
    return given


def check_kind(kind: str) -> str:
    """Return the kind of a failure if it is valid. Raises BadInput."""
    if kind not in KINDS:
        said = f"{kind!r} is not a kind of failure" if kind else "the kind of failure (--reason) is missing"
        raise BadInput(said, hint=f"one of {', '.join(KINDS)}; describe it with --error", kinds=list(KINDS))
    return kind


def failure_of(bead: Bead, reason: str, error: str, at: datetime, **known: Any) -> dict[str, Any]:
    """Return the entry in `failures` for the claim's attempt; `known` are `duration_s` and `cost_usd`, if measured.

    Otherwise the duration counts from the start of the work.
    """
    claim = bead.claim
    failure: dict[str, Any] = {
        "attempt": claim.attempt if claim else bead.attempts,
        "agent": claim.agent if claim else bead.assignee,
        "reason": reason,
        "error": error,
        "at": time_text(at),
    }
    if known.get("duration_s") is None and claim and claim.started_at:
        known["duration_s"] = round(max(0.0, (at - instant_of(claim.started_at)).total_seconds()), 1)
    return {key: value for key, value in {**failure, **known}.items() if value not in (None, "")}


def after_failure(bead: Bead, failure: Mapping[str, Any], settings: Settings, at: datetime, jitter: float, uid: str = "") -> Bead:
    """Return the claimed bead after a failed attempt: open again with a `retry_at`, or a dead letter.

    A failure that is not the bead's own gives it back, whatever its rules say.

    `failure` has the keys of an entry of `failures`; `jitter` is a number from 0 to 1, drawn when the operation was made, whose
    `uid` names the notification of a dead letter. Raises WrongState if nobody works on the bead.
    """
    if bead.claim is None and bead.status != "in_progress":
        raise WrongState(f"{bead.id} is {bead.status}, nobody works on it", id=bead.id)
    if failure.get("reason") in NOT_OF_THE_BEAD:
        return _given_back(bead, failure, at)
    rule = rule_of(bead, settings)
    failed = lifecycle.unclaimed(bead).evolve(
        failures=[*bead.get("failures", []), dict(failure)], retry_at=None, status_reason=None
    )
    poison = is_poison(failed)
    if poison or failed.attempts_counted >= limit_of(bead, settings) or rule.is_final(failure.get("reason", "other")):
        dead = failed.evolve(status="dead_letter", dead_lettered_at=time_text(at), poison_pill=poison or None)
        return lifecycle.touch(notification.announced(dead, uid), at)
    delay_s = rule.delay_s(failed.attempts_counted, jitter)
    due = _whole_second(at + timedelta(seconds=delay_s)) if delay_s else None
    return lifecycle.touch(failed.evolve(status="open", retry_at=due), at)


def _given_back(bead: Bead, failure: Mapping[str, Any], at: datetime) -> Bead:
    """Return the bead open again at once, with the attempt forgiven.

    Of several such failures in a row the latest is kept, and their number (`times`).
    """
    before = list(bead.get("failures", []))
    entry = dict(failure)
    if before and before[-1].get("reason") in NOT_OF_THE_BEAD:
        earlier = before.pop()
        entry = {
            **({"branch": earlier["branch"]} if earlier.get("branch") else {}),
            **entry,
            "times": earlier.get("times", 1) + 1,
        }
    opened = lifecycle.released(bead, None, at)
    return opened.evolve(failures=[*before, entry], retry_at=None)


def _whole_second(instant: datetime) -> str:
    """Return the instant's text in whole seconds, rounded up: never too early."""
    return time_text(instant + timedelta(microseconds=-instant.microsecond % 1_000_000))


def is_poison(bead: Bead) -> bool:
    """Return whether the bead fails whoever tries it: three failed attempts by two agents since its attempts were last reset."""
    counted = bead.attempts_counted
    used = [failure for failure in bead.get("failures", []) if failure.get("reason") not in NOT_OF_THE_BEAD]
    recent = used[-counted:] if counted else []
    own = [failure for failure in recent if failure.get("reason") != LOST]
    return len(own) >= POISON_ATTEMPTS and len({failure.get("agent") for failure in own}) >= POISON_AGENTS


def outlook(bead: Bead, settings: Settings, now: datetime) -> str:
    """Describe what happens next to a bead that has failed."""
    counted = bead.attempts_counted
    tries = f"{counted} attempt{'' if counted == 1 else 's'}"
    if bead.status == "dead_letter":
        return f"given up after {tries}{', because it fails for every agent' if bead.get('poison_pill') else ''}: bd dlq show {bead.id}"
    wait = (instant_of(bead.get("retry_at")) - now).total_seconds() if bead.get("retry_at") else 0.0
    last = (bead.get("failures") or [{}])[-1]
    if last.get("reason") in NOT_OF_THE_BEAD:
        whose = failure_kinds.of(last["reason"]).whose
        return f"open to others at once, and no attempt was used: {last['reason']} is the {whose}'s failure; the account rests"
    when = f"in {age_text(ceil(wait))}" if wait > 0 else "at once"
    return f"tried again {when}, attempt {counted} of {limit_of(bead, settings)}"


# --- values of the retry map ----------------------------------------------------------------


def _kinds(value: Any) -> frozenset[str] | None:
    if isinstance(value, str):
        return frozenset({value})
    if isinstance(value, list) and all(isinstance(kind, str) for kind in value):
        return frozenset(value)
    return None


def _seconds(value: Any, usual: float) -> float:
    if value is None or isinstance(value, bool):
        return usual
    try:
        return duration_s(str(value))
    except BadInput:
        return usual


def _multiplier(value: Any, usual: float) -> float:
    """Return a factor of at least 1: a delay never shrinks after a failure."""
    if value is None or isinstance(value, bool):
        return usual
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return usual
    return number if isfinite(number) and number >= 1 else usual


def _truth(value: Any, usual: bool) -> bool:
    if isinstance(value, bool):
        return value
    return {"true": True, "yes": True, "false": False, "no": False}.get(str(value).strip().lower(), usual)
