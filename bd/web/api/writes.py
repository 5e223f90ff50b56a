"""Endpoints that write: each makes one operation, publishes it, and answers with what the command prints.

An agent ends and changes claims of its own only: the fencing token that it sends has to be that of its claim.
"""

from __future__ import annotations

import json
from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.compat import bead_json
from bd.compat.close_outputs import CHECKED_IN_BEAD, IN_BEAD
from bd.core.errors import BadInput, NothingReady, NotValidated, StaleToken, UrlNotAllowed
from bd.core.model import Change
from bd.notify.hooks import tell
from bd.operations import typed_secrets
from bd.operations.beads import Comment
from bd.operations.claims import Claim, Release, Start
from bd.operations.close import Close
from bd.operations.create import Create
from bd.operations.fail import Fail
from bd.operations.human_wait import WaitHuman
from bd.operations.spawn import Spawn
from bd.operations.stored_outputs import packed, with_stored
from bd.policy import claims, validation
from bd.policy.lifecycle import guard, with_output
from bd.policy.ranking import Ranking
from bd.report.past_bead import bead_at
from bd.web.api.call import Answer, bead_of
from bd.web.authentication import AGENT, CLAIM
from bd.worker import manual_heartbeat, progress
from bd.worker.stall_recovery import freed_for

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from bd.core.model import Bead
    from bd.core.operation import Once
    from bd.operations.base import Operation
    from bd.store import Clone, Outcome
    from bd.web.api.call import Call
    from bd.web.site import View


class Written(NamedTuple):
    """What a call wrote: the change, its commit, and whether it was carried out before, under the same key."""

    change: Change
    commit: str
    published: bool
    is_again: bool
    notes: tuple[str, ...]


# --- claims ---------------------------------------------------------------------------------------


def claim(hub: Clone, call: Call) -> Answer:
    """Claim a bead, or the best one that fits."""
    snapshot = hub.snapshot()
    agent = call.agent(snapshot)
    values, by = call.values, f"agent:{agent}"
    if values.get("id") and values.get("count", 1) > 1:
        raise BadInput("id and count can't be combined", hint="leave id out for the best beads that fit")
    wanted: dict[str, Any] = {"ids": [values["id"]]} if values.get("id") else {"next": True, "count": values.get("count", 1)}
    if values.get("reserve"):
        wanted["reserve"] = True
    if values.get("resume"):
        wanted = {key: value for key, value in wanted.items() if key != "next"} | {"resume": True}

    def make(asked: Mapping[str, Any]) -> Operation:
        return Claim(**asked, agent=agent, **wanted)

    try:
        written = _written(hub, call, by, make)
    except NothingReady as nothing:
        if not wanted.get("next") or not freed_for(hub, nothing, by):
            raise
        written = _written(hub, call, by, make)
    return _answer(hub, call, written if written.is_again else _in_hand(hub, written))


def _in_hand(hub: Clone, written: Written) -> Written:
    """Return won claims, with a note of those that another writer ended in the same push. Raises StaleToken if none is left."""
    won = written.change.tokens
    ended = claims.ended(won, hub.snapshot(written.commit)) if won else []
    if not ended:
        return written
    words = f"the claim of {', '.join(ended)} was won, and has ended in the same push"
    if len(ended) == len(won):
        raise StaleToken(words, hint="claim other work", id=ended[0])
    return written._replace(notes=(*written.notes, words))


def start(hub: Clone, call: Call) -> Answer:
    """Start the work on a reserved bead."""
    return _on_held(hub, call, lambda asked: Start(**asked))


def release(hub: Clone, call: Call) -> Answer:
    """Give a bead back."""
    return _on_held(hub, call, lambda asked: Release(**asked, reason=call.values["reason"]), ends=True)


def close(hub: Clone, call: Call) -> Answer:
    """Finish a bead, and with `next` claim another one."""
    return _on_held(hub, call, lambda asked: Close(**asked, reason=call.values.get("reason"), **_closing(hub, call)), ends=True)


def _closing(hub: Clone, call: Call) -> dict[str, Any]:
    """Return what a close has besides its reason. Raises NotValidated, and StaleToken before anything is checked."""
    snapshot = hub.snapshot()
    bead = bead_of(call.values["id"], snapshot)
    more = _output(call, bead)
    if call.values.get("next"):
        if call.account.kind == CLAIM:
            raise BadInput("a token for one claim can't claim another bead", hint="leave next out")
        more["next"] = {"agent": call.agent(snapshot)}
    made = with_output(bead, with_stored(more.get("output"), more.get("stores") or {}, bead))
    seal = None
    if validation.is_asked(made) and not bead.is_done:
        guard(bead, _token_of(call) or None, at=hub.runtime.now())
        seal = _seal(hub, call, made)
    return {**more, **({"seals": {bead.id: seal}} if seal else {})}


def fail(hub: Clone, call: Call) -> Answer:
    """Record a failed attempt."""
    known = {key: call.values[key] for key in ("error", "cost_usd", "duration_s") if key in call.values}
    kind = call.values["reason"]
    return _on_held(hub, call, lambda asked: Fail(**asked, reason=kind, **known), ends=True, is_news=True)


def wait_human(hub: Clone, call: Call) -> Answer:
    """Park a bead until a person answers."""
    question = call.values["question"]
    return _on_held(hub, call, lambda asked: WaitHuman(**asked, reason=question), ends=True, is_news=True)


def heartbeat(hub: Clone, call: Call) -> Answer:
    """Send a heartbeat for a claim, and a note with it."""
    bead_id, tokens, agent = _held(hub, call)
    given = manual_heartbeat.give(hub, agent, lambda _: tokens, bead=bead_id, text=call.values.get("progress"))
    return Answer(given._asdict(), headers=_noted(typed_secrets.warning(call.values.get("progress"), {})))


def note_progress(hub: Clone, call: Call) -> Answer:
    """Post a note on a bead while working on it."""
    bead_id, tokens, agent = _held(hub, call)
    given = manual_heartbeat.give(hub, agent, lambda _: tokens, bead=bead_id, text=call.values["text"], must_hold=True)
    shown = {"id": given.beads[0], "progress": progress.kept(hub, given.beads[0])}
    return Answer(shown, headers=_noted(typed_secrets.warning(call.values["text"], {})))


# --- beads ----------------------------------------------------------------------------------------


def create(hub: Clone, call: Call) -> Answer:
    """Create a bead."""
    by, spec = call.by(hub.snapshot()), {key: value for key, value in call.values.items() if value not in ("", [])}
    written = _written(hub, call, by, lambda asked: Create(**asked, beads=[spec]))
    return _answer(hub, call, written, made=0)


def spawn(hub: Clone, call: Call) -> Answer:
    """Create a subtask of a bead in progress."""
    new = {key: value for key, value in call.values.items() if key not in ("id", "token", "wait", "agent")}
    waits = bool(call.values.get("wait"))
    return _on_held(hub, call, lambda asked: Spawn(**asked, new=new, wait=waits), ends=waits, made=1)


def comment(hub: Clone, call: Call) -> Answer:
    """Comment on a bead."""
    by = call.by(hub.snapshot())
    written = _written(hub, call, by, lambda asked: Comment(**asked, ids=[call.values["id"]], text=call.values["text"]))
    entry = written.change.result or {}
    shown = {"id": entry.get("id"), "issue_id": written.change.touched[0], "author": entry.get("author")}
    shown.update({"text": entry.get("text"), "created_at": entry.get("at"), "published": written.published})
    return Answer(shown, headers=_headers(written))


# --- the common part ------------------------------------------------------------------------------


def _held(hub: Clone, call: Call) -> tuple[str, dict[str, str], str]:
    """Return the bead, the token to present for it, and the agent that holds it under that token.

    Raises StaleToken if the claim is another agent's, or has ended.
    """
    token = _token_of(call)
    bead, claim = _claim_under(hub, call.values["id"], token)
    if token and claim is None:  # it may be newer than what this clone knows
        hub.fetch()
        bead, claim = _claim_under(hub, call.values["id"], token)
    if token and claim is None:
        raise StaleToken(f"{bead.id} is not held under this token", hint="stop working on it; claim other work", id=bead.id)
    holder = str((claim or {}).get("agent") or "")
    if holder and call.account.kind == AGENT and holder != call.account.name:
        raise StaleToken(f"this token is for {holder}'s claim of {bead.id}", hint="send the token of your own claim", id=bead.id)
    return bead.id, {bead.id: token} if token else {}, holder or call.account.name


def _token_of(call: Call) -> str:
    """Return the fencing token that a call presents; empty if it has none."""
    return str(call.account.claim or call.values.get("token") or "")


def _claim_under(hub: Clone, typed: str, token: str) -> tuple[Bead, dict[str, Any] | None]:
    bead = bead_of(typed, hub.snapshot())
    return bead, bead.claim_under(token)


def _on_held(
    hub: Clone,
    call: Call,
    make: Callable[[Mapping[str, Any]], Operation],
    *,
    ends: bool = False,
    is_news: bool = False,
    made: int | None = None,
) -> Answer:
    """Publish an operation on one bead that the caller holds.

    `ends`: it ends the attempt, and takes the notes along. `is_news`: people may have to be told.
    """
    known, _ = _known(hub, call)
    if known is not None:
        return _answer(hub, call, known, made=made)
    bead_id, tokens, holder = _held(hub, call)
    by = call.by_of(holder)
    more: dict[str, Any] = {"ids": [bead_id], "tokens": tokens}
    notes = progress.kept(hub, bead_id) if ends and tokens else []
    if notes:
        more["progress"] = {bead_id: notes}
    written = _written(hub, call, by, lambda asked: make({**asked, **more}))
    if ends:
        progress.forget(hub, bead_id)
    if is_news:
        tell(hub, by)
    return _answer(hub, call, written, made=made)


def _known(hub: Clone, call: Call) -> tuple[Written | None, Once | None]:
    """Return what was written earlier under the call's key, as far as this clone knows; else the key as it goes on.

    Both are of one look at the history: what comes after it, the transaction looks through. Raises KeyReused.
    """
    if not call.key:
        return None, None
    found, tip = call.keys.find(hub, call.once().key)
    once = call.once(tip)
    if found is None:
        return None, once
    return Written(found.result(once, hub.snapshot()), found.commit, published=True, is_again=True, notes=()), once


def _written(hub: Clone, call: Call, by: str, make: Callable[[Mapping[str, Any]], Operation]) -> Written:
    """Publish an operation once for a key. Raises its refusal, KeyReused, TryAgain."""
    known, once = _known(hub, call)
    if known is not None:
        return known
    operation = make(call.asked(hub.runtime, by, once=once))
    outcome = hub.publish(operation)
    outcome.acknowledge()
    again = call.keys.find(hub, once.key)[0] if once else None
    if again is not None and again.uid != operation.uid:  # another server was faster
        return _known(hub, call)[0] or _fresh(operation, outcome)
    return _fresh(operation, outcome)


def _fresh(operation: Operation, outcome: Outcome) -> Written:
    change = outcome.change or Change({}, "")
    notes = (*outcome.notes, *change.notes, typed_secrets.warning_of(operation, {}))
    return Written(change, outcome.commit, published=outcome.published, is_again=False, notes=notes)


def _answer(hub: Clone, call: Call, written: Written, *, made: int | None = None) -> Answer:
    """Return the beads that were touched, as the write left them; with `made` only that one, as an object."""
    snapshot = hub.snapshot() if written.is_again else hub.snapshot(written.commit)
    if written.is_again:
        found = (bead_at(hub, written.commit, bead_id) or snapshot.bead(bead_id) for bead_id in written.change.touched)
    else:
        found = (snapshot.bead(bead_id) for bead_id in written.change.touched)
    beads = [bead for bead in found if bead is not None]
    shown = bead_json.written(beads, written.change, Ranking(snapshot, hub.runtime.now()), published=written.published)
    return Answer(shown if made is None else shown[made], headers=_headers(written))


def _headers(written: Written) -> dict[str, str]:
    headers = {"idempotent-replayed": "true"} if written.is_again else {}
    return {**headers, **_noted(*written.notes)}


def _noted(*notes: str) -> dict[str, str]:
    """Return the header with these notes; empty ones are none."""
    told = [note for note in notes if note]
    return {"bd-notes": json.dumps(told)} if told else {}


def _output(call: Call, bead: Bead) -> dict[str, Any]:
    """Return the arguments of a close for an output: a small one goes into the bead, a larger one next to it."""
    if "output" not in call.values:
        return {}
    value = call.values["output"]
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if len(text.encode()) <= (CHECKED_IN_BEAD if validation.is_asked(bead) else IN_BEAD):
        return {"output": {"data": value}}
    return {"stores": {"output.txt" if isinstance(value, str) else "output.json": packed(text.encode())}}


def is_checked_long(view: View, call: Call) -> bool:
    """Return whether a close checks an output in a way that may take minutes."""
    bead = bead_of(call.values["id"], view.snapshot)
    return not bead.is_done and validation.kind_of(bead) in validation.SLOW


def _seal(hub: Clone, call: Call, bead: Bead) -> str:
    """Return the seal of an output that passed. Raises NotValidated and UrlNotAllowed; the attempt goes on in any case."""
    verdict = call.check(hub, bead)
    if verdict.passed:
        return validation.seal_of(bead)
    if verdict.is_for_person:
        words = f"{bead.id} can't be validated: its URL leads to an address that is not public"
        raise UrlNotAllowed(
            words, hint="a person can allow it with `url_allow` on the server; wait_human asks for that", id=bead.id
        )
    if verdict.passed is None:
        hint = "close it again once that is fixed"
        raise NotValidated(f"{bead.id} can't be validated: {verdict.words}", hint=hint, id=bead.id)
    raise NotValidated(f"{bead.id} is not valid: {verdict.words}", hint="fix the output and close it again", id=bead.id)
