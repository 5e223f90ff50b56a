"""What is started for a claimed bead: the words of the command, its folder, environment and stdin, and what reads its output.

A job runs a Start and knows nothing of where it comes from.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from bd.core import files
from bd.processes.environment import passed_on
from bd.processes.sandbox import wrapped
from bd.worker import drain
from bd.worker.output import PlainOutput

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from bd.brief.brief import Brief
    from bd.core.model import Bead
    from bd.worker.job import Command
    from bd.worker.job_workspace import JobWorkspace
    from bd.worker.output import Output

RESULT, DOUBT = "result.json", "doubt"


class Start(NamedTuple):
    """One start of a command.

    `files` is the folder of the attempt's own files (0700); `stdin` the path of a file, `log` that of the full output. `limit_s`
    is how long it may take. `commits` returns the number of commits that it made; None if nobody counts them. `workspace` is
    prepared first, if there is one; `folder` exists only then.
    """

    words: Sequence[str]
    folder: str
    environment: Mapping[str, str]
    stdin: str | None
    output: Output
    files: str
    log: str = os.devnull
    limit_s: float | None = None
    commits: Callable[[], int | None] = lambda: None
    workspace: JobWorkspace | None = None


class Program(NamedTuple):
    """What the coding agent of a worker adds to a start: its words, variables, and what reads its output."""

    words: Sequence[str]
    environment: Mapping[str, str]
    output: Output


def start_of(
    bead: Bead,
    shown: Mapping[str, Any],
    brief: Brief,
    command: Command,
    folder: str,
    model: str,
    program: Program | None = None,
    workspace: JobWorkspace | None = None,
) -> Start:
    """Return what to start for a claimed bead, and write the files that it reads. `shown` is the bead as JSON.

    `folder` is where the files go; `program` is a coding agent to start instead of the command's own words. Raises OSError.
    """
    os.makedirs(folder, mode=0o700, exist_ok=True)
    bead_file = written(folder, "bead.json", json.dumps(shown, indent=2, ensure_ascii=False) + "\n")
    brief_file = written(folder, "brief", brief.text)
    claim = bead.get("claim")
    environment = {
        **passed_on(os.environ, command.environment),
        **drain.environment(),
        **(program.environment if program else {}),
        "BD_AGENT": claim["agent"],
        "BD_BEAD_ID": bead.id,
        "BD_TOKEN": claim["token"],
        "BD_ATTEMPT": str(claim.get("attempt", 1)),
        "BD_MODEL": model,
        "BD_BEAD_FILE": bead_file,
        "BD_BRIEF_FILE": brief_file,
        "BD_RESULT_FILE": os.path.join(folder, RESULT),
        "BD_DOUBT_FILE": os.path.join(folder, DOUBT),
        **(workspace.variables if workspace else {}),
    }
    words = command.words
    if workspace is not None:
        words = [*(_from(command.folder, word) for word in words[:1]), *words[1:]]
        workspace.environment = environment
        workspace.write_brief = lambda text: written(folder, "brief", text)
    stdin = brief_file if command.prompt_on_stdin else None
    words, output = (program.words, program.output) if program else (words, PlainOutput())
    where = workspace.folder if workspace else command.folder
    commits = workspace.commits if workspace else _nobody_counts
    words = wrapped(words, command.sandbox, where, folder)
    return Start(words, where, environment, stdin, output, folder, commits=commits, workspace=workspace)


def _nobody_counts() -> None:
    return None


def _from(folder: str, program: str) -> str:
    """Return the path of a program that was named by a path relative to the folder."""
    path = os.path.join(folder, program)
    return os.path.abspath(path) if os.sep in program and os.path.exists(path) else program


def written(folder: str, name: str, text: str) -> str:
    """Write a file that only this user may read. Returns its path."""
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8", opener=files.private) as file:
        file.write(text)
    return path
