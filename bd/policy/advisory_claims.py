"""Advisory claims: several agents may be at one bead, each with a token and an end, and see each other.

An advisory bead has a list of `claims` and stays open; nobody owns it. A claim whose `expires_at`
has passed no longer counts; it is dropped when the claims next change. Only failed attempts count
against the limit: each of the others is forgiven from its start.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bd.core.errors import StaleToken, WrongState
from bd.core.times import instant_of, time_text, timedelta
from bd.policy.claims import touch

if TYPE_CHECKING:
    from datetime import datetime
    from typing import Any

    from bd.core.model import Bead
    from bd.core.settings import Settings


def is_live(claim: dict[str, Any], at: datetime | None) -> bool:
    """Whether an advisory claim still counts; without an instant each one does."""
    until = claim.get("expires_at")
    return at is None or not until or instant_of(until) > at


def live(bead: Bead, at: datetime | None) -> list[dict[str, Any]]:
    """The advisory claims that count, the oldest first."""
    return [claim for claim in bead.get("claims", []) if is_live(claim, at)]


def claim_of(bead: Bead, agent: str, at: datetime | None) -> dict[str, Any] | None:
    """The agent's own live claim."""
    return next((claim for claim in live(bead, at) if claim.get("agent") == agent), None)


def claim_under(bead: Bead, token: str | None, at: datetime | None) -> dict[str, Any] | None:
    """The live claim that the token is of."""
    return next((claim for claim in live(bead, at) if claim.get("token") == token), None)


def at_it(bead: Bead, at: datetime, *, but: str | None = None) -> list[str]:
    """The agents with a live claim; `but` leaves one out."""
    return [claim.get("agent", "somebody") for claim in live(bead, at) if claim.get("agent") != but]


def words(bead: Bead, at: datetime) -> str:
    """Who is at it, for people; empty when nobody is."""
    names = at_it(bead, at) if bead.get("claims") else []
    return f"{len(names)} at it: {', '.join(names)}" if names else ""


# --- what changes the claims ------------------------------------------------------------------


def _until(bead: Bead, claim: dict[str, Any], settings: Settings, at: datetime) -> dict[str, Any]:
    """The claim with its end: of one in work, after the expected time and some (the stall factor)."""
    if not claim.get("started_at"):
        return claim  # a reservation has its end already
    span_s = settings.stall_factor * settings.expected_s(bead.type, bead.get("expected"))
    return {**claim, "expires_at": time_text(at + timedelta(seconds=span_s))}


def claimed(bead: Bead, claim: dict[str, Any], settings: Settings, at: datetime) -> Bead:
    """The bead with one more claim. It says from now on that it is advisory, whatever the hub's setting will be."""
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
    """The same attempt with a later end, under the token of `claim`: the old one, or one in its place."""
    merged = {**old, **claim}
    if old.get("started_at"):
        merged["started_at"] = old["started_at"]
    merged = _until(bead, merged, settings, at)
    if merged == old:
        return bead
    return _with(bead, [merged if one == old else one for one in live(bead, at)], at)


def started(bead: Bead, token: str | None, settings: Settings, at: datetime) -> Bead:
    """The bead with the work of a reserved claim begun. Raises WrongState when it is nobody's."""
    claim = claim_under(bead, token, at)
    if claim is None:
        raise WrongState(f"{bead.id} is not claimed", hint=f"`bd claim {bead.id}` first", id=bead.id)
    if claim.get("started_at"):
        return bead
    return renewed(bead, claim, {"started_at": time_text(at)}, settings, at)


def signed(bead: Bead, token: str | None, settings: Settings, at: datetime) -> Bead:
    """The bead with a sign of life of the token's holder, whose claim counts on from there."""
    claim = claim_under(bead, token, at)
    return bead if claim is None else renewed(bead, claim, {"heartbeat_at": time_text(at)}, settings, at)


def renewal_s(claim: dict[str, Any]) -> float | None:
    """How often a claim in work has to be renewed to be sure to count; None for an exclusive one, which has no end."""
    since, until = claim.get("heartbeat_at") or claim.get("started_at"), claim.get("expires_at")
    return (instant_of(until) - instant_of(since)).total_seconds() / 2 if since and until else None


def released(bead: Bead, token: str | None, reason: str | None, at: datetime) -> Bead:
    """The bead without the token's claim, or without any when who takes them away holds none. Raises WrongState when none is live."""
    counting = live(bead, at)
    if not counting:
        raise WrongState(f"{bead.id} is {bead.status}, nobody holds it", id=bead.id)
    mine = claim_under(bead, token, at)
    left = [claim for claim in counting if mine is not None and claim is not mine]
    status = "open" if bead.status == "in_progress" and not left else bead.status
    return _with(bead.evolve(status=status, status_reason=reason), left, at)


def alone(bead: Bead, token: str | None, at: datetime) -> Bead:
    """The bead as if only this claim held it, and its attempt counted: how it fails. Without a token: the only one there is.

    Raises WrongState.
    """
    counting = live(bead, at)
    claim = claim_under(bead, token, at) or (counting[0] if len(counting) == 1 else None)
    if claim is None and counting:
        hint = "let the one whose attempt failed say so, with its token"
        raise WrongState(f"{bead.id} has {words(bead, at)}; whose attempt failed?", hint=hint, id=bead.id)
    if claim is None:
        raise WrongState(f"{bead.id} is {bead.status}, nobody holds it", id=bead.id)
    kept = {**claim, **({"routed": bead.assignee} if bead.assignee else {})}
    forgiven = max(0, bead.get("attempts_forgiven", 0) - 1)
    return bead.evolve(claim=kept, claims=None, attempts_forgiven=forgiven or None)


def rejoined(bead: Bead, before: Bead, token: str | None, at: datetime) -> Bead:
    """A bead that failed `alone`, with the others who are still at it; a dead letter is nobody's."""
    left = [claim for claim in live(before, at) if claim.get("token") != token]
    return bead if bead.status == "dead_letter" else bead.evolve(claims=left)


def _with(bead: Bead, claims: list[dict[str, Any]], at: datetime) -> Bead:
    return touch(bead.evolve(claims=claims), at)


# --- who may ----------------------------------------------------------------------------------


def guard(bead: Bead, token: str | None, at: datetime | None) -> None:
    """Refuse who holds none of the live claims. Raises StaleToken. Without a live claim it is anyone's who brings no token."""
    counting = live(bead, at)
    if token is None and not counting:
        return
    if any(claim.get("token") == token for claim in counting):
        return
    again = f"`bd claim {bead.id}` joins again"
    if not counting:
        raise StaleToken(f"{bead.id} is in nobody's hands; the claim your token is of has ended", hint=again, id=bead.id)
    names = ", ".join(claim.get("agent", "somebody") for claim in counting)
    if token is None:
        hint = f"the BD_TOKEN of one of them proves it; {again}; `--force --reason TEXT` overrides"
        raise StaleToken(f"{bead.id} is in work by {names} and no token was given", hint=hint, id=bead.id)
    raise StaleToken(f"{bead.id} is in work by {names}, and your claim has ended", hint=again, id=bead.id)
