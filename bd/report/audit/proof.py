"""The proof at the end of a demo: the audit of its hub, and how much of the work is done."""

from __future__ import annotations

from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.core.errors import NoHub
from bd.core.schema import BEAD_FIELDS, BEADS_DIR, DONE_STATUSES
from bd.report.audit.audit import examine
from bd.store.hub_files import bead_id_of, entries_of
from bd.store.yaml import codec

if TYPE_CHECKING:
    from typing import Any

    from bd.report.audit.audit import Audit
    from bd.store.git.repository import GitRepo


class Proof(NamedTuple):
    """The audit of a hub, and the content of its tip: `beads`, and how many of them are `done`."""

    audit: Audit
    beads: int
    done: int

    @property
    def holds(self) -> bool:
        return self.audit.holds

    @property
    def pushes_per_claim(self) -> float:
        return round(self.audit.pushes / self.audit.claims, 2) if self.audit.claims else 0.0

    def lines(self) -> list[str]:
        """Return the proof in sentences, with the violations one by one."""
        audit = self.audit
        broken = {violation.bead for violation in audit.violations}
        owners = "no bead had two owners" if self.holds else f"{len(broken)} with a violation"
        found = [f"  {each.code}: {each.bead} in {each.commit[:10]}: {each.text}" for each in audit.violations]
        return [
            f"Read from the git history of the hub ({audit.commits} commits, tip {audit.tip[:7]}):",
            f"  {self.beads} beads, {self.done} done; {audit.claims} claims; {owners}",
            f"  {audit.pushes} pushes for claims and closes, {self.pushes_per_claim} for each claim",
            *found,
        ]

    def as_json(self) -> dict[str, Any]:
        audit = self.audit
        return {
            "commits": audit.commits,
            "beads": self.beads,
            "done": self.done,
            "claims": audit.claims,
            "doubles": len({violation.bead for violation in audit.violations}),
            "pushes": audit.pushes,
            "pushes_per_claim": self.pushes_per_claim,
            "violations": [violation.as_json() for violation in audit.violations],
            "verified": self.holds,
        }


def prove(repo: GitRepo, branch: str) -> Proof:
    """Read and judge the branch's whole history. Raises NoHub if there is no such branch."""
    tip = repo.ref(branch)
    if tip is None:
        raise NoHub(f"there is no branch {branch.removeprefix('refs/heads/')} here")
    statuses = _statuses(repo, tip)
    done = sum(status in DONE_STATUSES for status in statuses.values())
    return Proof(examine(repo, tip), len(statuses), done)


def _statuses(repo: GitRepo, tip: str) -> dict[str, str]:
    """Return the status of every bead at a commit; one with an unreadable file is not done."""
    files = [(bead_id_of(entry.path), entry.oid or "") for entry in entries_of(repo, None, tip, BEADS_DIR)]
    known = [(bead_id, oid) for bead_id, oid in files if bead_id]
    contents = repo.objects.read_many([oid for _, oid in known])
    found: dict[str, str] = {}
    for (bead_id, _), data in zip(known, contents, strict=True):
        try:
            found[bead_id] = codec.parse(data or b"", BEAD_FIELDS).fields.get("status", "open")
        except codec.Unreadable:
            found[bead_id] = "unreadable"
    return found
