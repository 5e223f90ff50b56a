"""Where the time of one claim goes: each millisecond, imports by package, git processes, functions.

Git's own trace is switched on through its configuration (`trace2.eventTarget`), because bd
clears GIT_* variables; the profile and the import times come from Python.
"""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bench.hubs import AGENT, LARGE, SMALL
from bench.rows import Note

if TYPE_CHECKING:
    from bench.hubs import Hub
    from bench.machine import Machine
    from bench.rows import Row

TITLE = "where the time of a claim goes"
_RUN = "import sys; sys.argv[0] = 'bd'; from bd.cli.main import main; code = main()"
_PROFILED = """
import cProfile, pstats, sys, io
profile = cProfile.Profile()
profile.enable()
from bd.cli.main import main
code = main(sys.argv[2:])
profile.disable()
with open(sys.argv[1], "w") as file:
    pstats.Stats(profile, stream=file).sort_stats("cumulative").print_stats("bd/|subprocess.py")
sys.exit(code)
"""
_TIMELINE = Path(__file__).with_name("timeline.py")
_LINE = re.compile(r"import time:\s+(\d+) \|\s+(\d+) \|(\s+)(\S+)")

_NUMBER = re.compile(r"\d+\.\d+\Z")


class GitProcess(NamedTuple):
    """A git process that bd started: its verb, when it began (ms after the first), how long it ran."""

    verb: str
    began_ms: float
    took_ms: float
    children: int


def measure(machine: Machine) -> list[Row]:
    """One claim in a small and in a large hub."""
    rows: list[Row] = []
    for shape in machine.shapes(SMALL, LARGE):
        hub = machine.hub(shape)
        bare = machine.fresh("breakdown").with_name("hub.git")
        machine.run(["git", "clone", "--quiet", "--bare", str(hub.bare), str(bare)])
        clone = bare.with_name("clone")
        machine.run(["git", "clone", "--quiet", str(bare), str(clone)])
        machine.run([*machine.bd, "claim", hub.open_ids[0], "--agent", AGENT], cwd=clone)
        rows += _timeline(machine, hub, clone)
        if shape is SMALL:
            rows += _imports(machine, hub, clone)
        rows += _processes(machine, hub, clone)
        rows += _functions(machine, hub, clone)
    return rows


def _timeline(machine: Machine, hub: Hub, clone: Path) -> list[Row]:
    """The quickest of several claims, divided without rest."""
    path = machine.folder / "timeline.json"
    runs: list[tuple[float, dict[str, float]]] = []
    for bead_id in hub.open_ids[10 : 10 + machine.rounds(15)]:
        argv = [machine.python, str(_TIMELINE), str(path), "claim", bead_id, "--agent", AGENT]
        begun = time.perf_counter()
        machine.run(argv, cwd=clone)
        ended = time.perf_counter()
        found = json.loads(path.read_text())
        spent = {
            "start of the interpreter": found["began"] - begun,
            **found["spent"],
            "end of the process": ended - found["ended"],
        }
        runs.append((ended - begun, spent))
    whole, spent = min(runs, key=lambda run: run[0])
    lines = [
        f"  {took * 1000:7.1f} ms  {label}" for label, took in sorted(spent.items(), key=lambda item: -item[1]) if took > 0.00005
    ]
    words = f"{hub.shape.label}: the quickest of {len(runs)} claims, {whole * 1000:.1f} ms with the watch in it:"
    return [Note(words), Note("\n".join(lines))]


def _imports(machine: Machine, hub: Hub, clone: Path) -> list[Row]:
    """The self times of all imports, summed by package."""
    argv = [machine.python, "-X", "importtime", "-c", _RUN, "claim", hub.open_ids[1], "--agent", AGENT]
    done = subprocess.run(argv, cwd=clone, env=machine.environment, capture_output=True, text=True)
    packages: Counter[str] = Counter()
    modules: Counter[str] = Counter()
    for self_us, _, _, name in _LINE.findall(done.stderr):
        packages[_package(name)] += int(self_us)
        modules[_package(name)] += 1
    lines = [f"  {name:<26}{us / 1000:7.1f} ms  {modules[name]:4} modules" for name, us in packages.most_common(12)]
    whole = sum(packages.values()) / 1000
    return [
        Note(f"imports of a claim, by package (python -X importtime, self times; {whole:.0f} ms in all):"),
        Note("\n".join(lines)),
    ]


def _package(name: str) -> str:
    """`bd.store` of ours, the first name of others."""
    parts = name.split(".")
    return ".".join(parts[:2]) if parts[0] == "bd" else parts[0]


def _processes(machine: Machine, hub: Hub, clone: Path) -> list[Row]:
    trace = machine.folder / "trace.json"
    machine.configure("trace2.eventTarget", str(trace))
    try:
        # bd remembers git's settings and has just seen them change: let it read them anew outside of the measurement.
        machine.run([*machine.bd, "count"], cwd=clone)
        trace.unlink(missing_ok=True)
        machine.run([*machine.bd, "claim", hub.open_ids[2], "--agent", AGENT], cwd=clone)
        found = git_processes(trace)
    finally:
        machine.run(["git", "config", "--global", "--unset", "trace2.eventTarget"])
    lines = [f"  {one.verb:<16}at {one.began_ms:7.1f} ms, ran {one.took_ms:6.1f} ms, {one.children} below it" for one in found]
    below = sum(one.children for one in found)
    words = f"{hub.shape.label}: git processes of a claim: {len(found)} of bd's, {below} of theirs (ms after the first began):"
    return [Note(words), Note("\n".join(lines))]


def git_processes(trace: Path) -> list[GitProcess]:
    """The processes in a trace2 event file that no other git process started."""
    begun: dict[str, tuple[str, float]] = {}
    ended: dict[str, float] = {}
    below: Counter[str] = Counter()
    for line in trace.read_text().splitlines():
        event = json.loads(line)
        process = event["sid"]
        if "/" in process:
            below[process.split("/", 1)[0]] += event["event"] == "start"
        elif event["event"] == "start":
            begun[process] = (_verb(event["argv"]), _seconds(event["time"]))
        elif event["event"] == "exit":
            ended[process] = float(event["t_abs"])
    first = min(at for _, at in begun.values())
    found = [
        GitProcess(verb, (at - first) * 1000, ended.get(process, 0.0) * 1000, below[process])
        for process, (verb, at) in begun.items()
    ]
    return sorted(found, key=lambda one: one.began_ms)


def _verb(argv: list[str]) -> str:
    """The git command among git's own options."""
    words = iter(argv[1:])
    for word in words:
        if word in ("-c", "-C", "--git-dir", "--work-tree"):
            next(words, None)
        elif not word.startswith("-"):
            return word
    return " ".join(argv[:2])


def _seconds(stamp: str) -> float:
    hours, minutes, seconds = stamp.split("T")[1].rstrip("Z").split(":")
    return int(hours) * 3600 + int(minutes) * 60 + float(seconds)


def _functions(machine: Machine, hub: Hub, clone: Path) -> list[Row]:
    """bd's own functions by cumulative time."""
    path = machine.folder / "profile.txt"
    argv = [machine.python, "-c", _PROFILED, str(path), "claim", hub.open_ids[3], "--agent", AGENT]
    machine.run(argv, cwd=clone)
    lines = []
    for line in path.read_text().splitlines():
        parts = line.split(None, 5)
        if len(parts) == 6 and parts[0].split("/")[0].isdigit() and _NUMBER.match(parts[3]):
            where = re.sub(r".*/(bd/|subprocess)", r"\1", parts[5])
            lines.append(f"  {float(parts[3]) * 1000:7.1f} ms  {parts[0]:>6} calls  {where}")
    return [
        Note(f"{hub.shape.label}: functions of a claim by cumulative time (cProfile, which slows Python down):"),
        Note("\n".join(lines[:18])),
    ]
