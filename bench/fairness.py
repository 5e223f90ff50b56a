"""A writer with a slow line among fast ones: how long it waits, and how many others' writes are served before it."""

from __future__ import annotations

import statistics
import time
from threading import Event, Thread
from typing import TYPE_CHECKING

from bench.gate import Run, at_once
from bench.rows import Figure, Note
from bench.track import Track

if TYPE_CHECKING:
    from pathlib import Path

    from bench.gate import Ended
    from bench.machine import Machine
    from bench.rows import Row

TITLE = "a writer with a slow line against fast ones in a loop"
SLOW_S = 0.5
LIMIT = 8


class _Fast:
    """Writers that create one bead after another until they are told to stop; `served` counts what was published."""

    def __init__(self, machine: Machine, track: Track, clones: list[Path]) -> None:
        self._machine, self._track = machine, track
        self._over = Event()
        self._counts = [0] * len(clones)
        self._threads = [Thread(target=self._loop, args=(place, folder)) for place, folder in enumerate(clones)]
        for thread in self._threads:
            thread.start()

    @property
    def served(self) -> int:
        return sum(self._counts)

    def _loop(self, place: int, folder: Path) -> None:
        run = Run(folder, ["create", "One of many", "--agent", f"fast-{place}"], self._track.line.of(f"fast-{place}"))
        while not self._over.is_set():
            (ended,) = at_once(self._machine, [run], loaded=False)
            self._counts[place] += ended.code == 0

    def wait_until_all_write(self) -> None:
        while min(self._counts) < 1 and any(thread.is_alive() for thread in self._threads):
            time.sleep(0.05)

    def stop(self) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()


def measure(machine: Machine) -> list[Row]:
    """The slow writer alone, then among the fast ones."""
    fast, rounds = (2, 1) if machine.quick else (5, 3)
    track = Track(machine, fast + 1)
    slow, *others = track.clones
    alone_s = statistics.median(_slow_write(machine, track, slow).seconds for _ in range(3))
    waits: list[Ended] = []
    before: list[int] = []
    crowd = _Fast(machine, track, others)
    try:
        crowd.wait_until_all_write()
        for _ in range(rounds):
            served = crowd.served
            waits.append(_slow_write(machine, track, slow))
            before.append(crowd.served - served)
    finally:
        crowd.stop()
    unserved = sum(wait.code != 0 for wait in waits)
    worst_s = max(wait.seconds for wait in waits)
    said = ", ".join(f"{wait.seconds:.1f} s after {count}" for wait, count in zip(waits, before, strict=True))
    return [
        Note(f"every connection of the slow one waits {SLOW_S:g} s; alone it takes {alone_s:.2f} s"),
        Note(
            f"  served (others' writes meanwhile): {said}",
            {"alone_s": round(alone_s, 2), "waits_s": [round(wait.seconds, 2) for wait in waits], "others": before},
        ),
        Figure("  not served", unserved, f"of {rounds}", 1),
        Figure("  longest wait to itself alone", worst_s / alone_s, "x", LIMIT, "<="),
        Figure("  others' writes meanwhile, most", max(before), f"by {fast}"),
    ]


def _slow_write(machine: Machine, track: Track, folder: Path) -> Ended:
    run = Run(folder, ["create", "From far away", "--agent", "slow"], track.line.of("slow", slow_s=SLOW_S))
    (ended,) = at_once(machine, [run], loaded=False)
    return ended
