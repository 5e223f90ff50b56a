"""The line between clients and hub: what goes over it is counted, and it can be made slow on either side.

Belongs here: a `git` that stands before the real one on PATH, and the hub's receiving hook. Pushes are counted where
they are started, so that refused ones count: the server's hooks hear only of those it accepts.
"""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

    from bench.machine import Machine

# One line a call: who, the verb, and whether a push moves the branch. A short append to a file is not torn.
_WRAPPER = """\
#!/bin/sh
for word in "$@"; do
  case "$word" in
    push)
      case "$*" in *:refs/heads/* | *HEAD:main*) where=branch;; *) where=beside;; esac
      echo "$BENCH_WHO push $where" >> "$BENCH_CALLS"; break;;
    fetch | ls-remote) echo "$BENCH_WHO $word" >> "$BENCH_CALLS"; break;;
    *) word=;;
  esac
done
[ -z "$word" ] || [ -z "$BENCH_LINE_S" ] || sleep "$BENCH_LINE_S"
exec {git} "$@"
"""
_HOOK = "#!/bin/sh\nsleep {seconds}\n"


class Calls(NamedTuple):
    """The calls of a stretch: pushes by what they move, and looks (fetches and listings)."""

    pushes: int
    on_branch: int
    beside: int
    looks: int

    def per(self, number: int) -> float:
        """Pushes for each of so many."""
        return self.pushes / max(1, number)


class Line:
    """A counted line. `environment` is what a client that uses it gets on top of its own."""

    def __init__(self, machine: Machine) -> None:
        folder = machine.fresh("line").parent
        git = shutil.which("git", path=machine.environment["PATH"])
        self._calls = folder / "calls"
        self._calls.touch()
        wrapper = folder / "bin" / "git"
        wrapper.parent.mkdir()
        wrapper.write_text(_WRAPPER.format(git=git))
        wrapper.chmod(0o755)
        path = f"{wrapper.parent}{os.pathsep}{machine.environment['PATH']}"
        self.environment = {"PATH": path, "BENCH_CALLS": str(self._calls), "BENCH_WHO": "-", "BENCH_LINE_S": ""}

    def of(self, who: str, *, slow_s: float = 0.0) -> dict[str, str]:
        """The environment of one client; each connection of a slow one waits first."""
        return {**self.environment, "BENCH_WHO": who, "BENCH_LINE_S": f"{slow_s:g}" if slow_s else ""}

    def drain(self, who: str | None = None) -> Calls:
        """What went over the line since the last time it was asked."""
        lines = [line.split() for line in self._calls.read_text().splitlines()]
        self._calls.write_text("")
        lines = [words for words in lines if who in (None, words[0])]
        pushes = [words[2] for words in lines if words[1] == "push"]
        return Calls(len(pushes), pushes.count("branch"), pushes.count("beside"), len(lines) - len(pushes))


def delay_pushes(bare: Path, seconds: float) -> None:
    """From now on the hub takes so long over each push that reaches it."""
    hook = bare / "hooks" / "pre-receive"
    hook.unlink(missing_ok=True)
    if seconds:
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(_HOOK.format(seconds=f"{seconds:g}"))
        hook.chmod(0o755)
