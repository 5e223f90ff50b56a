"""A station: where and how one agent works on this machine, as something that starts it has to know.

Belongs here: the whole command line with absolute paths, its environment, its log. Does not belong
here: who starts it and how that is written down (crontab.py, systemd_units.py), and when (interval.py).
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from typing import TYPE_CHECKING, NamedTuple

from bd.core.errors import BadInput
from bd.core.schema import METADATA_PATH
from bd.schedule.agent_log import log_path

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bd.store import Clone

# What decides which hub, which settings and which remote a command finds; whoever starts it has none of these.
KEPT_VARIABLES = ("XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "GIT_SSH_COMMAND", "BD_BRANCH", "BD_REMOTE")

_CONTROL = re.compile("[\\x00-\\x1f\\x7f]")
_HUB_ID = re.compile(r"[0-9A-Za-z]{1,64}\Z")


class Station(NamedTuple):
    """`folder` is bd's own in the clone, `program` starts bd, `command` is what works on a bead."""

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
        """What tells this station's lines and files from all others on this machine."""
        return f"{self.agent} {self.hub_id}"

    @property
    def log(self) -> str:
        return log_path(self.folder, self.agent)

    @property
    def words(self) -> list[str]:
        """The command line that works until nothing fits any more."""
        return [*self.program, "work", "--agent", self.agent, "--once", "-C", self.clone, "--", *self.command]


def station(hub: Clone, agent: str, prefix: str, command: Sequence[str] = ()) -> Station:
    """The agent's station on this hub. Raises BadInput for a command that no line can hold."""
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
    """The hub's own id; one of the clone where the hub has none."""
    data = hub.repo.objects.read(f"{hub.view()}:{METADATA_PATH}")
    try:
        found = json.loads(data or b"{}").get("hub_id")
    except (ValueError, AttributeError, RecursionError):
        found = None
    return (
        found if isinstance(found, str) and _HUB_ID.match(found) else hashlib.sha256(hub.place.folder.encode()).hexdigest()[:16]
    )


def program() -> tuple[str, ...]:
    """This bd, as it can be started from anywhere."""
    script = os.path.join(os.path.dirname(os.path.abspath(sys.executable)), "bd")
    if os.access(script, os.X_OK) and os.path.isfile(script):
        return (script,)
    return os.path.abspath(sys.executable), "-m", "bd"


def _findable(command: Sequence[str]) -> tuple[str, ...]:
    """A command that is a path below here, as one that is found from everywhere."""
    if command and os.sep in command[0]:
        return os.path.abspath(command[0]), *command[1:]
    return tuple(command)


def started_with(variables: Mapping[str, str]) -> dict[str, str]:
    """The variables to start with: PATH without what is not there, and what bd goes by."""
    folders = dict.fromkeys(variables.get("PATH", os.defpath).split(os.pathsep))
    kept = {"PATH": os.pathsep.join(folder for folder in folders if os.path.isabs(folder) and os.path.isdir(folder))}
    package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    if package in [os.path.abspath(folder) for folder in variables.get("PYTHONPATH", "").split(os.pathsep) if folder]:
        kept["PYTHONPATH"] = package
    return kept | {name: variables[name] for name in KEPT_VARIABLES if variables.get(name)}
