"""What signatures say of a hub's history, for the audit: the changes that nobody who may has signed."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from bd.store.trust.authority import NOBODY
from bd.store.trust.verification import walk

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from bd.report.audit.bead_versions import Version
    from bd.report.audit.rules import BeadChange
    from bd.report.audit.steps import Step
    from bd.store.git.repository import GitRepo
    from bd.store.trust.verification import Judged


class Unsigned(NamedTuple):
    """What a commit changed that nobody who may has signed: a bead (or nothing, for the hub's own files), and why."""

    bead: str
    text: str


class Believed:
    """The steps of a history as they are believed: what a commit may not have done is left out, and told in `faults`."""

    def __init__(self, judged: Iterable[Judged] = ()) -> None:
        self.faults: dict[str, list[Unsigned]] = {}
        self._signed: set[str] = set()
        # What a bead was before a change that is not believed: what the next change that is began with.
        self._had: dict[str, Version | None] = {}
        for one in judged:
            if faults := list(_of(one)):
                self.faults[one.name] = faults
            if one.signer:
                self._signed.add(one.name)

    def changes(self, step: Step) -> list[BeadChange]:
        """What a step's commit did to beads, as far as it is believed. Steps come parents first."""
        name = step.commit.name
        false = {fault.bead for fault in self.faults.get(name, ())}
        kept: list[BeadChange] = []
        for change in step.changes:
            if change.bead in false:
                self._had.setdefault(change.bead, change.before)
            elif change.bead in self._had and name in self._signed:
                kept.append(change._replace(before=self._had.pop(change.bead)))
            else:
                kept.append(change)
        return kept


def believed(repo: GitRepo, tip: str) -> Believed:
    """What is believed of a tip's history: from the first allowed signer on, and of beads where signatures are required."""
    return Believed(walk(repo, tip, None, NOBODY))


def _of(judged: Judged) -> Iterator[Unsigned]:
    for path in judged.overruled:
        yield Unsigned("", f"{path} is changed, and {judged.words}")
    for bead in judged.removed:
        yield Unsigned(bead, f"its file is gone or broken, and {judged.words}")
    for bead in judged.untrue:
        yield Unsigned(bead, judged.words or f"{judged.signer} has signed it, and the claim is another's")
