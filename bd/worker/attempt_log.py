"""The full output of one attempt, in a file of this clone that only its owner may read. Secrets in it are not masked.

The hub has the host and the path. A log never stops the work: what can't be written is left out.
"""

from __future__ import annotations

import contextlib
import os
import re
import threading

from bd import TYPE_CHECKING
from bd.core import files

if TYPE_CHECKING:
    from datetime import datetime

KEPT_DAYS = 14
# A command that prints without end must not fill the disk.
_LIMIT = 1_000_000_000
_NOT_A_NAME = re.compile(r"[^A-Za-z0-9._-]+")


def folder_of(clone_folder: str) -> str:
    """Return the folder of the logs; `clone_folder` is bd's folder in the clone."""
    return os.path.join(clone_folder, "logs", "attempts")


def path_of(clone_folder: str, bead_id: str, attempt: int, token: str) -> str:
    """Return the path of an attempt's log."""
    return os.path.join(folder_of(clone_folder), f"{_NOT_A_NAME.sub('-', bead_id)}-{attempt}-{token[-8:].lower()}.log")


class AttemptLog:
    """The log of one attempt, made with its first output. `write` is called from the threads that read the output."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.size = 0
        self._descriptor: int | None = None
        self._is_closed = False
        self._lock = threading.Lock()

    def write(self, chunk: bytes) -> None:
        """Append a piece of the output."""
        with self._lock, contextlib.suppress(OSError):
            if self._is_closed or self.size >= _LIMIT:
                return
            if self._descriptor is None:
                os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
                self._descriptor = files.private(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
            self.size += os.write(self._descriptor, chunk)
            if self.size >= _LIMIT:
                os.write(self._descriptor, b"\n[bd keeps no more of this output]\n")

    def close(self) -> None:
        """Close the file. What comes later, from a process that was left behind, is no part of the attempt."""
        with self._lock, contextlib.suppress(OSError):
            self._is_closed = True
            if self._descriptor is not None:
                os.close(self._descriptor)
                self._descriptor = None


def clear_old(clone_folder: str, now: datetime) -> None:
    """Remove the logs that are older than 14 days."""
    folder, oldest_s = folder_of(clone_folder), now.timestamp() - KEPT_DAYS * 86400
    try:
        names = os.listdir(folder)
    except OSError:
        return
    for name in names:
        path = os.path.join(folder, name)
        with contextlib.suppress(OSError):
            if os.path.getmtime(path) < oldest_s:
                os.unlink(path)
