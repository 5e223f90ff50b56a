"""Idempotency keys in the hub's history: the trailer `Bd-Key: <key> <body>` of the commit that carried out a request.

Both are digests: of the caller with the key that it chose, and of all that it asked for. The trailer says that the request was
carried out, whoever did it, so no clone does it again. It counts for a day (`KEPT`), as far as this clone's history reaches.
"""

from __future__ import annotations

from datetime import timedelta

from bd import TYPE_CHECKING
from bd.core import times
from bd.core.errors import KeyReused, NotFound
from bd.core.value import Value
from bd.store.git import commit_message
from bd.store.group_commit import answer, verdict_trailers

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from threading import Lock
    from typing import Any

    from bd.core.model import Change, Snapshot
    from bd.core.operation import Once
    from bd.store.contract import Repository
    from bd.store.replica import Replica

KEPT = timedelta(days=1)
# Commits have their writers' times: so much is read beyond a day.
_SKEW = timedelta(hours=1)


class CarriedOut(Value):
    """A request that was carried out: the digest of its body, its operation and commit, and the answer to its author."""

    body: str
    uid: str
    commit: str
    answer: Mapping[str, Any]

    def result(self, once: Once, snapshot: Snapshot) -> Change:
        """Return what the request did, as a change without files: the hub has them. Raises KeyReused."""
        self.refuse_other(once)
        return answer.change_of(self.answer, snapshot).replace(beads={}, records={}, moves={})

    def refuse_other(self, once: Once) -> None:
        """Raise KeyReused if the key was used for another request."""
        if self.body != once.body:
            raise KeyReused


def trailer(uid: str, change: Change) -> str:
    """Compose the trailer with the whole answer to a request, for whoever sends it again."""
    return verdict_trailers.line(uid, answer.of_change(change))


def between(repo: Repository, base: str | None, tip: str) -> dict[str, CarriedOut]:
    """Return the requests that were carried out after `base`, or since ever, and up to the tip, by key."""
    found: dict[str, CarriedOut] = {}
    if base != tip:
        for commit, text in repo.messages(tip, [base] if base else []):  # newest first: a key's first use counts
            found.update(_told(commit, text))
    return found


def _told(commit: str, text: str) -> dict[str, CarriedOut]:
    if f"\n{commit_message.KEY}: " not in text:
        return {}
    values = commit_message.parse(text)
    uid = values.get("Bd-Uid", [""])[-1]
    told = verdict_trailers.answers_in(text).get(uid, {})
    pairs = (one.partition(" ") for one in values[commit_message.KEY])
    return {key: CarriedOut(body, uid, commit, told) for key, _, body in pairs}


class KeyIndex:
    """The keys in the hub's history up to a tip, for a process that takes requests.

    Its threads of one clone share it; `lock` keeps them apart.
    """

    def __init__(self, lock: Lock) -> None:
        self._lock = lock
        self._found: dict[str, CarriedOut] = {}
        self._tip = ""
        self._begun: datetime | None = None

    def find(self, hub: Replica, key: str) -> tuple[CarriedOut | None, str]:
        """Return what was carried out under a key, if anything, and the tip up to which this is known."""
        with self._lock:
            self._forward(hub)
            return self._found.get(key), self._tip

    def _forward(self, hub: Replica) -> None:
        now, tip = hub.runtime.now(), hub.published() or hub.view()
        if self._tip == tip:
            return
        is_old = self._begun is None or now - self._begun > KEPT  # what is older than a day is forgotten
        if is_old or (self._tip and not hub.repo.is_ancestor(self._tip, tip)):
            self._begun, self._found, self._tip = now, {}, _a_day_ago(hub)
        new = between(hub.repo, self._tip, tip)
        self._found, self._tip = {**new, **self._found}, tip


def _a_day_ago(hub: Replica) -> str:
    """Return the hub's commit of a day ago; empty if it is younger."""
    try:
        return hub.commit_at(times.time_text(hub.runtime.now() - KEPT - _SKEW))
    except NotFound:
        return ""
