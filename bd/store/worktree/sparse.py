"""Sparse checkout of a fresh clone: all files, or all but the archive if that is large.

Git reads the whole index whenever the checkout moves. Archived beads are read from git's objects like everything else, and a
sparse index holds the archive as one entry. Only `bd clone` does this, in the clone it makes.
"""

from __future__ import annotations

import os

from bd import TYPE_CHECKING
from bd.core.schema import ARCHIVE_DIR, BEADS_DIR, CAPACITY_DIR
from bd.store.git.repository import disk_error

if TYPE_CHECKING:
    from bd.store.git.repository import GitRepo

# Up to this many files, an archive is checked out.
LIMIT = 3000
# If the branch holds anything else, it is not bd's to leave out, and everything is written.
_FOLDERS = (".beads/", CAPACITY_DIR, "artifacts/")
_SETTINGS = ("core.sparseCheckout", "core.sparseCheckoutCone", "index.sparse")


def write_out(repo: GitRepo) -> int:
    """Check out the files of a clone made without any. Return how many files of the archive are left out.

    Raises TryAgain if this machine can't write them, Damaged if git refuses to.
    """
    if not repo.work_tree or repo.run("rev-parse", "--quiet", "--verify", "HEAD^{tree}", check=False)[0]:
        return 0
    archived = repo.run("ls-tree", "-r", "--name-only", "HEAD", "--", ARCHIVE_DIR)[1].count(b"\n")
    left_out = archived if archived > LIMIT and _is_only_a_hub(repo) else 0
    if left_out:
        _leave_out_archive(repo)
    code, _, words = repo.run("checkout", "--progress", check=False)
    if code:
        raise disk_error(words)
    return left_out


def _is_only_a_hub(repo: GitRepo) -> bool:
    found = repo.run("ls-tree", "-d", "--name-only", "HEAD")[1].decode("utf-8", "replace").splitlines()
    return {f"{name}/" for name in found} <= {BEADS_DIR, *_FOLDERS}


def _leave_out_archive(repo: GitRepo) -> None:
    """Leave out the archive like `git sparse-checkout set --cone`: keep the top level, beads/ itself, and the small folders."""
    lines = ["/*", "!/*/", f"/{BEADS_DIR}", f"!/{BEADS_DIR}*/", *(f"/{folder}" for folder in _FOLDERS)]
    folder = os.path.join(repo.git_dir, "info")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "sparse-checkout"), "w", encoding="utf-8") as file:
        file.write("\n".join([*lines, ""]))
    for name in _SETTINGS:
        repo.run("config", name, "true")
