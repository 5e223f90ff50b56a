"""The demo's processes: one per agent, each in its clone. None is left behind, however the demo ends.

race.py and watch.py watch the hub while they run.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.core.errors import Damaged
from bd.processes.tree import ProcessTree

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType
    from typing import Self

END_LIMIT_S = 10.0


class Runner(NamedTuple):
    """One agent's process, and the file for its stderr."""

    process: ProcessTree
    log_path: Path


class Runners:
    """The agents' processes; `clones` and `commands` are by agent. They end when their stdin is closed, or else by a signal.

    Those that end with their stdin report on stdout that they are ready; the stdout of others goes to their logs.
    """

    end_with_stdin = True

    def __init__(self, clones: Mapping[str, Path], commands: Mapping[str, Sequence[str]], log_folder: Path) -> None:
        self._clones = clones
        self._commands = commands
        self._log_folder = log_folder
        self._runners: dict[str, Runner] = {}

    def __enter__(self) -> Self:
        self._log_folder.mkdir(parents=True, exist_ok=True)
        try:
            for name, clone in self._clones.items():
                self._runners[name] = self._started(name, clone)
        except BaseException:
            self._end(at_once=True)
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._end(at_once=kind is not None or not self.end_with_stdin)

    def _started(self, name: str, clone: Path) -> Runner:
        """Start a process in its own group, so that only we get the terminal's Ctrl-C, and pass it on."""
        log_path = self._log_folder / f"{name}.log"
        with log_path.open("wb") as log:
            process = ProcessTree(
                self._commands[name],
                grace_s=END_LIMIT_S,
                cwd=clone,
                env={**self._environment(), "BD_SESSION": f"demo-{name}"},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE if self.end_with_stdin else log,
                stderr=log,
            )
        return Runner(process, log_path)

    def kill_and_restart(self, name: str) -> None:
        """End an agent's process as a power failure would, and start it anew, as cron would."""
        runner = self._runners[name]
        with contextlib.suppress(ProcessLookupError):
            os.kill(runner.process.pid, getattr(signal, "SIGKILL", signal.SIGTERM))
        with contextlib.suppress(subprocess.TimeoutExpired):
            runner.process.wait(END_LIMIT_S)
        self._runners[name] = self._started(name, self._clones[name])

    def _environment(self) -> Mapping[str, str]:
        """Return the environment of every agent's process."""
        return environment()

    def check(self) -> None:
        """Raise Damaged if an agent's process has ended early."""
        for name, runner in self._runners.items():
            code = runner.process.poll()
            if code is not None:
                raise self._ended_early(name, runner, code)

    def _ended_early(self, name: str, runner: Runner, code: int) -> Damaged:
        lines = runner.log_path.read_text(encoding="utf-8", errors="replace").splitlines()
        words = next((f": {line}" for line in reversed(lines) if line.startswith("Error:")), "")
        return Damaged(f"the agent {name} ended early, with exit {code}{words}", hint=f"its log: {runner.log_path}")

    def _end(self, *, at_once: bool) -> None:
        """End every process: by closing its stdin, else by a signal to its group."""
        for runner in self._runners.values():
            assert runner.process.stdin is not None
            with contextlib.suppress(BrokenPipeError):
                runner.process.stdin.close()
            if at_once:
                runner.process.terminate()
        for runner in self._runners.values():
            for more_force in (runner.process.terminate, runner.process.kill, None):
                try:
                    runner.process.wait(END_LIMIT_S)
                    break
                except subprocess.TimeoutExpired:
                    if more_force is not None:
                        more_force()
            if runner.process.stdout is not None:
                runner.process.stdout.close()


def environment() -> dict[str, str]:
    """Return the environment in which `python -m bd` is this bd, wherever it is started."""
    package_folder = str(Path(__file__).resolve().parents[2])
    path = os.pathsep.join(part for part in (package_folder, os.environ.get("PYTHONPATH")) if part)
    return {**os.environ, "PYTHONPATH": path}


def typed(folder: str | Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command of bd, as a person types it in a folder."""
    command, nothing = [sys.executable, "-m", "bd", *words], subprocess.DEVNULL
    return subprocess.run(command, cwd=folder, env=environment(), stdin=nothing, capture_output=True, text=True, check=False)


def done(folder: str | Path, *words: str) -> None:
    """Run a command of bd that has to go well. Raises Damaged."""
    ended = typed(folder, *words)
    if ended.returncode:
        raise Damaged(f"bd {shlex.join(words)} ended with exit {ended.returncode}: {ended.stderr.strip()}")
