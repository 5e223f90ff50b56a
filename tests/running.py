"""Running bd in tests: the real command in a process of its own, or its entry in this process."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.runtime import PREFIX, RUNTIME

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

BD = (sys.executable, "-m", "bd")
# The same with the clocks and steps of tests (entry.py).
HOOKED = (sys.executable, os.path.join(os.path.dirname(__file__), "entry.py"), "--")


class Result(NamedTuple):
    """How a command ended, and what it printed."""

    args: tuple[str, ...]
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """stdout as the one JSON document it has to be."""
        try:
            return json.loads(self.out)
        except ValueError:
            raise AssertionError(f"stdout is not one JSON document:\n{self}") from None

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    def __str__(self) -> str:
        return f"bd {' '.join(self.args)}: exit {self.code}\n--- stdout\n{self.out}--- stderr\n{self.err}"


def _checked(result: Result, *, check: bool, code: int) -> Result:
    if check and result.code != code:
        raise AssertionError(f"exit {code} was expected\n{result}")
    return result


def run_process(
    *args: str,
    cwd: Path | str,
    input: str | None = None,
    env: Mapping[str, str] | None = None,
    check: bool = True,
    code: int = 0,
) -> Result:
    """Run the real command to its end. `env` adds to the sealed environment; with `check` the exit must be `code`."""
    process = start_process(*args, cwd=cwd, env=env)
    out, err = process.communicate((input or "").encode())
    return _checked(Result(args, process.returncode, out.decode(), err.decode()), check=check, code=code)


def command(env: Mapping[str, str]) -> tuple[str, ...]:
    """How bd is started in this environment: as it is, but for what tests want to move or stop in it."""
    return HOOKED if any(name.startswith(PREFIX) for name in env) else BD


def start_process(*args: str, cwd: Path | str, env: Mapping[str, str] | None = None) -> subprocess.Popen[bytes]:
    """Start the real command and let it run, for races: its streams are pipes, stdin is not a terminal."""
    surroundings = {**os.environ, **(env or {})}
    return subprocess.Popen(
        [*command(surroundings), *args],
        cwd=cwd,
        env=surroundings,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def result_of(process: subprocess.Popen[bytes]) -> Result:
    """Wait for a started command."""
    out, err = process.communicate()
    return Result(tuple(process.args[len(BD) :]), process.returncode, out.decode(), err.decode())


def run_here(
    *args: str,
    cwd: Path | str | None = None,
    input: str | None = None,
    env: Mapping[str, str] | None = None,
    check: bool = True,
    code: int = 0,
) -> Result:
    """Run the command line's entry in this process, with its streams caught: fast, and the fake clock holds."""
    from bd.cli.main import main

    out, err = io.StringIO(), io.StringIO()
    with _surroundings(cwd, env, io.StringIO(input or "")), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        ended = main(args, RUNTIME)
    return _checked(Result(args, ended, out.getvalue(), err.getvalue()), check=check, code=code)


@contextlib.contextmanager
def _surroundings(cwd: Path | str | None, env: Mapping[str, str] | None, stdin: io.StringIO) -> Iterator[None]:
    before, typed = dict(os.environ), sys.stdin
    os.environ.update(env or {})
    sys.stdin = stdin
    try:
        with contextlib.chdir(cwd) if cwd else contextlib.nullcontext():
            yield
    finally:
        sys.stdin = typed
        # Only what has changed: a thread of the test may be reading it at this moment.
        for name in os.environ.keys() - before.keys():
            del os.environ[name]
        os.environ.update({name: value for name, value in before.items() if os.environ.get(name) != value})


class Clone(NamedTuple):
    """A clone of a hub (or a hub without a remote) and the means to run bd in it."""

    path: Path

    def bd(
        self, *args: str, input: str | None = None, env: Mapping[str, str] | None = None, check: bool = True, code: int = 0
    ) -> Result:
        """Run the real command here, in a process of its own."""
        return run_process(*args, cwd=self.path, input=input, env=env, check=check, code=code)

    def start(self, *args: str, env: Mapping[str, str] | None = None) -> subprocess.Popen[bytes]:
        """Start the real command here; `running.result_of` waits for it."""
        return start_process(*args, cwd=self.path, env=env)

    def here(
        self, *args: str, input: str | None = None, env: Mapping[str, str] | None = None, check: bool = True, code: int = 0
    ) -> Result:
        """Run the command's entry in this process, as if typed here."""
        return run_here(*args, cwd=self.path, input=input, env=env, check=check, code=code)
