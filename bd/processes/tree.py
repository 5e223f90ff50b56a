"""A command with everything that it starts, as its starter sees it: its end, and signals to it.

bd starts a supervisor (supervisor.py), which starts the command. It ends the whole tree when bd asks for it, or has died.
Without process groups, a tree is the command alone.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading

from bd import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import IO, Any

_SUPERVISOR = os.path.join(os.path.dirname(__file__), "supervisor.py")
_SIGKILL = getattr(signal, "SIGKILL", signal.SIGTERM)  # without SIGKILL, nothing withstands the other


class ProcessTree:
    """A running command. Raises OSError or ValueError if it can't be started.

    `command` is a list of words, or a text for the shell. When asked to end, the tree has `grace_s`; then the rest is killed.
    When this process ends, the tree has `orphan_grace_s` (default: `grace_s`). If it `outlives` this process, it goes on instead,
    and its supervisor waits for the whole tree.
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
        """Return the command's process id from its supervisor's report. Raises OSError if the command was not started."""
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
    def stderr(self) -> IO[bytes] | None:
        return self._process.stderr

    @property
    def returncode(self) -> int | None:
        """The exit code if it is known already, negative for a signal; otherwise None."""
        return self._process.returncode

    def poll(self) -> int | None:
        """Return the exit code, negative for a signal; None while it runs."""
        code = self._process.poll()
        if code is not None:
            self._close()
        return code

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end. Return the exit code, negative for a signal. Raises subprocess.TimeoutExpired."""
        code = self._process.wait(timeout)
        self._close()
        return code

    def terminate(self) -> None:
        """Ask the tree to end, the command first. What is left after the grace period is killed."""
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
        """Close the control pipe of an ended command. If its supervisor was killed, end the rest of the command's group."""
        with self._lock:
            if self._control is None:
                return
            os.close(self._control)
            self._control = None
        if self._process.returncode == -_SIGKILL:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, _SIGKILL)
