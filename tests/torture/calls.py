"""One bd command in a process of its own, forked from one that has bd loaded: its words, its faults, what it said.

A fork is a process like any other: own locks, own git children, killed like one. It only saves the start of Python.
Belongs here: starting, watching and killing. Does not belong here: which faults there are (faults/).
"""

from __future__ import annotations

import io
import json
import os
import signal
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

STOPPED = -signal.SIGKILL


@dataclass
class Call:
    """What somebody is about to type; faults change it before it starts.

    `kind` is the verb as the checker knows it, `mark` a text that nobody else writes, `work` what is done instead of a
    command line. `at` holds actions for the n-th time a step of the transaction is reached; `setup` is done in the new
    process first; `kill_after_s` kills it, `is_group` with all of its git.
    """

    clone: str
    agent: str
    kind: str
    args: list[str]
    bead: str = ""
    mark: str = ""
    env: dict[str, str] = field(default_factory=dict)
    at: dict[str, list[tuple[int, Callable[[], object]]]] = field(default_factory=dict)
    setup: list[Callable[[], object]] = field(default_factory=list)
    work: Callable[[], int] | None = None
    kill_after_s: float | None = None
    is_group: bool = False
    # What is there once a fault outside of the process has happened.
    sign: Path | None = None
    faults: list[str] = field(default_factory=list)

    def do_at(self, step: str, action: Callable[[], object], nth: int = 1) -> None:
        self.at.setdefault(step, []).append((nth, action))


class Told(NamedTuple):
    """A call, and all that its author was told. `code` is negative for who was killed; `uids` are its operations."""

    number: int
    clone: str
    agent: str
    kind: str
    words: tuple[str, ...]
    code: int
    out: str
    err: str
    uids: tuple[str, ...] = ()
    bead: str = ""
    mark: str = ""
    began: float = 0.0
    ended: float = 0.0
    faults: tuple[str, ...] = ()
    has_happened: bool = True
    is_hung: bool = False

    @property
    def json(self) -> Any:
        try:
            return json.loads(self.out)
        except ValueError:
            return None

    @property
    def was_killed(self) -> bool:
        return self.code < 0 or self.code == 137

    @property
    def written(self) -> str:
        """For who ended with 6: no, local or unknown."""
        found = self.json
        return str(found.get("written", "no")) if isinstance(found, dict) else "no"

    @property
    def is_kept_here(self) -> bool:
        """Whether it was told that its write is in the clone and not yet on the hub."""
        is_local = self.code == 6 and self.written == "local"
        is_told = "kept in this clone" in self.err  # also where the server refuses pushes by anybody: exit 5
        return is_local or (self.code in (0, 5) and is_told) or (self.code == 0 and '"published": false' in self.out)

    def line(self) -> str:
        end = "hung" if self.is_hung else f"{self.code}{'/' + self.written if self.code == 6 else ''}"
        words = " ".join(self.words)
        where = f"{self.began:7.3f}-{self.ended:7.3f} #{self.number:<3} {self.clone:<8} {self.agent:<8}"
        said = self.err.strip().splitlines()
        extra = f"  <{', '.join(self.faults)}>" if self.faults else ""
        return f"{where} {words} -> {end}{extra}" + (f"  | {said[0][:150]}" if said and self.code else "")


class Running:
    """A call under way."""

    def __init__(self, call: Call, number: int, folder: Path, environment: dict[str, str]) -> None:
        self.call = call
        self.number = number
        # Pipes and no files, which a full disk or a limit would cut; large enough that nobody has to read meanwhile.
        self._streams = [_pipe() for _ in range(3)]
        self.began = time.monotonic()
        self.ended = 0.0
        self._is_to_be_killed = call.kill_after_s is not None
        self._status: int | None = None
        self._said = ["", "", ""]
        self.is_hung = False
        sys.stdout.flush()
        sys.stderr.flush()
        self.pid = os.fork()
        if not self.pid:
            _child(call, folder, [writing for _, writing in self._streams], environment)
        for _, writing in self._streams:
            os.close(writing)

    def poll(self) -> bool:
        """Whether it has ended."""
        if self._status is None:
            if self.call.kill_after_s is not None and time.monotonic() - self.began > self.call.kill_after_s:
                self.call.kill_after_s = None
                self.kill()
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self._status, self.ended = status, time.monotonic()
                self._said = [_read(reading) for reading, _ in self._streams]
        return self._status is not None

    def kill(self) -> None:
        """kill -9: bd alone, so that its git goes on, or both."""
        with suppress(ProcessLookupError):
            (os.killpg if self.call.is_group else os.kill)(self.pid, signal.SIGKILL)

    def give_up(self) -> None:
        """It does not come back: that is a violation, and it must not stay."""
        self.is_hung = True
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)

    def _has_happened(self, code: int, steps: str) -> bool:
        """Whether the call's fault did: a step may never be reached, and who is quick is killed too late."""
        if self.call.at:
            return "\ndone" in steps
        if self._is_to_be_killed:
            return code < 0
        return self.call.sign is None or self.call.sign.exists()

    def told(self, since: float) -> Told:
        assert self._status is not None
        out, err, steps = self._said
        call = self.call
        uids = dict.fromkeys(line.removeprefix("uid ") for line in steps.splitlines() if line.startswith("uid "))
        code = os.waitstatus_to_exitcode(self._status)
        return Told(
            self.number,
            call.clone,
            call.agent,
            call.kind,
            tuple(call.args),
            code,
            out,
            err,
            tuple(uids),
            call.bead,
            call.mark,
            self.began - since,
            self.ended - since,
            tuple(call.faults),
            self._has_happened(code, steps),
            self.is_hung,
        )


def _pipe() -> tuple[int, int]:
    reading, writing = os.pipe()
    with suppress(AttributeError, OSError):  # where it can't be larger, no answer is that long either
        import fcntl

        fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 1 << 20)
    return reading, writing


def _read(stream: int) -> str:
    """What is in a pipe now: who still has it open has nothing to say."""
    os.set_blocking(stream, False)
    found = b""
    with suppress(BlockingIOError):
        while data := os.read(stream, 1 << 16):
            found += data
    os.close(stream)
    return found.decode("utf-8", "replace")


def _child(call: Call, folder: Path, streams: list[int], environment: dict[str, str]) -> None:
    """The new process: never returns."""
    code = 70
    try:
        os.setsid()
        os.environ.clear()
        os.environ.update({**environment, **call.env})
        os.chdir(folder)
        out, err, steps = streams
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(out, 1)
        os.dup2(err, 2)
        sys.stdin = io.TextIOWrapper(io.FileIO(0, closefd=False), "utf-8")
        sys.stdout, sys.stderr = (
            io.TextIOWrapper(io.FileIO(fd, "w", closefd=False), "utf-8", write_through=True) for fd in (1, 2)
        )
        _watch(call, steps)
        for action in call.setup:
            action()
        if call.work is not None:
            code = call.work()
        else:
            from bd.cli.main import main
            from tests.runtime import RUNTIME

            code = main(call.args, RUNTIME)
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        os._exit(code)


def _watch(call: Call, steps: int) -> None:
    """Write down each operation and each step, and act at those that faults have chosen."""
    from bd.store.transaction.queue import Writing
    from tests.runtime import RUNTIME

    seen: dict[str, int] = {}
    real = Writing.run

    def run(self: Writing, operation: Any, **more: Any) -> Any:
        if operation is not None:
            os.write(steps, f"uid {operation.uid}\n".encode())
        return real(self, operation, **more)

    def step(name: str) -> None:
        os.write(steps, f"step {name}\n".encode())
        seen[name] = seen.get(name, 0) + 1
        for nth, action in call.at.get(name, ()):
            if nth == seen[name]:
                os.write(steps, b"done\n")
                action()

    Writing.run = run  # type: ignore[method-assign]
    RUNTIME.on_step = step  # type: ignore[method-assign]
