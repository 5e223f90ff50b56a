"""The coding demo: three agents build a program in a code repository; one is killed, one is resumed, one asks a person.

The agents are `bd work --with claude`, and what they start is a stand-in (examples/coding/agent.py). code_history.py proves from
the code repository what came of it.
"""

from __future__ import annotations

import os
import random
import sys
from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.demo.example import DEMO_INTERVAL, example_folder
from bd.demo.processes import done, environment
from bd.demo.watch import Watch
from bd.policy.lifecycle import waits_for_human

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from bd.core.model import Bead, Snapshot
    from bd.demo.watch import Story
    from bd.store import Clone

AGENTS = ("ann", "ben", "cyd")
ANSWER = "round"
# What decides how soon a killed worker's bead is free.
HEARTBEAT = "1s"
# When one of the workers is killed, in seconds from their start.
_KILLED_S = (2.0, 9.0)


class Kill(NamedTuple):
    """Who is killed with SIGKILL, and how many seconds after the start; the same for the same seed."""

    agent: str
    after_s: float


def kill_of(seed: str) -> Kill:
    """Return whom a seed has killed, and when."""
    draw = random.Random(seed)
    return Kill(draw.choice(AGENTS), round(draw.uniform(*_KILLED_S), 1))


class Coding(Watch):
    """The agents, each a `bd work --with claude` that starts the stand-in, and the person who answers."""

    def __init__(self, clones: Mapping[str, Path], folder: Path, kill: Kill) -> None:
        work = [sys.executable, "-m", "bd", "work", "--interval", DEMO_INTERVAL, "--with", "claude", "--agent"]
        super().__init__(clones, {name: [*work, name] for name in clones}, folder / "logs")
        self._kill: Kill | None = kill
        self._state = folder / "state"
        self._programs = folder / "stand-ins"
        self._programs.mkdir()
        stand_in = self._programs / "claude"
        stand_in.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{example_folder("coding") / "agent.py"}" "$@"\n')
        stand_in.chmod(0o755)

    def _environment(self) -> Mapping[str, str]:
        found = environment()
        path = os.pathsep.join([str(self._programs), found.get("PATH", os.defpath)])
        return {**found, "PATH": path, "XDG_STATE_HOME": str(self._state)}

    def on_look(self, story: Story, at_s: float) -> bool:
        """Kill a worker once that is due, and start it anew."""
        if self._kill is not None and at_s >= self._kill.after_s:
            name, self._kill = self._kill.agent, None
            self.kill_and_restart(name)
            story.say(f"kill -9 of {name}; it is started anew", at_s)
        return self._kill is None

    def on_moved(self, hub: Clone, snapshot: Snapshot, root_id: str, story: Story, at_s: float) -> bool:
        """Answer what the agents ask."""
        tasks = _tasks(snapshot, root_id)
        for task in tasks:
            if waits_for_human(task):
                story.say(f"$ bd answer {task.id} {ANSWER}", at_s)
                done(hub.repo.work_tree or "", "answer", task.id, ANSWER)
        return all(task.is_done for task in tasks)


def _tasks(snapshot: Snapshot, root_id: str) -> Sequence[Bead]:
    return [bead for child in snapshot.children_of(root_id) if (bead := snapshot.bead(child.id)) is not None]
