"""Times of whole processes, interleaved."""

from __future__ import annotations

import statistics
import subprocess
import time
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from bench.machine import Machine


class Program(NamedTuple):
    """Something to time: an argument list, or a function that gives the next one; `exits` is how it must end."""

    argv: Sequence[str] | Callable[[], Sequence[str]]
    cwd: Path | None = None
    exits: int = 0
    before: Callable[[], None] | None = None

    def next_argv(self) -> list[str]:
        return list(self.argv() if callable(self.argv) else self.argv)


class Times(NamedTuple):
    """The wall times of one program in milliseconds."""

    all_ms: tuple[float, ...]

    @property
    def least(self) -> float:
        return min(self.all_ms)

    @property
    def median(self) -> float:
        return statistics.median(self.all_ms)

    def as_json(self) -> dict[str, object]:
        return {"least": round(self.least, 2), "median": round(self.median, 2), "runs": len(self.all_ms)}


def once(machine: Machine, program: Program) -> float:
    """Run it to its end; milliseconds. A wrong exit code ends the run: it would be measuring something else."""
    if program.before:
        program.before()
    argv = program.next_argv()
    begun = time.perf_counter()
    done = subprocess.run(
        argv,
        cwd=program.cwd,
        env=machine.environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
    )
    took = (time.perf_counter() - begun) * 1000
    if done.returncode != program.exits:
        words = (done.stdout + done.stderr).decode("utf-8", "replace")
        raise SystemExit(f"{' '.join(argv)} ended with {done.returncode}, not {program.exits}:\n{words}")
    return took


def interleaved(machine: Machine, programs: Mapping[str, Program], *, rounds: int, warm: int = 1) -> dict[str, Times]:
    """Every program in turn, round after round; the first rounds are not counted."""
    found: dict[str, list[float]] = {name: [] for name in programs}
    names = list(programs)
    for number in range(warm + rounds):
        turned = names[number % len(names) :] + names[: number % len(names)]
        for name in turned:
            took = once(machine, programs[name])
            if number >= warm:
                found[name].append(took)
    return {name: Times(tuple(values)) for name, values in found.items()}
