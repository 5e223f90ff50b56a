"""A heartbeat sent by hand or by a script: `bd heartbeat`, `bd progress`."""

from __future__ import annotations

from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.core import ids, times
from bd.core.errors import Refused, StaleToken
from bd.policy import advisory_claims
from bd.policy.capacity import held_by
from bd.policy.liveness import NEAR_INTERVAL_S
from bd.worker import heartbeats, progress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from bd.core.model import Bead
    from bd.store import Clone


class Pulse(NamedTuple):
    """The heartbeats that were sent: for which beads, how (`ref`, `branch` or `none`), and when."""

    agent: str
    beads: tuple[str, ...]
    by: str
    at: str


def give(
    hub: Clone,
    agent: str,
    tokens_for: Callable[[Iterable[str]], Mapping[str, str]],
    *,
    bead: str | None = None,
    text: str | None = None,
    must_hold: bool = False,
) -> Pulse:
    """Send a heartbeat for each claim that the agent holds here, and the agent's record.

    Raises StaleToken if a claim is no longer the agent's, Refused if it has to hold the bead and does not, RemoteUnreachable.
    """
    snapshot = hub.snapshot()
    known = held_by(agent, snapshot)
    # a claim that promised no heartbeats has no ref whose lease would show its end
    if heartbeats.branch_tip(hub) != hub.published():
        hub.fetch()
        snapshot = hub.snapshot()
    held = held_by(agent, snapshot)
    _refuse_gone(known, held, tokens_for)
    if bead is not None:
        bead_id = ids.resolve(bead, snapshot.starting, snapshot.exists)
        held = [one for one in held if one.id == bead_id]
        if not held:
            raise Refused(f"{agent} does not hold {bead_id}", hint=f"`bd claim {bead_id} --agent {agent}` first", id=bead_id)
    by = "ref" if hub.sides.probe(hub.runtime.now()) else "branch"
    tokens = tokens_for([one.id for one in held])
    meant = held if bead is not None else _meant_by(tokens, held)
    given = tuple(one.id for one in meant if _sign(hub, agent, one, tokens, by))
    if (bead is not None or must_hold) and not given:
        hint = "the claim was made in another session: BD_TOKEN proves it, or BD_SESSION names that session"
        raise StaleToken(f"{agent} holds {held[0].id}, and no token was given", hint=hint, id=held[0].id)
    told = None
    if text and not given:
        raise Refused(f"{agent} holds no beads here", hint=f"`bd list --assignee {agent}` shows what it holds")
    if text:
        told = progress.noted(hub, agent, given[0], text)
    if by == "ref":
        heartbeats.tell(hub, agent, told)
    return Pulse(agent, given, by if given else "none", times.time_text(hub.runtime.now()))


def _refuse_gone(known: list[Bead], held: list[Bead], tokens_for: Callable[[Iterable[str]], Mapping[str, str]]) -> None:
    """Refuse a heartbeat for a claim of this caller that has ended. Raises StaleToken."""
    now = {token for one in held for token in one.tokens}
    for one in known:
        mine = set(tokens_for([one.id]).values())
        if not (mine - now).isdisjoint(one.tokens):
            raise _gone(one.id)


def _meant_by(tokens: Mapping[str, str], held: list[Bead]) -> list[Bead]:
    """Return the beads that a caller without a bead means: a token for any bead (BD_TOKEN) stands for its own claim alone."""
    return [one for one in held if tokens.get("*") in one.tokens] or held


def _gone(bead_id: str) -> StaleToken:
    words = f"your claim of {bead_id} has ended"
    return StaleToken(words, hint="stop working on it; `bd claim --next` takes other work", id=bead_id)


def _sign(hub: Clone, agent: str, bead: Bead, tokens: Mapping[str, str], by: str) -> bool:
    """Send one claim's heartbeat. False if the caller lacks its token: it belongs to another process of the same name."""
    token = tokens.get(bead.id) or tokens.get("*")
    if token is None:
        return False
    if bead.get("claims"):
        _renew(hub, agent, bead, token)
        return True
    claim = bead.get("claim")
    if token != claim["token"]:
        raise StaleToken(
            f"{bead.id} is held under a newer token; yours is no longer current", hint="stop working on it", id=bead.id
        )
    if by == "branch":
        now = hub.runtime.now()
        if heartbeats.is_due_on_branch(claim, now):
            heartbeats.sign_on_branch(hub, agent, bead.id, token, heartbeats.later_than(claim, now))
        return True
    interval_s = float(claim.get("heartbeat_interval_s") or NEAR_INTERVAL_S)
    if claim.get("heartbeat_by") != "ref" and hub.sides.last_beat(token) is None:
        _begin(hub, bead.id, token, interval_s)
        return True
    if not heartbeats.beat(hub, token, interval_s, hub.runtime.now()):
        hub.fetch()
        _refuse_ended(hub, bead.id, token)
        _go_on(hub, token, interval_s)
    return True


def _begin(hub: Clone, bead_id: str, token: str, interval_s: float) -> None:
    """Create the ref of a claim that promised no heartbeats.

    Under the clone's lock, so that the write that ends the claim removes it.
    """
    hub.begin_write()
    try:
        _refuse_ended(hub, bead_id, token, hub.finish_fetch() if hub.remote_name else None)
        if not heartbeats.beat(hub, token, interval_s, hub.runtime.now()):
            _go_on(hub, token, interval_s)
    finally:
        hub.end_write()


def _go_on(hub: Clone, token: str, interval_s: float) -> None:
    """Continue from the heartbeat that another process of the holder sent."""
    heartbeats.adopt(hub, token)
    heartbeats.beat(hub, token, interval_s, hub.runtime.now())


def _refuse_ended(hub: Clone, bead_id: str, token: str, tip: str | None = None) -> None:
    current = hub.snapshot(tip).head(bead_id)
    if current is None or current.claim is None or current.claim.token != token:
        raise _gone(bead_id)


def _renew(hub: Clone, agent: str, bead: Bead, token: str) -> None:
    """Extend an advisory claim by a commit, half-way to its expiry."""
    claim = advisory_claims.claim_under(bead, token, hub.runtime.now())
    if claim is None:
        raise _gone(bead.id)
    now = hub.runtime.now()
    if heartbeats.is_due_on_branch(claim, now, min(heartbeats.BRANCH_EVERY_S, advisory_claims.renewal_s(claim) or 0.0)):
        heartbeats.sign_on_branch(hub, agent, bead.id, token, heartbeats.later_than(claim, now))
