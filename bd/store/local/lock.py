"""The clone's lock: one writer at a time; others wait, with a limit.

On POSIX it is flock(2), called directly: importing filelock costs more than a local push, and its Unix lock is the same call on
the same kind of file. Elsewhere it is filelock.
"""

from __future__ import annotations

import os

from bd import TYPE_CHECKING
from bd.core.errors import LockTimeout, TryAgain

try:
    import fcntl
except ImportError:  # pragma: no cover  not on POSIX
    HAS_FLOCK = False
else:
    HAS_FLOCK = True

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from bd.core.runtime import Runtime

_POLL_S = 0.01
_POLL_CAP_S = 0.1


class CloneLock:
    """A lock file held for one transaction. Use it as a context manager. Released when its process ends."""

    def __init__(self, path: str, timeout_s: float, runtime: Runtime, on_wait: Callable[[], None] | None = None) -> None:
        self._path = path
        self._timeout_s = timeout_s
        self._runtime = runtime
        self._on_wait = on_wait
        self._held: Any = None

    def __enter__(self) -> CloneLock:
        deadline = self._runtime.monotonic() + self._timeout_s
        pause = _POLL_S
        told = False
        while not self.try_enter():
            if self._runtime.monotonic() >= deadline:
                raise self.timed_out()
            if self._on_wait and not told and self._runtime.monotonic() > deadline - self._timeout_s + 1:
                self._on_wait()
                told = True
            self._runtime.sleep(pause)
            pause = min(_POLL_CAP_S, pause * 1.5)
        return self

    def try_enter(self) -> bool:
        """Take the lock if it is free. Return whether that succeeded. Raises TryAgain if the file can't be written."""
        try:
            os.makedirs(os.path.dirname(self._path), exist_ok=True)
            if not HAS_FLOCK:
                return self._try_portably()
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o666)
        except OSError as error:
            raise TryAgain(f"this clone can't be written: {error}", hint="check the permissions of its .git folder") from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return False
        self._held = descriptor
        return True

    def _try_portably(self) -> bool:
        import filelock

        self._held = filelock.FileLock(self._path, timeout=0)
        try:
            self._held.acquire()
        except filelock.Timeout:
            self._held = None
            return False
        return True

    def timed_out(self) -> LockTimeout:
        """Return the error for a process that could not get the lock in time."""
        return LockTimeout(
            f"another bd command has been writing in this clone for {self._timeout_s:.0f} s ({self._path})",
            hint="try again; the lock ends with its process, and there is nothing to remove",
        )

    def __exit__(self, *_: object) -> None:
        if not HAS_FLOCK:
            self._held.release()
        else:
            os.close(self._held)
        self._held = None
