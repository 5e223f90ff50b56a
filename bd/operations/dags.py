"""Existing beads as parts of a DAG: a root gathers them below it, and waits for the last of them."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.errors import BadInput, WrongState
from bd.core.model import Change
from bd.operations.base import Operation, register
from bd.operations.dependencies import refuse_circles, with_ages
from bd.policy import lifecycle
from bd.policy.dag import awaited

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from typing import ClassVar

    from bd.core.model import Bead, Snapshot
    from bd.core.operation import DecisionContext


def gathered(root: Bead, beads: Sequence[Bead], at: datetime) -> dict[str, Bead]:
    """Return what changes if the root gathers the beads: its own copy comes first, then those that were not below it yet.

    A bead below another one of them stays there. The root waits for those that no other one waits for, as in a plan. Raises
    WrongState if one of them is part of something else.
    """
    names = {bead.id for bead in beads}
    for bead in beads:
        if bead.parent and bead.parent != root.id and bead.parent not in names:
            hint = f"a bead is part of one DAG: `bd update {bead.id} --parent {root.id}` moves it"
            raise WrongState(f"{bead.id} is part of {bead.parent}", hint=hint, id=bead.id)
    waited_for = {target for bead in beads for target in awaited(bead)} | set(awaited(root))
    last = [bead.id for bead in beads if bead.id not in waited_for]
    changed = {root.id: lifecycle.touch(root.evolve(depends_on=[*root.depends_on, *last]), at)} if last else {root.id: root}
    changed.update({bead.id: lifecycle.touch(bead.evolve(parent=root.id), at) for bead in beads if not bead.parent})
    return changed


@register
class DagAdd(Operation):
    """Make existing beads parts of a DAG: `ids` are its root and the beads. All of them, or none."""

    verb: ClassVar[str] = "dag-add"
    takes: ClassVar[frozenset[str]] = frozenset({"ids"})

    def decide(self, snapshot: Snapshot, context: DecisionContext) -> Change:
        root, *beads = {bead.id: bead for bead in (self.find(name, snapshot) for name in self.args["ids"])}.values()
        if not beads:
            raise BadInput("which beads?", hint=f"bd dag add {root.id} ID ...")
        if root.is_done:
            raise WrongState(f"{root.id} is {root.status}", hint=f"`bd reopen {root.id}` first", id=root.id)
        after = gathered(root, beads, self.asked_at)
        changed = {bead_id: bead for bead_id, bead in after.items() if bead != snapshot.bead(bead_id)}
        touched = (root.id, *(bead.id for bead in beads))
        words = f"{self.verb}: {', '.join(touched[1:])} to {root.id} by {self.agent}" if changed else ""
        change = Change(dict(changed), words, touched=touched)
        refuse_circles(change, snapshot)
        return with_ages(change, snapshot, self.asked_at)
