"""The operation by which a person takes beads over from the agents that hold them, in one commit."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.model import Overlay
from bd.operations.base import register
from bd.operations.claims import Claim, Release

if TYPE_CHECKING:
    from typing import Any, ClassVar

    from bd.core.model import Change, Snapshot
    from bd.core.operation import DecisionContext
    from bd.core.runtime import Runtime


@register
class Take(Claim):
    """Claim a bead (the only one of `ids`) for `agent`, and end the claims of others on it: `reason`; `force` is always true.

    If the new claim is refused, the old ones stay. A pause refuses only what nobody holds: the rest is in progress already.
    """

    verb: ClassVar[str] = "take"
    takes: ClassVar[frozenset[str]] = frozenset(
        {"agent", "force", "held_tokens", "host", "ids", "inherited", "new_tokens", "reason"}
    )
    force_ends_claims: ClassVar[bool] = True

    @classmethod
    def prepare(cls, args: dict[str, Any], runtime: Runtime | None) -> None:
        args["force"] = True
        super().prepare(args, runtime)

    def decide(self, snapshot: Snapshot, context: DecisionContext) -> Change:
        named = [self.find(name, snapshot) for name in self.args["ids"]]
        held = [bead.id for bead in named if bead.claims and self.name not in bead.holders]
        if not held:
            return super().decide(snapshot, context)
        asked = {"by": self.by, "at": self.at, "uid": self.uid, "tokens": self.tokens, "ids": held, **self.pinned_names}
        freed = Release(**asked, reason=self.args["reason"], force=True).decide(snapshot, context)
        taken = self._take_named(Overlay(snapshot, freed), context, freed=held)
        return taken.replace(
            beads={**freed.beads, **taken.beads},
            records={**freed.records, **taken.records},
            notes=(*freed.notes, *taken.notes),
        )
