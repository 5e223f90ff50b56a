"""Processes that begin at the same moment.

Belongs here: starting them and saying how each ended. Loaded ones have imported bd and wait at a gate, so that the
start of many interpreters on few cores does not spread them; whole ones are started one right after the other.
"""

from __future__ import annotations

import os
import subprocess
import time
from threading import Thread
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from bench.machine import Machine

_BD = """\
import importlib, os, pkgutil, sys
import bd.cli.main, bd.cli.commands.claim, bd.cli.commands.create
for folder in ("bd.store", "bd.operations", "bd.policy"):
    for module in pkgutil.iter_modules(importlib.import_module(folder).__path__):
        importlib.import_module(f"{folder}.{module.name}")
gate = int(sys.argv.pop(1))
os.write(1, b"ready\\n")
os.read(gate, 1)
sys.exit(bd.cli.main.main(sys.argv[1:]))
"""
_SHELL = 'echo ready; read -r _ <&"$1"; shift; exec sh "$@"'


class Run(NamedTuple):
    """One process to start: bd's words, or a shell script and its arguments. `bd` starts it where it is not the installed one."""

    folder: Path
    words: Sequence[str]
    env: Mapping[str, str] = {}
    is_script: bool = False
    bd: Sequence[str] = ()


class Ended(NamedTuple):
    """How a process came in: exit code, stdout, stderr, and seconds since all were let go."""

    code: int
    out: str
    err: str
    seconds: float


def at_once(machine: Machine, runs: Sequence[Run], *, loaded: bool = True) -> list[Ended]:
    """Start all, let them go in the same moment, and wait for the last."""
    if not loaded:
        begun = time.perf_counter()
        return _awaited([_start(machine, run) for run in runs], begun)
    started = [_start_at_gate(machine, run) for run in runs]
    for process, _ in started:
        assert process.stdout is not None
        if process.stdout.readline() != "ready\n":
            raise SystemExit(f"a racer did not start: {process.communicate()}")
    begun = time.perf_counter()
    for _, gate in started:
        os.close(gate)
    return _awaited([process for process, _ in started], begun)


def _start(machine: Machine, run: Run, fds: tuple[int, ...] = (), argv: Sequence[str] = ()) -> subprocess.Popen[str]:
    whole = ["sh", *run.words] if run.is_script else [*(run.bd or machine.bd), *run.words]
    return subprocess.Popen(
        argv or whole,
        cwd=run.folder,
        env={**machine.environment, **run.env},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        pass_fds=fds,
    )


def _start_at_gate(machine: Machine, run: Run) -> tuple[subprocess.Popen[str], int]:
    reading, gate = os.pipe()
    start = ["sh", "-c", _SHELL, "gate"] if run.is_script else [machine.python, "-c", _BD]
    process = _start(machine, run, (reading,), [*start, str(reading), *run.words])
    os.close(reading)
    return process, gate


def _awaited(processes: Sequence[subprocess.Popen[str]], begun: float) -> list[Ended]:
    """Each is waited for by a thread of its own, so that its end is seen when it comes."""
    ended: dict[int, Ended] = {}

    def wait(place: int) -> None:
        out, err = processes[place].communicate()
        ended[place] = Ended(processes[place].returncode, out, err, time.perf_counter() - begun)

    threads = [Thread(target=wait, args=(place,)) for place in range(len(processes))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [ended[place] for place in range(len(processes))]
