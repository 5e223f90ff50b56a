"""A worker's child process: its output is read as it comes, and its whole process tree is ended with it."""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
from collections.abc import Callable
from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.core.errors import BadInput
from bd.processes.tree import ProcessTree

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import IO

    from bd.core.runtime import Runtime
    from bd.worker.result import Outcome

_DRAIN_S = 1.0
_CHUNK = 65536


class Lines(NamedTuple):
    """Where the lines of a process go: `out`, and `err` if its stderr is kept apart; `whole` gets every byte of both.

    No more than `limit` bytes of a line are kept. All are called from the threads that read.
    """

    out: Callable[[str], None]
    limit: int
    err: Callable[[str], None] | None = None
    whole: Callable[[bytes], None] = lambda _: None


class Child:
    """A process that works on a bead. `on_end` is called from another thread when it has ended and its output is read.

    When asked to end, its tree has `grace_s` to do so; when this process dies, `orphan_grace_s`. What is left is killed.
    """

    failed: Outcome | None = None  # it always begins; see prepared_child.py

    def __init__(
        self,
        command: Sequence[str],
        folder: str,
        environment: Mapping[str, str],
        stdin_path: str | None,
        lines: Lines,
        on_end: Callable[[], None],
        runtime: Runtime,
        *,
        grace_s: float,
        orphan_grace_s: float | None = None,
    ) -> None:
        self._runtime = runtime
        self.started_s = runtime.monotonic()
        self.last_output_s = self.started_s
        self.is_over = False  # it has ended, and its output is read
        self._lines = lines
        self._on_end = on_end
        with open(stdin_path or os.devnull, "rb") as stdin:
            try:
                self._process = ProcessTree(
                    list(command),
                    grace_s=grace_s,
                    orphan_grace_s=orphan_grace_s,
                    cwd=folder,
                    env=dict(environment),
                    stdin=stdin,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE if lines.err else subprocess.STDOUT,
                )
            # values that no argument or variable can hold, such as a NUL in a bead's model
            except (OSError, ValueError) as error:
                raise BadInput(
                    f"can't run {command[0]}: {error}", hint="the command after -- is started without a shell"
                ) from error
        streams = [(self._process.stdout, lines.out), (self._process.stderr, lines.err)]
        self._readers = [
            threading.Thread(target=self._read, args=(stream, say), daemon=True) for stream, say in streams if stream and say
        ]
        for reader in self._readers:
            reader.start()
        threading.Thread(target=self._wait, daemon=True).start()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def code(self) -> int | None:
        """The exit code, negative for a signal; None while it runs."""
        return self._process.poll()

    def _read(self, stream: IO[bytes], say: Callable[[str], None]) -> None:
        """Read the output line by line. Only the beginning of a very long line is kept."""
        line = bytearray()
        while chunk := os.read(stream.fileno(), _CHUNK):
            self.last_output_s = self._runtime.monotonic()
            self._lines.whole(chunk)
            *whole, rest = chunk.split(b"\n")
            for part in whole:
                line += part[: self._lines.limit - len(line)]
                self._say(line, say)
                line.clear()
            line += rest[: self._lines.limit - len(line)]
        if line:
            self._say(line, say)
        stream.close()

    def _say(self, line: bytearray, say: Callable[[str], None]) -> None:
        with contextlib.suppress(OSError, ValueError):  # nobody may be reading; it must not block on a full pipe
            say(line.decode("utf-8", "replace"))

    def _wait(self) -> None:
        """Wait for the process itself: what it left running may hold its output open for longer."""
        self._process.wait()
        until_s = self._runtime.monotonic() + _DRAIN_S
        for reader in self._readers:
            reader.join(max(0.0, until_s - self._runtime.monotonic()))
        self.is_over = True
        self._on_end()

    def end(self, grace_s: float) -> None:
        """End the whole group: TERM first, and KILL after the grace period."""
        self.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(grace_s)
        self.kill()

    def terminate(self) -> None:
        """Ask its process tree to end."""
        self._process.terminate()

    def kill(self) -> None:
        """Kill its process tree."""
        self._process.kill()
