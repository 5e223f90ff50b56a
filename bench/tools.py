"""Other trackers for agents, where they are installed: the same work, each by its own commands.

Belongs here: how each is called. None of them publishes anything with these commands, so our
side is a hub without a remote. A tool that is not on PATH is named and left out.
"""

from __future__ import annotations

import re
import shutil
import statistics
import subprocess
import time
from typing import TYPE_CHECKING, NamedTuple

from bench.rows import Note, Ratio
from bench.stopwatch import Times

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from bench.machine import Machine
    from bench.rows import Row

TITLE = "other tools on PATH: create, ready, show, close (ms a call)"
VERBS = ("create", "ready", "show", "close")


class Tool(NamedTuple):
    """A tracker: how it is set up and called, and where `create` says the new id (first group)."""

    name: str
    binary: str
    setup: list[list[str]]
    create: Callable[[str], list[str]]
    ready: list[str]
    show: Callable[[str], list[str]]
    close: Callable[[str], list[str]]
    new_id: str


_WORD_ID = r"\b([A-Za-z][\w-]*-[0-9a-z][\w.]*)\b"
OTHERS = [
    Tool(
        "tk (ticket)",
        "tk",
        [],
        lambda title: ["create", title],
        ["ready"],
        lambda bead: ["show", bead],
        lambda bead: ["close", bead],
        r"^(\S+)\s*$",
    ),
    Tool(
        "br (beads_rust)",
        "br",
        [["init"]],
        lambda title: ["create", title],
        ["ready"],
        lambda bead: ["show", bead],
        lambda bead: ["close", bead],
        _WORD_ID,
    ),
    Tool(
        "bd in Go (bd-go)",
        "bd-go",
        [["init", "--prefix", "hub", "--quiet"]],
        lambda title: ["create", title],
        ["ready"],
        lambda bead: ["show", bead],
        lambda bead: ["close", bead],
        _WORD_ID,
    ),
    Tool(
        "backlog (Backlog.md)",
        "backlog",
        [["init", "bench", "--defaults"]],
        lambda title: ["task", "create", title, "--plain"],
        ["task", "list", "--plain", "-s", "To Do"],
        lambda bead: ["task", bead, "--plain"],
        lambda bead: ["task", "edit", bead, "-s", "Done", "--plain"],
        r"[Tt][Aa][Ss][Kk]-(\d+)",
    ),
    Tool(
        "task (taskwarrior)",
        "task",
        [],
        lambda title: ["rc.verbose=new-uuid", "add", title],
        ["ready"],
        lambda bead: [bead, "info"],
        lambda bead: ["rc.confirmation=no", bead, "done"],
        r"task ([0-9a-f-]{8,36})",
    ),
]


def _our_tool(machine: Machine) -> Tool:
    return Tool(
        "bd",
        machine.bd[0],
        [["init", "--prefix", "hub"]],
        lambda title: ["create", title],
        ["ready"],
        lambda bead: ["show", bead],
        lambda bead: ["close", bead, "--reason", "done"],
        r"(hub-[0-9a-z]+)",
    )


class _User:
    """Someone who works with one tool in a folder of their own."""

    def __init__(self, machine: Machine, tool: Tool) -> None:
        self._machine = machine
        self.tool = tool
        self._argv = machine.bd if tool.name == "bd" else [tool.binary]
        self._folder: Path = machine.fresh("tool").parent
        home = self._folder / "home"
        home.mkdir()
        shutil.copy(f"{machine.environment['HOME']}/.gitconfig", home)
        # taskwarrior asks before it makes this file, and is silent where it exists.
        (home / ".taskrc").write_text(f"data.location={home}/.task\n")
        self._environment = {**machine.environment, "HOME": str(home)}
        self.times: dict[str, list[float]] = {verb: [] for verb in VERBS}
        self.ids: list[str] = []
        machine.run(["git", "init", "--quiet", str(self._folder)])
        for words in tool.setup:
            self.call(words)

    def call(self, words: list[str]) -> str:
        done = subprocess.run(
            [*self._argv, *words],
            cwd=self._folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise RuntimeError(
                f"{self.tool.name}: {' '.join(words)} ended with {done.returncode}: {(done.stdout + done.stderr).strip()}"
            )
        return done.stdout

    def timed(self, verb: str, words: list[str]) -> str:
        begun = time.perf_counter()
        out = self.call(words)
        self.times[verb].append((time.perf_counter() - begun) * 1000)
        return out

    def create(self, number: int) -> None:
        found = re.search(self.tool.new_id, self.timed("create", self.tool.create(f"Bead number {number}")), re.MULTILINE)
        if found is None:
            raise RuntimeError(f"{self.tool.name}: create did not say an id")
        self.ids.append(found.group(1))

    def work(self, place: int) -> None:
        self.timed("ready", self.tool.ready)
        self.timed("show", self.tool.show(self.ids[place]))
        self.timed("close", self.tool.close(self.ids[place]))


def measure(machine: Machine) -> list[Row]:
    """Create n, then ready, show and close each, both tools in turn."""
    rows: list[Row] = []
    absent = []
    for tool in OTHERS:
        if shutil.which(tool.binary, path=machine.environment.get("PATH")) is None:
            absent.append(tool.name)
            continue
        rows += _against(machine, tool)
    if absent:
        rows.append(Note(f"not on PATH, left out: {', '.join(absent)}"))
    return rows


def _against(machine: Machine, tool: Tool) -> list[Row]:
    number = 5 if machine.quick else 50
    try:
        users = [_User(machine, _our_tool(machine)), _User(machine, tool)]
        for place in range(number):
            for user in users if place % 2 else users[::-1]:
                user.create(place)
        for place in range(number):
            for user in users if place % 2 else users[::-1]:
                user.work(place)
    except RuntimeError as error:
        return [Note(f"left out: {error}")]
    ours, theirs = users
    rows: list[Row] = []
    for verb in VERBS:
        rows.append(
            Ratio(f"{verb}, against {tool.name}", Times(tuple(ours.times[verb])), Times(tuple(theirs.times[verb])), None, "other")
        )
    whole = [sum(statistics.median(user.times[verb]) for verb in VERBS) for user in users]
    rows.append(Note(f"  all four, medians: bd {whole[0]:.0f} ms, {tool.name} {whole[1]:.0f} ms"))
    return rows
