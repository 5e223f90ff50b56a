"""Real processes after one and the same bead: who wins. Winners are read from the hub's history."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from bench.gate import Run, at_once
from bench.rows import Figure, Note
from bench.track import Track

if TYPE_CHECKING:
    from bench.machine import Machine
    from bench.rows import Row

TITLE = "whole processes after one bead"


def measure(machine: Machine) -> list[Row]:
    """Round after round everybody wants the same bead."""
    clones, rounds = (4, 3) if machine.quick else (8, 50)
    track = Track(machine, clones, beads=rounds)
    said: Counter[int] = Counter()
    codes: Counter[int] = Counter()
    seconds = []
    for bead_id in track.ids:
        runs = [
            Run(folder, ["claim", bead_id, "--agent", f"agent-{place}"], track.line.of(f"agent-{place}"))
            for place, folder in enumerate(track.clones)
        ]
        ended = at_once(machine, runs, loaded=False)
        said[sum(racer.code == 0 for racer in ended)] += 1
        codes.update(racer.code for racer in ended)
        seconds.append(max(racer.seconds for racer in ended))
    written = Counter(Counter(_claims(machine, track)).values())
    return [
        Note(f"{clones} clones on one bead, {rounds} rounds"),
        Note(f"  winners a round (exit 0):  {_counted(said)}"),
        Note(f"  claims a bead in history:  {_counted(written)}"),
        Note(f"  exit codes:                {_counted(codes)}"),
        Figure("  rounds with other than one winner", rounds - said[1], "of " + str(rounds), 1),
        Figure("  pushes a round", track.line.drain().per(rounds), "one wins"),
        Figure("  median round", sorted(seconds)[len(seconds) // 2], "s"),
    ]


def _claims(machine: Machine, track: Track) -> list[str]:
    """The bead of every claim in the hub's history."""
    form = "%(trailers:key=Bd-Bead,valueonly,separator=%x20)"
    argv = ["git", "-C", str(track.bare), "log", "--grep=^claim: ", f"--format={form}", "main"]
    return machine.run(argv).split()


def _counted(counter: Counter[int]) -> str:
    return ", ".join(f"{value} x{times}" for value, times in sorted(counter.items()))
