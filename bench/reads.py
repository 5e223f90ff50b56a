"""Reads from a warm cache against a click no-op, and whole lists against `json.dumps` of the same list."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from bench.hubs import FLAT, HUGE, LARGE, MIDDLE
from bench.rows import Note, Ratio
from bench.startup import no_op
from bench.stopwatch import Program, Times, interleaved

if TYPE_CHECKING:
    from pathlib import Path

    from bench.hubs import Hub, Shape
    from bench.machine import Machine
    from bench.rows import Row

TITLE = "reads from a warm cache, against a lazy click no-op"
OUTPUT_TITLE = "whole lists, against a no-op and json.dumps of the same list"
LIMITS = {MIDDLE: 1.3, LARGE: 2.0, FLAT: 2.0, HUGE: 5.0}
OUTPUT_LIMIT = 1.2
_DUMPS = "import json, sys; value = json.load(open(sys.argv[1])); sys.stdout.write(json.dumps(value) + '\\n')"
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
    """The bounded reads at 1,000, at 10,000 (3,000 in the active folder, and all of them) and at 100,000 beads."""
    rows: list[Row] = []
    for shape in machine.shapes(*LIMITS):
        warm = warm_clone(machine, shape)
        waits, free = warm.hub.waiting_ids[0], warm.hub.open_ids[0]
        commands = {
            "ready --json --limit 50": ["ready", "--json", "--limit", "50"],
            "ready --limit 50": ["ready", "--limit", "50"],
            "list --json --limit 50": ["list", "--json", "--limit", "50"],
            "list --limit 50": ["list", "--limit", "50"],
            "list --all --limit 50": ["list", "--all", "--limit", "50"],
            "show ID --json": ["show", free, "--json"],
            "count": ["count"],
            "count --ready": ["count", "--ready"],
            "why ID": ["why", waits],
        }
        programs = {"no-op": Program(no_op(machine), warm.folder)}
        programs.update({name: Program([*machine.bd, *words], warm.folder) for name, words in commands.items()})
        found = interleaved(machine, programs, rounds=machine.rounds(15))
        theirs = found.pop("no-op")
        rows += [Ratio(f"{shape.label}: {name}", times, theirs, LIMITS[shape], "no-op") for name, times in found.items()]
    return rows


def measure_output(machine: Machine) -> list[Row]:
    """Lists of every bead, as JSON and as text, in multiples of a no-op that also writes the list with `json.dumps`."""
    rows: list[Row] = [
        Note("theirs: the no-op, and json.dumps of the list: a process that loads and dumps it less one that loads it.")
    ]
    for shape in machine.shapes(*LIMITS):
        rows += _whole(machine, warm_clone(machine, shape), shape)
    return rows


def _whole(machine: Machine, warm: Warm, shape: Shape) -> list[Row]:
    lists = {"list --all --json": ["list", "--all", "--json"], "list --all": ["list", "--all", "--limit", "0"]}
    text = machine.run([*machine.bd, *lists["list --all --json"]], cwd=warm.folder)
    path = machine.folder / f"{shape.name}.json"
    path.write_text(text)
    python = [machine.python, "-c"]
    programs = {
        **{name: Program([*machine.bd, *words], warm.folder) for name, words in lists.items()},
        "no-op": Program(no_op(machine), warm.folder),
        "dumps": Program([*python, _DUMPS, str(path)], warm.folder),
        "loads": Program([*python, _LOADS, str(path)], warm.folder),
    }
    found = interleaved(machine, programs, rounds=machine.rounds(4 if shape is HUGE else 8))
    theirs = _sum(found["no-op"], _beyond(found["dumps"], found["loads"]))
    path.unlink()
    size = f"({len(text) // 1000} kB)"
    return [Ratio(f"{shape.label}: {name} {size}", found[name], theirs, OUTPUT_LIMIT, "dumps") for name in lists]


def _beyond(whole: Times, part: Times) -> Times:
    """What is left of the whole beside a part, by its minimum and its median."""
    return _of(max(0.1, whole.least - part.least), max(0.1, whole.median - part.median))


def _sum(one: Times, other: Times) -> Times:
    return _of(one.least + other.least, one.median + other.median)


def _of(least: float, median: float) -> Times:
    """Times of this minimum and this median."""
    return Times((least, median, max(median, 2 * median - least)))
