"""Logs that stay small: an agent's log, and moving it on when it has grown.

A log may be held open for appending by others (cron's shell, systemd, a running agent), so it is
copied and then cut to nothing, never renamed. Belongs here: the files. Does not belong here: what
is said in them.
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from bd.core import times

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

LIMIT = 1_000_000  # bytes of a log
OLDER = 3  # `.1` is the newest of the older ones
_PIECE = 1 << 16


def log_path(folder: str, agent: str) -> str:
    """Where an agent that is started by the clock says what it does; `folder` is bd's own in the clone."""
    return os.path.join(folder, "logs", f"{agent}.log")


def make_folder_if_possible(path: str) -> None:
    """Make a log's folder: a shell starts nothing whose output has no folder to go to."""
    with contextlib.suppress(OSError):
        os.makedirs(os.path.dirname(path), exist_ok=True)


def rotate(path: str, *, limit: int = LIMIT, older: int = OLDER) -> bool:
    """Move a log that has reached its limit on to `path.1`, that to `path.2`, and so on; whether it was moved.

    Whoever has the log open for appending goes on in the same file, now empty. A log that can't be
    moved, or is just being moved by another, stays as it is: work does not end for its log.
    """
    try:
        if os.path.getsize(path) < limit:
            return False
        with _alone(path) as log:
            if log is None or os.fstat(log).st_size < limit:
                return False
            _move_on(log, path, older)
            return True
    except OSError:
        return False


def _move_on(log: int, path: str, older: int) -> None:
    """The numbered ones first, then a copy; what is appended while copying is copied too."""
    fresh = f"{path}.new"
    with open(fresh, "wb") as copy:
        place = 0
        while piece := os.pread(log, _PIECE, place):
            copy.write(piece)
            place += len(piece)
        os.ftruncate(log, 0)
    for number in range(older, 1, -1):
        with contextlib.suppress(FileNotFoundError):
            os.replace(f"{path}.{number - 1}", f"{path}.{number}")
    os.replace(fresh, f"{path}.1")


@contextlib.contextmanager
def _alone(path: str) -> Iterator[int | None]:
    """The log opened, and nobody else moving it; None when somebody is."""
    try:
        import fcntl  # noqa: PLC0415  not on every system
    except ImportError:
        yield None
        return
    log = os.open(path, os.O_RDWR)
    try:
        try:
            fcntl.flock(log, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield None
        else:
            yield log
    finally:
        os.close(log)


def append(path: str, text: str, now: datetime) -> None:
    """Add a line with the time to a log, moving it on when it has grown. A log that can't be written is not an error."""
    stamp = times.time_text(now)
    data = "".join(f"{stamp} {line}\n" for line in text.splitlines()).encode("utf-8", "backslashreplace")
    with contextlib.suppress(OSError):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        rotate(path)
        log = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(log, data)
        finally:
            os.close(log)
