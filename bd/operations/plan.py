"""Plans: a root and everything below it, created in one commit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bd.core.model import Change
from bd.operations.base import register
from bd.operations.create import Create

if TYPE_CHECKING:
    from typing import Any, ClassVar

    from bd.core.model import Snapshot
    from bd.core.operation import DecisionContext
    from bd.core.runtime import Runtime


@register
class ApplyPlan(Create):
    """Create a whole graph, or nothing: `beads` as for Create, the root first, each with a `name`.

    A root with an `idempotency_key` stands for its plan: if one with that key was created before, nothing is created again, whatever
    the plan says now. Each task then has its own key, by which its bead is found.
    """

    verb: ClassVar[str] = "plan-apply"
    takes: ClassVar[frozenset[str]] = frozenset({"beads", "force"})

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
        return super().decide(snapshot, context)


def _gone_words(gone: int) -> str:
    return f" ({gone} of its beads {'has' if gone == 1 else 'have'} been deleted since)" if gone else ""
