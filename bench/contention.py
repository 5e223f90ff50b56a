"""Many clones after the next bead at the same moment: pushes a claim, throughput, latency, and who has to wait.

Two ways of starting: loaded processes let go in the same moment, and whole processes. The plain retry loop of the
source paper (typed/retry.sh) runs in the same run, over the same line, against the same delay of the hub.
"""

from __future__ import annotations

import statistics
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bench.gate import Run, at_once
from bench.line import delay_pushes
from bench.rows import Figure, Note
from bench.track import Track

if TYPE_CHECKING:
    from bench.gate import Ended
    from bench.line import Calls
    from bench.machine import Machine
    from bench.rows import Row
    from bench.track import Owned

TITLE = "clones after the next bead at once: claim --next"
PUSH_LIMIT, TAIL_LIMIT = 3, 8
# How much faster than the plain retry loop, by push delay.
FASTER = {0.0: None, 0.3: 3, 1.0: 5}
_SCRIPT = Path(__file__).parent / "typed" / "retry.sh"


class Race(NamedTuple):
    """How one race ended."""

    number: int
    ended: list[Ended]
    owned: Owned
    calls: Calls

    @property
    def last_s(self) -> float:
        return max(racer.seconds for racer in self.ended)

    @property
    def rate(self) -> float:
        """Claims a second."""
        return self.owned.beads / self.last_s

    @property
    def empty_handed(self) -> int:
        return sum(racer.code != 0 for racer in self.ended)

    def part_s(self, part: float) -> float:
        """The latency that this part of the agents stayed within."""
        ordered = sorted(racer.seconds for racer in self.ended)
        return ordered[min(len(ordered) - 1, int(part * len(ordered)))]

    def note(self, name: str) -> Note:
        """One line for the table, all numbers for the JSON."""
        codes = Counter(racer.code for racer in self.ended)
        figures = {
            "race": name,
            "agents": self.number,
            "pushes": self.calls.pushes,
            "pushes_on_branch": self.calls.on_branch,
            "pushes_beside": self.calls.beside,
            "looks": self.calls.looks,
            "claims": self.owned.beads,
            "doubles_or_false": self.owned.wrong,
            "empty_handed": self.empty_handed,
            "exit_codes": {str(code): times for code, times in sorted(codes.items())},
            "last_s": round(self.last_s, 2),
            "p50_s": round(self.part_s(0.5), 2),
            "p95_s": round(self.part_s(0.95), 2),
        }
        said = " ".join(f"{code}x{times}" for code, times in sorted(codes.items()))
        beside = f"{self.calls.on_branch}+{self.calls.beside}"
        text = f"    {beside:<9}{self.calls.looks:>6}{self.part_s(0.5):8.2f}{self.part_s(0.95):8.2f}{self.last_s:8.2f}"
        return Note(f"{text}{self.empty_handed:>7}{self.owned.wrong:>7}  {said}", figures)


_COLUMNS = "    branch+   looks     p50     p95    last  empty  wrong  exit codes"


class _Field:
    """The clones of a race, used again and again; every race deals its own beads."""

    def __init__(self, machine: Machine, clones: int, *, script: str | None = None) -> None:
        self._machine = machine
        self._script = script
        self.track = Track(machine, 0 if script else clones)
        if script:
            self.track.clones = [self.track.clone(f"clone-{number}") for number in range(clones)]

    def race(self, number: int, *, loaded: bool = True, delay_s: float = 0.0) -> Race:
        """So many clones at once, a bead for each; the hub takes `delay_s` over every push."""
        self.track.deal(number)
        delay_pushes(self.track.bare, delay_s)
        agents = [f"agent-{place}" for place in range(number)]
        env = self.track.line.environment
        runs = [
            Run(folder, self._words(agent), {**env, "BENCH_WHO": agent}, is_script=self._script is not None)
            for folder, agent in zip(self.track.clones, agents, strict=False)
        ]
        self.track.line.drain()
        ended = at_once(self._machine, runs, loaded=loaded)
        delay_pushes(self.track.bare, 0)
        return Race(number, ended, self.track.owned(ended, agents), self.track.line.drain())

    def _words(self, agent: str) -> list[str]:
        return [self._script, agent] if self._script else ["claim", "--next", "--agent", agent, "--json"]


def measure(machine: Machine) -> list[Row]:
    """Every number of clones in both ways of starting, then the delays, then the slow line."""
    sizes = (2, 4, 8) if machine.quick else (2, 4, 8, 16, 32, 64)
    field = _Field(machine, sizes[-1])
    rows: list[Row] = [
        Note(
            "branch+: pushes that move the branch + those beside it, refused ones included; looks: fetches and listings; "
            "seconds from the start to the median, the 95th and the last agent; wrong: beads with two owners, or claims "
            "the hub does not show."
        )
    ]
    races: list[Race] = []
    for way, chosen in (("loaded", sizes), ("whole", sizes[1::2])):
        rows.append(Note(f"{way} processes, no delay\n{_COLUMNS}"))
        for number in chosen:
            race = field.race(number, loaded=way == "loaded")
            races.append(race)
            rows.append(Figure(f"  {number} {way}: pushes a claim", race.calls.per(race.owned.beads), "", PUSH_LIMIT, "<="))
            rows.append(race.note(f"{number} {way}"))
    rows += [
        Figure("claims that are double or false", sum(race.owned.wrong for race in races), "in all", 1),
        Figure("agents empty-handed", sum(race.empty_handed for race in races), "in all", 1),
    ]
    return [*rows, *_against_retrying(machine, field, 6 if machine.quick else 32)]


def _against_retrying(machine: Machine, ours: _Field, number: int) -> list[Row]:
    """The same race with a hub that takes its time over pushes, and the plain retry loop beside it."""
    theirs = _Field(machine, number, script=str(_SCRIPT))
    rows: list[Row] = []
    for delay_s in (0.0, 0.3) if machine.quick else FASTER:
        alone_s = statistics.median(ours.race(1, delay_s=delay_s).last_s for _ in range(3))
        faster = None if machine.quick else FASTER[delay_s]  # said of 32
        race, other = (field.race(number, delay_s=delay_s) for field in (ours, theirs))
        rows += [
            Note(f"{number} clones, a push takes {delay_s:g} s; one agent alone {alone_s:.2f} s\n{_COLUMNS}"),
            race.note(f"{number} bd, {delay_s:g} s"),
            other.note(f"{number} retry loop, {delay_s:g} s"),
            Figure(f"  {delay_s:g} s: pushes a claim", race.calls.per(race.owned.beads), "", PUSH_LIMIT, "<="),
            Figure(f"  {delay_s:g} s: the loop's", other.calls.per(other.owned.beads), "pushes a claim"),
            Figure(f"  {delay_s:g} s: throughput to the loop's", race.rate / max(other.rate, 0.01), "x", faster, ">="),
            Figure(
                f"  {delay_s:g} s: p95 to an agent alone",
                race.part_s(0.95) / alone_s,
                "x",
                TAIL_LIMIT if delay_s == 1.0 else None,
                "<=",
            ),
        ]
    return rows
