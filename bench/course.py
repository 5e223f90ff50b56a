"""A fleet of real workers on a bare hub whose pushes take their time: what git itself says of it, and the same fleet on paper.

Belongs here: running it, reading git's traces of it, and putting it down on paper. Does not belong here: what is expected
of it (run.py, and the tests).
"""

from __future__ import annotations

import json
import subprocess
from datetime import datetime
from itertools import pairwise
from statistics import mean
from typing import TYPE_CHECKING, NamedTuple

from bd.simulation.run import simulate
from bd.simulation.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path
    from random import Random

    from bd.simulation.figures import Figures

# The bead's id says for how many hundredths of a second its command works.
WORK = 's=${BD_BEAD_ID#hub-w}; s=${s%%x*}; sleep "${s%??}.${s#??}"'
_BRANCH, _INTENT = ":refs/heads/", "refs/bd/intents/"
# So many runs on paper: a run is one of many.
_RUNS = 20


class Call(NamedTuple):
    """One git process of a worker: what it did, and when, in seconds. `verb` is fetch, list, push, ask, or sign.

    A push moves the branch to `tip`, an ask moves intents, a sign other side refs.
    """

    began_s: float
    ended_s: float
    verb: str
    code: int
    tip: str = ""


class Course(NamedTuple):
    """How it went, from the first look to the last close. Times are means, in seconds.

    `pushes` are those for the branch, and `lost` of them were too late; `asks` are pushes of intents. `fetch_s` is from asking
    the hub until a push begins, `service_s` from a push that landed until the next look.
    """

    agents: int
    beads: int
    pushes: int
    lost: int
    asks: int
    took_s: float
    fetch_s: float
    push_s: float
    service_s: float
    starts_s: float


def work_ids(beads: int, mean_s: float, rng: Random) -> list[str]:
    """The ids of beads that take half to one and a half times the mean."""
    return [f"hub-w{round(rng.uniform(0.5, 1.5) * mean_s * 100):04d}x{number:03d}" for number in range(beads)]


def run(bd: Sequence[str], clones: Sequence[Path], env: Mapping[str, str], configuration: Path, beads: int) -> Course:
    """Let a worker in each clone work until no bead is left. `configuration` is git's, of who runs it."""
    traces = [clone.parent / f"trace-{clone.name}" for clone in clones]
    workers = [
        _worker(bd, clone, f"a{number}", {**env, **traced(trace, configuration)})
        for number, (clone, trace) in enumerate(zip(clones, traces, strict=True))
    ]
    for worker in workers:
        out, _ = worker.communicate()
        assert worker.returncode == 0, out
    return _course([calls(folder) for folder in traces], beads)


def traced(trace: Path, configuration: Path) -> dict[str, str]:
    """The environment in which git writes down in a new folder what it does."""
    trace.mkdir()
    file = trace.with_name(f"gitconfig-{trace.name}")
    file.write_text(f"[include]\n\tpath = {configuration}\n[trace2]\n\teventTarget = {trace}\n")
    return {"GIT_CONFIG_GLOBAL": str(file)}


def _worker(bd: Sequence[str], clone: Path, agent: str, env: Mapping[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*bd, "work", "--agent", agent, "--once", "--", "sh", "-c", WORK],
        cwd=clone,
        env={**env, "BD_SESSION": agent},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


# --- what git wrote down ---


def calls(trace: Path) -> list[Call]:
    """Read what went to the hub from git's traces, in order. A process that was killed, or that still runs, is left out."""
    found = []
    for path in trace.iterdir():
        events = [json.loads(line) for line in path.read_text().splitlines()]
        own = {event["event"]: event for event in events if "/" not in event["sid"]}  # without git's own children
        verb = _verb(own["start"]["argv"]) if {"start", "exit"} <= set(own) else None
        if verb:
            tip = _tip(own["start"]["argv"])
            found.append(Call(_seconds(own["start"]), _seconds(own["exit"]), verb, own["exit"]["code"], tip))
    return sorted(found)


def _verb(words: Sequence[str]) -> str | None:
    verb = next((word for word in words if word in ("fetch", "push", "ls-remote")), None)
    if verb != "push" or any(_BRANCH in word for word in words):
        return "list" if verb == "ls-remote" else verb
    return "ask" if any(_INTENT in word for word in words) else "sign"


def _tip(words: Sequence[str]) -> str:
    return next((word.partition(":")[0] for word in words if _BRANCH in word), "")


def _seconds(event: Mapping[str, str]) -> float:
    return datetime.fromisoformat(event["time"]).timestamp()


def _course(workers: Sequence[Sequence[Call]], beads: int) -> Course:
    every = [call for calls in workers for call in calls]
    pushes = [call for call in every if call.verb == "push"]
    landed = [call for call in pushes if not call.code]
    pairs = [pair for calls in workers for pair in pairwise(calls)]
    begins_s = [calls[0].began_s for calls in workers]
    return Course(
        agents=len(workers),
        beads=beads,
        pushes=len(pushes),
        lost=len(pushes) - len(landed),
        asks=sum(call.verb == "ask" for call in every),
        took_s=max(call.ended_s for call in landed) - min(begins_s),
        fetch_s=mean(_between(pairs, "fetch", "push")),
        push_s=mean(call.ended_s - call.began_s for call in landed),
        service_s=mean(_rests(pairs)),
        starts_s=max(begins_s) - min(begins_s),
    )


def _between(pairs: Iterable[tuple[Call, Call]], first: str, second: str) -> list[float]:
    return [later.began_s - call.began_s for call, later in pairs if (call.verb, later.verb) == (first, second)]


def _rests(pairs: Iterable[tuple[Call, Call]]) -> list[float]:
    """From a push that landed until the same worker's next one, or the look before it."""
    ended = [(call.ended_s, later) for call, later in pairs if call.verb == "push" and not call.code]
    return [later.began_s - ended_s for ended_s, later in ended if later.verb in ("fetch", "push")]


# --- on paper ---


def on_paper(course: Course, *, retry: str = "combining") -> list[Figures]:
    """The same fleet with the times that were measured in its run; several runs."""
    scenario = Scenario(
        agents=course.agents,
        intervals_s=(3600.0,),
        peek_s=0.0,
        starts_s=course.starts_s,
        arrivals=0.0,
        backlog=course.beads,
        service_s=course.service_s,
        service_times="uniform",
        fetch_s=course.fetch_s,
        push_s=course.push_s,
        retry=retry,
        heartbeat_s=0.0,
        duration_s=600.0,
    )
    return [simulate(scenario._replace(seed=number)) for number in range(_RUNS)]
