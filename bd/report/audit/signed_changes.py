"""Signatures in a hub's history, for the audit: the changes without a trusted signature."""

from __future__ import annotations

from typing import NamedTuple

from bd import TYPE_CHECKING
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
    """A change without a trusted signature: its bead ("" for the hub's own files), and the reason."""

    bead: str
    text: str


class Believed:
    """The steps of a history as they are believed: unauthorised changes are left out, and listed in `faults`."""

    def __init__(self, judged: Iterable[Judged] = ()) -> None:
        self.faults: dict[str, list[Unsigned]] = {}
        self._signed: set[str] = set()
        self._in_force: set[str] = set()
        # The bead before a change that is not believed: the next believed change is compared with it.
        self._had: dict[str, Version | None] = {}
        for one in judged:
            if faults := list(_of(one)):
                self.faults[one.name] = faults
            if one.is_in_force:
                self._in_force.add(one.name)
            if one.signer:
                self._signed.add(one.name)

    def requires(self, commit: str) -> bool:
        """Return whether signatures were required at a commit's parents."""
        return commit in self._in_force

    def changes(self, step: Step) -> list[BeadChange]:
        """Return the believed changes of a step's commit. Steps come parents first."""
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
    """Return what is believed of a tip's history, from the first allowed signer on."""
    return Believed(walk(repo, tip, None, NOBODY))


def _of(judged: Judged) -> Iterator[Unsigned]:
    for path in judged.overruled:
        yield Unsigned("", f"{path} is changed, and {judged.words}")
    for bead in judged.removed:
        yield Unsigned(bead, f"its file is gone or broken, and {judged.words}")
    for bead in judged.untrue:
        yield Unsigned(bead, judged.words or f"{judged.signer} has signed it, and the claim is another's")
