"""The agent's whole cycle in steady state: what it costs the hub in pushes, objects and bytes for each finished bead.

Pushes are counted where they are started (line.py), refused ones included, those of the agent's own record and of its
signs of life in the same table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.gate import Run, at_once
from bench.rows import Figure, Note
from bench.track import Track

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.machine import Machine
    from bench.rows import Row

TITLE = "the whole cycle: bd work, from create to close"
PUSH_LIMIT = 1.1
_IDLE_EVERY_S = 1800


def measure(machine: Machine) -> list[Row]:
    """One agent at work, an idle one, then up to sixteen, each with a clone of its own; the work itself takes no time."""
    crowds = (2,) if machine.quick else (4, 16)
    rows = [*_steady(machine, 12 if machine.quick else 100), *_idle(machine, 6 if machine.quick else 48)]
    for agents in crowds:
        rows += _drain(machine, agents, 3 if machine.quick else 10)
    return rows


def _work(track: Track, place: int, bd: Sequence[str] = ()) -> Run:
    words = ["work", "--agent", f"agent-{place}", "--once", "--", "true"]
    return Run(track.clones[place], words, track.line.of(f"agent-{place}"), bd=bd)


def _steady(machine: Machine, beads: int) -> list[Row]:
    """Beads made one by one and worked off by one agent: the whole life of each."""
    track = Track(machine, 1)
    size_before = track.packed_bytes()
    for number in range(beads):
        machine.run([*machine.bd, "create", f"Bead number {number}", "--type", "task"], cwd=track.clones[0])
    loose = track.loose_objects()
    track.line.drain()
    (ended,) = at_once(machine, [_work(track, 0)], loaded=False)
    calls = track.line.drain()
    closed = max(1, len(track.with_status("closed")))
    loose_work = track.loose_objects() - loose
    size = track.packed_bytes() - size_before
    return [
        Note(f"one agent, {beads} beads one after another (exit code {ended.code})"),
        Figure("  beads left open", beads - closed, f"of {beads}", 1),
        Figure("  seconds a bead", ended.seconds / closed, "s"),
        Figure("  branch pushes a finished bead", calls.on_branch / closed, f"{calls.on_branch} for {closed}", PUSH_LIMIT, "<="),
        Figure("  pushes beside it", calls.beside, "signs, records"),
        Figure("  fetches and listings a bead", calls.looks / closed, f"{calls.looks} for {closed}"),
        Figure("  hub: loose objects a create", loose / closed, "before gc"),
        Figure("  hub: loose objects a claim + close", loose_work / closed, "before gc"),
        Figure("  hub: bytes a finished bead", size / closed, "after git gc"),
    ]


def _idle(machine: Machine, polls: int) -> list[Row]:
    """An agent whom cron starts every half hour and who finds nothing; the clock is moved on instead of waited for."""
    track = Track(machine, 1)
    loose, tip = track.loose_objects(), track.tip()
    track.line.drain()
    codes = set()
    for number in range(1, polls + 1):
        (ended,) = at_once(machine, [_work(track, 0, machine.ahead(number * _IDLE_EVERY_S))], loaded=False)
        codes.add(ended.code)
    calls = track.line.drain()
    hours = polls * _IDLE_EVERY_S / 3600
    return [
        Note(f"one idle agent, {hours:g} hours of cron lines (exit codes {sorted(codes)})"),
        Figure("  branch pushes", calls.on_branch, "", 1),
        Figure("  commits on the branch", track.commits(tip), "", 1),
        Figure("  pushes beside it an hour", calls.beside / hours, f"{calls.beside}: its record"),
        Figure("  fetches and listings an hour", calls.looks / hours, str(calls.looks)),
        Figure("  hub: loose objects an hour", (track.loose_objects() - loose) / hours, "before gc"),
    ]


def _drain(machine: Machine, agents: int, each: int) -> list[Row]:
    track = Track(machine, agents, beads=agents * each)
    loose = track.loose_objects()
    track.line.drain()
    ended = at_once(machine, [_work(track, place) for place in range(agents)], loaded=False)
    calls = track.line.drain()
    beads, closed = len(track.ids), len(track.with_status("closed"))
    pushes = f"{calls.on_branch} + {calls.beside} beside"
    return [
        Note(f"{agents} agents, {each} beads for each (exit codes {sorted({racer.code for racer in ended})})"),
        Figure("  beads left open", beads - closed, f"of {beads}", 1),
        Figure("  seconds a bead", max(racer.seconds for racer in ended) / beads, "s"),
        Figure("  pushes a bead, all", calls.per(beads), pushes),
        Figure("  hub: loose objects a bead", (track.loose_objects() - loose) / beads, "before gc"),
    ]
