"""Names of branches: which one a bead's commits go to. Pure.

A name depends on nothing but the bead's id and uid, so it never changes, whatever other beads there are. An id that git or a file
system that ignores case could take for another gets the end of the bead's uid.
"""

from __future__ import annotations

import hashlib

PREFIX = "agents/"
_TAIL = 6


def component(bead_id: str, uid: str | None) -> str:
    """Return a bead's id as a part of a ref and as the name of a folder, different for each bead on every file system."""
    if bead_id == bead_id.lower() and not bead_id.endswith(".lock"):
        return bead_id
    tail = (uid or hashlib.sha256(bead_id.encode()).hexdigest())[-_TAIL:].lower()
    return f"{bead_id}-{tail}"


def branch_of(bead_id: str, uid: str | None) -> str:
    """Return the branch of a bead."""
    return f"{PREFIX}{component(bead_id, uid)}"


def attempt_branch(branch: str, attempt: int, number: int = 1) -> str:
    """Return the branch for commits that can't go to the bead's own; `number` counts those of one attempt."""
    return f"{branch}-attempt-{attempt}{f'-{number}' if number > 1 else ''}"


def refusal(branch: str, base: str, hub_branch: str | None) -> str:
    """Return why bd never pushes to a branch; "" if it may. `hub_branch` is the hub's, if it is in the same repository."""
    name = branch.removeprefix("refs/heads/")
    if name.startswith(("refs/", "-")) or not name:
        return "is not a branch"
    if name.casefold() == base.casefold():
        return "is the base"
    if hub_branch is not None and name.casefold() == hub_branch.casefold():
        return "is the hub's branch"
    return ""


def is_in_the_way(existing: str) -> bool:
    """Return whether a branch of a repository leaves no room for those of beads: git keeps no `agents/x` beside `agents`."""
    return existing.casefold() == PREFIX.rstrip("/")
