"""What is started for a claimed bead: the words of the command, its folder, environment and stdin, and what reads its output.

A job runs a Start and knows nothing of where it comes from.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import NamedTuple, Protocol

from bd import TYPE_CHECKING
from bd.brief.brief import brief_of
from bd.brief.verbs import commands
from bd.core import files
from bd.policy import time_limit
from bd.policy.budget import model_of
from bd.worker import attempt_log, drain
from bd.worker.agent_program import program_of
from bd.worker.isolation import isolated
from bd.worker.output import PlainOutput

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from bd.brief.brief import Brief
    from bd.core.model import Bead, Snapshot
    from bd.repos.delivery import Commits
    from bd.store import Clone
    from bd.worker.isolation import Access
    from bd.worker.job import Command
    from bd.worker.job_workspace import JobWorkspace
    from bd.worker.options import Plan
    from bd.worker.output import Output

RESULT, DOUBT = "result.json", "doubt"


class Start(NamedTuple):
    """One start of a command.

    `files` is the folder of the attempt's own files (0700); `stdin` the path of a file, `log` that of the full output. `limit_s`
    is how long it may take. `commits` counts the commits in its workspace; None if nobody counts them. `workspace` is
    prepared first, if there is one; `folder` exists only then. `words_at` returns other words, once its base commit is known.
    `access` is that of an isolated command.
    """

    words: Sequence[str]
    folder: str
    environment: Mapping[str, str]
    stdin: str | None
    output: Output
    files: str
    log: str = os.devnull
    limit_s: float | None = None
    commits: Callable[[], Commits | None] = lambda: None
    workspace: JobWorkspace | None = None
    words_at: Callable[[str], Sequence[str]] | None = None
    access: Access | None = None


class Program(Protocol):
    """What the coding agent of a worker adds to a start: its variables, what reads its output, and its words."""

    @property
    def environment(self) -> Mapping[str, str]: ...

    @property
    def output(self) -> Output: ...

    def words_at(self, base: str) -> Sequence[str]:
        """Return the words, for a workspace that begins from this commit ("" where there is none)."""


def start_for(
    hub: Clone,
    bead: Bead,
    plan: Plan,
    as_json: Callable[[Bead, Snapshot], Mapping[str, Any]],
    files: str,
    workspace: JobWorkspace | None,
    access: Access | None,
) -> Start:
    """Return what a worker starts for a claimed bead; `files` is the folder of the attempt's files. Raises OSError.

    `access` is what an isolated command gets.
    """
    snapshot, command, claim = hub.snapshot(), plan.command, bead.get("claim")
    attempt = claim.get("attempt", 1)
    model = model_of(bead, snapshot.agent(plan.agent), attempt)
    verbs_for = access.verbs if access else commands
    if workspace is not None:
        workspace.verbs_for = verbs_for
    brief = brief_of(bead, snapshot, hub, plan.agent, by_worker=True, verbs_for=verbs_for)
    program = program_of(hub, bead, command, model, files, workspace.folder if workspace else command.folder)
    start = start_of(bead, as_json(bead, snapshot), brief, command, files, model, program, workspace, access)
    limit_s = time_limit.limit_s(bead, command.timeout_s, command.max_duration, is_known_agent=program is not None)
    return start._replace(limit_s=limit_s, log=attempt_log.path_of(hub.place.folder, bead.id, attempt, claim["token"]))


def start_of(
    bead: Bead,
    shown: Mapping[str, Any],
    brief: Brief,
    command: Command,
    folder: str,
    model: str,
    program: Program | None = None,
    workspace: JobWorkspace | None = None,
    access: Access | None = None,
) -> Start:
    """Return what to start for a claimed bead, and write the files that it reads. `shown` is the bead as JSON.

    `folder` is where the files go; `program` is a coding agent to start instead of the command's own words. Raises OSError.
    """
    os.makedirs(folder, mode=0o700, exist_ok=True)
    bead_file = written(folder, "bead.json", json.dumps(shown, indent=2, ensure_ascii=False) + "\n")
    brief_file = written(folder, "brief", brief.text)
    environment = {
        **command.confinement.inherited(),
        **drain.environment(),
        **(program.environment if program else {}),
        **_of_attempt(bead, folder, model),
        "BD_BEAD_FILE": bead_file,
        "BD_BRIEF_FILE": brief_file,
        **(workspace.variables if workspace else {}),
    }
    if access is not None:
        environment = isolated(environment, access)
    words = command.words
    if workspace is not None:
        words = [*(_from(command.folder, word) for word in words[:1]), *words[1:]]
        workspace.environment = environment
        workspace.confine(command.confinement)
        workspace.write_brief = lambda text: written(folder, "brief", text)
    stdin = brief_file if command.prompt_on_stdin else None
    output = program.output if program else PlainOutput()
    where = workspace.folder if workspace else command.folder
    commits = workspace.commits if workspace else _nobody_counts

    def confined(inner: Sequence[str]) -> list[str]:
        return command.confinement.wrapped(inner, where, folder, workspace.mounts if workspace else ((), ()))

    start = Start(words, where, environment, stdin, output, folder, commits=commits, workspace=workspace, access=access)
    if program is None:
        return start._replace(words=confined(words))
    return start._replace(words_at=lambda base: confined(program.words_at(base)))


def _of_attempt(bead: Bead, folder: str, model: str) -> dict[str, str]:
    """Return the variables of the claim and of the files that the command may write."""
    claim = bead.get("claim")
    return {
        "BD_AGENT": claim["agent"],
        "BD_BEAD_ID": bead.id,
        "BD_TOKEN": claim["token"],
        "BD_ATTEMPT": str(claim.get("attempt", 1)),
        "BD_MODEL": model,
        "BD_RESULT_FILE": os.path.join(folder, RESULT),
        "BD_DOUBT_FILE": os.path.join(folder, DOUBT),
    }


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
