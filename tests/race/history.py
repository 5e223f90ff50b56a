"""What must hold in a hub's history, commit by commit, read with git (docs/protocol.md, "What must hold").

Written without bd's own audit, so that the two can disagree. Belongs here: questions about a
whole history. Questions about the tip stand in tests/truth.py.
"""

from __future__ import annotations

import subprocess
from collections import Counter
from typing import TYPE_CHECKING

from bd.model import Bead
from bd.store import codec
from tests.truth import commits, git

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from bd.model import Claim

_READ: dict[str, Bead] = {}


def beads_at(repository: Path, commit: str) -> dict[str, Bead]:
    """Every bead of a commit by id, each content parsed once."""
    found = {}
    for line in git(repository, "ls-tree", commit, "beads/").splitlines():
        meta, path = line.split("\t")
        if meta.split()[1] != "blob":  # the archive: what is in it is held by nobody
            continue
        oid, bead_id = meta.split()[2], path.removeprefix("beads/").removesuffix(".yaml")
        if oid not in _READ:
            data = subprocess.run(["git", "-C", str(repository), "cat-file", "blob", oid], capture_output=True, check=True).stdout
            _READ[oid] = Bead(codec.parse_bead(data, bead_id).fields)
        found[bead_id] = _READ[oid]
    return found


def states(repository: Path) -> Iterator[dict[str, Bead]]:
    """The hub as it was at each commit of the branch, oldest first."""
    return (beads_at(repository, commit) for commit in commits(repository))


def assert_one_owner(repository: Path) -> None:
    """A claim follows another only over a commit at which the bead was free, and two exclusive ones never overlap.

    An agent that resumes its own attempt under a new token is no second owner.
    """
    before: dict[str, Claim] = {}
    for state in states(repository):
        held = {bead_id: bead.claim for bead_id, bead in state.items() if bead.claim}
        for bead_id, claim in held.items():
            last = before.get(bead_id, claim)
            assert (last.agent, last.attempt) == (claim.agent, claim.attempt), (
                f"{bead_id} went from one claim straight to another"
            )
            assert state[bead_id].status in ("in_progress", "validating"), f"{bead_id} is held and {state[bead_id].status}"
        names = Counter(state[bead_id].get("exclusive") for bead_id in held)
        assert not [name for name, count in names.items() if name and count > 1], f"exclusive beads held together: {names}"
        before = held


def most_held(repository: Path, agent: str) -> int:
    """The most beads that an agent held at one commit."""
    return max(sum(1 for bead in state.values() if bead.claim and bead.claim.agent == agent) for state in states(repository))


def subjects(repository: Path, verb: str, branch: str = "main") -> list[str]:
    """The subjects of the commits of a verb, oldest first."""
    lines = git(repository, "log", "--reverse", "--format=%s", f"refs/heads/{branch}").splitlines()
    return [line for line in lines if line.startswith(f"{verb}:")]


def operations(repository: Path, branch: str = "main") -> list[str]:
    """The uid of every operation that took effect, oldest first."""
    out = git(repository, "log", "--reverse", "--format=%(trailers:key=Bd-Uid,valueonly)", f"refs/heads/{branch}")
    return out.split()


def assert_nothing_twice(repository: Path, branch: str = "main") -> None:
    """No operation took effect twice."""
    doubled = [uid for uid, count in Counter(operations(repository, branch)).items() if count > 1]
    assert not doubled, f"carried out twice: {doubled}"
