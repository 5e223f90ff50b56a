"""The proof from the code repository: what each bead was to write is on its branch, and was committed once."""

from __future__ import annotations

from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.repos.branch_names import branch_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from bd.core.model import Bead
    from bd.store.git.repository import GitRepo


class Part(NamedTuple):
    """What the history has of one bead: its branch, the files that are missing there, and those that were added more than once."""

    bead: str
    branch: str
    missing: tuple[str, ...]
    twice: tuple[str, ...]

    @property
    def holds(self) -> bool:
        return not (self.missing or self.twice)


class CodeProof(NamedTuple):
    """A part for each bead, and the branches of attempts that were no longer current when they ended."""

    parts: list[Part]
    beside: list[str]

    @property
    def holds(self) -> bool:
        return all(part.holds for part in self.parts)

    def lines(self) -> list[str]:
        """Return the proof in sentences."""
        lines = [
            f"  {sum(part.holds for part in self.parts)} of {len(self.parts)} beads have their commits on their branches, each once"
        ]
        lines += [f"  {part.bead}: {name} is missing on {part.branch}" for part in self.parts for name in part.missing]
        lines += [f"  {part.bead}: {name} was added more than once" for part in self.parts for name in part.twice]
        return [*lines, *(f"  kept beside, of an attempt that was no longer current: {branch}" for branch in self.beside)]

    def as_json(self) -> dict[str, Any]:
        return {"holds": self.holds, "parts": [part._asdict() for part in self.parts], "beside": self.beside}


def prove_code(code: GitRepo, tasks: Sequence[Bead], written: Mapping[str, Sequence[str]]) -> CodeProof:
    """Read the history of a code repository. `written` has the files that each bead was to write, by its id."""
    branches = {ref.removeprefix("refs/heads/") for ref in code.refs("refs/heads/")}
    own = {task.id: branch_of(task.id, task.uid) for task in tasks}
    parts = [_part(code, task.id, own[task.id], written[task.id], branches, own.values()) for task in tasks]
    return CodeProof(parts, sorted(branch for branch in branches if branch.rpartition("-attempt-")[0] in own.values()))


def _part(code: GitRepo, bead: str, branch: str, names: Sequence[str], branches: set[str], own: Any) -> Part:
    if branch not in branches:
        return Part(bead, branch, tuple(names), ())
    there = set(code.run("ls-tree", "-r", "--name-only", f"refs/heads/{branch}")[1].decode().splitlines())
    current = [f"refs/heads/{one}" for one in own if one in branches]
    twice = [name for name in names if _times_added(code, name, current) > 1]
    return Part(bead, branch, tuple(name for name in names if name not in there), tuple(twice))


def _times_added(code: GitRepo, name: str, refs: Sequence[str]) -> int:
    """Return how many commits on these branches have added a file."""
    found = code.run("log", "--format=%H", "--diff-filter=A", *refs, "--", name)[1].decode()
    return len(set(found.split()))
