"""Damage to everything that a clone keeps for itself and that a hub holds beside the branch: no command may end as a bug.

`python -m tests.hostile.damage --seconds 30 --seed 7` goes on for that long; exit 1 and the case where a command does.
Belongs here: making the damage, and the commands that meet it. The tests do a few dozen cases (test_damage.py).
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

# In processes of their own: what has imported json by accident meets less.
COMMANDS = [
    ["list", "--json"],
    ["ready", "--agent", "ada"],
    ["show", "x-one"],
    ["create", "Another"],
    ["claim", "x-two", "--agent", "ada"],
    ["comment", "x-one", "hello"],
    ["sync"],
    ["sync", "--kept"],
    ["attention"],
    ["stalled"],
    ["poll", "--agent", "ada"],
    ["doctor", "--offline"],
    ["undo"],
    ["board"],
]
SHAPES = [b"", b"{", b'{"a', b"[]", b"null", b"0", b'"text"', b'{"a": [1, {"b": null}]}', b"\xff\xfe\0", b"[" * 3000, b"9" * 5000]
ODD = [None, True, -1, 10**30, [], {}, "", "\ud800", [1], {"a": {"b": [None]}}]
# The cache is SQLite's file, which knows whole damage (tests/store/test_cache.py) and not that of single bytes.
_NOT_READ = ("lock", ".db", ".db-wal", ".db-shm")


class Case(NamedTuple):
    """One piece of damage: a file below .git/bd, or a side ref, and its bytes."""

    place: str
    data: bytes
    command: tuple[str, ...]

    @property
    def words(self) -> str:
        return f"{self.place} = {self.data[:60]!r} ({len(self.data)} bytes), then: bd {' '.join(self.command)}"


class Scene:
    """A hub and a clone that has done what leaves local state, with agents that sent heartbeats and records."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.hub, self.clone = folder / "hub.git", folder / "clone"
        self.env = {**os.environ, "BD_SESSION": "one"}
        subprocess.run(["git", "init", "--quiet", "--bare", "-b", "main", str(self.hub)], check=True)
        self._bd(folder, "init", "clone", "--prefix", "x", "--remote", str(self.hub))
        for bead in ("one", "two", "three"):
            self._bd(self.clone, "create", f"Bead {bead}", "--id", f"x-{bead}")
        for args in (
            ["agent", "add", "ada"],
            ["claim", "x-three", "--agent", "ada"],
            ["heartbeat", "x-three", "--agent", "ada"],
            ["progress", "x-three", "half", "--agent", "ada"],
            ["poll", "--agent", "ada"],
            ["stalled"],
            ["ready", "--agent", "ada"],
            ["list", "--json"],
        ):
            self._bd(self.clone, *args, check=False)
        shutil.copytree(self.hub, folder / "hub.kept")
        shutil.copytree(self.clone, folder / "clone.kept")

    def _bd(self, where: Path, *args: str, check: bool = True) -> subprocess.CompletedProcess[bytes]:
        done = subprocess.run(
            [sys.executable, "-m", "bd", *args], cwd=where, env=self.env, stdin=subprocess.DEVNULL, capture_output=True
        )
        if check and done.returncode:
            raise AssertionError(f"bd {' '.join(args)}: {done.returncode}\n{done.stderr.decode(errors='replace')}")
        return done

    @property
    def files(self) -> list[str]:
        folder = self.folder / "clone.kept" / ".git" / "bd"
        found = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
        return [name for name in found if not name.endswith(_NOT_READ)]

    @property
    def refs(self) -> list[str]:
        listed = subprocess.run(
            ["git", "-C", str(self.hub), "for-each-ref", "--format=%(refname)", "refs/bd/"], capture_output=True, check=True
        )
        return [
            *listed.stdout.decode().split(),
            "refs/bd/intents/01KB6ZZZZZZZZZZZZZZZZZZZA1",
            "refs/bd/agents/bob",
            "refs/bd/claims/nobody",
        ]

    def original(self, name: str) -> bytes:
        return (self.folder / "clone.kept" / ".git" / "bd" / name).read_bytes()

    def run(self, case: Case) -> subprocess.CompletedProcess[bytes]:
        """Make the damage in fresh copies, and run the command there."""
        for name in ("hub", "clone"):
            target = self.hub if name == "hub" else self.clone
            shutil.rmtree(target)
            shutil.copytree(self.folder / f"{name}.kept", target)
        if case.place.startswith("refs/"):
            tree = self._git("mktree", data=b"")
            raw = f"tree {tree}\nauthor a <a@x> 1700000000 +0000\ncommitter a <a@x> 1700000000 +0000\n\n".encode() + case.data
            commit = self._git("hash-object", "-w", "-t", "commit", "--literally", "--stdin", data=raw)
            self._git("update-ref", case.place, commit)
        else:
            (self.clone / ".git" / "bd" / case.place).write_bytes(case.data)
        return self._bd(self.clone, *case.command, check=False)

    def _git(self, *args: str, data: bytes | None = None) -> str:
        return (
            subprocess.run(["git", "-C", str(self.hub), *args], input=data, capture_output=True, check=True)
            .stdout.decode()
            .strip()
        )


def reshaped(data: bytes, rng: random.Random) -> bytes:
    """JSON with a value of another kind in the place of one of its parts; other bytes as they are."""
    try:
        whole = [json.loads(data)]
    except ValueError:
        return data
    at: Any = whole
    while True:  # down to any part
        key = rng.choice(list(at) if isinstance(at, dict) else range(len(at)))
        if not at[key] or not isinstance(at[key], (dict, list)) or rng.random() < 0.3:
            at[key] = rng.choice(ODD)
            return json.dumps(whole[0]).encode()
        at = at[key]


def cases(scene: Scene, rng: random.Random) -> Iterator[Case]:
    """Cases without an end: truncations and changes of what is really there, and shapes that no writer makes."""
    places = [*scene.files, *scene.refs]
    while True:
        place = rng.choice(places)
        data = rng.choice(SHAPES)
        if not place.startswith("refs/") and rng.random() < 0.7:
            data = scene.original(place)
            turn = rng.random()
            if turn < 0.3:
                data = reshaped(data, rng)
            elif turn < 0.7:
                data = data[: rng.randrange(len(data) + 1)]
            elif data:
                at = rng.randrange(len(data))
                data = data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]
        yield Case(place, data, tuple(rng.choice(COMMANDS)))


def fault_of(done: subprocess.CompletedProcess[bytes]) -> str:
    """What is wrong with how a command ended; empty when nothing is."""
    words = done.stderr.decode(errors="replace")
    if done.returncode == 1 or done.returncode < 0 or "Traceback" in words or "a bug in bd" in words:
        return f"exit {done.returncode}\n{words}"
    return ""


def main() -> int:
    """Run cases for a while; the first one that ends a command as a bug is printed, exit 1."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    asked = parser.parse_args()
    end, number = time.monotonic() + asked.seconds, 0
    with tempfile.TemporaryDirectory() as folder:
        scene = Scene(Path(folder))
        for case in cases(scene, random.Random(asked.seed)):
            if time.monotonic() > end:
                break
            number += 1
            fault = fault_of(scene.run(case))
            if fault:
                print(f"case {number} of seed {asked.seed}: {case.words}\n{fault}")
                return 1
    print(f"{number} pieces of damage (seed {asked.seed}), and no command ended as a bug")
    return 0


if __name__ == "__main__":
    sys.exit(main())
