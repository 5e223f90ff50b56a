"""A fleet on paper against the same fleet of real workers: how far `bd simulate` is off."""

from __future__ import annotations

from random import Random
from statistics import mean
from typing import TYPE_CHECKING

from bench import course
from bench.line import delay_pushes
from bench.rows import Figure, Note
from bench.track import Track

if TYPE_CHECKING:
    from bench.course import Course
    from bench.machine import Machine
    from bench.rows import Row

TITLE = "bd simulate against a real fleet"
# In percent of what was measured.
OFF_LIMIT = 25
_SERVICE_S = 0.5
_KINDS = ((0.3, "combining"), (1.0, "combining"), (0.3, "plain"))


def measure(machine: Machine) -> list[Row]:
    """Workers until no bead is left, at each delay; at one also where the server takes no intents."""
    agents, beads = (2, 6) if machine.quick else (5, 40)
    rows: list[Row] = [
        Note(
            f"{agents} workers, {beads} beads of {_SERVICE_S:g} s, all there at the start; on paper with the times that git's traces "
            "of the real run show; off: the mean of 20 runs on paper to the real one"
        )
    ]
    for delay_s, retry in _KINDS[:: 2 if machine.quick else 1]:
        rows += _compared(_real(machine, agents, beads, delay_s, retry), f"{delay_s:g} s {retry}", retry)
    return rows


def _real(machine: Machine, agents: int, beads: int, delay_s: float, retry: str) -> Course:
    track = Track(machine, agents)
    if retry == "plain":
        machine.run(["git", "-C", str(track.bare), "config", "transfer.hideRefs", "refs/bd"])
        track.clones = [track.clone(f"plain-{number}") for number in range(agents)]
        track.settle_in()
    track.deal_ids(course.work_ids(beads, _SERVICE_S, Random(1)))
    delay_pushes(track.bare, delay_s)
    return course.run(machine.bd, track.clones, machine.environment, machine.folder / "home" / ".gitconfig", beads)


def _compared(real: Course, what: str, retry: str) -> list[Row]:
    runs = course.on_paper(real, retry=retry)
    pairs = [
        ("the time", mean(run.last_close_s for run in runs), real.took_s),
        ("pushes and asks", mean(run.pushes + run.asks for run in runs), real.pushes + real.asks),
        ("lost pushes", mean(run.lost for run in runs), real.lost),
    ]
    told = ", ".join(f"{name} {paper:.1f} on paper, {measured:.1f} real" for name, paper, measured in pairs)
    figures: list[Row] = [
        Figure(f"  {what}: {name}, off", 100 * abs(paper - measured) / max(measured, 1), "%", OFF_LIMIT)
        for name, paper, measured in pairs
    ]
    return [Note(f"{what}: {told}", real._asdict()), *figures]
