"""The person in the factory demo, and the moments when only they can help.

What they type is in examples/factory/person.yaml; factory.py runs it.
"""

from __future__ import annotations

import shlex
from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.compat.documents import entries_of
from bd.demo.example import example_folder
from bd.policy.eligibility import Eligibility
from bd.policy.work_queue import ready_beads

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime
    from typing import Any

    from bd.core.model import Snapshot


class Deed(NamedTuple):
    """What the person types. If `note_on` is set, it is expected to be refused, and the error becomes a comment on that bead."""

    words: tuple[str, ...]
    note_on: str = ""


class Person:
    """The person, with the script of what they type."""

    def __init__(self) -> None:
        path = example_folder("factory") / "person.yaml"
        self._script: Mapping[str, Any] = entries_of(path.read_bytes(), str(path))[0].value

    def deeds(self, snapshot: Snapshot, root_id: str, agents: Sequence[str], now: datetime) -> Iterator[Deed]:
        """Yield what only a person can do now: cancel a dead letter, or raise a budget ceiling that holds up ready beads."""
        for bead in snapshot.live():
            if bead.status == "dead_letter":
                yield from self._typed("dead_letter", bead=bead.id, root=root_id)
        if any(bead.claims for bead in snapshot.claimed()):
            return  # the budget that they reserve may become free
        answers = {name: Eligibility(snapshot, name, now) for name in agents}
        for bead in ready_beads(snapshot, now):
            reasons = {name: [reason.code for reason in answer.reasons(bead)] for name, answer in answers.items()}
            held_up = [name for name, codes in reasons.items() if codes == ["ceiling"]]
            if held_up:
                raised = snapshot.wholes([root_id])[0].get("budget_ceiling_usd", 0) + float(self._script["raise_usd"])
                yield from self._typed("ceiling", bead=bead.id, root=root_id, agent=held_up[0], raised=f"{raised:g}")
                return

    def _typed(self, moment: str, **filled: str) -> Iterator[Deed]:
        for one in self._script[moment]:
            words = tuple(word.format(**filled) for word in shlex.split(one["type"]))
            yield Deed(words, one.get("note_on", "").format(**filled))
