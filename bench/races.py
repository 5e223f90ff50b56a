"""Races of real processes: who wins, and how many pushes it takes. Winners are read from the hub's history."""

from __future__ import annotations

import subprocess
import time
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from bench.rows import Figure, Note

if TYPE_CHECKING:
    from pathlib import Path

    from bench.machine import Machine
    from bench.rows import Row

TITLE = "races of whole processes on one hub"


class Ended(NamedTuple):
    """How a racer came in: its exit code and what it printed."""

    code: int
    out: str


class Track:
    """A small hub of its own, and clones of it."""

    def __init__(self, machine: Machine, beads: int, clones: int) -> None:
        self._machine = machine
        folder = machine.fresh("race").parent
        self.bare = folder / "hub.git"
        machine.run(["git", "init", "--quiet", "--bare", "--initial-branch=main", str(self.bare)])
        maker = folder / "maker"
        machine.run([*machine.bd, "init", str(maker), "--prefix", "hub", "--remote", str(self.bare)])
        self.ids = self._make_beads(maker, beads)
        self.clones = [self._clone(folder / f"clone-{number}") for number in range(clones)]

    def _make_beads(self, maker: Path, beads: int) -> list[str]:
        """Plain files committed and pushed by git: bd takes what is there."""
        ids = [f"hub-r{number:03d}" for number in range(beads)]
        (maker / "beads").mkdir(exist_ok=True)
        for number, bead_id in enumerate(ids):
            stamp = f"2026-01-01T{number // 60:02d}:{number % 60:02d}:00Z"
            text = f"id: {bead_id}\ntitle: Race {number}\nstatus: open\npriority: 2\ncreated_at: {stamp}\n"
            (maker / "beads" / f"{bead_id}.yaml").write_text(text)
        if ids:
            for words in (["add", "beads"], ["commit", "--quiet", "-m", "beads"], ["push", "--quiet", "origin", "HEAD:main"]):
                self._machine.run(["git", *words], cwd=maker)
        return ids

    def _clone(self, folder: Path) -> Path:
        self._machine.run(["git", "clone", "--quiet", str(self.bare), str(folder)])
        self._machine.run([*self._machine.bd, "count"], cwd=folder)
        return folder

    def race(self, runs: list[tuple[Path, list[str]]]) -> tuple[list[Ended], float]:
        """Start all of them as near to at once as this machine can; how each ended, and the seconds until the last."""
        begun = time.perf_counter()
        pipe = subprocess.PIPE
        processes = [
            subprocess.Popen(
                [*self._machine.bd, *words],
                cwd=folder,
                env=self._machine.environment,
                stdin=subprocess.DEVNULL,
                stdout=pipe,
                stderr=pipe,
                text=True,
            )
            for folder, words in runs
        ]
        ended = []
        for process in processes:
            out, err = process.communicate()
            ended.append(Ended(process.returncode, out + err))
        return ended, time.perf_counter() - begun

    def tries(self) -> list[int]:
        """How many pushes each commit of bd's took, lost races included."""
        argv = ["git", "-C", str(self.bare), "log", "--format=%(trailers:key=Bd-Tries,valueonly,separator=%x20)", "main"]
        return [int(line) for line in self._machine.run(argv).splitlines() if line.strip().isdigit()][:-1]  # without init's

    def claims(self) -> list[tuple[str, str, int]]:
        """(bead, agent, tries) of every claim in the hub's history, oldest first."""
        form = "%(trailers:key=Bd-Bead,valueonly,separator=%x20)|%(trailers:key=Bd-Agent,valueonly,separator=%x20)|"
        form += "%(trailers:key=Bd-Tries,valueonly,separator=%x20)"
        argv = ["git", "-C", str(self.bare), "log", "--reverse", "--grep=^claim: ", f"--format={form}", "main"]
        rows = [line.split("|") for line in self._machine.run(argv).splitlines() if line.count("|") == 2]
        return [(bead, agent, int(tries or 1)) for bead, agent, tries in rows]


def measure(machine: Machine) -> list[Row]:
    """Four races; each says what came out, not only how long it took."""
    quick = machine.quick
    return [
        *_one_bead(machine, clones=4 if quick else 8, rounds=3 if quick else 50),
        *_a_bead_each(machine, 4 if quick else 8),
        *_crowd(machine, 6 if quick else 32),
        *_creates(machine, 6 if quick else 32),
    ]


def _one_bead(machine: Machine, *, clones: int, rounds: int) -> list[Row]:
    track = Track(machine, rounds, clones)
    said: Counter[int] = Counter()
    codes: Counter[int] = Counter()
    seconds = []
    for bead_id in track.ids:
        runs = [(folder, ["claim", bead_id, "--agent", f"agent-{place}"]) for place, folder in enumerate(track.clones)]
        ended, took = track.race(runs)
        said[sum(racer.code == 0 for racer in ended)] += 1
        codes.update(racer.code for racer in ended)
        seconds.append(took)
    written = Counter(Counter(bead for bead, _, _ in track.claims()).values())
    return [
        Note(f"{clones} clones on one bead, {rounds} rounds"),
        Note(f"  winners a round (exit 0):  {_counted(said)}"),
        Note(f"  claims a bead in history:  {_counted(written)}"),
        Note(f"  exit codes:                {_counted(codes)}"),
        Figure("  rounds with other than one winner", rounds - said[1], "of " + str(rounds), 1),
        Figure("  median round", sorted(seconds)[len(seconds) // 2], "s"),
    ]


def _a_bead_each(machine: Machine, number: int) -> list[Row]:
    track = Track(machine, number, number)
    runs = [(folder, ["claim", "--next", "--agent", f"agent-{place}"]) for place, folder in enumerate(track.clones)]
    ended, took = track.race(runs)
    claims = track.claims()
    pairs = [f"{agent} {bead}" for bead, agent, _ in sorted(claims, key=lambda row: row[1])]
    got = [", ".join(pairs[place : place + 3]) for place in range(0, len(pairs), 3)]
    return [
        Note(f"{number} beads, {number} agents, claim --next"),
        Note("  who got what:"),
        *(Note(f"    {line}") for line in got),
        Figure("  agents without a bead", sum(racer.code != 0 for racer in ended), f"of {number}", 1),
        Figure("  beads with two owners", len(claims) - len({bead for bead, _, _ in claims}), f"of {number}", 1),
        Figure("  until the last one had its bead", took, "s"),
    ]


def _crowd(machine: Machine, number: int) -> list[Row]:
    track = Track(machine, number, number)
    runs = [(folder, ["claim", "--next", "--agent", f"agent-{place}"]) for place, folder in enumerate(track.clones)]
    ended, took = track.race(runs)
    claims = track.claims()
    tries = sorted(tries for _, _, tries in claims) or [0]
    return [
        Note(f"{number} agents, {number} beads, claim --next at once (pushes: the Bd-Tries trailers of the claims)"),
        Note(f"  exit codes:                {_counted(Counter(racer.code for racer in ended))}"),
        Figure("  beads with two owners", len(claims) - len({bead for bead, _, _ in claims}), f"of {number}", 1),
        Figure("  pushes in all", sum(tries), f"for {len(claims)} claims"),
        Figure("  pushes of the median, the worst", tries[len(tries) // 2], f"{tries[-1]}"),
        Figure("  until the last one had its bead", took, "s"),
    ]


def _creates(machine: Machine, number: int) -> list[Row]:
    track = Track(machine, 0, 1)
    clone = track.clones[0]
    ended, took = track.race([(clone, ["create", f"Bead {place}"]) for place in range(number)])
    there = int(machine.run([*machine.bd, "count"], cwd=clone))
    return [
        Note(f"{number} creates at once in one clone"),
        Note(f"  exit codes:                {_counted(Counter(racer.code for racer in ended))}"),
        Figure("  beads missing", number - there, f"of {number}", 1),
        Figure("  until the last one was done", took, "s"),
    ]


def _counted(counter: Counter[int]) -> str:
    return ", ".join(f"{value} x{times}" for value, times in sorted(counter.items()))
