"""Legal state changes: bead in, new bead out, or Refused.

This module says what a release, a close and so on do to one bead, and who may do them. It never needs other beads. claims.py
makes claims.

On a claimed bead, status, owner, assignee, claim and output change only with the current token or by force (docs/protocol.md, "A
claim").
"""

from __future__ import annotations

from datetime import timedelta

from bd import TYPE_CHECKING
from bd.core.backoff import grown_s
from bd.core.errors import AlreadyClosed, BadInput, StaleToken, WrongState
from bd.core.times import instant_of, time_text
from bd.policy import advisory_claims
from bd.policy.claims import touch as touch  # noqa: PLC0414  code that changes beads takes it from here
from bd.policy.failure_kinds import NOT_OF_THE_BEAD

if TYPE_CHECKING:
    from datetime import datetime
    from typing import Any

    from bd.core.model import Bead

# Keys that only the holder of the claim may change.
HOLDER_FIELDS = frozenset({"status", "owner", "assignee", "claim", "claims", "output", "attempts"})
# The keys of a bead that waits for a person, unset.
NOT_WAITING: dict[str, None] = {"waiting_on": None, "waiting_since": None, "status_reason": None}
HUMAN = "human"
# How long a bead is hidden when it is given back for the second time in a row; doubled each further time, up to the maximum.
SPACED_S, SPACED_MAX_S = 10.0, 7200.0
# A bead that is given back this often in a row needs a person: each attempt costs money and gets nowhere.
GIVEN_BACK_TOO_OFTEN = 5


def guard(bead: Bead, token: str | None, *, force: bool = False, at: datetime | None = None) -> None:
    """Refuse anyone who does not hold the claim, or one of the claims live at an instant. Raises StaleToken.

    A bead without a claim is open to anyone without a token: a token means that a claim was taken away.
    """
    if bead.get("claims") and not force:
        advisory_claims.guard(bead, token, at)
        return
    claim = bead.claim
    if force or token == (claim.token if claim else None):
        return
    if claim is None:
        raise StaleToken(
            f"{bead.id} is {bead.status} and nobody holds it; your claim has ended",
            hint=f"stop, or claim it again with `bd claim {bead.id}`; `--force --reason TEXT` overrides",
            id=bead.id,
        )
    who = bead.owner or claim.agent
    if token is None:
        raise StaleToken(
            f"{bead.id} is claimed by {who} (attempt {claim.attempt}) and no token was given",
            hint=f"the holder's BD_TOKEN proves it; `bd claim {bead.id} --resume` takes over your own claim, "
            "`--force --reason TEXT` overrides",
            id=bead.id,
        )
    raise StaleToken(
        f"{bead.id} is held by {who} under a newer token (attempt {claim.attempt}); yours is no longer current",
        hint="stop working on it; `bd claim --next` takes other work",
        id=bead.id,
    )


def refuse_silent_force(bead: Bead, token: str | None, reason: str | None) -> None:
    """Refuse to take a bead from its holder without a reason. Raises BadInput."""
    tokens = bead.tokens
    if tokens and token not in tokens and not (reason or "").strip():
        who = bead.owner or " and ".join(bead.holders)
        raise BadInput(f"{bead.id} is held by {who}; --force needs --reason", hint="say why with --reason TEXT", id=bead.id)


def unclaimed(bead: Bead) -> Bead:
    """Return the bead without its claim: no owner, and its assignee from before the claim. Unchanged if nobody holds it."""
    if bead.claim is None and bead.status != "in_progress":
        return bead.evolve(claims=None)
    routed = (bead.get("claim") or {}).get("routed")
    return bead.evolve(claim=None, claims=None, claimed_at=None, owner=None, assignee=routed)


def released(bead: Bead, reason: str | None, at: datetime, *, forgiven: bool = True, spaced: bool = False) -> Bead:
    """Return the bead open again; a release does not count as an attempt.

    `spaced`: its holder gave it back; after several times in a row it is hidden for a while, longer each time.
    """
    if bead.claim is None and bead.status != "in_progress":
        raise WrongState(f"{bead.id} is {bead.status}, nobody holds it", id=bead.id)
    opened = unclaimed(bead).evolve(status="open", status_reason=reason)
    if forgiven and bead.attempts:
        opened = opened.evolve(attempts_forgiven=bead.get("attempts_forgiven", 0) + 1)
    if spaced:
        opened = opened.evolve(retry_at=_given_back_until(opened, at))
    return touch(opened, at)


def _given_back_until(bead: Bead, at: datetime) -> str | None:
    """Return until when a returned bead is hidden; None the first time in a row."""
    in_a_row = given_back_in_a_row(bead)
    if in_a_row < 2:
        return None
    delay_s = grown_s(SPACED_S, in_a_row - 2, SPACED_MAX_S)
    return time_text(at + timedelta(seconds=delay_s))


def given_back_in_a_row(bead: Bead) -> int:
    """Return how often the bead was claimed and given back since it was created, or since its last failed attempt.

    Failures that are not the bead's, as while a provider is away, neither count nor end the row.
    """
    forgiven: int = bead.get("attempts_forgiven", 0)
    not_its_own: int = 0
    for failure in reversed(bead.get("failures", [])):
        if failure.get("reason") not in NOT_OF_THE_BEAD:
            since: int = bead.attempts - failure.get("attempt", 0)
            return max(0, min(forgiven, since) - not_its_own)
        not_its_own += failure.get("times", 1)
    return max(0, min(forgiven, bead.attempts) - not_its_own)


def is_given_back_too_often(bead: Bead) -> bool:
    """Return whether the bead was given back so often in a row that a person has to look at it."""
    return bead.status == "open" and bool(bead.get("retry_at")) and given_back_in_a_row(bead) >= GIVEN_BACK_TOO_OFTEN


def waits_for_human(bead: Bead) -> bool:
    """Return whether the bead is blocked until a person answers."""
    return bead.status == "blocked" and bead.get("waiting_on") == HUMAN


def parked_for_human(bead: Bead, question: str, at: datetime) -> Bead:
    """Return the bead waiting for a person's answer. This costs no attempt, and its previous holder is remembered.

    Raises WrongState if it is neither open nor held.
    """
    if waits_for_human(bead):
        hint = f"`bd comment {bead.id} TEXT` adds to it, `bd answer {bead.id} TEXT` answers"
        words = f"{bead.id} waits for a person already: {bead.get('status_reason') or 'no question noted'}"
        raise WrongState(words, hint=hint, id=bead.id)
    before = bead.get("updated_at")
    had = bead.claim.agent if bead.claim else None
    if had or bead.status == "in_progress":
        bead = released(bead, None, at)
    elif bead.status != "open":
        raise WrongState(f"{bead.id} is {bead.status}", hint="only open or held beads can wait for a person", id=bead.id)
    if had:
        bead = bead.evolve(prefer_agent=had, prefer_until=None)  # the time starts with the answer
    asked = bead.evolve(claims=None, status="blocked", waiting_on=HUMAN, waiting_since=time_text(at), status_reason=question)
    return touch(asked.evolve(updated_at=before), at)


def answered(bead: Bead, kept_s: float, at: datetime) -> Bead:
    """Return the bead open again, reserved for its previous holder for `kept_s` seconds.

    Raises WrongState if it does not wait.
    """
    if not waits_for_human(bead):
        raise WrongState(
            f"{bead.id} is {bead.status} and does not wait for a person", hint=f"`bd comment {bead.id} TEXT`", id=bead.id
        )
    opened = open_since(bead, at).evolve(status="open", **NOT_WAITING)
    if bead.get("prefer_agent") and not bead.get("prefer_until"):
        opened = opened.evolve(prefer_until=time_text(at + timedelta(seconds=kept_s)))
    return touch(opened, at)


def with_mode(before: Bead, after: Bead, at: datetime) -> Bead:
    """Return the changed bead, checking a new `claim_mode`. Raises WrongState while somebody holds it."""
    if before.get("claim_mode") == after.get("claim_mode") or not before.claims:
        return after
    names = advisory_claims.at_it(before, at) or ([before.claim.agent] if before.claim else [])
    if names:
        hint = "change it when they are done"
        raise WrongState(f"{before.id} is in work by {', '.join(names)}; its claim_mode stays", hint=hint, id=before.id)
    return after.evolve(claims=None)


def closed(bead: Bead, by: str, reason: str, at: datetime) -> Bead:
    """Return the bead closed. Raises AlreadyClosed (naming who closed it first) and WrongState."""
    if bead.status == "closed":
        raise AlreadyClosed(
            f"{bead.id} is already closed by {bead.get('closed_by') or 'somebody'}: {bead.get('close_reason') or 'Closed'}",
            id=bead.id,
        )
    if bead.status == "cancelled":
        raise WrongState(f"{bead.id} was cancelled", hint=f"`bd reopen {bead.id}` first", id=bead.id)
    done = bead.evolve(
        status="closed",
        claim=None,
        claims=None,
        routed=(bead.get("claim") or {}).get("routed"),
        retry_at=None,
        defer_until=None,
        **NOT_WAITING,
        closed_at=time_text(at),
        closed_by=by,
        close_reason=reason,
    )
    return touch(done, at)


def with_output(bead: Bead, output: Any) -> Bead:
    """Return the bead with the output of an attempt."""
    if not output:
        return bead
    kept = output if isinstance(output, dict) else {"data": output}
    return bead.evolve(output={**bead.get("output", {}), **kept})


def cancelled(bead: Bead, by: str, reason: str, at: datetime) -> Bead:
    """Return the bead cancelled. Raises WrongState if it is closed."""
    if bead.status == "closed":
        raise WrongState(f"{bead.id} is closed; closed beads can't be cancelled", id=bead.id)
    if bead.status == "cancelled":
        raise AlreadyClosed(f"{bead.id} is already cancelled", id=bead.id)
    ended = unclaimed(bead).evolve(
        status="cancelled",
        closed_at=time_text(at),
        closed_by=by,
        close_reason=reason,
        retry_at=None,
        defer_until=None,
        **NOT_WAITING,
    )
    return touch(ended, at)


def reopened(bead: Bead, at: datetime) -> Bead:
    """Return the bead open again, without its end and its waiting, routed as before the claim it was closed under.

    If it had ended, its attempts count from zero. Raises WrongState if it is held.
    """
    if bead.claim is not None or bead.status == "in_progress":
        raise WrongState(f"{bead.id} is in progress", hint=f"`bd release {bead.id} --reason TEXT` opens it", id=bead.id)
    was_claimed = bead.get("claimed_at") is not None
    if bead.is_done or bead.status == "dead_letter" or bead.get("dead_lettered_at"):  # given up, then parked by a person
        bead = _counted_from_zero(bead)
    opened = open_since(bead, at).evolve(
        status="open",
        assignee=bead.get("routed") if was_claimed else bead.assignee,
        routed=None,
        claimed_at=None,
        owner=None,
        closed_at=None,
        closed_by=None,
        close_reason=None,
        defer_until=None,
        retry_at=None,
        dead_lettered_at=None,
        **NOT_WAITING,
    )
    return touch(opened, at)


def _counted_from_zero(bead: Bead) -> Bead:
    """Return the bead with its attempts forgiven: reopened work may be tried as often as new work."""
    return bead.evolve(attempts_forgiven=bead.attempts or None, poison_pill=None)


def open_since(bead: Bead, at: datetime) -> Bead:
    """Return the bead with the time since when it is open again, from which its age counts. Unchanged if it is open already."""
    until = bead.get("defer_until") if bead.status in ("open", "deferred") else None
    if bead.status == "open" and not until:
        return bead
    return bead.evolve(reopened_at=until if until and instant_of(until) <= at else time_text(at))


def more_wanted_since(bead: Bead) -> str | None:
    """Return the time at which the bead was opened again because what had been done was not enough; None if that never was."""
    since = bead.get("reopened_at")
    is_answered = any(comment.get("kind") == "answer" and comment.get("at") == since for comment in bead.comments)
    return None if is_answered else since


def is_reopening(before: Bead, after: Bead) -> bool:
    """Return whether a finished or given-up bead is to be worked on again."""
    over = ("closed", "cancelled", "dead_letter")
    return before.status in over and after.status not in over


def deferred(bead: Bead, until: str | None, at: datetime) -> Bead:
    """Return the bead hidden until a time, or without one until it is undeferred."""
    if bead.is_done:
        raise WrongState(f"{bead.id} is {bead.status}", id=bead.id)
    return touch(unclaimed(bead).evolve(status="deferred", defer_until=until, **NOT_WAITING), at)


def undeferred(bead: Bead, at: datetime) -> Bead:
    """Return the bead no longer deferred."""
    if bead.status != "deferred" and not bead.get("defer_until"):
        raise WrongState(f"{bead.id} is not deferred", id=bead.id)
    status = "open" if bead.status == "deferred" else bead.status
    return touch(open_since(bead, at).evolve(status=status, defer_until=None), at)


def with_status(bead: Bead, status: str, by: str, reason: str | None, at: datetime) -> Bead:
    """Return the bead with a status set by hand: closes, reopens, releases, cancels, defers or parks it."""
    if status == "ready":
        status = "open"
    if status == bead.status:
        return bead
    if status == "closed":
        return closed(bead, by, reason or "Closed", at)
    if status == "cancelled":
        return cancelled(bead, by, reason or "Cancelled", at)
    if status == "open":
        held = bead.claim is not None or bead.status == "in_progress"
        return released(bead, reason, at) if held else reopened(bead, at)
    if status == "deferred":
        return deferred(bead, bead.get("defer_until"), at)
    if status == "in_progress":
        return touch(reopened(bead, at).evolve(status="in_progress", started_at=bead.get("started_at") or time_text(at)), at)
    if status in ("stalled", "retrying"):
        raise BadInput(f"{status} is derived from the clock and can't be set", hint="set open, blocked, deferred or closed")
    waiting = {**NOT_WAITING, "status_reason": reason}
    if bead.is_done:
        bead = _counted_from_zero(bead)  # afterwards nothing shows that it had ended
    parked = unclaimed(bead).evolve(status=status, closed_at=None, closed_by=None, close_reason=None, **waiting)
    return touch(parked, at)
