"""A worker's log: ended attempts on stdout, the rest on stderr. If both go to one file, each line begins with its time."""

from __future__ import annotations

import contextlib
import os
import stat
import sys

from bd import TYPE_CHECKING
from bd.cli.output import escaped
from bd.core.errors import NothingReady
from bd.core.times import time_text

if TYPE_CHECKING:
    from typing import TextIO

    from bd.cli.app import App
    from bd.core.errors import BdError
    from bd.worker.options import Ended

_MARKS = {
    "done": "✓ Closed",
    "failed": "✗ Failed",
    "released": "– Released",
    "waiting": "– Waiting for a person",
    "settled": "✓ Settled",
    "lost": "– Lost",
}


class WorkerLog:
    """The log of one worker, printed as `app.out` says."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._has_times = _are_one_file(sys.stdout, sys.stderr)

    def _stamp(self) -> str:
        return f"{time_text(self._app.runtime.now())} " if self._has_times else ""

    def note(self, words: str) -> None:
        """Print a line that is not part of the result."""
        self._app.out.note(f"{self._stamp()}{words}")

    def ended(self, one: Ended) -> None:
        """Print an attempt that ended, as a line; with --json all are printed at the end."""
        out = self._app.out
        if out.is_json:
            return
        verb = _MARKS.get(one.what, "? Unknown")
        words = f"{verb} {out.styled(one.id, 'bold')} — {escaped(one.title)}: {one.words}"
        out.line(one.id if out.quiet else f"{self._stamp()}{words}")
        sys.stdout.flush()

    def found_nothing(self, nothing: BdError) -> None:
        """Report that there was nothing to do: not an error, but a line and the exit code."""
        if self._app.out.is_json or not isinstance(nothing, NothingReady):
            raise nothing
        self.note(nothing.message)
        self._app.out.exit_code = nothing.exit_code


def _are_one_file(first: TextIO, second: TextIO) -> bool:
    """Return whether two streams go to the same file on a disk, as a log does."""
    with contextlib.suppress(OSError):  # not every stream is a file of the system
        is_file = stat.S_ISREG(os.fstat(first.fileno()).st_mode)
        return is_file and os.path.sameopenfile(first.fileno(), second.fileno())
    return False
