"""Plans: a root and everything below it, created in one commit."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.model import Change, Overlay
from bd.operations.base import register
from bd.operations.create import Create
from bd.operations.dags import gathered
from bd.operations.dependencies import refuse_circles, with_ages
from bd.policy.deliveries import refuse_undelivered

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, ClassVar

    from bd.core.model import Snapshot
    from bd.core.operation import DecisionContext
    from bd.core.runtime import Runtime


@register
class ApplyPlan(Create):
    """Create a whole graph, or nothing: `beads` as for Create, the root first, each with a `name`.

    A root with an `idempotency_key` stands for its plan: if one with that key was created before, nothing is created again, whatever
    the plan says now. Each task then has its own key, by which its bead is found. `gathers` are ids of existing beads that become
    parts of the root.
    """

    verb: ClassVar[str] = "plan-apply"
    takes: ClassVar[frozenset[str]] = frozenset({"beads", "force", "gathers"})

    @classmethod
    def prepare(cls, args: dict[str, Any], runtime: Runtime | None) -> None:
        root, *tasks = args["beads"]
        if root.get("idempotency_key"):
            for task in tasks:
                task["idempotency_key"] = f"{root['idempotency_key']}/{task['name']}"
        super().prepare(args, runtime)

    def decide(self, snapshot: Snapshot, context: DecisionContext) -> Change:
        specs = self.args["beads"]
        key = specs[0].get("idempotency_key")
        known = self.known_keys(snapshot) if key else {}
        if key in known and snapshot.by_uid(specs[0]["uid"]) is None:
            result = {spec["name"]: known[spec["idempotency_key"]] for spec in specs if spec["idempotency_key"] in known}
            gone = sum(not snapshot.exists(bead_id) for bead_id in result.values())
            note = f"this plan was applied before, as {known[key]}; nothing was created again"
            return Change({}, "", touched=tuple(result.values()), result=result, notes=(note + _gone_words(gone),))
        refuse_undelivered(specs, snapshot)
        made = super().decide(snapshot, context)
        return made if made.is_empty or not self.args.get("gathers") else self._gathering(made, snapshot)

    def _gathering(self, made: Change, snapshot: Snapshot) -> Change:
        """Return the change with the existing beads as parts of the root."""
        after = Overlay(snapshot, made)
        root = after.bead(made.touched[0])
        beads = [self.find(named, snapshot) for named in self.args["gathers"]]
        assert root is not None  # it was made just now
        result = {**made.result, **{bead.id: bead.id for bead in beads}}
        change = made.replace(beads={**made.beads, **gathered(root, beads, self.asked_at)}, result=result)
        refuse_circles(change, snapshot, {bead_id: name for name, bead_id in result.items()})
        return with_ages(change, snapshot, self.asked_at)

    def named_in(self, args: Mapping[str, Any]) -> list[str]:
        return [*super().named_in(args), *args.get("gathers", ())]

    def exact_form(self, change: Change, before: Snapshot) -> dict[str, Any]:
        form = super().exact_form(change, before)
        gathers = [self.find(named, before).id for named in self.args.get("gathers", ())]
        form["args"].update({"gathers": gathers} if gathers else {})
        return form

    def _renamed_args(self, renamed: Mapping[str, str]) -> dict[str, Any]:
        args = super()._renamed_args(renamed)
        gathers = [renamed.get(one, one) for one in args.get("gathers", ())]
        return {**args, **({"gathers": gathers} if gathers else {})}


def _gone_words(gone: int) -> str:
    return f" ({gone} of its beads {'has' if gone == 1 else 'have'} been deleted since)" if gone else ""
