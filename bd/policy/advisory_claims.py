"""Advisory claims: several agents may work on one bead, each with its own token and expiry, and see each other.

An advisory bead has a list of `claims` and stays open; nobody owns it. A claim whose `expires_at` has passed no longer counts; it
is removed when the claims next change. Only failed attempts count against the limit: every attempt is forgiven when it starts.
"""

from __future__ import annotations

from datetime import timedelta

from bd import TYPE_CHECKING
from bd.core.errors import StaleToken, WrongState
from bd.core.times import instant_of, time_text
from bd.policy.claims import touch

if TYPE_CHECKING:
    from datetime import datetime
    from typing import Any

    from bd.core.model import Bead
    from bd.core.settings import Settings


def is_live(claim: dict[str, Any], at: datetime | None) -> bool:
    """Return whether an advisory claim has not expired; without an instant, True."""
    until = claim.get("expires_at")
    return at is None or not until or instant_of(until) > at


def live(bead: Bead, at: datetime | None) -> list[dict[str, Any]]:
    """Return the live advisory claims, the oldest first."""
    return [claim for claim in bead.get("claims", []) if is_live(claim, at)]


def claim_of(bead: Bead, agent: str, at: datetime | None) -> dict[str, Any] | None:
    """Return the agent's own live claim."""
    return next((claim for claim in live(bead, at) if claim.get("agent") == agent), None)


def claim_under(bead: Bead, token: str | None, at: datetime | None) -> dict[str, Any] | None:
    """Return the live claim with this token."""
    return next((claim for claim in live(bead, at) if claim.get("token") == token), None)


def at_it(bead: Bead, at: datetime, *, but: str | None = None) -> list[str]:
    """Return the agents with a live claim, without `but`."""
    return [claim.get("agent", "somebody") for claim in live(bead, at) if claim.get("agent") != but]


def words(bead: Bead, at: datetime) -> str:
    """Describe who works on it; "" if nobody does."""
    names = at_it(bead, at) if bead.get("claims") else []
    return f"{len(names)} working on it: {', '.join(names)}" if names else ""


# --- changing the claims ----------------------------------------------------------------------


def _until(bead: Bead, claim: dict[str, Any], settings: Settings, at: datetime) -> dict[str, Any]:
    """Return the claim with its expiry: once started, the expected time multiplied by the stall factor."""
    if not claim.get("started_at"):
        return claim  # a reservation has its expiry already
    span_s = settings.stall_factor * settings.expected_s(bead.type, bead.get("expected"))
    return {**claim, "expires_at": time_text(at + timedelta(seconds=span_s))}


def claimed(bead: Bead, claim: dict[str, Any], settings: Settings, at: datetime) -> Bead:
    """Return the bead with one more claim. It is marked as advisory from now on, whatever the hub's setting becomes."""
    claim = _until(bead, {**claim, "attempt": bead.attempts + 1, "claimed_at": time_text(at)}, settings, at)
    held = bead.evolve(
        claim_mode="advisory",
        claims=[*live(bead, at), claim],
        attempts=bead.attempts + 1,
        attempts_forgiven=bead.get("attempts_forgiven", 0) + 1,
        retry_at=None,
        prefer_agent=None,
        prefer_until=None,
        defer_until=None,
        started_at=bead.get("started_at") or claim.get("started_at"),
    )
    return touch(held, at)


def renewed(bead: Bead, old: dict[str, Any], claim: dict[str, Any], settings: Settings, at: datetime) -> Bead:
    """Return the bead with the same attempt and a later expiry, under the token of `claim`, which may be a new one."""
    merged = {**old, **claim}
    if old.get("started_at"):
        merged["started_at"] = old["started_at"]
    merged = _until(bead, merged, settings, at)
    if merged == old:
        return bead
    return _with(bead, [merged if one == old else one for one in live(bead, at)], at)


def started(bead: Bead, token: str | None, settings: Settings, at: datetime) -> Bead:
    """Return the bead with a reserved claim's work started. Raises WrongState if there is no such claim."""
    claim = claim_under(bead, token, at)
    if claim is None:
        raise WrongState(f"{bead.id} is not claimed", hint=f"`bd claim {bead.id}` first", id=bead.id)
    if claim.get("started_at"):
        return bead
    return renewed(bead, claim, {"started_at": time_text(at)}, settings, at)


def signed(bead: Bead, token: str | None, settings: Settings, at: datetime) -> Bead:
    """Return the bead with a heartbeat from the token's holder, which moves the claim's expiry."""
    claim = claim_under(bead, token, at)
    return bead if claim is None else renewed(bead, claim, {"heartbeat_at": time_text(at)}, settings, at)


def renewal_s(claim: dict[str, Any]) -> float | None:
    """Return how often a started claim has to be renewed, in seconds; None for an exclusive one, which has no expiry."""
    since, until = claim.get("heartbeat_at") or claim.get("started_at"), claim.get("expires_at")
    return (instant_of(until) - instant_of(since)).total_seconds() / 2 if since and until else None


def released(bead: Bead, token: str | None, reason: str | None, at: datetime) -> Bead:
    """Return the bead without the token's claim, or without any if the token has none. Raises WrongState if none is live."""
    counting = live(bead, at)
    if not counting:
        raise WrongState(f"{bead.id} is {bead.status}, nobody holds it", id=bead.id)
    mine = claim_under(bead, token, at)
    left = [claim for claim in counting if mine is not None and claim is not mine]
    status = "open" if bead.status == "in_progress" and not left else bead.status
    return _with(bead.evolve(status=status, status_reason=reason), left, at)


def alone(bead: Bead, token: str | None, at: datetime) -> Bead:
    """Return the bead as if only this claim held it, with its attempt counted, to record its failure.

    Without a token: the only live claim. Raises WrongState.
    """
    counting = live(bead, at)
    claim = claim_under(bead, token, at) or (counting[0] if len(counting) == 1 else None)
    if claim is None and counting:
        hint = "the agent whose attempt failed has to report it, with its token"
        raise WrongState(f"{bead.id} has {words(bead, at)}; whose attempt failed?", hint=hint, id=bead.id)
    if claim is None:
        raise WrongState(f"{bead.id} is {bead.status}, nobody holds it", id=bead.id)
    kept = {**claim, **({"routed": bead.assignee} if bead.assignee else {})}
    forgiven = max(0, bead.get("attempts_forgiven", 0) - 1)
    return bead.evolve(claim=kept, claims=None, attempts_forgiven=forgiven or None)


def rejoined(bead: Bead, before: Bead, token: str | None, at: datetime) -> Bead:
    """Return a bead that failed `alone` with the other agents' claims restored; a dead letter keeps none."""
    left = [claim for claim in live(before, at) if claim.get("token") != token]
    return bead if bead.status == "dead_letter" else bead.evolve(claims=left)


def _with(bead: Bead, claims: list[dict[str, Any]], at: datetime) -> Bead:
    return touch(bead.evolve(claims=claims), at)


# --- who may change it ------------------------------------------------------------------------


def guard(bead: Bead, token: str | None, at: datetime | None) -> None:
    """Refuse anyone who holds none of the live claims. Raises StaleToken. Without live claims, anyone without a token may."""
    counting = live(bead, at)
    if token is None and not counting:
        return
    if any(claim.get("token") == token for claim in counting):
        return
    again = f"`bd claim {bead.id}` joins again"
    if not counting:
        raise StaleToken(f"{bead.id} is held by nobody; your claim has ended", hint=again, id=bead.id)
    names = ", ".join(claim.get("agent", "somebody") for claim in counting)
    if token is None:
        hint = f"the BD_TOKEN of one of them proves it; {again}; `--force --reason TEXT` overrides"
        raise StaleToken(f"{bead.id} is in work by {names} and no token was given", hint=hint, id=bead.id)
    raise StaleToken(f"{bead.id} is in work by {names}, and your claim has ended", hint=again, id=bead.id)
