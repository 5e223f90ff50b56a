"""Hubs of a given size, made in seconds: bead files written straight into one commit by git.

Belongs here: what the beads of a measured hub look like, and the places they are kept. The
files are plain format.md, in the key order bd writes; nothing here uses bd but `bd init`.
"""

from __future__ import annotations

import random
import shutil
import subprocess
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from bench.machine import Machine

CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
AGENT = "bench"
_TYPES = ("task", "task", "task", "bug", "feature", "chore", "research", "code", "test", "review")
_LABELS = ("api", "docs", "infra", "merge", "parser", "release", "research", "site", "tests", "ui")
_VERBS = ("Fix", "Implement", "Research:", "Deploy", "Review", "Refactor", "Publish:", "Measure", "Document", "Test")
_NOUNS = (
    "the importer",
    "claim replay",
    "the cache",
    "login page",
    "cluster monitor",
    "release notes",
    "rate limits",
    "the parser",
)
_SENTENCE = (
    "The page shows yesterday's numbers until it is loaded again, which the fleet takes for a stall; "
    "find where the age is computed and let it follow the last sign of life. "
)
_OPEN_SHARE, _HELD_SHARE = 0.70, 0.05


class Shape(NamedTuple):
    """How large a hub is: beads in all, and how many of them lie in the archive."""

    beads: int
    archived: int = 0

    @property
    def name(self) -> str:
        return f"{self.beads}" if not self.archived else f"{self.beads}-{self.archived}"

    @property
    def label(self) -> str:
        """For tables: `10,000/3,000` has 3,000 of its beads in the active folder."""
        return f"{self.beads:,}" + (f"/{self.beads - self.archived:,}" if self.archived else "")


SMALL, MIDDLE = Shape(100), Shape(1000)
# As a hub of that age looks: `bd archive` has moved most closed beads away. FLAT is one that never archived.
LARGE, FLAT = Shape(10_000, 7_000), Shape(10_000)
# An old one: nine of ten beads are archived or closed.
HUGE = Shape(100_000, 87_000)
# One of that size that archives as it goes: fewer than 3,000 in the active folder.
OLD = Shape(100_000, 97_200)
_ARCHIVED_A_MONTH, _VOLUME_SIZE = 7_000, 250


class Hub(NamedTuple):
    """A bare hub, and how to get at it. `open_ids` are ready to be claimed, best first is not promised."""

    bare: Path
    shape: Shape
    open_ids: tuple[str, ...]
    waiting_ids: tuple[str, ...]

    def clone(self, machine: Machine, folder: Path) -> Path:
        """A fresh clone, as `git clone` makes it."""
        machine.run(["git", "clone", "--quiet", str(self.bare), str(folder)])
        return folder

    def own_clone(self, machine: Machine, *, by_bd: bool = False) -> Path:
        """A clone of a copy of the hub, which nobody else writes to; made by git, or by `bd clone`."""
        bare = machine.fresh("copy").with_name("hub.git")
        shutil.copytree(self.bare, bare)
        argv = [*machine.bd, "clone"] if by_bd else ["git", "clone", "--quiet"]
        machine.run([*argv, str(bare), str(bare.with_name("clone"))])
        return bare.with_name("clone")


class _Fabric:
    """The beads of one hub, always the same ones for the same shape."""

    def __init__(self, shape: Shape) -> None:
        self._shape = shape
        self._rng = random.Random(shape.beads)
        self.open_ids: list[str] = []
        self.waiting_ids: list[str] = []

    def _ulid(self, number: int) -> str:
        stamp = 1_790_000_000_000 + number * 1000
        value = (stamp << 80) | self._rng.getrandbits(80)
        return "".join(CROCKFORD[(value >> (5 * place)) & 31] for place in range(25, -1, -1))

    def files(self) -> Iterator[tuple[str, str]]:
        """Every (path, text): the beads, archived ones in volumes as bd makes them."""
        volumes: dict[str, list[str]] = {}
        for path, text in self._beads():
            _, _, place = path.partition("beads/archive/")
            month, _, name = place.partition("/")
            if not name:
                yield path, text
                continue
            number = len(volumes.setdefault(month, [])) // _VOLUME_SIZE + 1
            volumes[month].append(f"--- # {name.removesuffix('.yaml')}, {len(text.encode())} bytes\n{text}")
            if len(volumes[month]) % _VOLUME_SIZE == 0:
                yield f"beads/archive/{month}-{number:03}.yaml", "".join(volumes[month][-_VOLUME_SIZE:])
        for month, texts in volumes.items():
            if len(texts) % _VOLUME_SIZE:
                number = len(texts) // _VOLUME_SIZE
                yield f"beads/archive/{month}-{number + 1:03}.yaml", "".join(texts[number * _VOLUME_SIZE :])

    def _beads(self) -> Iterator[tuple[str, str]]:
        """Every bead as (path, text), as if each had a file; later ones depend on and belong to earlier ones."""
        active = self._shape.beads - self._shape.archived
        ids: list[str] = []
        epics: list[str] = []
        closed: list[str] = []
        for number in range(self._shape.beads):
            uid = self._ulid(number)
            bead_id = f"hub-{uid[10:18].lower()}"
            in_archive = number < self._shape.archived
            status = "closed" if in_archive else self._status()
            parent = self._rng.choice(epics[-20:]) if epics and self._rng.random() < 0.3 else None
            is_epic = not in_archive and status == "open" and len(epics) < active // 40 and self._rng.random() < 0.05
            # An epic waits for nothing, so that what is below it is ready by its own edges alone.
            targets = [] if is_epic else self._targets(closed, self.open_ids)
            lines = self._lines(bead_id, uid, number, status, is_epic=is_epic, parent=parent, targets=targets)
            folder = f"beads/archive/{self._month(number)}/" if in_archive else "beads/"
            if status == "closed":
                closed.append(bead_id)
            elif status == "open" and not is_epic:
                blocked = any(target in self.open_ids[-50:] for target in targets)
                (self.waiting_ids if blocked else self.open_ids).append(bead_id)
            if is_epic:
                epics.append(bead_id)
            ids.append(bead_id)
            yield f"{folder}{bead_id}.yaml", "\n".join(lines) + "\n"

    def _month(self, number: int) -> str:
        """When a bead was made and, if it is, closed: what is archived goes back as far as its number needs."""
        back = max(0, self._shape.archived - 1 - number) // _ARCHIVED_A_MONTH
        year, month = divmod(2026 * 12 - back, 12)
        return f"{year}-{month + 1:02d}"

    def _status(self) -> str:
        draw = self._rng.random()
        if draw < _OPEN_SHARE:
            return "open"
        return "in_progress" if draw < _OPEN_SHARE + _HELD_SHARE else "closed"

    def _targets(self, closed: list[str], still_open: list[str]) -> list[str]:
        """What a bead waits for: half of them nothing, most of the rest something finished."""
        draw = self._rng.random()
        if draw < 0.55:
            return []
        found = self._rng.sample(closed[-50:], k=min(2, len(closed))) if draw < 0.9 else []
        if draw >= 0.8 and still_open:
            found.append(self._rng.choice(still_open[-50:]))
        return found

    def _lines(
        self, bead_id: str, uid: str, number: int, status: str, *, is_epic: bool, parent: str | None, targets: list[str]
    ) -> list[str]:
        rng = self._rng
        day, minute = 1 + number * 27 // self._shape.beads, number % 60
        month = self._month(number)
        made = f"{month}-{day:02d}T08:{minute:02d}:00Z"
        lines = [
            f"id: {bead_id}",
            f'uid: "{uid}"',
            f'title: "{rng.choice(_VERBS)} {rng.choice(_NOUNS)} ({number})"',
            f"type: {'epic' if is_epic else rng.choice(_TYPES)}",
            f"status: {status}",
            f"priority: {rng.choice((0, 1, 1, 2, 2, 2, 2, 3, 3, 4))}",
            f"labels: [{', '.join(sorted(rng.sample(_LABELS, k=rng.randint(1, 3))))}]",
        ]
        agent = f"agent-{number % 16}"
        if status == "in_progress":
            lines += [f"assignee: {agent}", f"owner: {agent}@hub"]
        lines += ["description: |", *(f"  {_SENTENCE.strip()}" for _ in range(3))]
        if targets:
            lines.append(f"depends_on: [{', '.join(targets)}]")
        if parent:
            lines.append(f"parent: {parent}")
        if status == "in_progress":
            lines += self._claim(agent, number)
        lines += [f"created_at: {made}", "created_by: human:Ada", f"updated_at: {made}"]
        if status == "closed":
            lines += [f"closed_at: {month}-28T09:{minute:02d}:00Z", f"closed_by: agent:{agent}", "close_reason: done"]
        return lines

    def _claim(self, agent: str, number: int) -> list[str]:
        stamp = f"2026-01-28T10:{number % 60:02d}:00Z"
        return [
            "claim:",
            f"  agent: {agent}",
            f'  token: "{self._ulid(number)}"',
            f"  started_at: {stamp}",
            "  host: build-3",
            "  attempt: 1",
            f"  claimed_at: {stamp}",
            f"claimed_at: {stamp}",
            "attempts: 1",
        ]


def make(machine: Machine, shape: Shape) -> Hub:
    """A bare hub with `bd init`'s files and the beads of a shape, packed as a server keeps it."""
    folder = machine.folder / "hubs" / shape.name
    bare, seed = folder / "hub.git", folder / "seed"
    folder.mkdir(parents=True)
    machine.run(["git", "init", "--quiet", "--bare", "--initial-branch=main", str(bare)])
    machine.run([*machine.bd, "init", str(seed), "--prefix", "hub", "--remote", str(bare)])
    fabric = _Fabric(shape)
    stream = [
        b"commit refs/heads/main\ncommitter Ada <ada@example.org> 1790000000 +0000\ndata 10\nbeads made\n",
        b"from refs/heads/main^0\n",
    ]
    for path, text in fabric.files():
        data = text.encode()
        stream.append(b"M 100644 inline %s\ndata %d\n%s\n" % (path.encode(), len(data), data))
    subprocess.run(
        ["git", "-C", str(bare), "fast-import", "--quiet"], input=b"".join(stream), env=machine.environment, check=True
    )
    machine.run(["git", "-C", str(bare), "gc", "--quiet"])
    shutil.rmtree(seed)
    return Hub(bare, shape, tuple(fabric.open_ids), tuple(fabric.waiting_ids))
