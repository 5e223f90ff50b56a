"""Growth: a write in a hub of 100,000 beads against one in a hub of 100, and what keeps the active folder small."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from bench.hubs import AGENT, FLAT, MIDDLE, OLD, SMALL
from bench.rows import Figure, Note, Ratio
from bench.stopwatch import Program, interleaved
from bench.writes import argv_of, typed

if TYPE_CHECKING:
    from pathlib import Path

    from bench.machine import Machine
    from bench.rows import Row

TITLE = "growth: a write in a hub of 100,000 beads against one of 100"
LIMIT = 1.3
# What git does on the server for every push, here without one: it goes through the whole tree that is there already.
_CHECK = ["sh", "-c", "git rev-parse main | git rev-list --objects --stdin --not main~1 --quiet"]
_VERBS = ("claim --next", "close", "create")


def measure(machine: Machine) -> list[Row]:
    """Each verb in both hubs, in the same rounds, and beside them what git's own part grows by; then archiving."""
    shapes = [SMALL, MIDDLE if machine.quick else OLD]
    rounds = machine.rounds(12)
    programs: dict[str, Program] = {}
    for shape in shapes:
        hub = machine.hub(shape)
        folder = hub.own_clone(machine, by_bd=True)
        # Held from the start: what will be closed, two of them to get warm.
        machine.run([*machine.bd, "claim", *hub.open_ids[: rounds + 2], "--agent", AGENT], cwd=folder)
        for verb in _VERBS:
            programs[f"{verb} {shape.label}"] = Program(argv_of(machine, verb, iter(hub.open_ids)), folder)
        programs[f"typed {shape.label}"] = typed(machine, hub, "create", by_bd=True)
        programs[f"check {shape.label}"] = Program(_CHECK, hub.bare)
    found = interleaved(machine, programs, rounds=rounds, warm=2)
    small, large = (shape.label for shape in shapes)
    rows: list[Row] = [
        Ratio(f"{verb}: {large} to {small}", found[f"{verb} {large}"], found[f"{verb} {small}"], LIMIT, "small")
        for verb in _VERBS
    ]
    rows += [
        Ratio("  create typed in git commands", found[f"typed {large}"], found[f"typed {small}"], None, "small"),
        Ratio("  the server's check of one push", found[f"check {large}"], found[f"check {small}"], None, "small"),
    ]
    return [*rows, *_archiving(machine)]


def _archiving(machine: Machine) -> list[Row]:
    """A hub that never archived: what one idle poll moves by itself, and what `bd archive` does at once."""
    shape = MIDDLE if machine.quick else FLAT
    folder = machine.hub(shape).own_clone(machine)
    machine.run([*machine.bd, "count"], cwd=folder)
    before = _active(machine, folder)
    machine.run([*machine.bd, "agent", "add", "idle", "--label", "nothing-has-it"], cwd=folder)
    machine.run([*machine.bd, "poll", "--agent", "idle"], cwd=folder, exits=(3,))
    after_poll = _active(machine, folder)
    begun = time.perf_counter()
    runs = 0
    while True:
        runs += 1
        left = _active(machine, folder)
        machine.run([*machine.bd, "archive"], cwd=folder)
        if _active(machine, folder) == left:
            break
    took_s = time.perf_counter() - begun
    moved = after_poll - _active(machine, folder)
    rows: list[Row] = [
        Note(f"{shape.label} beads, none archived; done ones are archived after 30 days"),
        Figure("  files that an idle poll archives", before - after_poll, "files", 1, ">="),
        Figure("  old done beads left by bd archive", _done(machine, folder), "", 1),
    ]
    if moved:
        rows.append(Figure("  bd archive: ms a bead", took_s * 1000 / moved, f"{moved} in {runs - 1} runs"))
    return rows


def _active(machine: Machine, folder: Path) -> int:
    """How many bead files the hub's active folder has."""
    listed = machine.run(["git", "ls-tree", "--name-only", "origin/main", "beads/"], cwd=folder)
    return sum(line.endswith(".yaml") for line in listed.splitlines())


def _done(machine: Machine, folder: Path) -> int:
    """How many beads of the active folder are closed."""
    files = machine.run(["git", "grep", "-l", "", "origin/main", "--", ":(glob)beads/*.yaml"], cwd=folder)
    still = machine.run(["git", "grep", "-L", "^status: closed$", "origin/main", "--", ":(glob)beads/*.yaml"], cwd=folder)
    return len(files.splitlines()) - len(still.splitlines())
