"""The person in the factory demo: the moments when only they can help.

What they type is content, examples/factory/person.yaml. Does not belong here: running it (factory.py).
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, NamedTuple

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
    """What the person types. With `note_on` it is meant to be refused, and the refusal is kept as a comment there."""

    words: tuple[str, ...]
    note_on: str = ""


class Person:
    """The person, by the file that has what they type."""

    def __init__(self) -> None:
        path = example_folder("factory") / "person.yaml"
        self._script: Mapping[str, Any] = entries_of(path.read_bytes(), str(path))[0].value

    def deeds(self, snapshot: Snapshot, root_id: str, agents: Sequence[str], now: datetime) -> Iterator[Deed]:
        """What only a person can do now: call a dead letter off, raise a ceiling that holds up what is ready."""
        for bead in snapshot.live():
            if bead.status == "dead_letter":
                yield from self._typed("dead_letter", bead=bead.id, root=root_id)
        if any(bead.claims for bead in snapshot.claimed()):
            return  # what they reserve is perhaps left over
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
