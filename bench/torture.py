"""Histories with faults, as tests/torture makes them: how many, which faults happened in them, and what was broken."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from bench.rows import Figure, Note

if TYPE_CHECKING:
    from bench.machine import Machine
    from bench.rows import Row

TITLE = "histories with faults, and what was broken in them"
ROOT = Path(__file__).parents[1]


def measure(machine: Machine) -> list[Row]:
    """`BENCH_TORTURE_RUNS` histories from `BENCH_TORTURE_SEED` on; what breaks is printed with the seed that does it again."""
    runs = "20" if machine.quick else os.environ.get("BENCH_TORTURE_RUNS", "1000")
    seed = os.environ.get("BENCH_TORTURE_SEED", "1")
    words = ["--seed", seed, "--runs", runs, "--jobs", str((os.cpu_count() or 1) + 1), "--json"]
    folder = Path(machine.folder) / "torture"
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "tests.torture", *words, "--folder", str(folder)], cwd=ROOT, capture_output=True, text=True
    )
    if not done.stdout.strip():
        raise SystemExit(f"the histories did not run:\n{done.stderr[-2000:]}")
    found = json.loads(done.stdout)
    for failed, texts in found["violations"].items():
        print(f"  make torture SEED={failed} RUNS=1", *texts, sep="\n    ")
    faults = found["faults"]
    return [
        Note(f"seeds from {seed} on, {time.perf_counter() - began:.0f} s"),
        Figure("histories", found["histories"], ""),
        Figure("calls of bd", found["calls"], ""),
        Figure("faults that happened", sum(faults.values()), f"of {len(faults)} kinds"),
        *(Figure(f"  {name}", number, "") for name, number in faults.items()),
        Figure("histories with a violation", len(found["violations"]), "", 1),
    ]
