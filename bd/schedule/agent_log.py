"""Rotation of an agent's log, so that logs stay small.

Other processes (cron's shell, systemd, a running agent) may have a log open for appending, so it is copied and truncated, never
renamed.
"""

from __future__ import annotations

import contextlib
import os

from bd import TYPE_CHECKING
from bd.core import files, times

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

LIMIT = 1_000_000  # bytes
OLDER = 3  # `.1` is the newest of them
_PIECE = 1 << 16


def log_path(folder: str, agent: str) -> str:
    """Return the log of an agent that is started on a schedule; `folder` is bd's folder in the clone."""
    return os.path.join(folder, "logs", f"{agent}.log")


def make_if_possible(path: str) -> None:
    """Create a log and its folder: a shell does not start a command if it can't open its output, and would make it readable by all."""
    with contextlib.suppress(OSError):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        os.close(files.private(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT))


def rotate(path: str, *, limit: int = LIMIT, older: int = OLDER) -> bool:
    """Rotate a log that has reached its limit: to `path.1`, that to `path.2`, and so on. Returns whether it was rotated.

    Processes that have the log open keep appending to the same file, now empty. If the log can't be rotated, or another process
    is rotating it, it stays as it is: a log never stops the work.
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
    """Rotate the numbered logs, then copy and truncate the log, including what is appended during the copy."""
    fresh = f"{path}.new"
    with open(fresh, "wb", opener=files.private) as copy:
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
    """Yield the opened and locked log; None if another process has locked it."""
    try:
        import fcntl  # noqa: PLC0415  not available on every system
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
    """Append a line with the time to a log, and rotate it when it is large. Errors are ignored."""
    stamp = times.time_text(now)
    data = "".join(f"{stamp} {line}\n" for line in text.splitlines()).encode("utf-8", "backslashreplace")
    with contextlib.suppress(OSError):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        rotate(path)
        log = files.private(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        try:
            os.write(log, data)
        finally:
            os.close(log)
