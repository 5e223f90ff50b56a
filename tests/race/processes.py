"""Processes that begin their command in the same moment: each is loaded, waits at a gate, and all are let go at once.

Belongs here: starting and collecting real bd processes for races. Does not belong here: what they prove.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tests.running import Result

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

ROOT = Path(__file__).parents[2]
_GATE = """\
import os, sys
sys.path[0] = sys.argv.pop(1)
import bd.cli.main
import bd.cli.commands.claim, bd.cli.commands.create, bd.cli.commands.update
import bd.cli.app, bd.store.transaction.queue
from tests.runtime import RUNTIME
gate = int(sys.argv.pop(1))
os.write(1, b"ready\\n")
os.read(gate, 1)
sys.exit(bd.cli.main.main(sys.argv[1:], RUNTIME))
"""


class Runner:
    """One loaded process: it runs its command when its gate is opened."""

    def __init__(self, folder: Path, args: Iterable[str], env: Mapping[str, str] | None = None) -> None:
        self.args = tuple(args)
        reading, self._gate = os.pipe()
        self.process = subprocess.Popen(
            [sys.executable, "-c", _GATE, str(ROOT), str(reading), *self.args],
            cwd=folder,
            env={**os.environ, **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=(reading,),
        )
        os.close(reading)

    def wait_until_loaded(self) -> None:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line == b"ready\n", self.process.communicate()

    def let_go(self) -> None:
        os.close(self._gate)

    def result(self) -> Result:
        out, err = self.process.communicate()
        return Result(self.args, self.process.returncode, out.decode(), err.decode())


def at_once(commands: Iterable[tuple[Path, Iterable[str]]], env: Mapping[str, str] | None = None) -> list[Result]:
    """Run (folder, arguments) commands in processes that start in the same moment; how each of them ended."""
    runners = [Runner(folder, args, env) for folder, args in commands]
    for runner in runners:
        runner.wait_until_loaded()
    for runner in runners:
        runner.let_go()
    return [runner.result() for runner in runners]
