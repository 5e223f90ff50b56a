"""Peak memory of whole processes (`ru_maxrss`), at 10,000 and at 100,000 beads."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from bench.hubs import FLAT, HUGE, MIDDLE
from bench.reads import warm_clone
from bench.rows import Figure
from bench.startup import no_op

if TYPE_CHECKING:
    from pathlib import Path

    from bench.hubs import Shape
    from bench.machine import Machine
    from bench.rows import Row

TITLE = "peak memory"
LIMIT_MB = 200
# ru_maxrss is in kilobytes on Linux, in bytes on macOS.
_UNIT = 1 if sys.platform == "darwin" else 1024

# Linux counts into a child's peak what its parent held when it forked, so a small parent starts it.
_WAITER = """
import os, sys
null = os.open(os.devnull, os.O_RDWR)
to_null = [(os.POSIX_SPAWN_DUP2, null, place) for place in (0, 1)]
_, status, usage = os.wait4(os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=to_null), 0)
print(usage.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status))
"""


def peak_mb(machine: Machine, argv: list[str], folder: Path) -> float:
    """The most memory a process held at once, in megabytes."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", _WAITER, *argv], cwd=folder, env=machine.environment, capture_output=True, text=True
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(argv)} ended with {done.returncode}: {done.stderr}")
    return int(done.stdout) * _UNIT / 1e6


def measure(machine: Machine) -> list[Row]:
    """Reads, whole lists and the building of the cache. Of a build in several processes the largest one counts."""
    rows: list[Row] = [Figure("a lazy click no-op", peak_mb(machine, no_op(machine), machine.folder), "MB")]
    for shape in [MIDDLE] if machine.quick else [FLAT, HUGE]:
        rows += _of_shape(machine, shape)
    return rows


def _of_shape(machine: Machine, shape: Shape) -> list[Row]:
    warm = warm_clone(machine, shape)
    lists = (
        ["list", "--json"],
        ["list", "--all", "--json"],
        ["list", "--all", "--json"],  # again: what the first one kept is now used
        ["list", "--all", "--limit", "0"],
        ["ready", "--json"],
        ["ready"],
        ["count", "--ready"],
    )
    rows: list[Row] = []
    for words in lists:
        value = peak_mb(machine, [*machine.bd, *words], warm.folder)
        rows.append(Figure(f"{shape.label}: {' '.join(words)}", value, "MB", LIMIT_MB))
    for path in (warm.folder / ".git" / "bd").glob("cache-*.db*"):
        path.unlink()
    value = peak_mb(machine, [*machine.bd, "count"], warm.folder)
    return [*rows, Figure(f"{shape.label}: count, cold cache", value, "MB", LIMIT_MB)]
