"""Gateways: URLs that are told which beads are ready for an agent on another machine. Posting and retries, without threads.

A bead is posted once each time it becomes ready: its key stays the same until it is claimed, waits, or is retried. The keys of
what was posted are kept in the clone. Redirects are never followed: only the configured address is contacted.
"""

from __future__ import annotations

import hashlib
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from itertools import islice
from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.core import urls
from bd.core.backoff import grown_s
from bd.core.errors import BadInput
from bd.core.ids import check_agent
from bd.policy.eligibility import Eligibility
from bd.policy.readiness import Readiness
from bd.web.gateway_body import Message, body_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from bd.core.model import Bead
    from bd.core.runtime import Runtime
    from bd.store import CachedSnapshot, Clone

# The most beads offered to a gateway at once, keys remembered, and tries for one bead.
AT_ONCE = 10
REMEMBERED = 500
TRIES = 8
_FIRST_S, _LONGEST_S = 2.0, 600.0
_LIMIT_S = 10.0
_ANSWER_BYTES = 4096
# Statuses that may be temporary; any other 3xx or 4xx is final.
_PASSING = frozenset({408, 425, 429})


class Target(NamedTuple):
    """An agent, and the URL to which its ready beads are posted."""

    agent: str
    url: str


def target_of(text: str) -> Target:
    """Parse AGENT=URL. Raises BadInput."""
    agent, _, url = text.partition("=")
    if not urls.is_web(url) or not url.isascii():
        raise BadInput(f"{text!r} is not AGENT=URL", hint="such as codemonkey=https://build-3.example.org/wake")
    return Target(check_agent(agent), url)


class Gateway:
    """One target, with what was posted to it and when it is retried.

    `token` is sent as a bearer token; `template` is the document to post, None for bd's own (gateway_body.py).
    """

    def __init__(self, target: Target, token: str, tell: Callable[[str], None], runtime: Runtime, template: Any = None) -> None:
        self.target, self._template = target, template
        self._token, self._tell, self._runtime = token, tell, runtime
        self._note = f"forward/{target.agent}-{hashlib.sha256(target.url.encode()).hexdigest()[:12]}.json"
        self._failures, self._again_s = 0, 0.0

    @property
    def rest_s(self) -> float | None:
        """Seconds until the next retry; None if nothing failed."""
        return max(0.0, self._again_s - self._runtime.monotonic()) if self._failures else None

    def offer(self, hub: Clone, snapshot: CachedSnapshot) -> None:
        """Post the beads that are ready for the agent and not posted yet. Stops at the first failure until its retry is due."""
        if self.rest_s:
            return
        kept = hub.noted_json(self._note, list) or []
        posted = [str(key) for key in kept]
        readiness = Readiness(snapshot, self._runtime.now())
        for bead in self._ready(snapshot):
            key = key_of(bead, readiness, self.target.agent)
            if key in posted:
                continue
            status = self._post(bead, key)
            is_done = 200 <= status < 300
            if not is_done and not self._is_given_up(bead, status):
                return
            self._failures = 0
            posted = [*posted, key][-REMEMBERED:]
            hub.note_json(self._note, posted)

    def _ready(self, snapshot: CachedSnapshot) -> list[Bead]:
        return list(islice(Eligibility(snapshot, self.target.agent, self._runtime.now()).beads(), AT_ONCE))

    def _is_given_up(self, bead: Bead, status: int) -> bool:
        """Count a failure; return whether to give up on the bead rather than retry it later."""
        self._failures += 1
        self._again_s = self._runtime.monotonic() + grown_s(_FIRST_S, self._failures - 1, _LONGEST_S)
        why = f"answers {status}" if status else "does not answer"
        is_meant = 300 <= status < 500 and status not in _PASSING
        if is_meant or self._failures >= TRIES:
            self._tell(f"{bead.id} was not delivered to {self.target.agent}: {self.target.url} {why}")
            return True
        if self._failures == 1:
            self._tell(f"{self.target.url} {why}; trying again")
        return False

    def _post(self, bead: Bead, key: str) -> int:
        """Post a bead; return the status of the response, or 0 if there is none."""
        body = body_of(Message(self.target.agent, bead, key), self._template)
        headers = {"Content-Type": "application/json", "Idempotency-Key": key, "User-Agent": "bd"}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        parts = urls.parsed(self.target.url)
        assert parts is not None
        make = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        try:
            connection = make(parts.host, parts.port_number, timeout=_LIMIT_S)
            try:
                connection.request("POST", parts.target, body, headers)
                answer = connection.getresponse()
                answer.read(_ANSWER_BYTES)
                return answer.status
            finally:
                connection.close()
        except (OSError, HTTPException, ValueError):
            return 0


def key_of(bead: Bead, readiness: Readiness, agent: str) -> str:
    """Return a key that stays the same while a bead stays ready for an agent, and changes when it becomes ready again."""
    attempts = bead.get("attempts") or 0
    return f"{agent}/{bead.id}/{attempts}/{readiness.since(bead)}"
