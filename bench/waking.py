"""Waking: how long it takes from a push to a hub on this machine until an idle agent's claim of it is there.

Both moments are taken from the hub's own ref file by one watcher, and the pushes come at odd times, so that no clock of the
waiting agents falls in with them. The bar is a bare time, the one that was asked for; beside it stands what git itself needs
for a fetch, a commit and a push.
"""

from __future__ import annotations

import os
import random
import shlex
import signal
import statistics
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

from bench import installed
from bench.rows import Figure, Note
from bench.track import Track

if TYPE_CHECKING:
    from bench.machine import Machine
    from bench.rows import Row

TITLE = "from push to claim: an agent that waits, on a hub of this machine"
LIMIT_S = 0.3
_LONGEST_S = 20.0
_LOOK_S = 0.0005
_GIT = "git pull -q --rebase && git commit -q --allow-empty -m claim && git push -q"


def measure(machine: Machine) -> list[Row]:
    """`bd work`, `bd wait && bd claim`, and the same in git; with the hub's files watched, and without."""
    pushes = 8 if machine.quick else 30
    rows = _way(machine, "looked at every second", ["bd work"], 3 if machine.quick else 10, None)
    installed.add(Path(machine.python), "watchfiles")
    return rows + _way(machine, "its files watched (watchfiles)", ["bd work", "bd wait && bd claim"], pushes, LIMIT_S)


def _way(machine: Machine, how: str, what: list[str], pushes: int, limit: float | None) -> list[Row]:
    rows: list[Row] = [Note(f"the hub is {how}; {pushes} pushes each, a round of git alone before each")]
    for name in what:
        times, git = _times(machine, name, pushes)
        figures = {"all_ms": [round(one * 1000, 1) for one in times], "git_ms": [round(one * 1000, 1) for one in git]}
        rows += [
            Figure(f"  {name}: median", statistics.median(times), "s", limit),
            Figure(f"  {name}: p95", _p95(times), "s", limit),
            Figure("    git alone: fetch, commit, push", statistics.median(git), "s, median"),
            Figure("    times git alone, of the medians", statistics.median(times) / statistics.median(git), "x"),
            Note(f"    least {min(times):.3f} s, most {max(times):.3f} s", figures),
        ]
    return rows


def _p95(times: list[float]) -> float:
    return sorted(times)[max(0, -(-len(times) * 95 // 100) - 1)]


def _times(machine: Machine, name: str, pushes: int) -> tuple[list[float], list[float]]:
    """Seconds from each push to the claim of what it brought; and those of git alone, on a hub of its own, in between."""
    track, alone = Track(machine, 2, beads=1), Track(machine, 1)
    bd = shlex.join(machine.bd)
    agent = "agent-1"
    loop = f"while {bd} wait --agent {agent} -q; do id=$({bd} claim --next --agent {agent} -q) && {bd} close $id --agent {agent} -q; done"
    words = [*machine.bd, "work", "--agent", agent, "--", "true"] if name == "bd work" else ["sh", "-c", loop]
    process = subprocess.Popen(
        words,
        cwd=track.clones[1],
        env=machine.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        rounds = [(_git(machine, alone), _one(machine, track, number)) for number in range(-1, pushes)][1:]
        return [times for _, times in rounds], [git for git, _ in rounds]
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _one(machine: Machine, track: Track, number: int) -> float:
    """Push one bead, and see the claim come. The agent has been idle before, and is idle again after."""
    _until_quiet(track)
    time.sleep(1.5 + random.random())
    ref, before = track.bare / "refs" / "heads" / "main", track.tip()
    with subprocess.Popen(
        [*machine.bd, "create", f"Bead {number}"],
        cwd=track.clones[0],
        env=machine.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    ):
        pushed, begun = _changed(ref, before)
        _, ended = _changed(ref, pushed)
    return ended - begun


def _changed(ref: Path, before: str) -> tuple[str, float]:
    """The value that the ref has next, and when."""
    until = time.perf_counter() + _LONGEST_S
    while time.perf_counter() < until:
        try:
            value = ref.read_text().strip()
        except FileNotFoundError:
            value = before
        if value and value != before:
            return value, time.perf_counter()
        time.sleep(_LOOK_S)
    raise SystemExit("nothing came: the agent does not wake")


def _until_quiet(track: Track) -> None:
    """Until the agent has closed what it had."""
    until = time.perf_counter() + _LONGEST_S
    while track.with_status("open") or track.with_status("in_progress"):
        if time.perf_counter() > until:
            raise SystemExit("the agent does not end what it has claimed")
        time.sleep(0.1)


def _git(machine: Machine, track: Track) -> float:
    begun = time.perf_counter()
    machine.run(["sh", "-c", _GIT], cwd=track.clones[0])
    return time.perf_counter() - begun
