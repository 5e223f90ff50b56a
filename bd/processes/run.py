"""Commands that run to their end: with input, output and a time limit."""

from __future__ import annotations

import os
import subprocess
import tempfile
from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.core.errors import BadInput
from bd.processes.tree import ProcessTree

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import IO

_KEPT = 20_000
# How long a command has to end when bd has died.
_GRACE_S = 5.0


class Ran(NamedTuple):
    """How a command ended, and the end of its output.

    `code` is None if it took too long or was not run. `err` then completes a sentence about the command: "took longer than 5s".
    """

    code: int | None
    out: str
    err: str = ""


def run(
    command: Sequence[str] | str,
    environment: Mapping[str, str],
    limit_s: float,
    *,
    stdin: str = "",
    folder: str | None = None,
    started: Callable[[ProcessTree], None] = lambda _: None,
    kept: int = _KEPT,
    inherited: Mapping[str, str] | None = None,
) -> Ran:
    """Run a command (a text by the shell). After `limit_s` seconds, end it with everything that it started.

    `started` gets its process, to `end` it earlier. The output goes to files, of which only the last `kept` bytes are read, so it
    may be of any length. `environment` is added to what it inherits; unset, that is bd's own environment.
    """
    with tempfile.TemporaryFile() as told, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        told.write(stdin.encode("utf-8", "replace"))
        told.seek(0)
        try:
            process = ProcessTree(
                command,
                grace_s=_GRACE_S,
                cwd=folder,
                env={**(os.environ if inherited is None else inherited), **environment},
                stdin=told,
                stdout=out,
                stderr=err,
            )
        except (OSError, ValueError) as error:
            return Ran(None, "", f"could not be started: {error}")
        try:
            started(process)
            code = process.wait(limit_s)
        except subprocess.TimeoutExpired:
            return Ran(None, "", f"took longer than {limit_s:g}s")
        finally:
            if process.returncode is None:  # also after Ctrl-C, which does not reach another session
                end(process)
        return Ran(code, _words(out, kept), _words(err, kept))


def hand_over(program: str, folder: str, environment: Mapping[str, str]) -> int:
    """Let a person use a program in a folder, on this process's own streams. Return its exit code. Raises BadInput."""
    try:
        return subprocess.call([program], cwd=folder, env=dict(environment))
    except OSError as error:
        raise BadInput(f"can't start {program}: {error.strerror}", hint="check that it is there and may be run") from error


def end(process: ProcessTree) -> None:
    """End a command with everything it started."""
    process.kill()
    process.wait()


def _words(file: IO[bytes], kept: int) -> str:
    file.seek(max(0, file.seek(0, os.SEEK_END) - kept))
    return file.read(kept).decode("utf-8", "replace").strip()
