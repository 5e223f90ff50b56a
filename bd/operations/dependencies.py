"""Operations on edges between beads: dependencies, parents and links."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.errors import BadInput, WouldCycle, WrongState
from bd.core.model import Bead, Change, Overlay
from bd.core.times import instant_of, time_text
from bd.operations.base import Operation, register
from bd.operations.heat import attended
from bd.policy import lifecycle
from bd.policy.circles import new_circle
from bd.policy.readiness import Readiness

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from typing import Any, ClassVar

    from bd.core.model import Link, Snapshot
    from bd.core.operation import DecisionContext

_BLOCKS = frozenset({"blocks", "depends-on", "blocked-by"})
_PARENT = frozenset({"parent-child", "parent"})
_KIND_LIMIT = 50


def refuse_circles(change: Change, snapshot: Snapshot, names: Mapping[str, str] | None = None) -> None:
    """Refuse a change after which beads wait for each other; a parent waits for its children, too. Raises WouldCycle.

    `names` maps the ids of new beads to the names that the caller used, for the message.
    """
    circle = new_circle(snapshot, Overlay(snapshot, change), change.beads)
    if circle:
        words = f"these would wait for each other: {circle.words(names)}"
        ids = [(names or {}).get(bead_id, bead_id) for bead_id in circle.ids]
        raise WouldCycle(words, hint="`bd dep tree` shows what waits for what", cycle=ids)


def with_ages(change: Change, snapshot: Snapshot, asked_at: datetime) -> Change:
    """Adjust ages for changed edges: a bead that becomes ready now ages from now, all others as before."""
    was, will = Readiness(snapshot, asked_at), Readiness(Overlay(snapshot, change), asked_at)
    beads = dict(change.beads)
    for bead_id, bead in change.beads.items():
        before = snapshot.head(bead_id)
        if bead is None or before is None or bead.status != "open" or _edges(bead) == _edges(before):
            continue
        since = time_text(asked_at) if was.blockers(before) else was.since(before)
        if since and not will.blockers(bead) and instant_of(will.since(bead)) < instant_of(since):
            beads[bead_id] = bead.evolve(reopened_at=since)
    return change.replace(beads=beads)


def _edges(bead: Bead) -> tuple[list[str], str | None, list[Link]]:
    return bead.depends_on, bead.parent, bead.links


class _Edge(Operation):
    """`ids`: [bead, target]; `kind`: blocks (default), parent-child, or any link type."""

    @property
    def kind(self) -> str:
        kind = str(self.args.get("kind") or "blocks").strip().lower().replace("_", "-")
        if not kind or len(kind) > _KIND_LIMIT:
            raise BadInput(f"{kind!r} is not a kind of dependency", hint="blocks, parent-child, related, discovered-from ...")
        return kind

    def ends(self, snapshot: Snapshot) -> tuple[Bead, Bead]:
        bead, target = (self.find(name, snapshot) for name in self.args["ids"])
        return bead, target

    def change(self, bead: Bead, after: Bead, target_id: str, words: str) -> Change:
        """Return the change; its subject names the edge from the first bead to the second in `words`."""
        touched = (bead.id, target_id)
        if after == bead:
            return Change({}, "", touched=touched)
        words = f"{self.verb}: {bead.id} {words} {target_id} by {self.agent}"
        return Change({bead.id: lifecycle.touch(after, self.asked_at)}, words, touched=touched)


class DepAdd(_Edge):
    """Make the first bead wait for the second (or become its child, or linked to it). Idempotent."""

    verb: ClassVar[str] = "dep-add"
    takes: ClassVar[frozenset[str]] = frozenset({"ids", "kind"})

    def decide(self, snapshot: Snapshot, context: DecisionContext) -> Change:
        bead, target = self.ends(snapshot)
        if bead.id == target.id:
            raise WouldCycle(f"{bead.id} can't depend on itself", id=bead.id, cycle=[bead.id, bead.id])
        after = self._linked(bead, target)
        if len(after.links) > len(bead.links):
            after = attended(after, "link", self, snapshot, context)
        words = "waits for" if self.kind in _BLOCKS else "is a child of" if self.kind in _PARENT else self.kind
        change = self.change(bead, after, target.id, words)
        refuse_circles(change, snapshot)
        return change

    def _linked(self, bead: Bead, target: Bead) -> Bead:
        if self.kind in _BLOCKS:
            if any(link.id == target.id for link in bead.links):
                raise WrongState(f"{bead.id} has another kind of link to {target.id}", hint="`bd dep remove` it first")
            if target.id in bead.depends_on:
                return bead
            return bead.evolve(depends_on=[*bead.depends_on, target.id])
        if self.kind in _PARENT:
            return bead.evolve(parent=target.id)
        same_pair = [link for link in bead.links if link.id == target.id]
        if any(link.type == self.kind for link in same_pair):
            return bead
        if same_pair or target.id in bead.depends_on:
            raise WrongState(f"{bead.id} has another kind of link to {target.id}", hint="`bd dep remove` it first")
        link = {"type": self.kind, "id": target.id, "created_at": time_text(self.asked_at), "created_by": self.agent}
        return bead.evolve(links=[*bead.get("links", []), link])


class DepRemove(_Edge):
    """Remove every edge from the first bead to the second. A missing edge is no error."""

    verb: ClassVar[str] = "dep-remove"
    takes: ClassVar[frozenset[str]] = frozenset({"ids", "kind"})

    def decide(self, snapshot: Snapshot, context: DecisionContext) -> Change:
        bead = self.find(self.args["ids"][0], snapshot)
        target = self._target_id(bead, snapshot)
        after = bead.evolve(
            depends_on=[other for other in bead.depends_on if other != target],
            links=[link for link in bead.get("links", []) if link.get("id") != target],
            parent=None if bead.parent == target else bead.parent,
        )
        words = "no longer waits for" if target in bead.depends_on else "is no longer linked to"
        if bead.parent == target:
            words = "is no longer a child of"
        return with_ages(self.change(bead, after, target, words), snapshot, self.asked_at)

    def _target_id(self, bead: Bead, snapshot: Snapshot) -> str:
        typed = str(self.args["ids"][1]).strip()
        named = {*bead.depends_on, *(link.id for link in bead.links), bead.parent}
        return typed if typed in named else self.find(typed, snapshot).id

    def exact_form(self, change: Change, before: Snapshot) -> dict[str, Any]:
        form = super().exact_form(change, before)
        form["args"]["ids"] = list(change.touched)
        return form


register(DepAdd)
register(DepRemove)
