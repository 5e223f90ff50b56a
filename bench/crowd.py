"""Many processes in one clone: how many of their writes go into one push."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from bench.gate import Run, at_once
from bench.rows import Figure, Note
from bench.track import Track

if TYPE_CHECKING:
    from bench.gate import Ended
    from bench.machine import Machine
    from bench.rows import Row

TITLE = "processes in one clone at once: claim --next, create"
LIMIT = 1 / 8


def measure(machine: Machine) -> list[Row]:
    """Claims and creates, loaded processes and whole ones."""
    number = 16 if machine.quick else 64
    track = Track(machine, 1)
    rows: list[Row] = []
    for loaded, way in ((True, "loaded"), (False, "whole")):
        rows.append(Note(f"{number} {way} processes"))
        rows += _claims(machine, track, number, loaded=loaded)
        rows += _creates(machine, track, number, way, loaded=loaded)
    return rows


def _claims(machine: Machine, track: Track, number: int, *, loaded: bool) -> list[Row]:
    track.deal(number)
    agents = [f"agent-{place}" for place in range(number)]
    runs = [
        Run(track.clones[0], ["claim", "--next", "--agent", agent, "--json"], {**track.line.of(agent), "BD_SESSION": agent})
        for agent in agents
    ]
    track.line.drain()
    ended = at_once(machine, runs, loaded=loaded)
    calls, owned = track.line.drain(), track.owned(ended, agents)
    return [
        Figure("  claim: pushes a claim", calls.per(owned.beads), f"{calls.pushes} for {owned.beads}", LIMIT, "<="),
        Figure("  claim: double or false", owned.wrong, f"of {number}", 1),
        *_endings("claim", ended),
    ]


def _creates(machine: Machine, track: Track, number: int, way: str, *, loaded: bool) -> list[Row]:
    folder = track.clones[0]
    titles = [f"Bead {place}, {way}" for place in range(number)]
    runs = [
        Run(folder, ["create", title, "--agent", "crowd"], track.line.of(f"creator-{place}"))
        for place, title in enumerate(titles)
    ]
    track.line.drain()
    ended = at_once(machine, runs, loaded=loaded)
    calls = track.line.drain()
    there = Counter(track.titles())
    made = sum(racer.code == 0 for racer in ended)
    wrong = sum(there[title] != (racer.code == 0) for title, racer in zip(titles, ended, strict=True))
    return [
        Figure("  create: pushes a bead", calls.per(made), f"{calls.pushes} for {made}", LIMIT, "<="),
        Figure("  create: missing, twice or false", wrong, f"of {number}", 1),
        *_endings("create", ended),
    ]


def _endings(verb: str, ended: list[Ended]) -> list[Row]:
    codes = Counter(racer.code for racer in ended)
    said = ", ".join(f"{code} x{times}" for code, times in sorted(codes.items()))
    seconds = sorted(racer.seconds for racer in ended)
    half, most = seconds[len(seconds) // 2], seconds[min(len(seconds) - 1, int(0.95 * len(seconds)))]
    figures = {"p50_s": round(half, 2), "p95_s": round(most, 2), "last_s": round(seconds[-1], 2), "exit_codes": dict(codes)}
    return [
        Figure(f"  {verb}: ended badly", sum(racer.code != 0 for racer in ended), f"of {len(ended)}", 1),
        Note(f"  exit codes {said}; p50 {half:.2f}, p95 {most:.2f}, last {seconds[-1]:.2f} s", figures),
    ]
