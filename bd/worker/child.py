"""A worker's child process: its output is read as it comes, and its whole process tree is ended with it."""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
from typing import TYPE_CHECKING

from bd.core.errors import BadInput
from bd.core.redaction import masked
from bd.processes.tree import ProcessTree

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import IO

    from bd.core.runtime import Runtime

_LINE_LIMIT, _LONGEST_SECRET = 4000, 500
_READ_LIMIT = _LINE_LIMIT + _LONGEST_SECRET
_DRAIN_S = 1.0
_CHUNK = 65536


class Child:
    """A process that works on a bead. `on_end` is called from another thread when it has ended and its output is read.

    When asked to end, its tree has `grace_s` to do so; when this process dies, `orphan_grace_s`. What is left is killed.
    """

    def __init__(
        self,
        command: Sequence[str],
        folder: str,
        environment: Mapping[str, str],
        stdin_path: str | None,
        on_line: Callable[[str], None],
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
        self._on_line = on_line
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
                    stderr=subprocess.STDOUT,
                )
            # values that no argument or variable can hold, such as a NUL in a bead's model
            except (OSError, ValueError) as error:
                raise BadInput(
                    f"can't run {command[0]}: {error}", hint="the command after -- is started without a shell"
                ) from error
        assert self._process.stdout is not None
        self._reader = threading.Thread(target=self._read, args=(self._process.stdout,), daemon=True)
        self._reader.start()
        threading.Thread(target=self._wait, daemon=True).start()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def code(self) -> int | None:
        """The exit code, negative for a signal; None while it runs."""
        return self._process.poll()

    def _read(self, stream: IO[bytes]) -> None:
        """Read the output line by line. Only the beginning of a very long line is kept."""
        line = b""
        while chunk := os.read(stream.fileno(), _CHUNK):
            self.last_output_s = self._runtime.monotonic()
            *whole, rest = chunk.split(b"\n")
            for part in whole:
                self._say(line + part[:_READ_LIMIT])
                line = b""
            line = (line + rest[:_READ_LIMIT])[:_READ_LIMIT]
        if line:
            self._say(line)
        stream.close()

    def _say(self, raw: bytes) -> None:
        line = raw[:_READ_LIMIT].decode("utf-8", "replace")
        if len(raw) > _LINE_LIMIT:  # half a secret at its end would not be recognised
            line = masked(line)[: -_LONGEST_SECRET if len(raw) >= _READ_LIMIT else None][:_LINE_LIMIT]
        with contextlib.suppress(OSError, ValueError):  # nobody may be reading; it must not block on a full pipe
            self._on_line(line)

    def _wait(self) -> None:
        """Wait for the process itself: what it left running may hold its output open for longer."""
        self._process.wait()
        self._reader.join(_DRAIN_S)
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
