"""`python -m tests.versions.make --old CHECKOUT`: make the fixtures of 0.9.0 anew, with the bd of a checkout of that version."""

from __future__ import annotations

import argparse
import gzip
import io
import json
import os
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from tests.sealing import sealed_environment
from tests.versions.states import BEADS, STATES

if TYPE_CHECKING:
    from tests.versions.states import State, Step

FIXTURES = Path(__file__).with_name("fixtures-0.9.0")
# When everything happens in them: behind every machine that reads them.
MADE_AT = datetime(2026, 2, 21, 15, 0, tzinfo=UTC)
_CONFIRMED = "0.9.0"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.versions.make", description=__doc__)
    parser.add_argument("--old", required=True, metavar="CHECKOUT", help="git worktree add CHECKOUT v0.9.0")
    parser.add_argument("names", nargs="*", metavar="STATE", help="only these")
    asked = parser.parse_args()
    FIXTURES.mkdir(exist_ok=True)
    for name in asked.names or STATES:
        folder = Path(tempfile.mkdtemp(prefix="bd-state-"))
        try:
            Maker(folder, asked.old).make(STATES[name])
            _pack(folder / "yard", FIXTURES / f"{name}.tar.gz")
        finally:
            shutil.rmtree(folder)
        print(name)
    return 0


class Maker:
    """One state in the making, in a folder of its own."""

    def __init__(self, folder: Path, old: str) -> None:
        self._yard = folder / "yard"
        self._clone = self._yard / "clone"
        self._tools = folder / "tools"
        self._tools.mkdir()
        offset_s = int(MADE_AT.timestamp() - time.time())
        stamp = f"{int(MADE_AT.timestamp())} +0000"
        # 0.9.0 notes what every file of git's settings says: none of them is this machine's.
        more = {
            "GIT_CONFIG_SYSTEM": os.devnull,
            "PYTHONPATH": str(Path(old).resolve()),
            "BD_CLOCK_OFFSET_S": str(offset_s),
            "BD_RETRY_TIME": "1",
            "BD_SESSION": "old",
        }
        self._env = {
            **sealed_environment(folder / "home"),
            **more,
            "GIT_AUTHOR_DATE": stamp,
            "GIT_COMMITTER_DATE": stamp,
            "YARD": str(self._yard),
        }

    def make(self, state: State) -> None:
        """Play a state's steps on a hub with three beads, of which coder holds one."""
        self._clone.mkdir(parents=True)
        if self._bd("version").split()[2] != _CONFIRMED:
            raise SystemExit(f"the checkout is not of {_CONFIRMED}: {self._bd('version')}")
        if state.has_remote:
            self._run(["git", "init", "--quiet", "--bare", "../hub.git"])
        self._bd(f"init . --prefix hub{' --remote ../hub.git' if state.has_remote else ''}")
        for bead_id in BEADS:
            self._bd(f"create 'Do {bead_id}' --id {bead_id} --agent chief")
        self._bd("claim hub-mine --agent coder")
        for step in state.steps:
            self._play(step)
        found = [json.loads(path.read_text())["state"] for path in (self._clone / ".git" / "bd" / "journal").glob("*.json")]
        if found != [state.journal] * bool(state.journal):
            raise SystemExit(f"{state}: the journal has {found}")

    def _bd(self, typed: str) -> str:
        return self._run([sys.executable, "-m", "bd", *shlex.split(typed)])

    def _play(self, step: Step) -> None:
        more = {"BD_TEST_STOP_AT": step.stop_at} if step.stop_at else {}
        if step.push:
            wrapper = self._tools / "git"
            real = shutil.which("git")
            wrapper.write_text(
                f'#!/bin/sh\nreal={real}\nfor word in "$@"; do [ "$word" = push ] && {{ {step.push}; }}; done\nexec "$real" "$@"\n'
            )
            wrapper.chmod(0o755)
            more["PATH"] = f"{self._tools}{os.pathsep}{os.environ['PATH']}"
        shell = step.typed.removeprefix("sh:")
        words = ["sh", "-ec", shell] if shell != step.typed else [sys.executable, "-m", "bd", *shlex.split(step.typed)]
        self._run(words, step.code, **more)

    def _run(self, words: list[str], code: int = 0, **more: str) -> str:
        done = subprocess.run(words, cwd=self._clone, env={**self._env, **more}, capture_output=True, text=True)
        if done.returncode != code:
            raise SystemExit(f"{words}: exit {done.returncode}, not {code}\n{done.stdout}{done.stderr}")
        return done.stdout


def _pack(folder: Path, path: Path) -> None:
    """All files in the order of their names, without what only differs from one making to the next: owners, and times."""
    text = io.BytesIO()
    with tarfile.open(fileobj=text, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for file in sorted(folder.rglob("*")):
            place = str(file.relative_to(folder))
            if "/hooks" in place or place.endswith(("/info/exclude", "/description")):
                continue
            info = tar.gettarinfo(file, place)
            info.uid = info.gid = 0
            info.uname = info.gname = ""
            info.mtime = int(MADE_AT.timestamp())
            if file.is_file():
                with file.open("rb") as content:
                    tar.addfile(info, content)
            else:
                tar.addfile(info)
    with path.open("wb") as target, gzip.GzipFile(filename="", fileobj=target, mode="wb", mtime=0) as packed:
        packed.write(text.getvalue())


if __name__ == "__main__":
    sys.exit(main())
