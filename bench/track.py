"""A small hub of its own and clones of it, for races.

Belongs here: making them, dealing beads, and asking git who has what. Beads are plain files committed and pushed by
git, and what the hub holds is read from its branch: bd is never asked how well it did.
"""

from __future__ import annotations

import io
import json
import re
import subprocess
import tarfile
from typing import TYPE_CHECKING, NamedTuple

from bench.gate import Run, at_once
from bench.line import Line

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from bench.gate import Ended
    from bench.machine import Machine


class Owned(NamedTuple):
    """Who got what in a race: `wrong` counts beads two agents were told they own, and claims the hub does not show."""

    beads: int
    wrong: int


class Track:
    """A hub, `clones` clones of it that have worked before, and a counted line between them."""

    def __init__(self, machine: Machine, clones: int, *, beads: int = 0) -> None:
        self._machine = machine
        self.folder = machine.fresh("track").parent
        self.bare = self.folder / "hub.git"
        machine.run(["git", "init", "--quiet", "--bare", "--initial-branch=main", str(self.bare)])
        self.maker = self.folder / "maker"
        machine.run([*machine.bd, "init", str(self.maker), "--prefix", "hub", "--remote", str(self.bare)])
        self.line = Line(machine)
        self._dealt = 0
        self.clones = [self.clone(f"clone-{number}") for number in range(clones)]
        if clones:
            self.settle_in()
        self.ids = self.deal(beads) if beads else []

    def clone(self, name: str) -> Path:
        """One more clone, as `git clone` makes it."""
        folder = self.folder / name
        self._machine.run(["git", "clone", "--quiet", str(self.bare), str(folder)])
        return folder

    def settle_in(self) -> None:
        """Each clone has polled once, as in any fleet: it knows what its remote lets it do."""
        runs = [Run(folder, ["poll", "--agent", f"agent-{place}"]) for place, folder in enumerate(self.clones)]
        for start in range(0, len(runs), 4):
            at_once(self._machine, runs[start : start + 4], loaded=False)

    def deal(self, beads: int) -> list[str]:
        """So many open beads, and no others; their ids."""
        ids = [f"hub-r{self._dealt + number:04d}" for number in range(beads)]
        self._dealt += beads
        self.deal_ids(ids)
        return ids

    def deal_ids(self, ids: Sequence[str]) -> None:
        """Open beads with these ids, and no others."""
        self._git("fetch", "--quiet", "origin", "main")
        self._git("reset", "--quiet", "--hard", "origin/main")
        (self.maker / "beads").mkdir(exist_ok=True)
        for path in (self.maker / "beads").glob("*.yaml"):  # what nobody got last time
            if "\nstatus: open\n" in path.read_text():
                path.unlink()
        for number, bead_id in enumerate(ids):
            stamp = f"2026-01-01T{number // 60:02d}:{number % 60:02d}:00Z"
            text = f"id: {bead_id}\ntitle: Race {number}\nstatus: open\npriority: 2\ncreated_at: {stamp}\n"
            (self.maker / "beads" / f"{bead_id}.yaml").write_text(text)
        self._git("add", "beads")
        self._git("commit", "--quiet", "-m", "beads")
        self._git("push", "--quiet", "origin", "HEAD:main")

    def _git(self, *words: str) -> str:
        return self._machine.run(["git", *words], cwd=self.maker)

    def tip(self) -> str:
        """The hub branch's tip."""
        return self._machine.run(["git", "-C", str(self.bare), "rev-parse", "main"]).strip()

    def commits(self, since: str, until: str = "main") -> int:
        """How many commits the hub branch got after `since`."""
        return int(self._machine.run(["git", "-C", str(self.bare), "rev-list", "--count", f"{since}..{until}"]))

    def loose_objects(self) -> int:
        """How many loose objects lie in the hub."""
        return int(self._machine.run(["git", "-C", str(self.bare), "count-objects"]).split()[0])

    def packed_bytes(self) -> int:
        """What the hub's objects take after `git gc`."""
        self._machine.run(["git", "-C", str(self.bare), "gc", "--quiet", "--prune=now"])
        lines = self._machine.run(["git", "-C", str(self.bare), "count-objects", "-v"]).splitlines()
        sizes = {key: int(value) for key, value in (line.split(": ") for line in lines)}
        return (sizes["size"] + sizes["size-pack"]) * 1024

    def texts(self) -> dict[str, str]:
        """Every bead file of the hub's active folder and archive, by id."""
        argv = ["git", "-C", str(self.bare), "archive", "--format=tar", "main", "beads"]
        data = subprocess.run(argv, env=self._machine.environment, capture_output=True, check=True).stdout
        found: dict[str, str] = {}
        with tarfile.open(fileobj=io.BytesIO(data)) as files:
            for member in files:
                file = files.extractfile(member)
                if file is None or not member.name.endswith(".yaml"):
                    continue
                text = file.read().decode()
                if member.name.startswith("beads/archive/"):
                    _, *parts = re.split(r"(?m)^--- # (\S+), \d+ bytes\n", text)
                    found |= dict(zip(parts[::2], parts[1::2], strict=True))
                else:
                    found[member.name.rsplit("/", 1)[-1].removesuffix(".yaml")] = text
        return found

    def titles(self) -> list[str]:
        """The titles of all beads in the hub."""
        return [_key("title", text).strip("\"'") for text in self.texts().values()]

    def with_status(self, status: str) -> dict[str, str]:
        """The assignee of each bead of the hub that has this status."""
        return {bead: _key("assignee", text) for bead, text in self.texts().items() if _key("status", text) == status}

    def owned(self, ended: Sequence[Ended], agents: Sequence[str]) -> Owned:
        """What those who ended with 0 say they own, held against the hub."""
        holders = self.with_status("in_progress")
        said = [(bead_named(racer.out), agent) for racer, agent in zip(ended, agents, strict=True) if racer.code == 0]
        wrong = len(said) - len({bead for bead, _ in said})
        wrong += sum(holders.get(bead) != agent for bead, agent in said)
        return Owned(len(said), wrong)


def _key(name: str, text: str) -> str:
    found = re.search(rf"^{name}: (.+)$", text, re.MULTILINE)
    return found.group(1) if found else ""


def bead_named(out: str) -> str:
    """The bead that a claim printed: bd's JSON, or the bare id of a script."""
    if not out.lstrip().startswith("["):
        return out.strip()
    found = json.loads(out)
    return str(found[0]["id"]) if found else ""
