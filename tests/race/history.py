"""What must hold in a hub's history, commit by commit, read with git (docs/protocol.md, "What must hold").

Written without bd's own audit, so that the two can disagree. Belongs here: questions about a
whole history. Questions about the tip stand in tests/truth.py.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING

from bd.core.model import Bead
from bd.store.yaml import codec
from tests.truth import commits, contents, git

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from bd.core.model import Claim

_READ: dict[str, Bead] = {}


def beads_at(repository: Path, commit: str) -> dict[str, Bead]:
    """Every bead of a commit by id."""
    return _beads_of(repository, [commit])[0]


def states(repository: Path) -> list[dict[str, Bead]]:
    """The hub as it was at each commit of the branch, oldest first."""
    return _beads_of(repository, commits(repository))


def _beads_of(repository: Path, at: Sequence[str]) -> list[dict[str, Bead]]:
    """The beads of each commit by id: all folders are read at once, then all beads, each content parsed once."""
    roots = [_entries(tree) for tree in contents(repository, [f"{commit}^{{tree}}" for commit in at])]
    folders = list(dict.fromkeys(root["beads"] for root in roots if "beads" in root))
    listed = dict(zip(folders, map(_entries, contents(repository, folders)), strict=True))
    # The archive is a folder in it: what is in there is held by nobody.
    files = {oid: name for entries in listed.values() for name, oid in entries.items() if name.endswith(".yaml")}
    new = [oid for oid in files if oid not in _READ]
    for oid, data in zip(new, contents(repository, new), strict=True):
        _READ[oid] = Bead(codec.parse_bead(data, files[oid].removesuffix(".yaml")).fields)
    beads = {
        folder: {name.removesuffix(".yaml"): _READ[oid] for name, oid in entries.items() if oid in files}
        for folder, entries in listed.items()
    }
    return [beads[root["beads"]] if "beads" in root else {} for root in roots]


def _entries(tree: bytes) -> dict[str, str]:
    """The objects in a raw tree by name; a hub's hashes are SHA-1."""
    found = re.findall(rb"[0-7]+ ([^\0]+)\0(.{20})", tree, re.DOTALL)
    return {name.decode(): oid.hex() for name, oid in found}


def assert_one_owner(repository: Path) -> None:
    """A claim follows another only over a commit at which the bead was free, and two exclusive ones never overlap.

    An agent that resumes its own attempt under a new token is no second owner, and a `take` ends one attempt where it begins the next.
    """
    before: dict[str, Claim] = {}
    at = commits(repository)
    taken = set(git(repository, "log", "--format=%H", "--grep=^take: ", at[-1]).split()) if at else set()
    for commit, state in zip(at, _beads_of(repository, at), strict=True):
        held = {bead_id: bead.claim for bead_id, bead in state.items() if bead.claim}
        for bead_id, claim in held.items():
            last = before.get(bead_id, claim)
            is_taken = commit in taken and claim.attempt > last.attempt
            assert is_taken or (last.agent, last.attempt) == (claim.agent, claim.attempt), (
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


def assert_only_added_to(repository: Path, branch: str = "main") -> None:
    """Each commit that the branch was ever at, by its reflog, is an ancestor of the next one."""
    moves = git(repository, "log", "-g", "--format=%H", f"refs/heads/{branch}", check=False).split()
    known = git(repository, "rev-list", "--parents", "--reflog", "--all").splitlines() if moves else []
    parents = {commit: above for commit, *above in map(str.split, known)}
    for newer, older in pairwise(moves):
        reached: set[str] = set()
        todo = [newer]
        while todo and older not in reached:
            commit = todo.pop()
            if commit not in reached:
                reached.add(commit)
                todo += parents[commit]
        assert older in reached, f"the branch went from {older} to {newer}, which is not built upon it"


def assert_nothing_twice(repository: Path, branch: str = "main") -> None:
    """No operation took effect twice."""
    doubled = [uid for uid, count in Counter(operations(repository, branch)).items() if count > 1]
    assert not doubled, f"carried out twice: {doubled}"
