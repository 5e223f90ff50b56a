"""Blocking edges: which there are, what waits for what, and cycles among them.

The graph alone; readiness.py decides whether a bead is ready.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bd.core.schema import WAITING_LINKS

if TYPE_CHECKING:
    from collections.abc import Iterable

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
    """Whether the bead is below another at any depth; the other may be missing."""
    return bead.parent == root_id or any(root_id in (parent.id, parent.parent) for parent in ancestors(bead, snapshot))


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

    def find_cycle(self, starts: Iterable[str]) -> list[str] | None:
        """Return a cycle of blocking edges reachable from the starts, as a closed path of ids; else None.

        Depth-first search with three colours (CLRS, section 20.3), without recursion.
        """
        done: set[str] = set()
        for start in starts:
            path: list[str] = []
            on_path: set[str] = set()
            stack: list[tuple[str, bool]] = [(start, False)]
            while stack:
                bead_id, leaving = stack.pop()
                if leaving:
                    path.pop()
                    on_path.discard(bead_id)
                    done.add(bead_id)
                    continue
                if bead_id in on_path:
                    return [*path[path.index(bead_id) :], bead_id]
                if bead_id in done:
                    continue
                bead = self.snapshot.head(bead_id)
                if bead is None:
                    continue
                path.append(bead_id)
                on_path.add(bead_id)
                stack.append((bead_id, True))
                stack.extend((target, False) for target in self.waits_on(bead))
        return None


def find_cycle(starts: Iterable[str], snapshot: Snapshot) -> list[str] | None:
    """Return a cycle reachable from the starts. For several questions make a `Graph`."""
    return Graph(snapshot).find_cycle(starts)


def find_parent_loop(bead: Bead, snapshot: Snapshot) -> list[str] | None:
    """Return the loop that a chain of parents makes through this bead; else None."""
    path = [bead.id]
    parent_id = bead.parent
    while parent_id:
        path.append(parent_id)
        if parent_id == bead.id:
            return path
        parent = snapshot.head(parent_id)
        if parent is None or parent_id in path[:-1]:
            return None
        parent_id = parent.parent
    return None
