"""Where transcripts happen: hubs in a folder of their own, a clock that stands still, and the console entry in forked processes."""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import pkgutil
import random
import shlex
import shutil
import subprocess
import sys
import time
import traceback
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from bd.cli import run
from tests.runtime import HookedRuntime
from tests.sealing import sealed_environment
from tests.transcripts.plain import Plain

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ROOT = Path(__file__).parents[2]
START = datetime(2026, 2, 21, 15, 0, tzinfo=UTC)
NEXT = " ;; "
IN_JSON = "--json"
# Where programs are looked for: what `bd schedule` notes is not to depend on where the tests run.
PROGRAMS = os.pathsep.join(
    [
        str(Path(sys.executable).parent),
        *dict.fromkeys(str(Path(found).parent) for found in map(shutil.which, ("git", "sh")) if found),
    ]
)


class Hub(NamedTuple):
    """A hub to play on: how it is made, line by line, and the cases, each on a copy of its own.

    A line's steps stand between `;;`. A step is what is typed behind `bd`; `sh:` begins a line of shell, `NAME=value` goes into
    the environment, and what stands behind ` << ` is typed into it. A case's last step is
    played once more with `--json`, unless the case begins with `~` or was mistyped. `where` is the folder to type in; `branch` the repository in which `+` lines are
    looked for.
    """

    story: str
    cases: str
    where: str = "hub"
    branch: str = "hub"


class Answer(NamedTuple):
    """How one step ended."""

    code: int
    out: str
    err: str


def environment(home: Path) -> dict[str, str]:
    """The sealed environment, and what else an answer may depend on."""
    found = {name: value for name, value in sealed_environment(home).items() if name not in ("CI", "PICTURES", "PYTHONPATH")}
    return {
        **found,
        "BD_SESSION": "test",
        "COLUMNS": "100",
        "LINES": "40",
        "TZ": "UTC",
        "USER": "person",
        "LOGNAME": "person",
        "PATH": PROGRAMS,
    }


class Stage:
    """Plays the cases of hubs below `folder`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._steps = 0
        load_bd()

    def play(self, hub: Hub) -> str:
        """The whole transcript."""
        model, yard = self._folder / "model", self._folder / "yard"
        (yard / hub.where).mkdir(parents=True)
        self._steps = 0
        for line in _lines(hub.story):
            for step in line.split(NEXT):
                answer = self._run(step, yard, hub.where)
                if answer.code:
                    raise SystemExit(f"{step}: exit {answer.code}\n{answer.out}{answer.err}")
        yard.rename(model)
        for sample in model.rglob("*.sample"):  # most of the files that each case would copy
            sample.unlink()
        after, parts = self._steps, []
        for line in _lines(hub.cases):
            self._steps = after
            parts.append(self._case(hub, line.removeprefix("~"), text_only=line.startswith("~")))
        shutil.rmtree(model)
        for folder in (yard, self._folder / "again"):
            shutil.rmtree(folder, ignore_errors=True)
        return "\n".join(parts)

    def _case(self, hub: Hub, case: str, *, text_only: bool) -> str:
        """The case as text and, from where its last step began, that step as JSON."""
        yard, again = self._folder / "yard", self._folder / "again"
        plain = Plain(
            {str(yard): "<folder>", str(self._folder / "home"): "<home>", str(ROOT): "<source>", PROGRAMS: "<programs>"}, case
        )
        _copy(self._folder / "model", yard)  # where the story was played: its path is noted in clones
        before = _tip(yard / hub.branch)
        *first, last = case.split(NEXT)
        told = [line for step in first for line in self._told(step, yard, hub)]
        number = self._steps
        if first and not text_only:
            _copy(yard, again)
        said = self._told(last, yard, hub)
        told += said
        after = _tip(yard / hub.branch)
        if after not in (before, ""):
            told += _marked("+", _written(yard / hub.branch, before, after))
        if not text_only and said[-1] != "= 2":  # what is mistyped is told by one place, with --json too
            _copy(again if first else self._folder / "model", yard)
            self._steps = number
            told += self._told(f"{last} {IN_JSON}" if " << " not in last else last.replace(" << ", f" {IN_JSON} << "), yard, hub)
        return plain.of("".join(f"{line}\n" for line in told))

    def _told(self, step: str, yard: Path, hub: Hub) -> list[str]:
        answer = self._run(step, yard, hub.where)
        told = [f"$ {step}", *_marked("|", answer.out), *_marked("!", answer.err)]
        return [*told, f"= {answer.code}"] if answer.code else told

    def _run(self, step: str, yard: Path, where: str) -> Answer:
        self._steps += 1
        step, _, typed = step.partition(" << ")
        if step.startswith("sh:"):
            return self._shell(step.removeprefix("sh:"), yard / where)
        words = shlex.split(step)
        more = {}
        while words and words[0].partition("=")[0].isupper() and "=" in words[0]:
            name, _, more[name] = words.pop(0).partition("=")
        typing, out, err = (self._folder / name for name in ("stdin", "stdout", "stderr"))
        typing.write_text(typed.replace("\\n", "\n"), encoding="utf-8")
        streams = [os.open(typing, os.O_RDONLY), *(os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC) for path in (out, err))]
        child = os.fork()
        if not child:
            _live(words, yard / where, more, streams, self._now, self._steps)
        for stream in streams:
            os.close(stream)
        _, status = os.waitpid(child, 0)
        return Answer(os.waitstatus_to_exitcode(status), *(path.read_text(encoding="utf-8") for path in (out, err)))

    def _shell(self, line: str, where: Path) -> Answer:
        when = f"{int(self._now.timestamp())} +0000"
        env = {**os.environ, "GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when, "SOURCE": str(ROOT)}
        done = subprocess.run(["sh", "-ec", line], cwd=where, env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        return Answer(done.returncode, done.stdout, done.stderr)

    @property
    def _now(self) -> datetime:
        """The clock moves a minute with each step, and stands still within it."""
        return START + timedelta(minutes=self._steps)


def load_bd() -> None:
    """Import all of bd, whatever its modules are called, so that what is forked has it."""
    import bd

    for module in pkgutil.walk_packages(bd.__path__, "bd.", onerror=lambda name: None):
        if not module.name.endswith("__main__") and ".examples" not in module.name:
            with contextlib.suppress(ImportError):  # of an extra that is not installed
                importlib.import_module(module.name)
    gc.collect()
    gc.freeze()  # else each child copies what its collector only looks at


def _live(
    words: Sequence[str], where: Path, more: Mapping[str, str], streams: Sequence[int], now: datetime, number: int
) -> NoReturn:
    """In the child: type the words at the console entry."""
    code = 99
    try:
        os.chdir(where)
        os.environ.update(more)
        for target, stream in enumerate(streams):
            os.dup2(stream, target)
        sys.argv = ["bd", *words]
        run(stand_still(now, number))
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(code)


class Still(HookedRuntime):
    """A clock that stands still."""

    def __init__(self, now: datetime) -> None:
        self._now = now

    def now(self) -> datetime:
        return self._now

    def uptime(self) -> float:
        return 1_000_000 + (self._now - START).total_seconds()


def stand_still(now: datetime, number: int) -> Still:
    """Stop the clock, and let what is random be the next number: names come in the order in which they were made."""
    random.seed(number)
    made = 0

    def next_number(size: int) -> bytes:
        nonlocal made
        made += 1
        head = ((number * 64 + made) << 44 | made).to_bytes(8, "big")
        return head[:size].ljust(size, b"\x5a")

    os.urandom = next_number
    time.time = now.timestamp
    return Still(now)


def _copy(source: Path, target: Path) -> None:
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target, symlinks=True, copy_function=_copy_file)


def _copy_file(source: str, target: str) -> None:
    """Git's objects never change: a second name for them is a copy."""
    if f"{os.sep}objects{os.sep}" in source:
        os.link(source, target)
    else:
        shutil.copy2(source, target)


def _lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip() and not line.startswith("#")]


def _marked(mark: str, text: str) -> list[str]:
    lines = text.split("\n")
    rest = lines.pop()
    return [f"{mark} {line}".rstrip() for line in lines] + ([f"{mark} {rest} (and no new line)"] if rest else [])


def _tip(repository: Path) -> str:
    for folder in (".git", ""):
        with contextlib.suppress(OSError):
            return (repository / folder / "refs" / "heads" / "main").read_text().strip()
    return ""


def _written(repository: Path, before: str, after: str) -> str:
    span = f"{before}..{after}" if before else after
    words = ["git", "log", "--reverse", "-p", "-U0", "--no-renames", "--format=commit by %an <%ae>%n%B", span]
    text = subprocess.run(words, cwd=repository, capture_output=True, text=True, check=True).stdout
    return "".join(f"{line}\n" for line in text.splitlines() if line and not line.startswith(("index ", "diff ", "--- ")))
