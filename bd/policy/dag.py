"""Blocking edges: which there are, what waits for what, and how long the chains of waiting beads are (the critical path).

The graph alone; circles.py finds circles, readiness.py decides whether a bead is ready.
"""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.schema import WAITING_LINKS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from bd.core.model import Bead, Snapshot


def awaited(bead: Bead) -> list[str]:
    """Return the ids that this bead itself waits for, in file order."""
    if not bead.get("links"):
        return bead.depends_on
    return [*bead.depends_on, *(link.id for link in bead.links if link.type in WAITING_LINKS)]


def ancestors(bead: Bead, snapshot: Snapshot) -> list[Bead]:
    """Return the existing parents, nearest first; stops at a loop of parents."""
    found: list[Bead] = []
    seen = {bead.id}
    parent_id = bead.parent
    while parent_id and parent_id not in seen:
        seen.add(parent_id)
        parent = snapshot.head(parent_id)
        if parent is None:
            break
        found.append(parent)
        parent_id = parent.parent
    return found


def is_below(bead: Bead, root_id: str, snapshot: Snapshot) -> bool:
    """Return whether the bead is below another at any depth; the other may be missing."""
    return bead.parent == root_id or any(root_id in (parent.id, parent.parent) for parent in ancestors(bead, snapshot))


def is_under(bead_id: str, root_id: str, snapshot: Snapshot) -> bool:
    """Return whether the bead is the root, or anywhere below it."""
    seen: set[str] = set()
    above: str | None = bead_id
    while above and above != root_id and above not in seen:
        seen.add(above)
        bead = snapshot.head(above)
        above = bead.parent if bead else None
    return above == root_id and (bead_id == root_id or snapshot.exists(root_id))


class Lineage:
    """Values that beads inherit from their parents. `each` gives those of one parent, and is called once for each parent."""

    __slots__ = ("_above", "_each", "_snapshot")

    def __init__(self, snapshot: Snapshot, each: Callable[[Bead], Iterable[Any]]) -> None:
        self._snapshot = snapshot
        self._each = each
        self._above: dict[str, tuple[Any, ...]] = {}

    def above(self, bead: Bead) -> tuple[Any, ...]:
        """Return what all parents of a bead add, that of the nearest first."""
        climbed: list[Bead] = []
        seen = {bead.id}
        parent_id = bead.parent
        while parent_id and parent_id not in self._above:
            if parent_id in seen:  # in a loop everyone has other parents
                return tuple(one for parent in ancestors(bead, self._snapshot) for one in self._each(parent))
            parent = self._snapshot.head(parent_id)
            if parent is None:
                break
            seen.add(parent_id)
            climbed.append(parent)
            parent_id = parent.parent
        found = self._above.get(parent_id or "", ())
        for parent in reversed(climbed):
            added = tuple(self._each(parent))
            found = (*added, *found) if added else found
            self._above[parent.id] = found
        return found


class Graph:
    """The blocking edges among the beads of one snapshot: made once for a decision, then asked about many beads."""

    __slots__ = ("_handed_down", "snapshot")

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self._handed_down = Lineage(snapshot, self.inherited)

    def inherited(self, parent: Bead) -> list[str]:
        """Return what a parent passes on to the beads below it: what it waits for, without beads of its own tree."""
        return [target for target in awaited(parent) if not is_under(target, parent.id, self.snapshot)]

    def waits_on(self, bead: Bead) -> list[str]:
        """Return every id that must be closed before this bead can start: its own dependencies and those of its parents."""
        return [*awaited(bead), *self._handed_down.above(bead)]


def parent_loops(starts: Iterable[str], snapshot: Snapshot) -> Iterator[list[str]]:
    """Yield the loops of parents that the starts lead into, each once, as closed paths. Every bead is visited once."""
    seen: set[str] = set()
    for start in starts:
        path: list[str] = []
        bead_id: str | None = start
        while bead_id and bead_id not in seen:
            seen.add(bead_id)
            path.append(bead_id)
            bead = snapshot.head(bead_id)
            bead_id = bead.parent if bead else None
        if bead_id in path:
            yield [*path[path.index(bead_id) :], bead_id]


def chains(ids: Iterable[str], snapshot: Snapshot, longest: int) -> dict[str, int]:
    """Return for each bead the length of the longest chain that waits for it, at most `longest`.

    All chains are followed at once, level by level, so that the store is asked a few times however many beads there are.
    """
    asked = list(dict.fromkeys(ids))
    waiting: dict[str, list[str]] = {}
    level = asked
    for _ in range(longest):
        waiting.update(snapshot.waiters(level))
        level = [
            other for other in dict.fromkeys(one for bead_id in level for one in waiting.get(bead_id, ())) if other not in waiting
        ]
        if not level:
            break
    known: dict[tuple[str, int], int] = {}
    return {bead_id: _length(bead_id, longest, waiting, known) for bead_id in asked}


def _length(bead_id: str, most: int, waiting: dict[str, list[str]], known: dict[tuple[str, int], int]) -> int:
    """Return the longest chain from here, at most `most` links; in a cycle, `most`."""
    others = waiting.get(bead_id)
    if not others or not most:
        return 0
    if (bead_id, most) not in known:
        known[bead_id, most] = 1 + max(_length(other, most - 1, waiting, known) for other in others)
    return known[bead_id, most]
