"""Whole DAGs: a plan applied in one commit and one push, and reads of the DAG that it makes."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

from bench.cache import forgetter
from bench.memory import peak_mb
from bench.rows import Figure, Ratio
from bench.startup import no_op
from bench.stopwatch import Program, Times, interleaved, once

if TYPE_CHECKING:
    from pathlib import Path

    from bench.machine import Machine
    from bench.rows import Row

TITLE = "whole DAGs: a plan in one commit, and reads of what it made"
_WIDTH = 50
LIMIT_MB = 200
WARM_LIMIT = 2.0


def plan(tasks: int) -> dict[str, Any]:
    """A root with chains of tasks, `_WIDTH` of them at a time ready."""
    return {
        "title": "All of it",
        "tasks": [
            {"name": f"t{number}", "title": f"Task {number}", "description": "words " * 20, "depends_on": waits}
            for number in range(tasks)
            for waits in [[f"t{number - _WIDTH}"] if number >= _WIDTH else []]
        ],
    }


def measure(machine: Machine) -> list[Row]:
    """`plan apply` at 1,000 and at 10,000 tasks, its memory; `ready`, `dag show` on the larger DAG, warm and cold."""
    rows: list[Row] = []
    folder = machine.folder
    for tasks in (100, 200) if machine.quick else (1000, 10_000):
        folder = _hub(machine, tasks)
        path = folder.parent / f"plan-{tasks}.json"
        path.write_text(json.dumps(plan(tasks)))
        argv = [*machine.bd, "plan", "apply", str(path)]
        begun = time.perf_counter()
        memory = peak_mb(machine, argv, folder)
        took = time.perf_counter() - begun
        rows.append(Figure(f"plan apply, {tasks:,} tasks, published", took, "seconds"))
        rows.append(Figure(f"plan apply, {tasks:,} tasks", took * 1000 / tasks, "ms a task"))
        rows.append(Figure(f"plan apply, {tasks:,} tasks", memory, "MB", LIMIT_MB))
    return [*rows, *_reads(machine, folder)]


def _hub(machine: Machine, tasks: int) -> Path:
    """A clone of a fresh hub."""
    remote, folder = machine.fresh(f"dags-{tasks}.git"), machine.fresh(f"dags-{tasks}")
    machine.run(["git", "init", "--quiet", "--bare", "-b", "main", str(remote)])
    machine.run([*machine.bd, "init", str(folder), "--prefix", "hub", "--remote", str(remote)])
    return folder


def _reads(machine: Machine, folder: Path) -> list[Row]:
    root = machine.run([*machine.bd, "dag", "list", "--quiet"], cwd=folder).strip()
    ready = [*machine.bd, "ready", "--limit", "50"]
    programs = {
        "no-op": Program(no_op(machine), folder),
        "ready --limit 50": Program(ready, folder),
        "dag show": Program([*machine.bd, "dag", "show", root], folder),
    }
    found = interleaved(machine, programs, rounds=machine.rounds(8))
    theirs = found.pop("no-op")
    limits = {"ready --limit 50": WARM_LIMIT}
    rows: list[Row] = [Ratio(f"{name}, warm", times, theirs, limits.get(name), "no-op") for name, times in found.items()]
    cold = Program(ready, folder, before=forgetter(folder))
    times = Times(tuple(once(machine, cold) for _ in range(machine.rounds(4))))
    return [*rows, Ratio("ready --limit 50, cold", times, theirs, None, "no-op")]
