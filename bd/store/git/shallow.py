"""Shallow clones: fetches more history where it is needed to tell what is new.

replay.py decides when it is needed.
"""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.store.git.repository import FETCH_FLAGS

if TYPE_CHECKING:
    from bd.store.git.repository import GitRepo

_DEPTHS = (("--deepen", "100"), ("--deepen", "2500"), ("--unshallow",))


def join(repo: GitRepo, remote: str, branch: str, base: str, tip: str) -> None:
    """Fetch history until the branch's `base` and `tip` have a common commit, or there is no more.

    Without it, everything that the clone ever had would count as unpublished after a `git fetch --depth 1`.
    """
    for depth in _DEPTHS:
        if not repo.is_shallow or repo.run("merge-base", base, tip, check=False)[1].strip():
            return
        repo.run("fetch", "--quiet", *FETCH_FLAGS, *depth, "--end-of-options", remote, branch, check=False)
