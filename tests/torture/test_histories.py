"""Histories of fixed seeds, and each fault by name at least once. `make torture SEED=.. RUNS=..` runs more of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.torture.faults import names

ROOT = Path(__file__).parents[2]
# A few at a time: each test has its own seeds.
SEEDS = [range(1, 5), pytest.param(range(5, 13), marks=pytest.mark.slow)]


def run(folder: Path, *words: str) -> dict[str, dict[str, int]]:
    """Run the harness in a process of its own; what it tells."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.torture", "--json", "--folder", str(folder), *words],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode in (0, 1), done.stderr
    told: dict[str, dict[str, int]] = json.loads(done.stdout)
    assert not told["violations"], json.dumps(told["violations"], indent=2) + f"\nlogs are in {folder}"
    return told


@pytest.mark.slow
@pytest.mark.parametrize("seeds", SEEDS, ids=lambda seeds: f"{seeds.start}-{seeds.stop - 1}")
def test_histories(seeds: range, tmp_path: Path) -> None:
    told = run(tmp_path / "torture", "--seed", str(seeds.start), "--runs", str(len(seeds)))
    assert told["histories"] == len(seeds)


@pytest.mark.slow
@pytest.mark.parametrize("fault", names())
def test_a_fault(fault: str, tmp_path: Path) -> None:
    """One history in which this fault comes at every call that it fits, or in every round."""
    told = run(tmp_path / "torture", "--seed", "1", "--runs", "1", "--fault", fault)
    assert told["faults"][fault] > 0
    assert sum(told["faults"].values()) == told["faults"][fault]
