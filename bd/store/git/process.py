"""One process with piped streams: started, fed, read to its end, waited for, killed on time-out.

On POSIX this calls posix_spawn(3) and poll(2) directly: importing subprocess takes longer than most git commands. Elsewhere it
uses subprocess. repository.py decides what to run, and what an exit status means. Time-outs use the machine's own clock, not the
Runtime's: the program runs in real time. They bound its silence, not its work: a large transfer takes as long as it takes.
"""

from __future__ import annotations

import os
import select
import signal
from contextlib import suppress
from time import monotonic

from bd import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import IO, Any

HAS_SPAWN = hasattr(os, "posix_spawnp")
# The system takes no timeout that is much longer.
_LONGEST_S = 1_000_000.0
_CHUNK = 1 << 16
# Python ignores these signals; the programs that it starts expect the default.
_RESTORED = [getattr(signal, name) for name in ("SIGPIPE", "SIGXFSZ") if hasattr(signal, name)]


def start(argv: list[str], env: Mapping[str, str], *, stdin: bool = False) -> Process:
    """Start a program in the current folder; without `stdin` it reads nothing. Raises FileNotFoundError if it does not exist."""
    if not HAS_SPAWN:
        return _Portable(argv, env, stdin=stdin)
    read_in, write_in = os.pipe() if stdin else (os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC), None)
    read_out, write_out = os.pipe()
    read_err, write_err = os.pipe()
    theirs = (read_in, write_out, write_err)
    ours = [descriptor for descriptor in (write_in, read_out, read_err) if descriptor is not None]
    try:
        if min(*theirs, *ours) <= 2:  # bd was started without some standard stream: subprocess knows how to move descriptors
            for descriptor in ours:
                os.close(descriptor)
            return _Portable(argv, env, stdin=stdin)
        actions: list[tuple[Any, ...]] = [(os.POSIX_SPAWN_DUP2, theirs[number], number) for number in range(3)]
        actions += [(os.POSIX_SPAWN_CLOSE, descriptor) for descriptor in _inherited()]
        pid = os.posix_spawnp(argv[0], argv, env, file_actions=actions, setsigdef=_RESTORED)
    except BaseException:
        for descriptor in ours:
            with suppress(OSError):
                os.close(descriptor)
        raise
    finally:
        for descriptor in theirs:
            os.close(descriptor)
    return Process(pid, write_in, read_out, read_err)


def _inherited() -> list[int]:
    """Return the descriptors that bd inherited: a lock that a shell holds through one must not live on in a child process."""
    try:
        names = os.listdir("/dev/fd")
    except OSError:
        return []
    found = []
    for name in names:
        with suppress(OSError, ValueError):  # the descriptor used for reading the folder is closed by now
            if int(name) > 2 and os.get_inheritable(int(name)):
                found.append(int(name))
    return found


class Process:
    """A running program. Either call `communicate`, or use the streams and then `close`."""

    def __init__(self, pid: int, stdin: int | None, stdout: int, stderr: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self.stdin: IO[bytes] | None = open(stdin, "wb") if stdin is not None else None  # noqa: SIM115
        self.stdout: IO[bytes] | None = open(stdout, "rb")  # noqa: SIM115
        self.stderr: IO[bytes] | None = open(stderr, "rb")  # noqa: SIM115

    def communicate(
        self, data: bytes | None = None, timeout_s: float | None = None, at_most: int | None = None
    ) -> tuple[bytes, bytes]:
        """Feed the program, and wait for its end. Return its output and error text.

        Raises TimeoutError if it neither reads nor writes for `timeout_s`, and BufferError for more than `at_most` bytes of output;
        both leave it running.
        """
        deadline = _from_now(timeout_s)
        poller = select.poll()
        left = memoryview(data or b"")
        room = at_most or 0
        assert self.stdout is not None
        assert self.stderr is not None
        read: dict[int, list[bytes]] = {self.stdout.fileno(): [], self.stderr.fileno(): []}
        is_open = set(read)
        if self.stdin is not None:
            os.set_blocking(self.stdin.fileno(), False)
            is_open.add(self.stdin.fileno())
        for descriptor in is_open:
            poller.register(descriptor, select.POLLIN if descriptor in read else select.POLLOUT)
        while is_open:
            ready = poller.poll(None if deadline is None else max(0, (deadline - monotonic()) * 1000))
            if not ready and deadline is not None and monotonic() >= deadline:
                raise TimeoutError
            if ready:
                deadline = _from_now(timeout_s)
            for descriptor, _ in ready:
                if descriptor in read:
                    chunk = os.read(descriptor, _CHUNK)
                    read[descriptor].append(chunk)
                    is_done = not chunk
                    room -= len(chunk)
                    if at_most is not None and room < 0:
                        raise BufferError
                else:
                    left = left[_written(descriptor, left) :]
                    is_done = not left
                    if is_done and self.stdin is not None:
                        self.stdin.close()
                if is_done:
                    poller.unregister(descriptor)
                    is_open.discard(descriptor)
        self._wait_until(deadline)
        found = [b"".join(chunks) for chunks in read.values()]
        self._close_streams()
        return found[0], found[1]

    def wait(self) -> int:
        """Wait for the program's end. Return its exit code; negative for the signal that ended it."""
        if self.returncode is None:
            self._ended(os.waitpid(self.pid, 0)[1])
        return self.returncode or 0

    def kill(self) -> None:
        """Kill it, if it still runs."""
        if self.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)

    def close(self) -> None:
        """Close its streams, which ends a program that reads them, and wait for it."""
        self._close_streams()
        self.wait()

    def _close_streams(self) -> None:
        for stream in (self.stdin, self.stdout, self.stderr):
            if stream is not None:
                with suppress(OSError):  # it ended before it had read everything
                    stream.close()

    def _wait_until(self, deadline: float | None) -> None:
        """Wait for the end of a program that has closed its streams. Raises TimeoutError."""
        if deadline is None:
            self.wait()
            return
        with _Death(self.pid) as death:
            while True:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
                if pid:
                    self._ended(status)
                    return
                if monotonic() >= deadline:
                    raise TimeoutError
                death.wait(deadline - monotonic())

    def _ended(self, status: int) -> None:
        self.returncode = os.waitstatus_to_exitcode(status)


def _from_now(timeout_s: float | None) -> float | None:
    return None if timeout_s is None else monotonic() + min(timeout_s, _LONGEST_S)


class _Death:
    """Waits for a process to end: with a process descriptor if the system has them, else by polling."""

    def __init__(self, pid: int) -> None:
        self._poller = select.poll()
        self._descriptor: int | None = None
        with suppress(AttributeError, OSError):  # not Linux, or an old kernel
            self._descriptor = os.pidfd_open(pid)
            self._poller.register(self._descriptor, select.POLLIN)

    def wait(self, most_s: float) -> None:
        self._poller.poll(max(1, most_s * 1000) if self._descriptor is not None else 1)

    def __enter__(self) -> _Death:
        return self

    def __exit__(self, *_: object) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)


def _written(descriptor: int, data: memoryview) -> int:
    """Return how many bytes went into the pipe; all of them if nobody reads it any more."""
    try:
        return os.write(descriptor, data[:_CHUNK]) if data else 0
    except BlockingIOError:
        return 0
    except BrokenPipeError:
        return len(data)


class _Portable(Process):
    """The same on top of subprocess; its time-outs bound the whole run."""

    def __init__(self, argv: list[str], env: Mapping[str, str], *, stdin: bool) -> None:
        from subprocess import DEVNULL, PIPE, Popen  # noqa: PLC0415  only where posix_spawn is missing

        self._popen = Popen(argv, stdin=PIPE if stdin else DEVNULL, stdout=PIPE, stderr=PIPE, env=env)
        self.pid = self._popen.pid
        self.returncode = None
        self.stdin, self.stdout, self.stderr = self._popen.stdin, self._popen.stdout, self._popen.stderr

    def communicate(
        self, data: bytes | None = None, timeout_s: float | None = None, at_most: int | None = None
    ) -> tuple[bytes, bytes]:
        from subprocess import TimeoutExpired  # noqa: PLC0415

        try:
            found = self._popen.communicate(data, timeout=None if timeout_s is None else min(timeout_s, _LONGEST_S))
        except TimeoutExpired:
            raise TimeoutError from None
        self.returncode = self._popen.returncode
        if at_most is not None and len(found[0]) + len(found[1]) > at_most:
            raise BufferError
        return found

    def wait(self) -> int:
        self.returncode = self._popen.wait()
        return self.returncode

    def kill(self) -> None:
        self._popen.kill()
