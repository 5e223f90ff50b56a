"""The cache: building it from nothing, and bringing it forward by what changed."""

from __future__ import annotations

import random
import subprocess
from typing import TYPE_CHECKING

from bench.hubs import FLAT, LARGE, MIDDLE
from bench.reads import warm_clone
from bench.rows import Figure, Note, Ratio
from bench.stopwatch import Program, Times, interleaved

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from bench.hubs import Shape
    from bench.machine import Machine
    from bench.reads import Warm
    from bench.rows import Row

TITLE = "the cache: building it cold, bringing it forward"
LIMIT_MS_A_BEAD = 0.5
_CHANGED = 10


def measure(machine: Machine) -> list[Row]:
    """What a cold and a slightly old cache cost beyond a warm read, in the same rounds."""
    rows: list[Row] = [Note("Each is `bd count` less a warm `bd count` of the same rounds.")]
    for shape in machine.shapes(MIDDLE, LARGE, FLAT):
        warm = warm_clone(machine, shape)
        count = [*machine.bd, "count"]
        programs = {
            "warm": Program(count, warm.folder),
            "cold": Program(count, warm.folder, before=_forgetter(warm.folder)),
            "behind": Program(count, warm.folder, before=_mover(machine, warm)),
        }
        found = interleaved(machine, programs, rounds=machine.rounds(6))
        rows += _rows(shape, found)
    return rows


def _rows(shape: Shape, found: dict[str, Times]) -> list[Row]:
    beyond = {name: found[name].least - found["warm"].least for name in ("cold", "behind")}
    a_bead = beyond["cold"] / shape.beads
    return [
        Figure(f"{shape.label}: cold build", a_bead, "ms a bead", LIMIT_MS_A_BEAD),
        Figure(f"{shape.label}: cold build, whole", beyond["cold"], "ms"),
        Figure(f"{shape.label}: {_CHANGED} changed beads", beyond["behind"], "ms"),
        Ratio(f"{shape.label}: read after {_CHANGED} changes", found["behind"], found["warm"], None, "warm"),
    ]


def _forgetter(clone: Path) -> Callable[[], None]:
    def forget() -> None:
        for path in (clone / ".git" / "bd").glob("cache.db*"):
            path.unlink()

    return forget


def _mover(machine: Machine, warm: Warm) -> Callable[[], None]:
    """Before each run: ten beads change in the clone's own view, and the cache is at the commit before."""
    rng = random.Random(10)

    def move() -> None:
        machine.run([*machine.bd, "count"], cwd=warm.folder)
        tip = machine.run(["git", "rev-parse", "HEAD"], cwd=warm.folder).strip()
        stream = [b"commit refs/bench/tip\ncommitter Ada <ada@example.org> 1790000001 +0000\ndata 6\nchange\n"]
        stream.append(b"from %s\n" % tip.encode())
        for bead_id in rng.sample(warm.hub.open_ids, _CHANGED):
            path = f"beads/{bead_id}.yaml"
            text = machine.run(["git", "show", f"{tip}:{path}"], cwd=warm.folder)
            data = f"{text.rstrip()}\nestimated_minutes: {rng.randint(1, 999)}\n".encode()
            stream.append(b"M 100644 inline %s\ndata %d\n%s\n" % (path.encode(), len(data), data))
        argv = ["git", "fast-import", "--quiet", "--force"]
        subprocess.run(argv, cwd=warm.folder, input=b"".join(stream), env=machine.environment, check=True)
        # As after a `git pull`: the remote-tracking branch moved, so the next read answers from there.
        machine.run(["git", "update-ref", "refs/heads/main", "refs/bench/tip"], cwd=warm.folder)
        machine.run(["git", "update-ref", "refs/remotes/origin/main", "refs/bench/tip"], cwd=warm.folder)
        machine.run(["git", "update-ref", "-d", "refs/bench/tip"], cwd=warm.folder)

    return move
