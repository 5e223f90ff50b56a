"""Edges that block: which they are, what waits on what, and cycles among them.

Belongs here: the graph alone. Does not belong here: whether a bead is ready (readiness.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bd.core.schema import WAITING_LINKS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bd.core.model import Bead, Snapshot


def awaited(bead: Bead) -> list[str]:
    """The ids whose closing this bead itself waits for, in file order."""
    if not bead.get("links"):
        return bead.depends_on
    return [*bead.depends_on, *(link.id for link in bead.links if link.type in WAITING_LINKS)]


def ancestors(bead: Bead, snapshot: Snapshot) -> list[Bead]:
    """The existing parents, nearest first; a loop of parents ends the walk."""
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
    """Whether the bead is the root or stands anywhere below it."""
    if bead_id == root_id:
        return True
    bead = snapshot.head(bead_id)
    return bead is not None and any(parent.id == root_id for parent in ancestors(bead, snapshot))


class Graph:
    """The edges that block among the beads of one snapshot: made once for a decision, then asked about every bead."""

    __slots__ = ("_inherited", "snapshot")

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        # By parent: of a large tree every bead asks.
        self._inherited: dict[str, list[str]] = {}

    def inherited(self, parent: Bead) -> list[str]:
        """What the beads below a parent wait for because it does; its wait for its own tree never blocks that tree."""
        known = self._inherited.get(parent.id)
        if known is None:
            known = [target for target in awaited(parent) if not is_under(target, parent.id, self.snapshot)]
            self._inherited[parent.id] = known
        return known

    def waits_on(self, bead: Bead) -> list[str]:
        """Every id this bead can't start before: its own dependencies and those of its parents."""
        targets = list(awaited(bead))
        for parent in ancestors(bead, self.snapshot):
            targets += self.inherited(parent)
        return targets

    def find_cycle(self, starts: Iterable[str]) -> list[str] | None:
        """A cycle reachable from the starts over every edge that blocks, as a closed path of ids; or None.

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
    """A cycle reachable from the starts; who asks more than once makes a `Graph`."""
    return Graph(snapshot).find_cycle(starts)


def find_parent_loop(bead: Bead, snapshot: Snapshot) -> list[str] | None:
    """The loop that a chain of parents makes through this bead, or None."""
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
