"""Start-up: the commands that need no hub, against a click group that does nothing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from bench.rows import Ratio
from bench.stopwatch import Program, interleaved

if TYPE_CHECKING:
    from bench.machine import Machine
    from bench.rows import Row

TITLE = "start-up, against a lazy click no-op"
LIMIT = 1.2


def no_op(machine: Machine) -> list[str]:
    """A lazy click group whose command does nothing."""
    return [machine.python, str(Path(__file__).with_name("noop.py")), "nothing"]


def measure(machine: Machine) -> list[Row]:
    """`--version`, `--help` and a usage error."""
    programs = {
        "no-op": Program(no_op(machine), machine.folder),
        "bd --version": Program([*machine.bd, "--version"], machine.folder),
        "bd --help": Program([*machine.bd, "--help"], machine.folder),
        "bd list --no-such (a usage error)": Program([*machine.bd, "list", "--no-such"], machine.folder, exits=2),
    }
    found = interleaved(machine, programs, rounds=machine.rounds(25))
    theirs = found.pop("no-op")
    return [Ratio(name, times, theirs, LIMIT, "no-op") for name, times in found.items()]
