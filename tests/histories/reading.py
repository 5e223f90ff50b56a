"""A hub's commits, read from the server's objects alone: what each of them said it was, and the beads as it left them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bd.core.model import Bead
from bd.store.git import commit_message
from bd.store.yaml import codec
from tests.torture.reading import Commit

if TYPE_CHECKING:
    from bd.store.memory.repository import MemoryRepository


def history(repository: MemoryRepository, tip: str) -> list[Commit]:
    """Return the commits up to a tip, oldest first."""
    parsed: dict[tuple[str, str], Bead | None] = {}
    found: list[Commit] = []
    beads: dict[str, Bead] = {}
    before: str | None = None
    for commit in repository.commits_between(None, tip):
        text = repository.objects.known(commit).partition(b"\n\n")[2].decode()
        beads, torn = dict(beads), []
        for entry in repository.diff(before, commit, "beads"):
            bead_id = entry.path.rpartition("/")[2].removesuffix(".yaml")
            if entry.oid is None:
                beads.pop(bead_id, None)
                continue
            key = bead_id, entry.oid
            if key not in parsed:
                parsed[key] = _parsed(repository.objects.known(entry.oid), bead_id)
            bead = parsed[key]
            if bead is None:
                torn.append(entry.path)
            else:
                beads[bead_id] = bead
        told = commit_message.parse(text)
        uids, tokens = tuple(told.get("Bd-Uid", ())), frozenset(told.get("Bd-Token", ()))
        found.append(Commit(commit, text.partition("\n")[0], uids, beads, tuple(torn), tokens))
        before = commit
    return found


def _parsed(data: bytes, bead_id: str) -> Bead | None:
    try:
        return Bead(codec.parse_bead(data, bead_id).fields)
    except Exception:
        return None
