"""What this clone has begun and not yet settled: one file an operation.

An entry is written before anything is pushed and kept locked by its process; an entry whose
lock is free belongs to the dead. Belongs here: the files and who is alive. Does not belong
here: deciding what became of an operation (settling.py).
"""

from __future__ import annotations

import os

from bd.light import json_text, suppress

try:
    import fcntl
except ImportError:  # pragma: no cover  not on POSIX
    HAS_FLOCK = False
else:
    HAS_FLOCK = True

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


_CLOEXEC = getattr(os, "O_CLOEXEC", 0)
# An entry that another process of the clone has taken over, and what it answered.
TAKEN = ".taken"
ANSWERED = ".answer"


class Entry:
    """One operation's entry. `data` holds verb, uid, agent, base, commits, and `state`:

    begun (nothing pushed), waiting (for whoever holds the clone's lock: neighbours.py), asked (its intent is on the
    remote: intents.py), pushing (may have landed), unknown (its author was told so), won (landed, its author died
    before it could say so). `batch` are the answers to the operations in those commits, by uid.
    """

    __slots__ = ("_descriptor", "data", "path")

    def __init__(self, path: str, data: dict[str, Any], descriptor: int | None = None) -> None:
        self.path = path
        self.data = data
        self._descriptor = descriptor

    @property
    def uid(self) -> str:
        return str(self.data["uid"])

    def write(self, *, durably: bool = True, **changes: Any) -> None:
        """Record a step, on disk before this returns; not `durably` where it only has to outlive the process."""
        self.data.update(changes)
        text = json_text(self.data).encode()
        is_new = self._descriptor is None
        if self._descriptor is None:
            self._descriptor = os.open(self._outside, os.O_RDWR | os.O_CREAT | _CLOEXEC, 0o666)
            _lock(self._descriptor)
        os.pwrite(self._descriptor, text + b"\n", 0) if hasattr(os, "pwrite") else self._write_portably(text + b"\n")
        os.ftruncate(self._descriptor, len(text) + 1)
        if durably:
            os.fsync(self._descriptor)
        if is_new:
            os.replace(self._outside, self.path)

    @property
    def _outside(self) -> str:
        """Where a new entry is written and locked before anybody can take it for that of a dead process."""
        folder, name = os.path.split(self.path)
        return f"{folder}-{name}"

    def sync(self) -> None:
        """Bring what was written through to the disk."""
        if self._descriptor is not None:
            os.fsync(self._descriptor)

    def _write_portably(self, text: bytes) -> None:  # pragma: no cover  not on POSIX
        assert self._descriptor is not None
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        os.write(self._descriptor, text)

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

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def begin(self, uid: str, **data: Any) -> Entry:
        """A new entry, not yet on disk: the first `write` puts it there."""
        with suppress(OSError):  # where nothing can be written, the lock says so
            os.makedirs(self._folder, exist_ok=True)
        return Entry(os.path.join(self._folder, f"{uid}.json"), {"uid": uid, "state": "begun", **data})

    def of_the_dead(self) -> Iterator[Entry]:
        """The entries whose process is gone, oldest first, locked by us while they are looked at."""
        try:
            names = sorted(os.listdir(self._folder))
        except FileNotFoundError:
            return
        for name in names:
            if name.endswith(ANSWERED):
                continue
            path = os.path.join(self._folder, name)
            if f"{ANSWERED}." in name:  # an answer whose writer was killed: only who holds the clone's lock writes one
                with suppress(FileNotFoundError):
                    os.unlink(path)
                continue
            try:
                descriptor = os.open(path, os.O_RDWR | _CLOEXEC)
            except FileNotFoundError:
                continue
            if not _lock(descriptor):
                os.close(descriptor)
                continue
            try:
                with open(path, encoding="utf-8") as file:
                    import json  # noqa: PLC0415  who only writes needs none of it

                    data = json.load(file)
                entry = Entry(path, data, descriptor)
            except (ValueError, OSError):  # killed within its first write: nothing was pushed
                with suppress(FileNotFoundError):
                    os.unlink(path)
                os.close(descriptor)
                continue
            try:
                yield entry
            finally:
                entry.close()

    def is_empty(self) -> bool:
        try:
            return not os.listdir(self._folder)
        except FileNotFoundError:
            return True

    def drop_orphans(self) -> None:
        """Remove answers whose authors died between the removal of their entry and that of the answer."""
        with suppress(FileNotFoundError):
            for name in os.listdir(self._folder):
                path = os.path.join(self._folder, name)
                if name.endswith(ANSWERED) and not os.path.exists(path.removesuffix(ANSWERED) + TAKEN):
                    os.unlink(path)

    def of_the_living(self, suffix: str) -> Iterator[tuple[str, dict[str, Any]]]:
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
                    import json  # noqa: PLC0415  who only writes needs none of it

                    yield path, json.loads(file.read())
            except (ValueError, OSError):  # gone, or just being written
                continue


def _lock(descriptor: int) -> bool:
    """Lock an open file without waiting; whether that worked (always where there is no flock)."""
    if not HAS_FLOCK:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
