"""Times of whole processes, interleaved."""

from __future__ import annotations

import os
import statistics
import subprocess
import time
from typing import TYPE_CHECKING, NamedTuple

try:
    import resource
except ImportError:  # not on POSIX
    resource = None  # type: ignore[assignment]

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
    after: Callable[[], None] | None = None

    def next_argv(self) -> list[str]:
        return list(self.argv() if callable(self.argv) else self.argv)


class Spent(NamedTuple):
    """What one run took: milliseconds by the clock, and of the processor, with all processes below it that were waited for."""

    wall_ms: float
    cpu_ms: float


class Times(NamedTuple):
    """The wall times of one program in milliseconds; and, round by round, its times of the processor."""

    all_ms: tuple[float, ...]
    all_cpu_ms: tuple[float, ...] = ()

    @property
    def least(self) -> float:
        return min(self.all_ms)

    @property
    def median(self) -> float:
        return statistics.median(self.all_ms)

    @property
    def cpu_median(self) -> float:
        return statistics.median(self.all_cpu_ms)

    def as_json(self) -> dict[str, object]:
        return {"least": round(self.least, 2), "median": round(self.median, 2), "runs": len(self.all_ms)}


def paired(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """The median of the ratios within each round: what else the machine does falls on both of a round."""
    return statistics.median(one / other for one, other in zip(ours, theirs, strict=True))


def once(machine: Machine, program: Program) -> float:
    """Run it to its end; milliseconds by the clock."""
    return spent(machine, program).wall_ms


def spent(machine: Machine, program: Program) -> Spent:
    """Run it to its end. A wrong exit code ends the run: it would be measuring something else."""
    if program.before:
        program.before()
    argv = program.next_argv()
    begun, cpu_begun = time.perf_counter(), _cpu_ms()
    done = subprocess.run(
        argv,
        cwd=program.cwd,
        env=machine.environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
    )
    took = Spent((time.perf_counter() - begun) * 1000, _cpu_ms() - cpu_begun)
    if program.after:
        program.after()
    if done.returncode != program.exits:
        words = (done.stdout + done.stderr).decode("utf-8", "replace")
        raise SystemExit(f"{' '.join(argv)} ended with {done.returncode}, not {program.exits}:\n{words}")
    return took


def interleaved(machine: Machine, programs: Mapping[str, Program], *, rounds: int, warm: int = 1) -> dict[str, Times]:
    """Every program in turn, round after round; the first rounds are not counted."""
    found: dict[str, list[Spent]] = {name: [] for name in programs}
    names = list(programs)
    for number in range(warm + rounds):
        turned = names[number % len(names) :] + names[: number % len(names)]
        for name in turned:
            took = spent(machine, programs[name])
            if number >= warm:
                found[name].append(took)
    return {name: Times(*map(tuple, zip(*values, strict=True))) for name, values in found.items()}


def _cpu_ms() -> float:
    """What all processes that were started here and have ended took of the processor, so far."""
    if resource is None:
        ended = os.times()
        return (ended.children_user + ended.children_system) * 1000
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (used.ru_utime + used.ru_stime) * 1000
