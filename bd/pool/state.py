"""A host's state for the pools of one hub: the controller's lock, notes of sessions, logs, clones, events.

The folder is the same for every clone of the hub on the host, so the next controller finds everything.
"""

from __future__ import annotations

import contextlib
import json
import os

from bd import TYPE_CHECKING
from bd.core import files, times
from bd.core.errors import WrongState
from bd.core.json_shapes import MAYBE_NUMBER, MAYBE_TEXT, fits
from bd.schedule.agent_log import rotate
from bd.schedule.invocation import hub_id
from bd.store.local.lock import CloneLock

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from bd.store import Clone

_EVENTS_SHOWN = 1000
# The expected types of a note's keys; a value of another type counts as missing.
_KINDS: dict[str, Any] = {
    "pool": MAYBE_TEXT,
    "how": {...: MAYBE_TEXT},
    "killed": bool,
    **dict.fromkeys(("fails", "up_s", "down_s", "failed_s"), MAYBE_NUMBER),
}
_TIMES = frozenset({"started_at", "drained_at"})


def _is_sound(key: str, value: Any) -> bool:
    if key in _TIMES:
        return isinstance(value, str) and times.is_canonical(value)
    return key not in _KINDS or fits(value, _KINDS[key])


class Quarters:
    """The folder of one hub's pools on this host."""

    def __init__(self, hub: Clone) -> None:
        state = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
        self.runtime = hub.runtime
        self.folder = os.path.join(state, "bd", "pools", hub_id(hub))

    def path(self, *parts: str) -> str:
        """Return a path in the folder, creating the folders above it."""
        found = os.path.join(self.folder, *parts)
        os.makedirs(os.path.dirname(found), exist_ok=True)
        return found

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Be the only controller of this hub and host; a killed one leaves no lock behind. Raises WrongState."""
        lock = CloneLock(self.path("controller.lock"), 0, self.runtime)
        if not lock.try_enter():
            raise WrongState("a controller of this hub runs on this host already", hint="`bd pool status` shows what it does")
        try:
            yield
        finally:
            lock.__exit__()

    # --- notes ---

    def read(self, name: str) -> dict[str, Any]:
        """Read a note; empty if there is none that can be read."""
        try:
            with open(os.path.join(self.folder, name), encoding="utf-8") as file:
                found = json.load(file)
        except (OSError, ValueError, RecursionError):
            return {}
        return {key: value for key, value in found.items() if _is_sound(key, value)} if isinstance(found, dict) else {}

    def write(self, name: str, note: dict[str, Any]) -> None:
        """Write a note: a reader sees the old or the new one, whatever happens."""
        files.replace(self.path(name), json.dumps(note), only_mine=True)

    def forget(self, *names: str) -> None:
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.path.join(self.folder, name))

    def members(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the notes of the sessions that were started and not yet seen to have ended."""
        try:
            names = sorted(os.listdir(os.path.join(self.folder, "members")))
        except FileNotFoundError:
            return
        for name in names:
            if name.endswith(".json"):
                yield name.removesuffix(".json"), self.read(os.path.join("members", name))

    # --- events ---

    def record(self, event: str, pool: str, **facts: Any) -> dict[str, Any]:
        """Record an event of a pool, as far as the disk allows."""
        told = {"at": times.time_text(self.runtime.now()), "pool": pool, "event": event}
        told.update({key: value for key, value in facts.items() if value not in (None, "")})
        with contextlib.suppress(OSError):
            path = self.path("events.jsonl")
            rotate(path, older=1)
            with open(path, "a", encoding="utf-8", opener=files.private) as file:
                file.write(json.dumps(told) + "\n")
        return told

    def events(self) -> list[dict[str, Any]]:
        """Return the events, the latest last."""
        lines: list[str] = []
        for name in ("events.jsonl.1", "events.jsonl"):
            with (
                contextlib.suppress(FileNotFoundError),
                open(os.path.join(self.folder, name), encoding="utf-8", errors="replace") as file,
            ):
                lines += file.readlines()
        found = []
        for line in lines[-_EVENTS_SHOWN:]:
            with contextlib.suppress(ValueError, RecursionError):  # a controller was killed while writing
                told = json.loads(line)
                if fits(told, {"at": str, "pool": str, "event": str}):
                    found.append(told)
        return found
