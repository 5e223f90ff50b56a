"""One call of an endpoint: who calls it, with which values, and the answer."""

from __future__ import annotations

import hashlib
import json
from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.core import ids, times
from bd.core.errors import BadInput, NoSuchBead, StaleToken
from bd.core.ids import check_agent
from bd.core.operation import Once
from bd.web.authentication import AGENT, CLAIM, PERSON

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from bd.brief.verbs import Verbs
    from bd.core.model import Bead, Snapshot
    from bd.core.runtime import Runtime
    from bd.store import Clone, KeyIndex
    from bd.web.authentication import Account
    from bd.worker.validation import Verdict

_KEY_LIMIT = 200
_DIGEST = 32


class Answer(NamedTuple):
    """An answer: a JSON value, or a text that is JSON already; and what stands in headers beside it."""

    value: Any
    is_text: bool = False
    headers: Mapping[str, str] = {}

    def text(self) -> str:
        """Return the answer's JSON; an object has its version, as the commands' do."""
        if self.is_text:
            return str(self.value)
        told = {**self.value, "schema_version": 1} if isinstance(self.value, dict) else self.value
        return json.dumps(told, ensure_ascii=False, indent=2) + "\n"


class Call(NamedTuple):
    """One call. `values` are checked; `key` is the idempotency key, or empty; `keys` are those in the hub's history.

    `verbs` returns how a brief tells a kind of account to report on a bead; `check` checks a bead's output.
    """

    endpoint: str
    account: Account
    values: Mapping[str, Any]
    key: str
    keys: KeyIndex
    verbs: Callable[[str, str], Verbs]
    check: Callable[[Clone, Bead], Verdict]

    # --- who calls ---

    def agent(self, snapshot: Snapshot) -> str:
        """Return the agent that the call is for. Raises BadInput if a person names none, StaleToken for a claim that ended."""
        name = self.agent_if_any(snapshot)
        if not name:
            raise BadInput("for which agent?", hint="a person's token does not say it: give agent")
        return name

    def agent_if_any(self, snapshot: Snapshot) -> str:
        """Return the same, or nothing for a person who names no agent."""
        if self.account.kind == AGENT:
            return self.account.name
        if self.account.kind == CLAIM:
            return str(claim_of(self.account, snapshot)["agent"])
        return check_agent(self.values["agent"]) if self.values.get("agent") else ""

    def by(self, snapshot: Snapshot) -> str:
        """Return the author of what the call writes."""
        return self.by_of(self.account.name if self.account.kind == PERSON else self.agent(snapshot))

    def by_of(self, holder: str) -> str:
        """Return the author of what the call does for the agent that holds a bead."""
        return f"human:{self.account.name}" if self.account.kind == PERSON else f"agent:{holder}"

    def asked(self, runtime: Runtime, by: str, **args: Any) -> dict[str, Any]:
        """Return the arguments of every operation: author, time, and the runtime that mints ids."""
        return {"by": by, "at": times.time_text(runtime.now(), exact=True), "runtime": runtime, **args}

    # --- the same call again ---

    def once(self, since: str = "") -> Once:
        """Return the idempotency key as the hub keeps it: digests of the caller's key, and of all that is asked for."""
        whose = [self.account.kind, self.account.name, self.account.claim, self.key]
        return Once(_digest(whose), _digest([self.endpoint, self.values]), since)


def _digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST]


def checked_key(text: str) -> str:
    """Return an idempotency key. Raises BadInput."""
    if len(text) > _KEY_LIMIT or not text.isascii() or not text.isprintable() or (text and not text.strip()):
        raise BadInput(f"an idempotency key has up to {_KEY_LIMIT} plain characters", hint="such as a random UUID")
    return text.strip()


def bead_of(typed: str, snapshot: Snapshot) -> Bead:
    """Return the whole bead for an id or its beginning. Raises NoSuchBead and Ambiguous."""
    bead = snapshot.bead(ids.resolve(typed, snapshot.starting, snapshot.exists))
    if bead is None:
        raise NoSuchBead(typed)
    return bead


def claim_of(account: Account, snapshot: Snapshot) -> Mapping[str, Any]:
    """Return the claim that an account is for. Raises StaleToken if it has ended."""
    bead = snapshot.head(account.name)
    claim = bead.claim_under(account.claim) if bead else None
    if claim is None:
        raise StaleToken(f"this token was for a claim of {account.name} that has ended", id=account.name)
    return claim
