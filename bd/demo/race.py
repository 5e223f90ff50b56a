"""The race: one process per agent, all started at the same moment, and watched only through the hub.

examples/demo/agent.py is the code of an agent; view.py displays the race.
"""

from __future__ import annotations

import contextlib
import sys

from bd import TYPE_CHECKING
from bd.core.errors import Damaged
from bd.demo.board import read_happening
from bd.demo.example import example_folder
from bd.demo.processes import Runners
from bd.demo.watch import LOOK_S, STILL_LIMIT_S

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from bd.core.runtime import Runtime
    from bd.demo.board import Board
    from bd.store.git.repository import GitRepo


class Race(Runners):
    """The agents' processes during the race."""

    def __init__(self, clones: Mapping[str, Path], log_folder: Path, seed: str) -> None:
        agent = [sys.executable, str(example_folder() / "agent.py")]
        super().__init__(clones, {name: [*agent, name, str(clone), seed] for name, clone in clones.items()}, log_folder)

    def run(self, hub: GitRepo, branch: str, board: Board, show: Callable[[Board, float], None], runtime: Runtime) -> float:
        """Start all agents at once, and watch until every bead is closed; return the seconds it took.

        Raises Damaged if an agent's process ends early or nothing moves any more.
        """
        self._say_go()
        started = moved = runtime.monotonic()
        seen = hub.ref(branch)
        while not board.is_done:
            runtime.sleep(LOOK_S)
            self.check()
            tip = hub.ref(branch)
            now = runtime.monotonic()
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
        return runtime.monotonic() - started

    def _say_go(self) -> None:
        """Wait until each process is ready, then start them all."""
        for name, runner in self._runners.items():
            assert runner.process.stdout is not None
            if not runner.process.stdout.readline():
                raise self._ended_early(name, runner, runner.process.wait())
        for runner in self._runners.values():
            assert runner.process.stdin is not None
            with contextlib.suppress(BrokenPipeError):  # `check` reports it
                runner.process.stdin.write(b"go\n")
                runner.process.stdin.flush()
