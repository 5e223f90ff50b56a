"""A day of the hub: the commits that looking costs, which are none, and those of a day with work in it.

The clock is moved on instead of waited for. Looking on are an agent that waits, three that cron lets poll every half hour, a
`bd serve` that runs all day, and `bd board --publish` every quarter of an hour. Commits are counted by git, on the hub's
branch, by the verb of their subjects.
"""

from __future__ import annotations

import subprocess
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from bench import installed
from bench.rows import Figure, Note
from bench.track import Track

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench.machine import Machine
    from bench.rows import Row

TITLE = "a day of the hub in commits: a quiet one, and a busy one"
_QUARTER_S = 900
_BEADS_A_HALF_HOUR = 2


def measure(machine: Machine) -> list[Row]:
    """Both days, 24 hours each; three in a smoke test."""
    for name in ("starlette", "uvicorn", "watchfiles"):
        installed.add(Path(machine.python), name)
    hours = 3 if machine.quick else 24
    return [*_rows(machine, "quiet", hours, 0), *_rows(machine, "busy", hours, _BEADS_A_HALF_HOUR)]


def _rows(machine: Machine, kind: str, hours: int, beads: int) -> Iterator[Row]:
    track = Track(machine, 3, beads=1)
    _at(machine, track, 0, 0, "work", "--agent", "agent-0", "--once", "--", "true")
    _at(machine, track, 0, 0, "create", "Which one?", "--id", "hub-asked")
    _at(machine, track, 0, 0, "wait-human", "hub-asked", "--reason", "red or green?")
    _at(machine, track, 1, 0, "board", "--publish")
    before = track.tip()
    server = subprocess.Popen(
        [*machine.bd, "serve", "--port", "0"],
        cwd=track.clones[2],
        env=machine.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        for quarter in range(1, hours * 4 + 1):
            _quarter(machine, track, quarter, beads)
    finally:
        server.terminate()
        server.wait()
    verbs = _verbs(machine, track, before)
    total = sum(verbs.values())
    yield Note(f"a {kind} day: {hours} hours, {beads * hours * 2} beads", {"by_verb": dict(verbs)})
    yield Figure("  commits on the hub's branch", total, "", None if beads else 1)
    if beads:
        yield Figure("  commits a bead", (total - verbs["board"]) / (beads * hours * 2), "without boards")
        yield Figure("  boards an hour", verbs["board"] / hours, "at most 4", 4, "<=")
        yield Note("  by verb: " + ", ".join(f"{verb} {number}" for verb, number in verbs.most_common()))


def _quarter(machine: Machine, track: Track, quarter: int, beads: int) -> None:
    """What happens at one quarter of an hour."""
    now_s = quarter * _QUARTER_S
    _at(machine, track, 1, now_s, "board", "--publish")
    if quarter % 2 == 0:
        for number in range(beads):
            _at(machine, track, 0, now_s, "create", f"Bead {quarter}-{number}")
        if beads:
            _at(machine, track, 1, now_s, "work", "--agent", "agent-1", "--once", "--", "true")
        for place in range(3):  # who falls silent would be news
            _at(machine, track, place, now_s, "poll", "--agent", f"agent-{place}")
    if quarter % 4 == 0:
        _at(machine, track, 2, now_s, "wait", "--agent", "agent-2", "--timeout", "1s")


def _at(machine: Machine, track: Track, place: int, ahead_s: int, *words: str) -> None:
    """A command at that time of the day; that nothing is ready is no failure."""
    machine.run([*machine.ahead(ahead_s), *words], cwd=track.clones[place], exits=(0, 3))


def _verbs(machine: Machine, track: Track, before: str) -> Counter[str]:
    """The commits since then, by the first word of their subjects."""
    log = machine.run(["git", "-C", str(track.bare), "log", "--format=%s", f"{before}..main"])
    return Counter(line.partition(":")[0] for line in log.splitlines())
