"""The race: one process for each agent, started at the same moment, watched through the hub alone.

Belongs here: the processes and the hub's new commits. Does not belong here: what an agent does
(demo_agent.py) and what is shown (demo_view.py).
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

from bd import clock
from bd.errors import Damaged
from bd.fleet.demo_board import read_happening
from bd.light import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType

    from bd.fleet.demo_board import Board
    from bd.store.gitrepo import GitRepo

LOOK_S = 0.1
# No commit for so long, with work left: something is wrong that waiting will not mend.
STILL_LIMIT_S = 90.0
END_LIMIT_S = 10.0


class Runner(NamedTuple):
    """One agent's process and where its stderr goes."""

    process: subprocess.Popen[bytes]
    log_path: Path


class Race:
    """The agents' processes. As a context manager it leaves none behind, however it ends."""

    def __init__(self, clones: Mapping[str, Path], log_folder: Path, seed: str) -> None:
        self._clones = clones
        self._log_folder = log_folder
        self._seed = seed
        self._runners: dict[str, Runner] = {}

    def __enter__(self) -> Race:
        self._log_folder.mkdir(parents=True, exist_ok=True)
        try:
            for name, clone in self._clones.items():
                self._runners[name] = self._started(name, clone)
        except BaseException:
            self._end(at_once=True)
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._end(at_once=kind is not None)

    def _started(self, name: str, clone: Path) -> Runner:
        """A process in a group of its own, so that a Ctrl-C in the terminal is ours to hand on."""
        package_folder = str(Path(__file__).resolve().parents[2])
        path = os.pathsep.join(part for part in (package_folder, os.environ.get("PYTHONPATH")) if part)
        log_path = self._log_folder / f"{name}.log"
        with log_path.open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "bd.fleet.demo_agent", name, str(clone), self._seed],
                cwd=clone,
                env={**os.environ, "PYTHONPATH": path, "BD_SESSION": f"demo-{name}"},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )
        return Runner(process, log_path)

    def run(self, hub: GitRepo, branch: str, board: Board, show: Callable[[Board, float], None]) -> float:
        """Start everybody at once and watch until every bead is closed; the seconds it took.

        Raises Damaged when an agent's process ends early, or when nothing moves any more.
        """
        self._say_go()
        started = moved = clock.monotonic()
        seen = hub.ref(branch)
        while not board.is_done:
            clock.sleep(LOOK_S)
            self._check_runners()
            tip = hub.ref(branch)
            now = clock.monotonic()
            if tip and tip != seen:
                for commit in hub.commits_between(seen, tip):
                    happening = read_happening(hub.objects.read(commit) or b"")
                    if happening:
                        board.take(happening, now - started)
                seen, moved = tip, now
            elif now - moved > STILL_LIMIT_S:
                raise Damaged(
                    f"nothing has moved for {STILL_LIMIT_S:.0f} s, and {board.total - board.closed} beads are not done",
                    hint=f"the agents' logs are in {self._log_folder}",
                )
            show(board, now - started)
        return clock.monotonic() - started

    def _say_go(self) -> None:
        """Wait until each process has loaded what it needs, then start them all."""
        for name, runner in self._runners.items():
            assert runner.process.stdout is not None
            if not runner.process.stdout.readline():
                raise self._ended_early(name, runner, runner.process.wait())
        for runner in self._runners.values():
            assert runner.process.stdin is not None
            with contextlib.suppress(BrokenPipeError):  # _check_runners tells of it
                runner.process.stdin.write(b"go\n")
                runner.process.stdin.flush()

    def _check_runners(self) -> None:
        for name, runner in self._runners.items():
            code = runner.process.poll()
            if code is not None:
                raise self._ended_early(name, runner, code)

    def _ended_early(self, name: str, runner: Runner, code: int) -> Damaged:
        lines = runner.log_path.read_text(encoding="utf-8", errors="replace").splitlines()
        words = next((f": {line}" for line in reversed(lines) if line.startswith("Error:")), "")
        return Damaged(f"the agent {name} ended early, with exit {code}{words}", hint=f"its log: {runner.log_path}")

    def _end(self, *, at_once: bool) -> None:
        """End every process: by the end of its stdin, else with a signal to its group."""
        for runner in self._runners.values():
            assert runner.process.stdin is not None
            with contextlib.suppress(BrokenPipeError):
                runner.process.stdin.close()
            if at_once:
                _signal(runner.process, signal.SIGTERM)
        for runner in self._runners.values():
            for sign in (signal.SIGTERM, getattr(signal, "SIGKILL", signal.SIGTERM), None):
                try:
                    runner.process.wait(END_LIMIT_S)
                    break
                except subprocess.TimeoutExpired:
                    if sign is not None:
                        _signal(runner.process, sign)
            if runner.process.stdout is not None:
                runner.process.stdout.close()


def _signal(process: subprocess.Popen[bytes], sign: signal.Signals) -> None:
    """Send a signal to a process we started and to the `bd` it runs; nothing when it has ended."""
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            if hasattr(os, "killpg"):
                os.killpg(process.pid, sign)
            else:
                process.send_signal(sign)
