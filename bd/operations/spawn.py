"""Subtasks that an agent finds while it works: created below its bead, which goes on, or waits for them."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.errors import WrongState
from bd.core.model import Change
from bd.operations.base import register, subject
from bd.operations.capacity_file import with_capacity
from bd.operations.create import Create, MakesOne
from bd.operations.dependencies import refuse_circles
from bd.policy import lifecycle
from bd.policy.dag_progress import SPAWNED, is_spawned

if TYPE_CHECKING:
    from typing import Any, ClassVar

    from bd.core.model import Bead, Snapshot
    from bd.core.operation import DecisionContext


def _open_subtasks(parent: Bead, snapshot: Snapshot) -> list[str]:
    return [child.id for child in snapshot.children_of(parent.id) if not child.is_done and is_spawned(child, parent)]


@register
class Spawn(MakesOne):
    """Create a subtask of a bead in progress: `ids` (that bead), `new` (the subtask's fields), `wait`.

    With `wait` the bead is given back, which costs no attempt, until this subtask and those spawned before are closed. It is then
    reserved for its previous agent (policy/preference.py), and gets their outputs as input, too.
    """

    verb: ClassVar[str] = "spawn"
    takes: ClassVar[frozenset[str]] = frozenset({"ids", "new", "progress", "wait"})

    def exact_form(self, change: Change, before: Snapshot) -> dict[str, Any]:
        form = super().exact_form(change, before)
        made = change.beads.get(change.touched[1])
        if made is not None:  # with full ids instead of typed prefixes
            new = {key: value for key, value in form["args"]["new"].items() if key != "deps"}
            form["args"]["new"] = {**new, **({"depends_on": made.depends_on} if made.depends_on else {})}
        return form

    def decide(self, snapshot: Snapshot, context: DecisionContext) -> Change:
        parent = self.find(self.args["ids"][0], snapshot)
        there = snapshot.by_uid(self.args["new"]["uid"])
        if there is not None:
            return Change({}, "", touched=(parent.id, there.id))
        self._refuse(parent, snapshot)
        made = self._made(parent, snapshot, context)
        beads: dict[str, Bead | None] = {made.id: made}
        if self.args.get("wait"):
            beads[parent.id] = self._with_sign(parent, self._waiting(parent, [*_open_subtasks(parent, snapshot), made.id]))
        more = f" for {parent.id}" + (", which waits" if self.args.get("wait") else "")
        change = Change(beads, subject("spawn", [made.id], self.by, more=more), touched=(parent.id, made.id))
        refuse_circles(change, snapshot)
        if not self.args.get("wait"):
            return change
        return with_capacity(
            change, snapshot, parent.holders, context.now, alive=self.agent if self.agent in parent.holders else None
        )

    def _refuse(self, parent: Bead, snapshot: Snapshot) -> None:
        """Refuse an author who does not work on the bead. Raises StaleToken and WrongState."""
        if not parent.claims:
            hint = f"`bd create TITLE --parent {parent.id}` makes a bead below it"
            raise WrongState(f"{parent.id} is {parent.status}, nobody works on it", hint=hint, id=parent.id)
        self.guard(parent, snapshot)
        if self.args.get("wait") and parent.get("claims"):
            hint = "leave --wait out"
            raise WrongState(f"several agents may work on {parent.id} at once, so it can't wait for one", hint=hint, id=parent.id)

    def _made(self, parent: Bead, snapshot: Snapshot, context: DecisionContext) -> Bead:
        new = {"priority": parent.priority, **self.args["new"], "parent": parent.id}
        links = [*new.get("links", []), {"type": SPAWNED, "id": parent.id}]
        made = Create(by=self.by, at=self.at, uid=self.uid, beads=[{**new, "links": links}], **self.pinned_names).decide(
            snapshot, context
        )
        bead = made.beads[made.touched[0]]
        assert bead is not None
        return bead

    def _waiting(self, parent: Bead, subtasks: list[str]) -> Bead:
        had = parent.claim.agent if parent.claim else None
        spec = dict(parent.get("spec") or {})
        refs = spec.get("context_refs") or []
        known = refs if isinstance(refs, list) else [refs]
        spec["context_refs"] = list(dict.fromkeys([*known, *(f"task:{one}:output" for one in subtasks)]))
        opened = lifecycle.released(parent, None, self.asked_at)
        waiting = opened.evolve(
            depends_on=list(dict.fromkeys([*parent.depends_on, *subtasks])),
            spec=spec,
            prefer_agent=had,
            prefer_until=None,
            updated_at=parent.updated_at,
        )
        return lifecycle.touch(waiting, self.asked_at)
