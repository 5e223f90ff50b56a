"""Where the clients are, the hubs they are tried on, and a bd that notes how it is called."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.running import BD, Clone
from tests.truth import git

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

CLIENTS = Path(__file__).parents[2] / ".clients"


class Workspace(NamedTuple):
    """Where a client is started: the folder, what its environment has to say, and bd with a log of its calls."""

    clone: Clone
    environment: dict[str, str]
    bd: Path
    log: Path

    @property
    def path(self) -> Path:
        return self.clone.path

    def calls(self) -> list[str]:
        """The command lines that reached bd, in order."""
        return self.log.read_text(encoding="utf-8").splitlines() if self.log.exists() else []


def noting_bd(folder: Path, program: Sequence[str] = BD) -> tuple[Path, Path]:
    """An executable `bd` that notes each call before it runs the real one, and the log."""
    folder.mkdir()
    log = folder / "calls"
    command = folder / "bd"
    command.write_text(f'#!/bin/sh\nprintf "%s\\n" "$*" >> {log}\nexec {" ".join(program)} "$@"\n')
    command.chmod(0o755)
    return command, log


@pytest.fixture(params=["no remote", "a remote", "a branch of its own"])
def workspace(request: pytest.FixtureRequest, clone: Callable[[str], Clone], local_hub: Clone, tmp_path: Path) -> Workspace:
    """A hub of each kind that a client may meet."""
    bd, log = noting_bd(tmp_path / "bin")
    # The checkout's own bd, not one that is installed, also where a client starts it in a folder of its own.
    environment = {**os.environ, "PATH": f"{bd.parent}{os.pathsep}{os.environ['PATH']}"}
    environment["PYTHONPATH"] = str(Path(__file__).parents[2])
    if request.param == "no remote":
        return Workspace(local_hub, environment, bd, log)
    if request.param == "a remote":
        return Workspace(clone("alice"), environment, bd, log)
    git(tmp_path, "init", "--quiet", "-b", "main", "code")
    code = Clone(tmp_path / "code")
    (code.path / "README").write_text("code\n")
    git(code.path, "add", "README")
    git(code.path, "commit", "--quiet", "-m", "Code")
    code.here("init", "--prefix", "hub", "--branch", "beads")
    return Workspace(code, {**environment, "BEADS_DIR": code.here("where").out.strip()}, bd, log)


def installed(path: str) -> Path:
    """A part of an installed client; skips the test where it is not there."""
    found = CLIENTS / path
    if not found.exists():
        pytest.skip(f"{path} is not installed: `make clients` does it, with a network")
    return found


def node() -> str:
    """Node.js; skips the test without it."""
    found = shutil.which("node")
    if not found:
        pytest.skip("node is not installed")
    return found
