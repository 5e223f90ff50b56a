"""Data that only one clone has, in memory: notes, the journal, the writer lock. Shared by the processes of the clone."""

from __future__ import annotations

import json
import threading

from bd import TYPE_CHECKING
from bd.core import versions
from bd.core.errors import LockTimeout

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from bd.core.runtime import Runtime
    from bd.store.contract import JournalEntry

_ENTRY, _TAKEN, _WITHDRAWN = ".json", ".taken", ".withdrawn"


class SharedState:
    """The state shared by the processes of one clone, including what a crash of the machine leaves of it."""

    def __init__(self) -> None:
        self.notes: dict[str, str] = {}
        # The folders that ever had a note.
        self.folders: set[str] = set()
        self.records: dict[str, _Record] = {}
        self.holder: MemoryState | None = None
        self.guard = threading.RLock()

    def crash(self) -> None:
        """Crash the machine: every process ends, and every step that was not synced is lost."""
        with self.guard:
            self.holder = None
            for uid, record in list(self.records.items()):
                record.owner = None
                del record.lines[record.synced :]
                if not record.lines:
                    del self.records[uid]


class _Record:
    """A stored entry: its steps as text, how many of them are synced, and the process that holds it."""

    def __init__(self, owner: MemoryState) -> None:
        self.owner: MemoryState | None = owner
        self.lines: list[str] = []
        self.synced = 0
        self.suffix = _ENTRY
        self.answer: str | None = None

    def data(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.lines[-1])
        return found


class MemoryState:
    """One process's view of the shared state; `die` is its kill -9."""

    def __init__(self, shared: SharedState, runtime: Runtime) -> None:
        self.shared = shared
        self.runtime = runtime
        self.journal = MemoryJournal(self)

    def die(self) -> None:
        """End the process: its lock and its entries become free."""
        with self.shared.guard:
            if self.shared.holder is self:
                self.shared.holder = None
            for record in self.shared.records.values():
                if record.owner is self:
                    record.owner = None

    def lock(self, timeout_s: float, on_wait: Callable[[], None] | None = None) -> MemoryLock:
        """Return the writer lock; entering it waits up to `timeout_s`."""
        return MemoryLock(self, timeout_s, on_wait)

    def read(self, name: str) -> str | None:
        """Return a note; None if there is none."""
        return self.shared.notes.get(name)

    def write(self, name: str, text: str) -> None:
        """Write a note."""
        self.shared.notes[name] = text
        self.shared.folders.add(name.rpartition("/")[0])

    def drop(self, name: str) -> None:
        """Remove a note."""
        self.shared.notes.pop(name, None)

    def has_any(self, folder: str) -> bool:
        """Return whether there has ever been a note below this name."""
        return folder in self.shared.folders


class MemoryLock:
    """The writer lock: one writer per clone."""

    def __init__(self, state: MemoryState, timeout_s: float, on_wait: Callable[[], None] | None) -> None:
        self._state = state
        self._timeout_s = timeout_s
        self._on_wait = on_wait

    def __enter__(self) -> MemoryLock:
        begun = self._state.runtime.monotonic()
        on_wait = self._on_wait
        while not self.try_enter():
            waited_s = self._state.runtime.monotonic() - begun
            if waited_s >= self._timeout_s:
                raise self.timed_out()
            if on_wait and waited_s > 1:
                on_wait()
                on_wait = None
            self._state.runtime.sleep(0.02)
        return self

    def __exit__(self, *_: object) -> None:
        with self._state.shared.guard:
            self._state.shared.holder = None

    def try_enter(self) -> bool:
        """Take the lock if it is free. Return whether that succeeded."""
        with self._state.shared.guard:
            if self._state.shared.holder is not None:
                return False
            self._state.shared.holder = self._state
            return True

    def timed_out(self) -> LockTimeout:
        """Return the error for a process that could not get the lock in time."""
        return LockTimeout(f"another process has been writing in this clone for {self._timeout_s:.0f} s")


class MemoryEntry:
    """One operation's entry."""

    def __init__(self, state: MemoryState, uid: str, data: dict[str, Any]) -> None:
        self._state = state
        self._uid = uid
        self.data = data
        self.path = uid + _ENTRY

    @property
    def uid(self) -> str:
        return self._uid

    @property
    def _record(self) -> _Record | None:
        return self._state.shared.records.get(self._uid)

    def write(self, *, durably: bool = True, **changes: Any) -> None:
        """Record a step."""
        with self._state.shared.guard:
            self.data.update(changes)
            record = self._state.shared.records.setdefault(self._uid, _Record(self._state))
            record.owner = self._state
            record.lines.append(json.dumps(self.data))
            if durably:
                record.synced = len(record.lines)

    def sync(self) -> None:
        """Mark all steps as synced."""
        with self._state.shared.guard:
            if self._record is not None:
                self._record.synced = len(self._record.lines)

    def remove(self) -> None:
        """Remove the entry: the operation is settled."""
        with self._state.shared.guard:
            self._state.shared.records.pop(self._uid, None)

    def close(self) -> None:
        """Let go of the entry, and leave it to the next process."""
        with self._state.shared.guard:
            if self._record is not None:
                self._record.owner = None


class MemoryJournal:
    """The journal of a clone, as one of its processes sees it."""

    tells_the_dead = True

    def __init__(self, state: MemoryState) -> None:
        self._state = state

    @property
    def _records(self) -> dict[str, _Record]:
        return self._state.shared.records

    def begin(self, uid: str, **data: Any) -> MemoryEntry:
        """Return a new entry; it exists from its first `write` on."""
        return MemoryEntry(self._state, uid, {"v": versions.JOURNAL, "uid": uid, "state": "begun", **data})

    def is_empty(self) -> bool:
        return not self._records

    def unreadable(self) -> list[str]:
        """Return nothing: this very version wrote every entry."""
        return []

    def of_the_dead(self) -> Iterator[MemoryEntry]:
        """Yield the entries of dead processes, oldest first, those taken over by a neighbour last.

        Each is held by this process meanwhile.
        """
        for uid, record in sorted(self._records.items(), key=lambda pair: (pair[1].suffix == _TAKEN, pair[0])):
            if record.owner is not None:
                continue
            record.owner = self._state
            entry = MemoryEntry(self._state, uid, record.data())
            entry.path = uid + record.suffix
            try:
                yield entry
            finally:
                entry.close()

    # --- between the processes of a clone ---

    def take(self, fits: Callable[[Mapping[str, Any]], bool], number: int) -> list[tuple[str, dict[str, Any]]]:
        """Take up to `number` waiting entries that fit, by key. The caller then has to answer them."""
        with self._state.shared.guard:
            taken: list[tuple[str, dict[str, Any]]] = []
            for uid, record in sorted(self._records.items()):
                is_alive = record.owner not in (None, self._state)
                if len(taken) < number and is_alive and record.suffix == _ENTRY:
                    data = record.data()
                    if data.get("state") == "waiting" and fits(data):
                        record.suffix = _TAKEN
                        taken.append((uid + _TAKEN, data))
            return taken

    def answer(self, key: str, told: Mapping[str, Any]) -> None:
        """Answer an operation that was taken."""
        self.answer_for_the_dead(key.removesuffix(_TAKEN), told)

    def answer_for_the_dead(self, uid: str, told: Mapping[str, Any]) -> None:
        """Answer an operation whose holder died before answering. Does nothing if nobody waits any more."""
        with self._state.shared.guard:
            record = self._records.get(uid)
            if record is not None and record.suffix == _TAKEN:
                record.answer = json.dumps(told)

    def answered(self, entry: JournalEntry) -> dict[str, Any] | None:
        """Return the answer to an entry."""
        record = self._records.get(entry.uid)
        if record is None or record.answer is None:
            return None
        entry.path = entry.uid + _TAKEN
        told: dict[str, Any] = json.loads(record.answer)
        return told

    def put_back(self) -> None:
        """Make entries available again whose holder died before answering. Only under the lock."""
        with self._state.shared.guard:
            for record in self._records.values():
                if record.suffix == _TAKEN and record.owner is not None and record.answer is None:
                    record.suffix = _ENTRY

    def withdraw(self, entry: JournalEntry) -> bool:
        """Withdraw a waiting entry. False if a holder has taken it already."""
        with self._state.shared.guard:
            record = self._records.get(entry.uid)
            if record is None or record.suffix != _ENTRY:
                return False
            record.suffix = _WITHDRAWN
            entry.path = entry.uid + _WITHDRAWN
            return True

    def reclaim(self, entry: JournalEntry) -> None:
        """Give the entry back to its author, who has the lock and got no answer."""
        with self._state.shared.guard:
            record = self._records.get(entry.uid)
            if record is not None and record.suffix == _TAKEN:
                record.suffix = _ENTRY
