"""A few ratios that every change is held against: `python -m bench --gate`, and for two versions at once `--old CHECKOUT`.

Belongs here: what these ratios are, and when one is worse than bench/baseline.json says. They are of the processor's time of
all processes below a command, and counts: what else the machine does changes these little, and times by the clock a lot.
Those are told beside them.
"""

from __future__ import annotations

import json
import os
import statistics
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bench import installed
from bench.hubs import FLAT, SMALL
from bench.reads import warm_clone
from bench.stopwatch import Program, interleaved, paired
from bench.writes import far_hub, ours, typed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from bench.machine import Machine
    from bench.stopwatch import Times

BASELINE = Path(__file__).with_name("baseline.json")
# A ratio may be worse by so much before it counts.
ROOM = 1.25
ROUNDS = 15
# How often all is measured for a new baseline.
TIMES = 3
FAR_S = 0.15
TWO = "  new to old, "


class Held(NamedTuple):
    """One ratio: bd against something else in the same rounds, by the processor (what counts) and by the clock (what is told)."""

    what: str
    value: float
    wall: float | None = None

    @property
    def is_of_two(self) -> bool:
        """Whether it compares two versions of bd, which nobody holds."""
        return self.what.startswith(TWO)

    def line(self, known: float | None) -> str:
        """How it compares with what is known."""
        by_clock = f"{self.wall:8.2f}" if self.wall is not None else " " * 8
        return f"{self.what:<44}{self.value:8.2f}{by_clock}{_against(self.value, known)}"


def _against(value: float, known: float | None) -> str:
    return "     new" if known is None else f"{known:8.2f}{value / known - 1:+8.0%}{'  worse' if value > known * ROOM else ''}"


class Pair(NamedTuple):
    """What is compared: bd, the same by another bd if there is one, and what both are held against."""

    what: str
    ours: Program
    theirs: Program
    old: Program | None = None


def worse(found: Iterable[Held], known: Mapping[str, float]) -> list[str]:
    """What is worse than is known by more than there is room for. What nobody has set yet is no reason to stop anything."""
    return [held.what for held in found if held.what in known and held.value > known[held.what] * ROOM]


def hold(machine: Machine, old: Path | None = None, *, anew: bool = False) -> int:
    """Measure, print, and say by the exit code whether anything is worse; what is, is measured once more before it counts."""
    begun = time.perf_counter()
    known = {} if anew or not BASELINE.exists() else json.loads(BASELINE.read_text(encoding="utf-8"))["ratios"]
    old_bd = _other_bd(machine, old) if old else None
    found = least([_measured(machine, old_bd) for _ in range(TIMES if anew else 1)])
    if worse(found, known):
        found = least([found, _measured(machine, old_bd)])
    print(f"{'':<44}{'by cpu':>8}{'clock':>8}{'known':>8}")
    for held in found:
        print(held.line(known.get(held.what)))
    print(f"({machine.rounds(ROUNDS)} rounds, medians; {time.perf_counter() - begun:.0f} s; load {os.getloadavg()[0]:.1f})")
    if anew:
        text = {"room": ROOM, "ratios": {held.what: round(held.value, 3) for held in found if not held.is_of_two}}
        BASELINE.write_text(json.dumps(text, indent=2) + "\n", encoding="utf-8")
    late = worse(found, known)
    if late:
        print(f"worse by more than {ROOM - 1:.0%}: {'; '.join(late)}\nWhere that is worth it: python -m bench --gate --set")
    return 1 if late else 0


def _measured(machine: Machine, old_bd: Sequence[str] | None) -> list[Held]:
    return [held for measure in MEASURES for held in measure(machine, old_bd)]


def least(runs: Sequence[Sequence[Held]]) -> list[Held]:
    """Of several measurements of each ratio the least: a busy machine makes bd dearer, which fills caches, than git."""
    return [min(of_one, key=lambda held: held.value) for of_one in zip(*runs, strict=True)]


def _other_bd(machine: Machine, checkout: Path) -> list[str]:
    return [str(installed.install(machine.folder / "old", checkout.resolve()).with_name("bd"))]


def _near(machine: Machine, old: Sequence[str] | None) -> list[Held]:
    """A claim against typed git, and all that is ready against a Python that does nothing."""
    small, flat = machine.hub(SMALL), warm_clone(machine, FLAT)
    ready = Program([*machine.bd, "ready", "--json", "--no-fetch"], flat.folder)
    beside = warm_clone(machine, FLAT) if old else flat
    nothing = Program([machine.python, "-c", "pass"])
    claim = ours(machine, small, "claim", ROUNDS)
    return _compared(
        machine,
        [
            Pair("claim ID, 100 beads: typed git", claim, typed(machine, small, "claim"), _by(machine, old, ours, small)),
            Pair(
                "ready --json, 10,000 beads: python -c pass",
                ready,
                nothing,
                Program([*old, *ready.next_argv()[len(machine.bd) :]], beside.folder) if old else None,
            ),
        ],
    )


def _far(machine: Machine, old: Sequence[str] | None) -> list[Held]:
    """A claim with 150 ms before each connection: what it costs, and how many connections it makes."""
    small = machine.hub(SMALL)
    log = machine.folder / "connections"
    more = {**far_hub(machine, FAR_S), "BENCH_FAR_LOG": str(log)}
    machine.environment.update(more)
    try:
        claim = ours(machine, small, "claim", ROUNDS, far=True)
        counts: list[int] = []
        counted = claim._replace(before=lambda: log.unlink(missing_ok=True), after=lambda: counts.append(_lines(log)))
        pair = Pair(
            "claim ID, 150 ms away: typed git",
            counted,
            typed(machine, small, "claim", far=True),
            _by(machine, old, ours, small, far=True),
        )
        found = _compared(machine, [pair])
    finally:
        for name in more:
            del machine.environment[name]
    return [*found, Held("connections of a claim, 150 ms away", statistics.median(counts))]


def _by(
    machine: Machine, old: Sequence[str] | None, make: Callable[..., Program], *words: object, **more: object
) -> Program | None:
    """The same claim by another bd, in a clone of its own."""
    if old is None:
        return None
    program = make(machine, *words, "claim", ROUNDS, **more)
    return program._replace(argv=lambda: [*old, *program.next_argv()[len(machine.bd) :]])


def _compared(machine: Machine, pairs: Sequence[Pair]) -> list[Held]:
    programs = {
        f"{part} {place}": program
        for place, pair in enumerate(pairs)
        for part, program in pair._asdict().items()
        if isinstance(program, Program)
    }
    times = interleaved(machine, programs, rounds=machine.rounds(ROUNDS), warm=2)
    found = []
    for place, pair in enumerate(pairs):
        found.append(_held(pair.what, times[f"ours {place}"], times[f"theirs {place}"]))
        if pair.old:
            found.append(_held(f"{TWO}{pair.what.partition(':')[0]}", times[f"ours {place}"], times[f"old {place}"]))
    return found


def _held(what: str, one: Times, other: Times) -> Held:
    return Held(what, paired(one.all_cpu_ms, other.all_cpu_ms), paired(one.all_ms, other.all_ms))


def _lines(file: Path) -> int:
    return len(file.read_text(encoding="utf-8").splitlines()) if file.exists() else 0


MEASURES: tuple[Callable[[Machine, Sequence[str] | None], list[Held]], ...] = (_near, _far)
