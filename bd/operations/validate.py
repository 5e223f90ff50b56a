"""The operation that shows that a bead's output is being checked.

worker/validation.py runs the check, which ends in a close (close.py) or a failure (fail.py).
"""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.errors import WrongState
from bd.core.model import Change
from bd.operations.base import Operation, register, subject
from bd.policy import lifecycle, validation

if TYPE_CHECKING:
    from typing import ClassVar

    from bd.core.model import Bead, Snapshot
    from bd.core.operation import DecisionContext


@register
class Validate(Operation):
    """Record that the output of held beads is being checked: `ids`; `output` is the result of the work, stored with it."""

    verb: ClassVar[str] = "validate"
    takes: ClassVar[frozenset[str]] = frozenset({"ids", "output"})

    def decide(self, snapshot: Snapshot, context: DecisionContext) -> Change:
        def begin(bead: Bead) -> Bead:
            if bead.claim is None:
                raise WrongState(f"{bead.id} is {bead.status}, nobody holds it", id=bead.id)
            self.guard(bead, snapshot)
            return validation.validating(lifecycle.with_output(bead, self.args.get("output")), self.asked_at)

        beads, done, failed = self.each(self.args["ids"], snapshot, begin)
        return Change(beads, subject("validate", done, self.by), touched=tuple(done), failures=tuple(failed))
