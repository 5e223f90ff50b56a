"""Other trackers for agents, where they are installed: the same work, each by its own commands.

Belongs here: how each is called. The trackers publish nothing with these commands, so our side is then a hub
without a remote; the shell recipe of the source paper pushes, and so do we. A tool that is not on PATH is named and
left out.
"""

from __future__ import annotations

import re
import shutil
import statistics
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bench.rows import Note, Ratio
from bench.stopwatch import Times

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bench.machine import Machine
    from bench.rows import Row

TITLE = "other tools on PATH: create, ready, show, claim, close (ms a call)"
VERBS = ("create", "ready", "show", "claim", "close")
_WORK = VERBS[1:]
_RECIPE = str(Path(__file__).parent / "typed" / "recipe.sh")


class Tool(NamedTuple):
    """A tracker: how it is set up and called, and where `create` says the new id (first group).

    A verb it has no command for is left out. `{hub}` in the set-up is a bare repository for those who publish.
    """

    name: str
    binary: str
    setup: list[list[str]]
    new_id: str
    verbs: Mapping[str, Callable[[str], list[str]]]
    publishes: bool = False


_WORD_ID = r"\b([A-Za-z][\w-]*-[0-9a-z][\w.]*)\b"
OTHERS = [
    Tool(
        "the paper's recipe",
        "sh",
        [[_RECIPE, "init", "{hub}"]],
        r"^(\S+)\s*$",
        {verb: lambda word, verb=verb: [_RECIPE, verb, word] for verb in VERBS},  # type: ignore[misc]
        publishes=True,
    ),
    Tool(
        "tk (ticket)",
        "tk",
        [],
        r"^(\S+)\s*$",
        {
            "create": lambda title: ["create", title],
            "ready": lambda _: ["ready"],
            "show": lambda bead: ["show", bead],
            "claim": lambda bead: ["start", bead],
            "close": lambda bead: ["close", bead],
        },
    ),
    Tool(
        "br (beads_rust)",
        "br",
        [["init"]],
        _WORD_ID,
        {
            "create": lambda title: ["create", title],
            "ready": lambda _: ["ready"],
            "show": lambda bead: ["show", bead],
            "claim": lambda bead: ["update", bead, "--claim"],
            "close": lambda bead: ["close", bead],
        },
    ),
    Tool(
        "bd in Go (bd-go)",
        "bd-go",
        [["init", "--prefix", "hub", "--quiet"]],
        _WORD_ID,
        {
            "create": lambda title: ["create", title],
            "ready": lambda _: ["ready"],
            "show": lambda bead: ["show", bead],
            "claim": lambda bead: ["update", bead, "--claim"],
            "close": lambda bead: ["close", bead],
        },
    ),
    Tool(
        "backlog (Backlog.md)",
        "backlog",
        [["init", "bench", "--defaults"]],
        r"[Tt][Aa][Ss][Kk]-(\d+)",
        {
            "create": lambda title: ["task", "create", title, "--plain"],
            "ready": lambda _: ["task", "list", "--plain", "-s", "To Do"],
            "show": lambda bead: ["task", bead, "--plain"],
            "claim": lambda bead: ["task", "edit", bead, "-s", "In Progress", "-a", "bench", "--plain"],
            "close": lambda bead: ["task", "edit", bead, "-s", "Done", "--plain"],
        },
    ),
    Tool(
        "task (taskwarrior)",
        "task",
        [],
        r"task ([0-9a-f-]{8,36})",
        {
            "create": lambda title: ["rc.verbose=new-uuid", "add", title],
            "ready": lambda _: ["ready"],
            "show": lambda bead: [bead, "info"],
            "claim": lambda bead: [bead, "start"],
            "close": lambda bead: ["rc.confirmation=no", bead, "done"],
        },
    ),
]


def _our_tool(machine: Machine, *, publishes: bool) -> Tool:
    return Tool(
        "bd",
        machine.bd[0],
        [["init", "--prefix", "hub", *(["--remote", "{hub}"] if publishes else [])]],
        r"(hub-[0-9a-z]+)",
        {
            "create": lambda title: ["create", title],
            "ready": lambda _: ["ready"],
            "show": lambda bead: ["show", bead],
            "claim": lambda bead: ["claim", bead, "--agent", "bench"],
            "close": lambda bead: ["close", bead, "--reason", "done", "--agent", "bench"],
        },
        publishes,
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
        hub = str(self._folder.with_name(f"{self._folder.name}.git"))
        if tool.publishes:
            machine.run(["git", "init", "--quiet", "--bare", "--initial-branch=main", hub])
        for words in tool.setup:
            self.call([word.format(hub=hub) for word in words])

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

    def timed(self, verb: str, word: str) -> str:
        words = self.tool.verbs[verb](word)
        begun = time.perf_counter()
        out = self.call(words)
        self.times[verb].append((time.perf_counter() - begun) * 1000)
        return out

    def create(self, number: int) -> None:
        found = re.search(self.tool.new_id, self.timed("create", f"Bead number {number}"), re.MULTILINE)
        if found is None:
            raise RuntimeError(f"{self.tool.name}: create did not say an id")
        self.ids.append(found.group(1))

    def work(self, place: int) -> None:
        for verb in _WORK:
            if verb in self.tool.verbs:
                self.timed(verb, self.ids[place])


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
        users = [_User(machine, _our_tool(machine, publishes=tool.publishes)), _User(machine, tool)]
        for place in range(number):
            for user in users if place % 2 else users[::-1]:
                user.create(place)
        for place in range(number):
            for user in users if place % 2 else users[::-1]:
                user.work(place)
    except RuntimeError as error:
        return [Note(f"left out: {error}")]
    ours, theirs = users
    verbs = [verb for verb in VERBS if verb in tool.verbs]
    rows: list[Row] = [
        Ratio(f"{verb}, against {tool.name}", Times(tuple(ours.times[verb])), Times(tuple(theirs.times[verb])), None, "other")
        for verb in verbs
    ]
    whole = [sum(statistics.median(user.times[verb]) for verb in verbs) for user in users]
    how = "; both push" if tool.publishes else ""
    rows.append(Note(f"  all {len(verbs)}, medians: bd {whole[0]:.0f} ms, {tool.name} {whole[1]:.0f} ms{how}"))
    return rows
