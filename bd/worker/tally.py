"""The running cost of one attempt, on disk, so that it is booked even if the worker is killed.

The file lies beside the attempt's other files, with a lock that its worker holds while it lives.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import threading

from bd import TYPE_CHECKING
from bd.coding_agents import sessions
from bd.core import files
from bd.core.costs import attempts_of
from bd.core.errors import BdError, TryAgain
from bd.core.json_shapes import MAYBE_NUMBER, MAYBE_TEXT, fits, json_value
from bd.operations.base import asked
from bd.operations.costs import Cost
from bd.store.local.lock import CloneLock
from bd.worker import attempt_files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from bd.coding_agents.sessions import Session
    from bd.core.runtime import Runtime
    from bd.store import Clone

_NAME, _LOCK = "spent.json", "alive.lock"
_COST = {"usd": MAYBE_NUMBER, "tokens": (dict, type(None)), "model": MAYBE_TEXT, "estimated": (bool, type(None))}
_SHAPE = {"bead": str, "attempt": int, "agent": str, "cost": _COST, "session": (dict, type(None))}
# Tokens change with every message; dollars are written at once.
_WRITE_EVERY_S = 1.0


class Tally:
    """The cost of one attempt so far. `folder` is the folder of the attempt's files; `close` when the attempt has ended."""

    def __init__(self, folder: str, bead: str, attempt: int, agent: str, runtime: Runtime) -> None:
        self._path = os.path.join(folder, _NAME)
        self._about = {"bead": bead, "attempt": attempt, "agent": agent}
        self._runtime = runtime
        self._lock = CloneLock(os.path.join(folder, _LOCK), 0, runtime)
        self._is_locked = self._is_closed = False
        self._turn = threading.Lock()
        self._written_s = 0.0
        self._usd: float | None = None

    def note(self, cost: Mapping[str, Any], session: Mapping[str, Any] | None) -> None:
        """Keep the cost so far, and the session that it belongs to. A full disk is no reason to end the work."""
        now_s = self._runtime.monotonic()
        usd = cost.get("usd")
        if usd == self._usd and now_s - self._written_s < _WRITE_EVERY_S:
            return
        self._usd, self._written_s = usd, now_s
        with self._turn, contextlib.suppress(OSError, TryAgain):
            if self._is_closed:
                return
            self._is_locked = self._is_locked or self._lock.try_enter()
            files.replace(self._path, json.dumps({**self._about, "cost": cost, "session": session}), only_mine=True)

    def close(self) -> None:
        """Let go of the file, which nobody reads any more."""
        with self._turn:
            self._is_closed = True
            if self._is_locked:
                self._lock.__exit__()
                self._is_locked = False


def session_note(bead_id: str) -> str:
    """Return the name of the clone's note about the latest session of a bead."""
    return f"sessions/{bead_id}.json"


def session_of(hub: Clone, bead_id: str) -> Session | None:
    """Return the latest session of a bead that this clone knows: that of an attempt that runs, or was killed, else the noted one."""
    there = [found for _, found in _tallies(hub) if found["bead"] == bead_id and sessions.read(found.get("session"))]
    latest = max(there, key=lambda found: found["attempt"], default=None)
    return sessions.read(latest.get("session") if latest else hub.noted_json(session_note(bead_id)))


def book(hub: Clone, agent: str, bead_id: str, attempt: int, cost: Mapping[str, Any]) -> None:
    """Add the cost of an attempt that has ended in another way than by `close` or `fail`. Raises BdError."""
    told = {"token_counts" if key == "tokens" else key: value for key, value in cost.items()}
    hub.publish(Cost(**asked(hub.runtime, f"agent:{agent}", ids=[bead_id], attempt=attempt, **told)))


def book_leftovers(hub: Clone, tell: Callable[[str], None]) -> None:
    """Book the costs of attempts whose worker was killed, and remove their files. What can't be booked now stays."""
    for folder, found in _leftovers(hub):
        bead_id, attempt, cost = found["bead"], found["attempt"], found["cost"]
        try:
            bead = hub.snapshot().bead(bead_id)
            known = [entry for entry in attempts_of(bead.get("cost") if bead else None) if entry.get("attempt") == attempt]
            is_known = any("reserved_usd" not in entry for entry in known)
            if bead is not None and any(cost.values()) and not is_known:
                book(hub, found["agent"], bead_id, attempt, {key: value for key, value in cost.items() if value})
                tell(f"{bead_id}: booked the cost of attempt {attempt}, whose worker was killed")
        except BdError as error:
            tell(f"{bead_id}: the cost of attempt {attempt} could not be booked: {error}")
            if error.transient:
                continue
        left = sessions.read(found.get("session"))
        if left is not None:
            hub.note_json(session_note(bead_id), left.as_json())
        shutil.rmtree(folder, ignore_errors=True)


def _leftovers(hub: Clone) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the folders of attempts with a tally and without a worker."""
    for folder, found in _tallies(hub):
        lock = CloneLock(os.path.join(folder, _LOCK), 0, hub.runtime)
        if lock.try_enter():
            try:
                yield folder, found
            finally:
                lock.__exit__()


def _tallies(hub: Clone) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the folders of attempts with a tally."""
    for folder in attempt_files.folders(hub):
        found = _tallied(folder)
        if found is not None:
            yield folder, found


def is_unbooked(folder: str) -> bool:
    """Return whether the folder of an attempt has a cost that may not be booked yet."""
    return _tallied(folder) is not None


def _tallied(folder: str) -> dict[str, Any] | None:
    try:
        with open(os.path.join(folder, _NAME), encoding="utf-8") as file:
            found = json_value(file.read())
    except (OSError, ValueError):
        return None
    return found if fits(found, _SHAPE) else None
