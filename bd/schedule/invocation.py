"""A station: how one agent is run on this machine, for whatever starts it.

It has the whole command line with absolute paths, the environment, and the log. crontab.py and systemd_units.py write it down,
interval.py has the times.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.core.errors import BadInput
from bd.core.schema import METADATA_PATH
from bd.schedule.agent_log import log_path

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bd.store import Clone

# They select the hub, the settings and the remote of a command; cron and systemd do not have them.
KEPT_VARIABLES = ("XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "GIT_SSH_COMMAND", "BD_BRANCH", "BD_REMOTE")

_CONTROL = re.compile("[\\x00-\\x1f\\x7f]")
_HUB_ID = re.compile(r"[0-9A-Za-z]{1,64}\Z")


class Station(NamedTuple):
    """`folder` is bd's folder in the clone, `program` starts bd, `command` is the one that works on beads.

    Without one, `bd work` starts the coding agent that the agent's file names.
    """

    agent: str
    hub_id: str
    prefix: str
    clone: str
    folder: str
    program: tuple[str, ...]
    command: tuple[str, ...]
    environment: Mapping[str, str]

    @property
    def key(self) -> str:
        """The key that distinguishes this station's lines and files from all others on this machine."""
        return f"{self.agent} {self.hub_id}"

    @property
    def log(self) -> str:
        return log_path(self.folder, self.agent)

    @property
    def words(self) -> list[str]:
        """The command line that works until no bead fits any more."""
        return [
            *self.program,
            "work",
            "--agent",
            self.agent,
            "--once",
            "-C",
            self.clone,
            *(("--", *self.command) if self.command else ()),
        ]


def station(hub: Clone, agent: str, prefix: str, command: Sequence[str] = ()) -> Station:
    """Return the agent's station on this hub. Raises BadInput if a line can't hold the command."""
    repo = hub.repo
    environment = started_with(os.environ)
    made = Station(
        agent=agent,
        hub_id=hub_id(hub),
        prefix=prefix,
        clone=os.path.abspath(repo.work_tree or repo.git_dir),
        folder=os.path.abspath(hub.place.folder),
        program=program(),
        command=_findable(command),
        environment=environment,
    )
    for text in (*made.words, made.log, *environment.values()):
        if _CONTROL.search(text):
            raise BadInput(f"{text!r} has a line break or another control character", hint="put it into a script, and start that")
    return made


def hub_id(hub: Clone) -> str:
    """Return the hub's id; one derived from the clone if the hub has none."""
    data = hub.repo.objects.read(f"{hub.view()}:{METADATA_PATH}")
    try:
        found = json.loads(data or b"{}").get("hub_id")
    except (ValueError, AttributeError, RecursionError):
        found = None
    return (
        found if isinstance(found, str) and _HUB_ID.match(found) else hashlib.sha256(hub.place.folder.encode()).hexdigest()[:16]
    )


def program() -> tuple[str, ...]:
    """Return the command that starts this bd from anywhere."""
    script = os.path.join(os.path.dirname(os.path.abspath(sys.executable)), "bd")
    if os.access(script, os.X_OK) and os.path.isfile(script):
        return (script,)
    return os.path.abspath(sys.executable), "-m", "bd"


def _findable(command: Sequence[str]) -> tuple[str, ...]:
    """Make a relative path of a command absolute."""
    if command and os.sep in command[0]:
        return os.path.abspath(command[0]), *command[1:]
    return tuple(command)


def started_with(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for the start: PATH without missing folders, and the variables that bd uses."""
    folders = dict.fromkeys(variables.get("PATH", os.defpath).split(os.pathsep))
    kept = {"PATH": os.pathsep.join(folder for folder in folders if os.path.isabs(folder) and os.path.isdir(folder))}
    package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    if package in [os.path.abspath(folder) for folder in variables.get("PYTHONPATH", "").split(os.pathsep) if folder]:
        kept["PYTHONPATH"] = package
    return kept | {name: variables[name] for name in KEPT_VARIABLES if variables.get(name)}
