"""Graphs that go on and on: how processor time grows with their depth, width and length, for whatever walks them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from bench.cache import forgetter
from bench.rows import Figure
from bench.stopwatch import Program, spent

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from bench.machine import Machine
    from bench.rows import Row

TITLE = "deep, wide and shared graphs: processor time at twice the size"
# Twice the size takes twice as long, and what every start costs less than that. A walk that goes back over its way takes four times.
GROWTH_LIMIT = 3.0


def _record(number: int, kind: str, targets: list[int]) -> dict[str, Any]:
    edges = [{"issue_id": f"hub-n{number}", "depends_on_id": f"hub-n{target}", "type": kind} for target in targets]
    return {"id": f"hub-n{number}", "title": f"Bead {number}", "status": "open", "priority": 2, "dependencies": edges}


# The records of each graph, so and so many.
GRAPHS: dict[str, Callable[[int], list[dict[str, Any]]]] = {
    "parents, deep": lambda size: [_record(n, "parent-child", [n - 1] if n else []) for n in range(size)],
    "parents, wide": lambda size: [_record(n, "parent-child", [0] if n else []) for n in range(size)],
    "dependencies, deep": lambda size: [_record(n, "blocks", [n - 1] if n else []) for n in range(size)],
    "dependencies, wide": lambda size: [_record(n, "blocks", [] if n else [*range(1, size)]) for n in range(size)],
    "dependencies, shared": lambda size: [
        _record(n, "blocks", [n // 2 * 2 - 1, n // 2 * 2 - 2] if n > 1 else []) for n in range(size)
    ],
}
COMMANDS = (
    ("import", "beads.jsonl"),
    ("ready", "--json"),
    ("blocked", "--json"),
    ("list", "--parent", "hub-n0"),
    ("dep", "tree", "hub-n0", "--max-depth", "1000000", "--json"),
    ("dep", "tree", "hub-n0", "--direction", "up", "--max-depth", "1000000", "--json"),
    ("dag", "list"),
    ("stats",),
    ("doctor",),
)


def measure(machine: Machine) -> list[Row]:
    """Each command on each graph of two sizes, on an empty cache; the ratio of what both took."""
    small = 20 if machine.quick else 300
    rows: list[Row] = []
    for name, records in GRAPHS.items():
        taken = [_cpu_ms(machine, name, records(size)) for size in (small, 2 * small)]
        for command in COMMANDS:
            shown = " ".join(word for word in command if word not in ("--max-depth", "1000000", "--json"))
            limit = None if machine.quick else GROWTH_LIMIT
            rows.append(Figure(f"{name}: {shown}", taken[1][command] / taken[0][command], "times", limit))
    return rows


def _cpu_ms(machine: Machine, name: str, records: list[dict[str, Any]]) -> dict[tuple[str, ...], float]:
    folder: Path = machine.fresh(f"graphs-{name.replace(', ', '-').replace(' ', '-')}-{len(records)}")
    machine.run([*machine.bd, "init", str(folder), "--prefix", "hub"])
    (folder / "beads.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
    forget = forgetter(folder)
    programs = {command: Program([*machine.bd, *command], folder, before=forget) for command in COMMANDS}
    return {command: spent(machine, program).cpu_ms for command, program in programs.items()}
