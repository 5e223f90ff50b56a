"""A worker that goes on and on: whether its memory, its open files and what it leaves in its clone stay within bounds."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bench.rows import Figure, Note
from bench.track import Track

if TYPE_CHECKING:
    from bench.machine import Machine
    from bench.rows import Row

TITLE = "bd work, bead after bead: memory, open files, loose objects"
# Git estimates by one of 256 folders when to pack: three times its threshold is rare.
LOOSE_LIMIT = 6000
GROWTH_LIMIT, MORE_FILES = 1.2, 4
_DEALT_AT_ONCE = 2000
_EVERY_S = 0.5


class Sample(NamedTuple):
    """A process at one moment: resident memory and open files."""

    kb: int
    files: int


def measure(machine: Machine) -> list[Row]:
    """One worker process drains the hub; what is finished is archived between the rounds, as a hub in use is."""
    if not Path("/proc/self/status").exists():
        return [Note("needs /proc")]
    rounds = 1 if machine.quick else 5
    track = Track(machine, 1)
    samples: list[Sample] = []
    growth: list[float] = []
    more_files = most_loose = 0
    begun = time.perf_counter()
    for _ in range(rounds):
        track.deal(60 if machine.quick else _DEALT_AT_ONCE)
        found, loose = _drained(machine, track)
        samples += found
        part = max(1, len(found) // 10)
        growth.append(_most_kb(found[-part:]) / _most_kb(found[:part]))
        more_files = max(more_files, _most_files(found[-part:]) - _most_files(found[:part]))
        most_loose = max(most_loose, loose)
        machine.run([*machine.bd, "archive", "--older-than", "0s"], cwd=track.clones[0])
    took_s = time.perf_counter() - begun
    closed = len(track.with_status("closed"))
    return [
        Note(f"{closed} beads by {rounds} workers one after another, in {took_s:.0f} s"),
        Figure("  a worker's memory, last to first tenth", max(growth), "x", GROWTH_LIMIT, "<="),
        Figure("  most memory", _most_kb(samples) / 1000, "MB"),
        Figure("  its open files, last less first tenth", more_files, "", MORE_FILES, "<="),
        Figure("  most loose objects in the clone", most_loose, "", LOOSE_LIMIT, "<="),
    ]


def _drained(machine: Machine, track: Track) -> tuple[list[Sample], int]:
    """Work until nothing is left: samples of the process, and the most loose objects that lay in its clone."""
    clone = track.clones[0]
    argv = [*machine.bd, "work", "--agent", "agent-0", "--once", "--", "true"]
    samples: list[Sample] = []
    most_loose = 0
    with subprocess.Popen(
        argv, cwd=clone, env=machine.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        while process.poll() is None:
            time.sleep(_EVERY_S)
            sample = _sample(process.pid)
            if sample is not None:
                samples.append(sample)
            if len(samples) % 20 == 1:
                most_loose = max(most_loose, _loose(machine, clone))
    return samples, max(most_loose, _loose(machine, clone))


def _sample(pid: int) -> Sample | None:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
        files = len(os.listdir(f"/proc/{pid}/fd"))
    except OSError:  # it has ended
        return None
    line = next((line for line in status.splitlines() if line.startswith("VmRSS:")), "")
    return Sample(int(line.split()[1]), files) if line else None


def _loose(machine: Machine, clone: Path) -> int:
    return int(machine.run(["git", "-C", str(clone), "count-objects"]).split()[0])


def _most_kb(samples: list[Sample]) -> int:
    return max(sample.kb for sample in samples)


def _most_files(samples: list[Sample]) -> int:
    return max(sample.files for sample in samples)
