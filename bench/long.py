"""A hub with a long history: what each command costs where 50,000 commits lie behind the tip, against the same hub without them."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

from bench.hubs import AGENT, SMALL
from bench.rows import Ratio
from bench.stopwatch import Program, interleaved

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from bench.hubs import Hub
    from bench.machine import Machine
    from bench.rows import Row

TITLE = "a hub with 50,000 commits against one with a few"
COMMITS, QUICK, FEW = 50_000, 2000, 30
LIMIT = 1.3


def measure(machine: Machine) -> list[Row]:
    """Writes and reads, whole processes, in the same rounds; each writer has a hub and a clone of its own."""
    hub = machine.hub(SMALL)
    count = QUICK if machine.quick else COMMITS
    clones = {"short": _clone(machine, hub, FEW), "long": _clone(machine, hub, count)}
    programs: dict[str, Program] = {}
    for length, folder in clones.items():
        before = machine.run(["git", "rev-parse", "main~20"], cwd=folder).strip()
        for name, words in _commands(iter(hub.open_ids), before).items():
            programs[f"{name} {length}"] = Program(_argv(machine, words), folder)
    found = interleaved(machine, programs, rounds=machine.rounds(10), warm=2)
    return [Ratio(f"{name}", found[f"{name} long"], found[f"{name} short"], LIMIT, "short") for name in _commands(iter(()), "")]


def _commands(ids: Iterator[str], before: str) -> dict[str, Callable[[], Sequence[str]]]:
    return {
        "claim ID": lambda: ["claim", next(ids), "--agent", AGENT],
        "create": lambda: ["create", "A bead made in a measurement", "--agent", AGENT],
        "sync": lambda: ["sync"],
        "list --fetch": lambda: ["list", "--fetch"],
        "ready": lambda: ["ready"],
        "list --at": lambda: ["list", "--at", before],
        "audit --since": lambda: ["audit", "--since", before],
    }


def _argv(machine: Machine, words: Callable[[], Sequence[str]]) -> Callable[[], Sequence[str]]:
    return lambda: [*machine.bd, *words()]


def _clone(machine: Machine, hub: Hub, commits: int) -> Path:
    """A clone of a copy of the hub, whose history is so much longer; its beads are the same, packed as a server keeps them."""
    bare = machine.fresh("long").with_name("hub.git")
    shutil.copytree(hub.bare, bare)
    importing = ["git", "-C", str(bare), "fast-import", "--quiet"]
    subprocess.run(importing, input=b"".join(_stream(commits)), env=machine.environment, check=True)
    machine.run(["git", "-C", str(bare), "gc", "--quiet"])
    folder = bare.with_name("clone")
    machine.run(["git", "clone", "--quiet", str(bare), str(folder)])
    machine.run([*machine.bd, "poll", "--agent", AGENT], cwd=folder, exits=(0, 3))
    return folder


def _stream(commits: int) -> Iterator[bytes]:
    """Commits that add a line to a file beside the beads, and take it away again."""
    for number in range(commits):
        words = b"note: %d\n" % number
        yield b"commit refs/heads/main\ncommitter bench <bench@hub> %d +0000\ndata %d\n%s\n" % (
            1_790_000_100 + number,
            len(words),
            words,
        )
        if number == 0:
            yield b"from refs/heads/main^0\n"
        yield b"M 100644 inline notes.txt\ndata %d\n%s\n" % (len(words), words)
    yield b"commit refs/heads/main\ncommitter bench <bench@hub> 1790060000 +0000\ndata 5\nlast\n\nD notes.txt\n"
