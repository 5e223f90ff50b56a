"""A fleet of real workers on a real bare hub whose pushes take their time, and what git itself says about it.

Belongs here: running it, and reading git's traces of it. Does not belong here: what is expected of it.
"""

from __future__ import annotations

import json
import os
import subprocess
from datetime import datetime
from statistics import mean
from typing import TYPE_CHECKING, NamedTuple

from tests.hub.hooks import hook
from tests.running import BD, run_process

if TYPE_CHECKING:
    from pathlib import Path
    from random import Random

# The bead's id says for how many hundredths of a second its command works.
_WORK = 's=${BD_BEAD_ID#hub-w}; s=${s%%x*}; sleep "${s%??}.${s#??}"'


class Call(NamedTuple):
    """One git process of a worker: what it did, and when, in seconds."""

    began_s: float
    ended_s: float
    verb: str
    code: int


class Course(NamedTuple):
    """How it went, from the first look to the last close. Times are means, in seconds.

    `fetch_s` is from asking the hub until the push begins, `service_s` from a push that landed until the next look.
    """

    pushes: int
    lost: int
    took_s: float
    fetch_s: float
    push_s: float
    service_s: float
    starts_s: float


def commands(beads: int, mean_s: float, rng: Random) -> list[str]:
    """The ids of beads that take half to one and a half times the mean."""
    return [f"hub-w{round(rng.uniform(0.5, 1.5) * mean_s * 100):04d}x{number:03d}" for number in range(beads)]


def run(hub: Path, clones: list[Path], push_s: float) -> Course:
    """Let a worker in each clone work until no bead is left. The hub takes no refs beside the branch, and sleeps in each push."""
    git = ["git", "-C", str(hub), "config", "transfer.hideRefs", "refs/bd"]
    subprocess.run(git, check=True)
    for number, clone in enumerate(clones):
        run_process("poll", "--agent", f"a{number}", cwd=clone)  # finds out about the refs, which takes a push
    hook(hub, "pre-receive", f"sleep {push_s}")
    workers = [_worker(clone, f"a{number}") for number, clone in enumerate(clones)]
    for worker in workers:
        out, _ = worker.communicate()
        assert worker.returncode == 0, out
    return _course([_calls(clone.parent / f"trace-{clone.name}") for clone in clones])


def _worker(clone: Path, agent: str) -> subprocess.Popen[str]:
    """A worker whose git writes down what it does."""
    trace = clone.parent / f"trace-{clone.name}"
    trace.mkdir()
    configuration = clone.parent / f"gitconfig-{clone.name}"
    configuration.write_text(f"[include]\n\tpath = {os.environ['GIT_CONFIG_GLOBAL']}\n[trace2]\n\teventTarget = {trace}\n")
    return subprocess.Popen(
        [*BD, "work", "--agent", agent, "--once", "--", "sh", "-c", _WORK],
        cwd=clone,
        env={**os.environ, "GIT_CONFIG_GLOBAL": str(configuration), "BD_SESSION": agent},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def _calls(trace: Path) -> list[Call]:
    """The fetches and pushes in git's traces, in order."""
    found = []
    for path in trace.iterdir():
        events = [json.loads(line) for line in path.read_text().splitlines()]
        own = {event["event"]: event for event in events if "/" not in event["sid"]}  # without git's own children
        if not {"start", "exit"} <= set(own):
            continue
        verb = next((word for word in own["start"]["argv"] if word in ("fetch", "push")), None)
        if verb:
            found.append(Call(_seconds(own["start"]), _seconds(own["exit"]), verb, own["exit"]["code"]))
    return sorted(found)


def _seconds(event: dict[str, str]) -> float:
    return datetime.fromisoformat(event["time"]).timestamp()


def _course(workers: list[list[Call]]) -> Course:
    fetch_s, push_s, service_s, ends_s = [], [], [], []
    pushes = lost = 0
    for calls in workers:
        looked_s, landed_s = 0.0, None
        for call in calls:
            if call.verb == "fetch":
                looked_s = call.began_s
                if landed_s is not None:
                    service_s.append(call.began_s - landed_s)
                    landed_s = None
                continue
            pushes += 1
            fetch_s.append(call.began_s - looked_s)
            if call.code:
                lost += 1
            else:
                landed_s = call.ended_s
                push_s.append(call.ended_s - call.began_s)
                ends_s.append(call.ended_s)
    begins_s = [calls[0].began_s for calls in workers]
    return Course(
        pushes,
        lost,
        max(ends_s) - min(begins_s),
        mean(fetch_s),
        mean(push_s),
        mean(service_s),
        max(begins_s) - min(begins_s),
    )
