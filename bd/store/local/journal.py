"""What this clone has begun and not yet settled: one file an operation.

An entry is written before anything is pushed and kept locked by its process; an entry whose
lock is free belongs to the dead. Each step is a line of JSON at the end of the file, and the last
whole line counts: a step that a full disk cuts off takes nothing back of the one before it. Belongs here: the files and who is alive. Does not belong
here: deciding what became of an operation (recovery.py).
"""

from __future__ import annotations

import json
import os
from contextlib import suppress

from bd import TYPE_CHECKING
from bd.core import files, versions
from bd.core.json_shapes import json_value

try:
    import fcntl
except ImportError:  # pragma: no cover  not on POSIX
    HAS_FLOCK = False
else:
    HAS_FLOCK = True

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from bd.store.contract import JournalEntry


_CLOEXEC = getattr(os, "O_CLOEXEC", 0)
STATES = frozenset({"begun", "waiting", "asked", "pushing", "unknown", "won"})
# An entry that another process of the clone has taken over, and what it answered.
TAKEN = ".taken"
ANSWERED = ".answer"
_WAITING = ".json"


class Entry:
    """One operation's entry. `data` holds verb, uid, agent, base, commits, and `state`:

    begun (nothing pushed), waiting (for whoever holds the clone's lock: local.py), asked (its intent is on the
    remote: requests.py), pushing (may have landed), unknown (its author was told so), won (landed, its author died
    before it could say so). `batch` are the answers to the operations in those commits, by uid.
    `earlier` are pushes on the same base that got no answer: each its `commits` and its `batch`.
    """

    __slots__ = ("_descriptor", "_end", "data", "path")

    def __init__(self, path: str, data: dict[str, Any], end: int = 0, descriptor: int | None = None) -> None:
        self.path = path
        self.data = data
        self._descriptor = descriptor
        # Where the last whole line ends.
        self._end = end

    @property
    def uid(self) -> str:
        return str(self.data["uid"])

    def write(self, *, durably: bool = True, **changes: Any) -> None:
        """Record a step, on disk before this returns; not `durably` where it only has to outlive the process."""
        self.data.update(changes)
        line = json.dumps(self.data).encode() + b"\n"
        if self._descriptor is None:
            self._create(line, durably=durably)
            return
        self._append(self._descriptor, line)
        if durably:
            os.fsync(self._descriptor)

    def _create(self, line: bytes, *, durably: bool) -> None:
        """Make the file with its first step, or leave nothing. Raises OSError."""
        self._descriptor = os.open(self._outside, os.O_RDWR | os.O_CREAT | os.O_TRUNC | _CLOEXEC, files.PRIVATE)
        try:
            _lock(self._descriptor)
            self._append(self._descriptor, line)
            if durably:
                os.fsync(self._descriptor)
            os.replace(self._outside, self.path)
        except OSError:
            self.close()
            with suppress(OSError):
                os.unlink(self._outside)
            raise

    def _append(self, descriptor: int, line: bytes) -> None:
        """Write a line behind the last whole one, all of it or none. Raises OSError."""
        os.lseek(descriptor, self._end, os.SEEK_SET)
        rest = line
        try:
            while rest:  # a disk that is nearly full takes a part first, and only then says so
                rest = rest[os.write(descriptor, rest) :]
        except OSError:
            os.ftruncate(descriptor, self._end)
            raise
        self._end += len(line)

    @property
    def _outside(self) -> str:
        """Where a new entry is written and locked before anybody can take it for that of a dead process."""
        folder, name = os.path.split(self.path)
        return f"{folder}-{name}"

    def sync(self) -> None:
        """Bring what was written through to the disk."""
        if self._descriptor is not None:
            os.fsync(self._descriptor)

    def remove(self) -> None:
        """The operation is settled, and whoever had to know knows."""
        with suppress(FileNotFoundError):
            os.unlink(self.path)
        if self.path.endswith(TAKEN):
            with suppress(FileNotFoundError):
                os.unlink(self.path.removesuffix(TAKEN) + ANSWERED)
        self.close()

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


class Journal:
    """The folder of entries of one clone."""

    tells_the_dead = HAS_FLOCK

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def begin(self, uid: str, **data: Any) -> Entry:
        """A new entry, not yet on disk: the first `write` puts it there."""
        with suppress(OSError):  # where nothing can be written, the lock says so
            os.makedirs(self._folder, exist_ok=True)
        return Entry(os.path.join(self._folder, f"{uid}.json"), {"v": versions.JOURNAL, "uid": uid, "state": "begun", **data})

    def of_the_dead(self) -> Iterator[Entry]:
        """The entries whose process is gone, oldest first, those last that a neighbour had taken over; locked by us meanwhile.

        Only under the clone's lock: to another process, an entry that is locked here is that of a living one.
        """
        try:
            names = sorted(os.listdir(self._folder), key=lambda name: (name.endswith(TAKEN), name))
        except FileNotFoundError:
            return
        for name in names:
            if ANSWERED in name:
                continue
            path = os.path.join(self._folder, name)
            try:
                descriptor = os.open(path, os.O_RDWR | _CLOEXEC)
            except FileNotFoundError:
                continue
            if not _lock(descriptor):
                os.close(descriptor)
                continue
            try:
                with open(path, "rb") as file:
                    text = file.read()
                if b"\n" not in text:  # killed within its first write: nothing was pushed
                    os.unlink(path)
                    raise ValueError("no step was written")
                entry = Entry(path, *_last_line(text), descriptor)
            except (ValueError, OSError):  # what can't be read is kept: a newer bd may know what became of it
                os.close(descriptor)
                continue
            try:
                yield entry
            finally:
                entry.close()

    def unreadable(self) -> list[str]:
        """The paths of entries that this bd can't read: damaged, or a newer version's. They are neither decided nor dropped."""
        found = []
        with suppress(FileNotFoundError):
            for name in sorted(os.listdir(self._folder)):
                path = os.path.join(self._folder, name)
                if ANSWERED in name:
                    continue
                try:
                    with open(path, "rb") as file:
                        text = file.read()
                except OSError:
                    continue
                if b"\n" in text and not _is_readable(text):
                    found.append(path)
        return found

    def is_empty(self) -> bool:
        try:
            return not os.listdir(self._folder)
        except FileNotFoundError:
            return True

    # --- between the processes of a clone: the first rename wins ---

    def take(self, fits: Callable[[Mapping[str, Any]], bool], number: int) -> list[tuple[str, dict[str, Any]]]:
        """Up to so many waiting entries that fit, by their key, from now on the caller's to answer."""
        taken: list[tuple[str, dict[str, Any]]] = []
        for path, data in self._of_the_living(_WAITING):
            if len(taken) >= number:
                break
            if data.get("state") != "waiting" or not fits(data):
                continue
            target = path.removesuffix(_WAITING) + TAKEN
            with suppress(OSError):  # else its author has withdrawn it
                os.rename(path, target)
                taken.append((target, data))
        return taken

    def answer(self, key: str, told: Mapping[str, Any]) -> None:
        """Answer an operation that was taken, whole or not at all."""
        files.replace(key.removesuffix(TAKEN) + ANSWERED, json.dumps(told), only_mine=True)

    def answer_for_the_dead(self, uid: str, told: Mapping[str, Any]) -> None:
        """The same for one that a holder took and did not live to answer; nothing where nobody waits any more."""
        key = os.path.join(self._folder, uid + TAKEN)
        if os.path.exists(key):
            self.answer(key, told)

    def answered(self, entry: JournalEntry) -> dict[str, Any] | None:
        """The answer that an entry got. Whoever removes the entry then removes the answer with it."""
        stem = entry.path.removesuffix(TAKEN).removesuffix(_WAITING)
        try:
            with open(stem + ANSWERED, encoding="utf-8") as file:
                told = json_value(file.read())
        except (OSError, ValueError):
            return None
        if not isinstance(told, dict):
            return None
        if os.path.exists(stem + TAKEN):
            entry.path = stem + TAKEN
        return told

    def put_back(self) -> None:
        """Let those be taken again that a holder took and did not live to answer. Only under the lock."""
        self._drop_orphans()
        for path, _ in self._of_the_living(TAKEN):
            if not os.path.exists(path.removesuffix(TAKEN) + ANSWERED):
                with suppress(OSError):
                    os.rename(path, path.removesuffix(TAKEN) + _WAITING)

    def withdraw(self, entry: JournalEntry) -> bool:
        """Take a waiting entry back; False when a holder has it already."""
        gone = entry.path.removesuffix(_WAITING) + ".withdrawn"
        try:
            os.rename(entry.path, gone)
        except OSError:
            return False
        entry.path = gone
        return True

    def reclaim(self, entry: JournalEntry) -> None:
        """The lock is the author's and nobody has answered: the entry is its author's again."""
        with suppress(OSError):
            os.rename(entry.path.removesuffix(_WAITING) + TAKEN, entry.path)

    def _drop_orphans(self) -> None:
        """Remove answers whose authors died between the removal of their entry and that of the answer, and half-written ones.

        Only who holds the clone's lock writes answers, so a half-written one is that of a dead process.
        """
        with suppress(FileNotFoundError):
            for name in os.listdir(self._folder):
                path = os.path.join(self._folder, name)
                is_left = name.endswith(ANSWERED) and not os.path.exists(path.removesuffix(ANSWERED) + TAKEN)
                if is_left or f"{ANSWERED}." in name:
                    os.unlink(path)

    def _of_the_living(self, suffix: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """(path, data) of the entries with this ending whose process is there, oldest first."""
        try:
            names = sorted(os.listdir(self._folder))
        except FileNotFoundError:
            return
        for name in names:
            if not name.endswith(suffix):
                continue
            path = os.path.join(self._folder, name)
            try:
                with open(path, "rb+") as file:
                    if _lock(file.fileno()):
                        continue
                    yield path, _last_line(file.read())[0]
            except (ValueError, OSError):  # gone, or just being written
                continue


def _last_line(text: bytes) -> tuple[dict[str, Any], int]:
    """The last whole step of an entry, and where it ends. Raises ValueError for one that this bd can't read.

    A step without a line end was cut off while it was written, and takes nothing back of the one before it; neither do the
    zeros that a crash of the machine leaves. A whole line that can't be read does: it may say that more was pushed.
    """
    end = text.rfind(b"\n") + 1
    start = text.rfind(b"\n", 0, end - 1) + 1
    while start and b"\0" in text[start:end]:
        start, end = text.rfind(b"\n", 0, start - 1) + 1, start
    data = json_value(text[start:end].decode())
    if not (
        isinstance(data, dict)
        and versions.is_known(data.get("v", 1), versions.JOURNAL)
        and data.get("state") in STATES
        and _is_whole(data)
    ):
        raise ValueError("a step that this version does not know")
    return data, end


def _is_readable(text: bytes) -> bool:
    try:
        return bool(_last_line(text))
    except ValueError:
        return False


# What a step may hold beside its state, each of the kind that recovery takes it for.
_KINDS: dict[str, type | tuple[type, ...]] = {
    "uid": str,
    "verb": str,
    "commits": (list, type(None)),
    "tokens": (list, type(None)),
    "base": (str, type(None)),
    "batch": (dict, type(None)),
    "earlier": (list, type(None)),
    "intents": (dict, type(None)),
    "form": (dict, type(None)),
    "asked_on": (str, type(None)),
    "unanswered_since_s": (int, type(None)),
}


def _is_whole(data: dict[str, Any]) -> bool:
    is_whole = "uid" in data and all(isinstance(data[key], kind) for key, kind in _KINDS.items() if key in data)
    return is_whole and all(isinstance(push, dict) and push.keys() >= {"commits", "batch"} for push in data.get("earlier") or ())


def _lock(descriptor: int) -> bool:
    """Lock an open file without waiting; whether that worked (always where there is no flock)."""
    if not HAS_FLOCK:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
