"""Which files a fresh clone writes out: all, or, of a hub with a large archive, all but the archive.

Git goes through the whole index at every move of the checkout. What lies in the archive is read from git's objects as
everything else is; a sparse index holds it as one entry. Only `bd clone` does this, in the clone it is making.
"""

from __future__ import annotations

import os

from bd.core.schema import ARCHIVE_DIR, BEADS_DIR, CAPACITY_DIR
from bd.store.git.repository import GitRepo

# A hub with fewer files in its archive is written out whole.
LIMIT = 3000
# Writing out many files takes its time.
_LONGEST_S = 3600.0
# What else a branch holds is not bd's to leave out: then everything is written.
_FOLDERS = (".beads/", CAPACITY_DIR, "artifacts/")
_SETTINGS = ("core.sparseCheckout", "core.sparseCheckoutCone", "index.sparse")


def write_out(repo: GitRepo) -> int:
    """Write the files of a clone that was made without any; how many files of the archive are left out."""
    if not repo.work_tree or repo.run("rev-parse", "--quiet", "--verify", "HEAD^{tree}", check=False)[0]:
        return 0
    archived = repo.run("ls-tree", "-r", "--name-only", "HEAD", "--", ARCHIVE_DIR)[1].count(b"\n")
    left_out = archived if archived > LIMIT and _is_only_a_hub(repo) else 0
    if left_out:
        _leave_out_archive(repo)
    GitRepo(repo.git_dir, repo.common_dir, repo.work_tree, timeout_s=_LONGEST_S).run("checkout", "--quiet")
    return left_out


def _is_only_a_hub(repo: GitRepo) -> bool:
    found = repo.run("ls-tree", "-d", "--name-only", "HEAD")[1].decode("utf-8", "replace").splitlines()
    return {f"{name}/" for name in found} <= {BEADS_DIR, *_FOLDERS}


def _leave_out_archive(repo: GitRepo) -> None:
    """As `git sparse-checkout set --cone` does it: the top, what lies directly in beads/, and the small folders whole."""
    lines = ["/*", "!/*/", f"/{BEADS_DIR}", f"!/{BEADS_DIR}*/", *(f"/{folder}" for folder in _FOLDERS)]
    folder = os.path.join(repo.git_dir, "info")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "sparse-checkout"), "w", encoding="utf-8") as file:
        file.write("\n".join([*lines, ""]))
    for name in _SETTINGS:
        repo.run("config", name, "true")
