"""A command with everything that it starts, as whoever started it sees it: its end, and signals to it.

Between bd and the command stands a supervisor (supervisor.py), which ends the whole tree when it is asked to or when bd has died.
Where there are no process groups, a tree is the command alone.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import IO, Any

_SUPERVISOR = os.path.join(os.path.dirname(__file__), "supervisor.py")
_SIGKILL = getattr(signal, "SIGKILL", signal.SIGTERM)  # where there is no SIGKILL, nothing withstands the other


class ProcessTree:
    """A running command. Raises OSError or ValueError when it can't be started.

    `command` is its words, or a text for the shell. Who is asked to end has `grace_s`; then what is left of the tree is killed.
    It ends when this process does, within `orphan_grace_s` (`grace_s` where left out). Not so where it `outlives` this process:
    then its supervisor waits for the whole tree.
    """

    def __init__(
        self,
        command: Sequence[str] | str,
        *,
        grace_s: float,
        orphan_grace_s: float | None = None,
        outlives: bool = False,
        cwd: str | os.PathLike[str] | None = None,
        env: Mapping[str, str] | None = None,
        stdin: int | IO[Any] | None = None,
        stdout: int | IO[Any] | None = None,
        stderr: int | IO[Any] | None = None,
        pass_fds: Sequence[int] = (),
    ) -> None:
        self._control: int | None = None
        self._lock = threading.Lock()
        options: dict[str, Any] = {"cwd": cwd, "env": env, "stdin": stdin, "stdout": stdout, "stderr": stderr}
        if not hasattr(os, "killpg") or not hasattr(os, "fork") or not sys.executable:
            self._process = subprocess.Popen(command, shell=isinstance(command, str), **options)
            self.pid = self._process.pid
            return
        words = ["/bin/sh", "-c", command] if isinstance(command, str) else list(command)
        theirs, ours = (-1, None) if outlives else os.pipe()
        read, report = os.pipe()
        try:
            held = [descriptor for descriptor in (theirs, report, *pass_fds) if descriptor >= 0]
            orphan_grace_s = grace_s if orphan_grace_s is None else orphan_grace_s
            given = ",".join(map(str, pass_fds))
            how = [str(theirs), str(report), str(grace_s), str(orphan_grace_s), "1" if outlives else "0", given]
            start = [sys.executable, "-I", "-S", _SUPERVISOR, *how, *words]
            self._process = subprocess.Popen(start, pass_fds=held, start_new_session=True, **options)
            self._control = ours
        except BaseException:
            for descriptor in (ours, read):
                if descriptor is not None:
                    os.close(descriptor)
            raise
        finally:
            for descriptor in (theirs, report):
                if descriptor >= 0:
                    os.close(descriptor)
        with open(read, "rb") as reported:
            self.pid = self._started(reported.read(), words[0])

    def _started(self, said: bytes, program: str) -> int:
        """The command's process id, by what its supervisor said. Raises OSError where the command was not started."""
        pid, *failed = said.split() or (b"0", b"")
        if not failed:
            return int(pid)
        self._process.wait()
        self._close()
        number = int(failed[0] or 0)
        raise OSError(number, os.strerror(number), program) if number else OSError("its supervisor did not start")

    @property
    def stdin(self) -> IO[bytes] | None:
        return self._process.stdin

    @property
    def stdout(self) -> IO[bytes] | None:
        return self._process.stdout

    @property
    def returncode(self) -> int | None:
        """The exit code as it is known so far, negative for a signal."""
        return self._process.returncode

    def poll(self) -> int | None:
        """The exit code, negative for a signal; None while it runs."""
        code = self._process.poll()
        if code is not None:
            self._close()
        return code

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end; the exit code, negative for a signal. Raises subprocess.TimeoutExpired."""
        code = self._process.wait(timeout)
        self._close()
        return code

    def terminate(self) -> None:
        """Ask the tree to end, the command first. What is left of it after the grace is killed."""
        self._send(signal.SIGTERM)

    def kill(self) -> None:
        """End the whole tree at once."""
        self._send(_SIGKILL)

    def _send(self, number: int) -> None:
        with self._lock, contextlib.suppress(OSError):
            if self._control is not None:
                os.write(self._control, bytes([number]))
            elif self._process.returncode is None:
                self._process.send_signal(number)

    def _close(self) -> None:
        """It has ended. Where its supervisor was killed, the command's group may be left."""
        with self._lock:
            if self._control is None:
                return
            os.close(self._control)
            self._control = None
        if self._process.returncode == -_SIGKILL:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, _SIGKILL)
