"""Edges that block: which they are, and what waits on what.

Belongs here: the graph alone. Does not belong here: circles (circles.py), whether a bead is ready (readiness.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bd.core.schema import WAITING_LINKS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

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


def is_under(bead_id: str, root_id: str, snapshot: Snapshot) -> bool:
    """Return whether the bead is the root, or anywhere below it."""
    if bead_id == root_id:
        return True
    bead = snapshot.head(bead_id)
    return bead is not None and any(parent.id == root_id for parent in ancestors(bead, snapshot))


class Graph:
    """The blocking edges among the beads of one snapshot: made once for a decision, then asked about many beads."""

    __slots__ = ("_inherited", "snapshot")

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        # By parent: every bead of a large tree asks for the same ones.
        self._inherited: dict[str, list[str]] = {}

    def inherited(self, parent: Bead) -> list[str]:
        """Return what a parent passes on to the beads below it: what it waits for, without beads of its own tree."""
        known = self._inherited.get(parent.id)
        if known is None:
            known = [target for target in awaited(parent) if not is_under(target, parent.id, self.snapshot)]
            self._inherited[parent.id] = known
        return known

    def waits_on(self, bead: Bead) -> list[str]:
        """Return every id that must be closed before this bead can start: its own dependencies and those of its parents."""
        targets = list(awaited(bead))
        for parent in ancestors(bead, self.snapshot):
            targets += self.inherited(parent)
        return targets


def parent_loops(starts: Iterable[str], snapshot: Snapshot) -> Iterator[list[str]]:
    """The loops of parents that the starts lead into, each once, as closed paths. Every bead is looked at once."""
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
