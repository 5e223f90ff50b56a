"""The cache: building it from nothing, and bringing it forward by what changed."""

from __future__ import annotations

import random
import subprocess
from typing import TYPE_CHECKING

from bench.hubs import FLAT, HUGE, LARGE, MIDDLE
from bench.reads import warm_clone
from bench.rows import Figure, Ratio
from bench.stopwatch import Program, Times, interleaved, once

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from bench.hubs import Shape
    from bench.machine import Machine
    from bench.reads import Warm
    from bench.rows import Row

TITLE = "the cache: building it cold, bringing it forward"
LIMIT_MS = 10.0
_CHANGED = 10
# As fast as the loader on one core: what the parsing on the others gains has to pay for git, typing and SQLite.
COLD_LIMIT = 1.0
_BARE = """
import subprocess, sys
from ruamel.yaml.cyaml import CSafeLoader
asked = subprocess.run(["git", "ls-tree", "-r", "HEAD", "beads/"], capture_output=True, check=True).stdout
names = b"".join(line.split()[2] + b"\\n" for line in asked.splitlines())
with subprocess.Popen(["git", "cat-file", "--batch"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as git:
    out = git.communicate(names)[0]
texts, place = [], 0
while place < len(out):
    end = out.index(b"\\n", place)
    size = int(out[place:end].split()[2])
    texts.append(out[end + 1 : end + 1 + size].decode())
    place = end + size + 2
import time
begun = time.perf_counter()
for text in texts:
    loader = CSafeLoader(text)
    while loader.check_data():  # a volume of the archive is many documents
        loader.get_data()
print(time.perf_counter() - begun)
"""


def measure(machine: Machine) -> list[Row]:
    """What a slightly old cache costs beyond a warm read of the same rounds; a first read against the bare loader."""
    rows: list[Row] = []
    for shape in machine.shapes(MIDDLE, LARGE, FLAT, HUGE):
        warm = warm_clone(machine, shape)
        count = [*machine.bd, "count"]
        ready = [*machine.bd, "ready", "--json", "--limit", "50"]
        programs = {
            "count": Program(count, warm.folder),
            "ready": Program(ready, warm.folder),
            "count behind": Program(count, warm.folder, before=_mover(machine, warm)),
            "ready behind": Program(ready, warm.folder, before=_mover(machine, warm)),
        }
        found = interleaved(machine, programs, rounds=machine.rounds(8))
        for name in ("count", "ready"):
            beyond = found[f"{name} behind"].least - found[name].least
            rows.append(Figure(f"{shape.label}: {name} after {_CHANGED} changes", beyond, "ms beyond warm", LIMIT_MS))
        rows += _cold(machine, warm, shape)
    return rows


def _cold(machine: Machine, warm: Warm, shape: Shape) -> list[Row]:
    """What a `bd count` with no cache takes beyond a warm one, against the loader's own loop over the same texts on one core."""
    program = Program([*machine.bd, "count"], warm.folder, before=forgetter(warm.folder))
    warmly = min(once(machine, Program(program.argv, warm.folder)) for _ in range(3))
    cold, bare = [], []
    for _ in range(2 if shape is HUGE else machine.rounds(5)):
        bare.append(float(machine.run([machine.python, "-c", _BARE], cwd=warm.folder)) * 1000)
        cold.append(once(machine, program) - warmly)
    ours, theirs = Times(tuple(cold)), Times(tuple(bare))
    return [
        Ratio(f"{shape.label}: first read, cold", ours, theirs, COLD_LIMIT, "loader"),
        Figure(f"{shape.label}: first read, cold", shape.beads / ours.least * 1000, "beads a second"),
        Figure(f"{shape.label}: the C loader, one core", shape.beads / theirs.least * 1000, "beads a second"),
    ]


def forgetter(clone: Path) -> Callable[[], None]:
    """What makes the clone's cache go, before a run."""

    def forget() -> None:
        for path in (clone / ".git" / "bd").glob("cache-*.db*"):
            path.unlink()

    return forget


def _mover(machine: Machine, warm: Warm) -> Callable[[], None]:
    """Before each run: the cache is warm, and ten beads change in what the clone has fetched."""
    rng = random.Random(10)

    def move() -> None:
        machine.run([*machine.bd, "ready", "--limit", "1"], cwd=warm.folder)
        tip = machine.run(["git", "rev-parse", "HEAD"], cwd=warm.folder).strip()
        stream = [b"commit refs/bench/tip\ncommitter Ada <ada@example.org> 1790000001 +0000\ndata 6\nchange\n"]
        stream.append(b"from %s\n" % tip.encode())
        for bead_id in rng.sample(warm.hub.open_ids, _CHANGED):
            path = f"beads/{bead_id}.yaml"
            text = machine.run(["git", "show", f"{tip}:{path}"], cwd=warm.folder)
            kept = text.partition("estimated_minutes:")[0].rstrip()
            data = f"{kept}\nestimated_minutes: {rng.randint(1, 999)}\n".encode()
            stream.append(b"M 100644 inline %s\ndata %d\n%s\n" % (path.encode(), len(data), data))
        argv = ["git", "fast-import", "--quiet", "--force"]
        subprocess.run(argv, cwd=warm.folder, input=b"".join(stream), env=machine.environment, check=True)
        # As a fetch by bd leaves it: the next read finds a view that its cache does not hold.
        refs = ("refs/heads/main", "refs/remotes/origin/main", "refs/bd/published", "refs/bd/view")
        updates = "".join(f"update {ref} refs/bench/tip\n" for ref in refs) + "delete refs/bench/tip\n"
        subprocess.run(
            ["git", "update-ref", "--stdin"], cwd=warm.folder, input=updates.encode(), env=machine.environment, check=True
        )
        (warm.folder / ".git" / "bd" / "tracked").write_text(machine.run(["git", "rev-parse", "HEAD"], cwd=warm.folder))

    return move
