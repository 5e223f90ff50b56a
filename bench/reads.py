"""Reads from a warm cache against a click no-op, and whole lists against `json.dumps` of the same list."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

from bench.hubs import FLAT, LARGE, MIDDLE
from bench.rows import Note, Ratio
from bench.startup import NO_OP
from bench.stopwatch import Program, Times, interleaved

if TYPE_CHECKING:
    from pathlib import Path

    from bench.hubs import Hub, Shape
    from bench.machine import Machine
    from bench.rows import Row

TITLE = "reads from a warm cache, against a lazy click no-op"
OUTPUT_TITLE = "whole lists as JSON, on top of a read, against json.dumps of the same"
_LIMITS = {MIDDLE: 1.5, LARGE: 3.0, FLAT: 3.0}
_DUMPS = "import json, sys; value = json.load(open(sys.argv[1])); sys.stdout.write(json.dumps(value{}) + '\\n')"
_LOADS = "import json, sys; value = json.load(open(sys.argv[1])); sys.stdout.write('\\n')"


class Warm(NamedTuple):
    """A clone whose cache holds its tip."""

    hub: Hub
    folder: Path


def warm_clone(machine: Machine, shape: Shape) -> Warm:
    """A clone of a hub of this shape, read once."""
    hub = machine.hub(shape)
    folder = hub.clone(machine, machine.fresh(f"read-{shape.name}"))
    machine.run([*machine.bd, "count"], cwd=folder)
    return Warm(hub, folder)


def measure(machine: Machine) -> list[Row]:
    """The bounded reads at 1,000 and at 10,000 beads (3,000 in the active folder, and all of them)."""
    rows: list[Row] = []
    for shape in machine.shapes(MIDDLE, LARGE, FLAT):
        warm = warm_clone(machine, shape)
        waits, free = warm.hub.waiting_ids[0], warm.hub.open_ids[0]
        commands = {
            "ready --json --limit 50": ["ready", "--json", "--limit", "50"],
            "count": ["count"],
            "count --ready": ["count", "--ready"],
            "why ID": ["why", waits],
            "list --json --limit 50": ["list", "--json", "--limit", "50"],
            "show ID --json": ["show", free, "--json"],
        }
        programs = {"no-op": Program(NO_OP, warm.folder)}
        programs.update({name: Program([*machine.bd, *words], warm.folder) for name, words in commands.items()})
        found = interleaved(machine, programs, rounds=machine.rounds(20))
        theirs = found.pop("no-op")
        rows += [Ratio(f"{shape.label}: {name}", times, theirs, _LIMITS[shape], "no-op") for name, times in found.items()]
    return rows


def measure_output(machine: Machine) -> list[Row]:
    """Whole lists: what they take on top of the bounded read, in multiples of what `json.dumps` takes."""
    rows: list[Row] = [
        Note(
            "bd: the whole list less the one with --limit 50; dumps: writing the same list less loading it, as bd prints it (indent 2)."
        )
    ]
    for shape in machine.shapes(MIDDLE, LARGE, FLAT):
        warm = warm_clone(machine, shape)
        for command in ("list", "ready"):
            rows.append(_whole(machine, warm, command, shape))
    return rows


def _whole(machine: Machine, warm: Warm, command: str, shape: Shape) -> Ratio:
    text = machine.run([*machine.bd, command, "--json"], cwd=warm.folder)
    path = machine.folder / f"{shape.name}-{command}.json"
    path.write_text(text)
    python = [sys.executable, "-c"]
    programs = {
        "whole": Program([*machine.bd, command, "--json"], warm.folder),
        "part": Program([*machine.bd, command, "--json", "--limit", "50"], warm.folder),
        "dumps": Program([*python, _DUMPS.format(", indent=2, ensure_ascii=False"), str(path)], warm.folder),
        "loads": Program([*python, _LOADS, str(path)], warm.folder),
    }
    found = interleaved(machine, programs, rounds=machine.rounds(10))
    ours = _beyond(found["whole"], found["part"])
    theirs = _beyond(found["dumps"], found["loads"])
    return Ratio(f"{shape.label}: {command} --json ({len(text) // 1000} kB)", ours, theirs, 1.5, "dumps")


def _beyond(whole: Times, part: Times) -> Times:
    """What is left of the whole beside a part: the minimum of the one less the minimum of the other, and so on."""
    least, median = whole.least - part.least, whole.median - part.median
    return Times((max(0.1, least), max(0.1, median), max(0.1, 2 * median - least)))
