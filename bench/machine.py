"""Where measurements happen: a scratch folder, a sealed environment, and the programs that are measured."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from bench import hubs, installed

if TYPE_CHECKING:
    from bench.hubs import Hub, Shape

# bd on a Runtime whose clocks can be moved: no installed bd has that.
_ENTRY = Path(__file__).parents[1] / "tests" / "entry.py"
# PYTHONDONTWRITEBYTECODE and its kin would make every start compile bd anew, which no installed bd does.
_CLEARED = ("GIT_", "BD_", "BEADS_", "CLICK_", "PYTHON")


class Machine:
    """One run's scratch folder and environment; `python` and `bd` are those of an installation of their own."""

    def __init__(self, *, quick: bool = False) -> None:
        self.quick = quick
        self.folder = Path(tempfile.mkdtemp(prefix="bd-bench-"))
        python = installed.install(self.folder / "installed")
        self.python = str(python)
        self.bd = [str(python.with_name("bd"))]
        self.how = "installed as its users have it"
        self.environment = self._sealed()
        self._hubs: dict[Shape, Hub] = {}

    def ahead(self, seconds: int) -> list[str]:
        """How to start a bd whose clocks are ahead by that much. For counts, not for speed: it is not the installed one."""
        return [self.python, str(_ENTRY), f"--clock-offset={seconds}", f"--uptime-offset={seconds}", "--"]

    def rounds(self, number: int) -> int:
        """How often to run: fewer times in a smoke test."""
        return 3 if self.quick else number

    def shapes(self, *wanted: Shape) -> list[Shape]:
        """The sizes to measure: a smoke test leaves out the large ones."""
        return [shape for shape in wanted if shape.beads <= hubs.MIDDLE.beads] if self.quick else list(wanted)

    def hub(self, shape: Shape) -> Hub:
        """The hub of a shape, made once a run. Nobody writes to it: writers work on copies."""
        if shape not in self._hubs:
            self._hubs[shape] = hubs.make(self, shape)
        return self._hubs[shape]

    def configure(self, key: str, value: str) -> None:
        """Set git's own configuration in the sealed HOME."""
        self.run(["git", "config", "--global", key, value])

    def _sealed(self) -> dict[str, str]:
        """Our own HOME and git settings, nothing of the user's; both sides of a comparison get the same."""
        home = self.folder / "home"
        home.mkdir()
        (home / ".gitconfig").write_text("[user]\n\tname = Ada\n\temail = ada@example.org\n[init]\n\tdefaultBranch = main\n")
        kept = {key: value for key, value in os.environ.items() if not key.startswith(_CLEARED)}
        kept.update(HOME=str(home), GIT_CONFIG_NOSYSTEM="1", LC_ALL="C.UTF-8", NO_COLOR="1", PAGER="cat")
        kept.pop("XDG_CONFIG_HOME", None)
        return kept

    def run(self, argv: list[str], *, cwd: Path | None = None, exits: tuple[int, ...] = (0,), **more: str) -> str:
        """Run a program that must end in one of these ways; its output. `more` goes into the environment."""
        done = subprocess.run(
            argv, cwd=cwd, env={**self.environment, **more}, capture_output=True, text=True, stdin=subprocess.DEVNULL
        )
        if done.returncode not in exits:
            raise SystemExit(f"{' '.join(argv)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        return done.stdout

    def fresh(self, name: str) -> Path:
        """A folder name nobody has used yet."""
        return Path(tempfile.mkdtemp(prefix=f"{name}-", dir=self.folder)) / "clone"

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
