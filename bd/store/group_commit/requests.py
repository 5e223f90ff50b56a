"""Requests: operations that wait on the remote, in `refs/bd/intents/<uid>`, for the next clone that publishes.

A request is never the truth: the branch alone says what happened. It is a commit with an empty tree and no parent, whose message
is the operation as JSON. This module makes, reads, judges, carries out and removes them.
"""

from __future__ import annotations

import json
from contextlib import suppress

from bd import TYPE_CHECKING
from bd.core import times, versions
from bd.core.errors import BdError, RemoteUnreachable, ServerRefused
from bd.core.json_shapes import json_value
from bd.core.times import SKEW_S, instant_of, time_text
from bd.core.value import Value
from bd.store import observations
from bd.store.contract import SideRef
from bd.store.group_commit import answer, verdict_trailers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime
    from typing import Any

    from bd.core.model import Change
    from bd.core.operation import DecisionContext, Operation
    from bd.store.contract import JournalEntry
    from bd.store.group_commit.member import Member
    from bd.store.replica import Replica

INTENTS = "refs/bd/intents/"
# Lifetime of a request; any clone then takes it as abandoned.
VALID_S = 90.0
LIMIT = 64_000
# The most requests carried in one push.
AT_ONCE = 100
SEEN = "intents.json"


class Request(Value):
    """A parsed request: the operation's form, its git author, the tip it was made on, and when.

    `rules` is the fingerprint of the code that its author decides with; empty if it names none.
    """

    uid: str
    oid: str
    form: Mapping[str, Any]
    author: str
    base: str
    at: str
    tries: int
    rules: str

    @property
    def removal(self) -> SideRef:
        """The side-ref update that deletes it, only if it is still what was read."""
        return SideRef(INTENTS + self.uid, None, self.oid)


def text_of(form: Mapping[str, Any], *, author: str, base: str, at: datetime, tries: int) -> str:
    """Compose the message of an operation's request."""
    told = {
        "intent": versions.REQUEST,
        "rules": versions.rules(),
        "base": base,
        "at": time_text(at),
        "valid_s": VALID_S,
        "author": author,
        "tries": tries,
        "op": form,
    }
    return json.dumps(told, separators=(",", ":"))


def read(replica: Replica, seen: Mapping[str, str]) -> list[Request]:
    """Read the listed requests that this version understands; all others are left alone."""
    names = list(seen)
    found: list[Request] = []
    for uid, data in zip(names, replica.repo.objects.read_many([seen[uid] for uid in names], at_most=LIMIT + 1), strict=True):
        request = _parsed(uid, seen[uid], data)
        if request is not None:
            found.append(request)
    return found


def found_on_remote(replica: Replica) -> tuple[list[Request], list[str]]:
    """Fetch every request: those that this version understands, and the refs of the others. Raises RemoteUnreachable."""
    seen = {ref.removeprefix(INTENTS): oid for ref, oid in replica.sides.listing(INTENTS).items()}
    if seen:
        replica.remote.fetch_objects([INTENTS + uid for uid in seen])
    known = read(replica, seen)
    return known, sorted(INTENTS + uid for uid in seen.keys() - {request.uid for request in known})


def _parsed(uid: str, oid: str, data: bytes | None) -> Request | None:
    if data is None or len(data) > LIMIT or not data.startswith(b"tree ") or b"\nparent " in data.partition(b"\n\n")[0]:
        return None
    try:
        told = json_value(data.partition(b"\n\n")[2].decode())
        form = told["op"]
        fits = (
            versions.is_known(told["intent"], versions.REQUEST)
            and form["uid"] == uid
            and isinstance(form["verb"], str)
            and isinstance(form["args"], dict)
        )
        author = str(told["author"])
        instant_of(told["at"])
        tries, decided_by = int(told.get("tries", 1)), str(told.get("rules") or "")
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        return None
    if not fits or any(sign in author for sign in "\n\r\0") or author.count("<") != 1 or not author.endswith(">"):
        return None
    return Request(uid, oid, form, author, str(told["base"]), told["at"], tries, decided_by)


def abandoned(replica: Replica, found: Iterable[Request], now: datetime) -> list[Request]:
    """Return the requests of authors who gave up or died: seen here for longer than VALID_S, or stamped far earlier."""
    waiting = list(found)
    seen_s = observations.since(replica, SEEN, {request.uid: request.oid for request in waiting})
    return [request for request in waiting if seen_s[request.uid] > VALID_S or _age_s(request, now) > VALID_S + SKEW_S]


def _age_s(request: Request, now: datetime) -> float:
    return (now - instant_of(request.at)).total_seconds()


# --- asking -----------------------------------------------------------------------------------


class Asked(Value):
    """The result of asking: `made`, `refused` (or impossible) or `unknown`; the requests by uid, and how long it took."""

    kind: str
    requests: Mapping[str, str]
    took_s: float


def portable_form(operation: Operation) -> dict[str, Any] | None:
    """Return what another process needs to carry out the operation; None if only this one can."""
    if not operation.is_portable:
        return None
    form = operation.form()
    try:
        json.dumps(form)
    except TypeError:  # it holds values that JSON can't
        return None
    return form


def publish(
    replica: Replica,
    entry: JournalEntry,
    members: Sequence[Member],
    base: str,
    author_of: Callable[[str], str],
    tries: int,
) -> Asked:
    """Publish the members' requests in one push.

    If that is impossible the result is `refused`, and they are published the plain way. They are in the journal before they are
    on the remote.
    """
    now = replica.runtime.now()
    sides: list[SideRef] = []
    for member in members:
        form = portable_form(member.operation)
        author = author_of(member.operation.by)
        text = text_of(form, author=author, base=base, at=now, tries=tries) if form is not None else None
        if text is None or len(text) > LIMIT:
            return Asked("refused", {}, 0.0)
        sides.append(SideRef(INTENTS + member.uid, replica.sides.commit(text, "bd <intent@bd>", now), None))
    named = {side.ref.removeprefix(INTENTS): side.new or "" for side in sides}
    entry.write(state="asked", asked_on=base, intents=named, unanswered_since_s=int(now.timestamp()))
    begun_s = replica.runtime.monotonic()
    kind = replica.sides.create(sides)
    took_s = replica.runtime.monotonic() - begun_s
    if kind != "unknown":
        with suppress(OSError):  # as it is, the entry says that the requests may be there
            entry.write(durably=False, unanswered_since_s=None, **({"intents": {}} if kind == "refused" else {}))
    return Asked(kind, named, took_s)


def take_back(replica: Replica, entry: JournalEntry, members: Sequence[Member]) -> frozenset[str]:
    """Take back requests. Return the uids of those that were removed before anybody carried them out: all or none.

    A server that takes only one ref at a time is asked for each.
    """
    groups = [members] if replica.sides.usable() else [[member] for member in members]
    gone: set[str] = set()
    for group in groups:
        with suppress(RemoteUnreachable, ServerRefused):  # the result is unknown
            if replica.sides.move([removal for member in group if (removal := member.removal)]):
                gone |= {member.uid for member in group}
    if gone:
        left = {member.uid: member.request for member in members if member.uid not in gone}
        with suppress(OSError):  # the same
            entry.write(durably=False, intents=left)
    return frozenset(gone)


# --- carrying out the requests of others ---------------------------------------------------------


class RequestedOperation(Value):
    """A request of another clone, and its operation."""

    request: Request
    operation: Operation


class Others(Value):
    """Other clones' requests at a base, and the removals of abandoned ones."""

    requested: list[RequestedOperation]
    removals: list[SideRef]


NOBODY = Others([], [])


def others(replica: Replica, revive: Callable[[Mapping[str, Any]], Operation], base: str, own: set[str]) -> Others:
    """Find the requests of other clones that can be carried out on this base, and the removals of abandoned or answered ones."""
    seen = {uid: oid for uid, oid in replica.requests.items() if uid not in own}
    if not seen:
        return NOBODY
    found = read(replica, seen)
    gone = abandoned(replica, found, replica.runtime.now())
    waiting = [request for request in found if request not in gone]
    done = verdict_trailers.since(replica.repo, [request.base for request in waiting], base)
    gone += [request for request in waiting if request.uid in done]
    waiting = [request for request in waiting if versions.same_rules(request.rules)]  # a clone with other rules publishes alone
    bases = {request.base for request in waiting if request.base != base}
    known = {oid for oid in bases if replica.repo.objects.read(oid) is not None} | {base}
    fitting = [request for request in waiting if request.uid not in done and request.base in known]
    made = [(request, revived(revive, request.form)) for request in fitting]
    requested = [RequestedOperation(request, operation) for request, operation in made if operation is not None]
    return Others(requested[:AT_ONCE], [request.removal for request in gone])


def revived(revive: Callable[[Mapping[str, Any]], Operation], form: Mapping[str, Any]) -> Operation | None:
    """Make the operation from a form; None if this version does not know it, or only its author may carry it out."""
    try:
        operation = revive(form)
    except Exception:  # noqa: BLE001  whatever the error is, the operation is left to its author
        return None
    return operation if operation.is_portable else None


def carry_out(
    add: Callable[..., Change], one: RequestedOperation, context: Callable[[], DecisionContext], told: list[str]
) -> bool:
    """Carry out another clone's operation. Return whether its request is now answered.

    Refusals go into the trailers of the last commit.
    """
    request, operation = one.request, one.operation

    def trailer(change: Change) -> str:
        return verdict_trailers.line(request.uid, answer.of_change(change))

    try:
        at_s = times.unix_seconds(operation.at)
        change = add(operation, request.author, at_s, tries=request.tries, context=context(), told=trailer)
    except BdError as error:
        told.append(verdict_trailers.line(request.uid, answer.of_error(error)))
        return True
    except Exception:  # noqa: BLE001  a newer bd may have made the request: left to its author
        return False
    if change.is_empty:
        told.append(verdict_trailers.line(request.uid, answer.of_change(change)))
    return True
