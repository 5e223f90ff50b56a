"""Workspaces of a large code repository: a fetch and a clone that borrows objects, against git's own worktree."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from typing import TYPE_CHECKING
from unittest.mock import patch

from bd.cli.runtime import SystemRuntime
from bd.core.code_repos import Repo
from bd.repos.cache import Cache
from bd.repos.workspace import Workspace, make, workspaces_folder
from bench.rows import Ratio
from bench.stopwatch import Times

if TYPE_CHECKING:
    from pathlib import Path

    from bench.machine import Machine
    from bench.rows import Row

TITLE = "a workspace of a repository with 50,000 files, against git worktree add"
FILES, QUICK, LIMIT = 50_000, 2000, 1.3
_ROUNDS = 7


def measure(machine: Machine) -> list[Row]:
    """Make workspaces and worktrees in turns; the first of each fills the caches."""
    files = QUICK if machine.quick else FILES
    code, folder = _repository(machine, files), machine.folder / "work"
    entry, ours, theirs = Repo("large", str(code), "main"), [], []
    with patch.dict(os.environ, {**machine.environment, "XDG_STATE_HOME": str(machine.folder / "state")}):
        cache = Cache(entry, SystemRuntime())
        for number in range(machine.rounds(_ROUNDS) + 1):
            began = time.perf_counter()
            made = _workspace(cache, entry, number)
            ours.append((time.perf_counter() - began) * 1000)
            began = time.perf_counter()
            machine.run(["git", "-C", str(code), "worktree", "add", "-q", "-b", f"b{number}", str(folder), "main"])
            theirs.append((time.perf_counter() - began) * 1000)
            shutil.rmtree(made)
            machine.run(["git", "-C", str(code), "worktree", "remove", "--force", str(folder)])
    return [Ratio(f"the next workspace, {files:,} files", Times((*ours[1:],)), Times((*theirs[1:],)), LIMIT, "git worktree add")]


def _workspace(cache: Cache, entry: Repo, number: int) -> str:
    folder = os.path.join(workspaces_folder(), "bench", entry.name, f"hub-{number}")
    record = Workspace("bench", entry.name, f"hub-{number}", None, folder, f"agents/hub-{number}", "main", "a", "t", 1, entry.url)
    cache.fetch()
    return make(record, entry, cache, [])[0].folder


def _repository(machine: Machine, files: int) -> Path:
    """A bare repository with one commit of that many small files, a hundred in a folder."""
    code = machine.folder / "large.git"
    machine.run(["git", "init", "-q", "--bare", str(code)])
    stream = ["commit refs/heads/main", "committer Ada <ada@example.org> 1767225600 +0000", "data 5", "files"]
    for number in range(files):
        text = f"line {number}\n" * 20
        stream += [f"M 644 inline d{number // 100}/f{number}", f"data {len(text)}", text]
    subprocess.run(["git", "-C", str(code), "fast-import", "--quiet"], input="\n".join([*stream, ""]).encode(), check=True)
    return code
