"""A fleet of processes on a hub of this machine, and the same fleet as a scenario file of `bd simulate`.

Both get the same beads at the same times, and each bead takes the same time. What a fetch, a push and the start of a command cost
here is measured on a lone agent, which works on a hub of its own at the same time, under the same load: no result of a fleet
goes into a scenario. The fleets are measured by their hubs' commits and by git's traces. All mostly sleep, so that two cores do.
"""

from __future__ import annotations

import json
import random
import re
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import accumulate, pairwise
from statistics import mean, median
from threading import Event, Thread
from typing import TYPE_CHECKING, NamedTuple

from bench import course
from bench.line import delay_pushes
from bench.rows import Agreement, Note
from bench.track import Track

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path
    from typing import Any

    from bench.course import Call
    from bench.machine import Machine
    from bench.rows import Row

TITLE = "a fleet of processes against bd simulate"
# How far off the simulation may be, in percent of what was measured.
LIMIT = 15
_AGENTS = 6
_SERVICE_S = 7.0
# Beads arrive twice as fast as they are done: then the median wait is one of a queue, which is about the same in each run. With few
# in the queue, the median of so few beads is chance: it differs by a quarter between two simulated runs.
_LOAD = 2.0
_INTERVAL_S = 60
# The hubs take this long over each push. Then a race is decided by who comes first, and not by who gets a processor first.
_PUSH_S = 0.5
# The agents start within this time, and are idle before there is work.
_STARTS_S, _SETTLED_S = 4.0, 12.0
# The lone agent's beads take longer than a clone counts as fresh, so that each close fetches first, as in a fleet; and somebody makes
# beads so often that each fetch brings something.
_LONE_S, _FED_S = 2.2, 1.0
# How long the fleet goes on after its last close: until everybody has noticed that nothing is left.
_AFTER_S = 4.0
# On a machine with nothing else to do, a command takes a few hundredths of a second more than its work.
_BUSY_S = 0.3
_MAKERS = 3
_RUNS = 5
_LONGEST_S = 600.0


class Fleet(NamedTuple):
    """Work for a fleet: when `burst` beads at a time are made, counted from when there is work, and how long each bead takes."""

    name: str
    agents: int
    made_s: tuple[float, ...]
    burst: int
    services_s: tuple[float, ...]


class Costs(NamedTuple):
    """What the machine takes, in seconds: from asking the hub until a push begins, for the push, and around a command."""

    fetch_s: float
    push_s: float
    around_s: float


class Seen(NamedTuple):
    """What came of a fleet: beads closed a minute, from the first that was ready to the last close; and the median wait.

    `pushes` are all that were tried, those of the makers of the beads and those that were refused (`lost`) among them.
    """

    per_minute: float
    wait_s: float
    pushes: float
    lost: float


class Change(NamedTuple):
    """A commit of the hub, and the new status of each bead that it made or whose status it changed."""

    commit: str
    statuses: dict[str, str]


def measure(machine: Machine) -> list[Row]:
    """A backlog that is worked off, and beads that arrive one by one; both at the same time."""
    fleets = _fleets(machine)
    tracks = [Track(machine, fleet.agents) for fleet in fleets]
    lone = _Lone(machine)
    with closing(lone), ThreadPoolExecutor() as pool:
        running = [pool.submit(_real, machine, fleet, track) for fleet, track in zip(fleets, tracks, strict=True)]
        found = [one.result() for one in running]
    costs = costs_of(course.calls(_trace(lone.clone)), _LONE_S)
    words = (
        f"a lone agent's fetch takes {costs.fetch_s:.3f} s, its push {costs.push_s:.3f}, and its command {costs.around_s:.3f} more "
        f"than the work; simulated: the mean of {_RUNS} runs"
    )
    rows: list[Row] = [Note(words, costs._asdict())]
    if costs.around_s > _BUSY_S:
        rows.append(Note("The machine is busy with something else: processes wait for a processor, which nothing simulates."))
    for fleet, seen in zip(fleets, found, strict=True):
        rows += _compared(fleet, seen, _simulated(machine, fleet, costs))
    return rows


def _fleets(machine: Machine) -> list[Fleet]:
    rng = random.Random(1)
    agents, beads = (2, 4) if machine.quick else (_AGENTS, 48)

    def services_s() -> tuple[float, ...]:
        return tuple(round(rng.uniform(0.5, 1.5) * _SERVICE_S, 2) for _ in range(beads))

    pauses_s = (rng.expovariate(_LOAD * agents / _SERVICE_S) for _ in range(beads))
    return [
        Fleet("a backlog", agents, (0.0,), beads, services_s()),
        Fleet("arrivals", agents, tuple(round(at_s, 2) for at_s in accumulate(pauses_s)), 1, services_s()),
    ]


# --- the fleet of processes ---


class _Lone:
    """An agent at work on a hub of its own, where beads are made all the time, until it is closed."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._track = Track(machine, 1)
        self.clone = self._track.clones[0]
        self._track.deal_ids([_id(_LONE_S, number) for number in range(10)])
        delay_pushes(self._track.bare, _PUSH_S)
        self._is_over = Event()
        self._worker = _worker(machine, self.clone, "lone")
        self._feeder = Thread(target=self._feed)
        self._feeder.start()

    def _feed(self) -> None:
        number = 10
        while not self._is_over.wait(_FED_S):
            words = ["create", "One more", "--id", _id(_LONE_S, number), "--agent", "maker"]
            self._machine.run([*self._machine.bd, *words], cwd=self._track.maker)
            number += 1

    def close(self) -> None:
        self._is_over.set()
        self._feeder.join()
        _stop([self._worker])


def _id(service_s: float, number: int) -> str:
    """The id of a bead, which says how long it takes (course.WORK)."""
    return f"hub-w{service_s * 100:04.0f}x{number:03d}"


def _real(machine: Machine, fleet: Fleet, track: Track) -> Seen:
    makers = [track.clone(f"maker-{number}") for number in range(_MAKERS)]
    since = track.tip()
    delay_pushes(track.bare, _PUSH_S)
    rng = random.Random(2)
    workers: list[subprocess.Popen[bytes]] = []
    try:
        delays_s = sorted(rng.uniform(0, _STARTS_S) for _ in track.clones)
        begun_s = time.monotonic()
        for number, (clone, delay_s) in enumerate(zip(track.clones, delays_s, strict=True)):
            _until(begun_s + delay_s)
            workers.append(_worker(machine, clone, f"a{number}"))
        _until(begun_s + _SETTLED_S)
        _make(machine, fleet, makers)
        _until_done(track, len(fleet.services_s))
        time.sleep(_AFTER_S)
    finally:
        _stop(workers)
    return seen(changes(track.bare, since), [course.calls(_trace(clone)) for clone in (*track.clones, *makers)])


def _stop(workers: Sequence[subprocess.Popen[bytes]]) -> None:
    for worker in workers:
        worker.send_signal(signal.SIGTERM)
    for worker in workers:
        worker.wait()


def _trace(clone: Path) -> Path:
    return clone.with_name(f"trace-{clone.name}")


def _traced(machine: Machine, clone: Path) -> dict[str, str]:
    return {**machine.environment, **course.traced(_trace(clone), machine.folder / "home" / ".gitconfig")}


def _worker(machine: Machine, clone: Path, agent: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*machine.bd, "work", "--agent", agent, "--interval", f"{_INTERVAL_S}s", "--", "sh", "-c", course.WORK],
        cwd=clone,
        env={**_traced(machine, clone), "BD_SESSION": agent},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def _make(machine: Machine, fleet: Fleet, makers: Sequence[Path]) -> None:
    """Make the beads at their times, by people in clones of their own who take turns."""
    environments = [_traced(machine, clone) for clone in makers]
    ids = [_id(service_s, number) for number, service_s in enumerate(fleet.services_s)]
    running = []
    begun_s = time.monotonic()
    for place, at_s in enumerate(fleet.made_s):
        lines = [json.dumps({"id": one, "title": one}) for one in ids[place * fleet.burst : (place + 1) * fleet.burst]]
        path = makers[0].with_name(f"beads-{place}.jsonl")
        path.write_text("\n".join(lines) + "\n")
        _until(begun_s + at_s)
        running.append(
            subprocess.Popen(
                [*machine.bd, "create", "--file", str(path), "--agent", "maker"],
                cwd=makers[place % len(makers)],
                env=environments[place % len(makers)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        )
    if any(maker.wait() for maker in running):
        raise SystemExit("a bead could not be made")


def _until(at_s: float) -> None:
    time.sleep(max(0.0, at_s - time.monotonic()))


def _until_done(track: Track, beads: int) -> None:
    until_s = time.monotonic() + _LONGEST_S
    while len(track.with_status("closed")) < beads:
        if time.monotonic() > until_s:
            raise SystemExit("the fleet does not come to an end")
        time.sleep(1)


# --- what the hub and git wrote down ---


def changes(bare: Path, since: str) -> list[Change]:
    """Read the commits of a hub after one, the oldest first, with what each did to the beads."""
    argv = [
        "git",
        "-C",
        str(bare),
        "log",
        "--reverse",
        "-p",
        "-U0",
        "--no-renames",
        "--format=%x00%H",
        f"{since}..main",
        "--",
        "beads",
    ]
    found = []
    for text in subprocess.run(argv, capture_output=True, text=True, check=True).stdout.split("\0")[1:]:
        commit, _, files = text.partition("\n")
        parts = re.split(r"(?m)^\+\+\+ b/beads/(\S+)\.yaml$", files)[1:]
        new = {bead: re.search(r"(?m)^\+status: (\S+)$", lines) for bead, lines in zip(parts[::2], parts[1::2], strict=True)}
        found.append(Change(commit, {bead: status[1] for bead, status in new.items() if status}))
    return found


def landed_s(commits: Sequence[str], calls: Iterable[Call]) -> dict[str, float]:
    """Return when each commit was in the hub: as the push of it, or of the next one that was pushed itself, had ended."""
    ends_s = {call.tip: call.ended_s for call in calls if call.verb == "push" and not call.code}
    found: dict[str, float] = {}
    at_s = 0.0
    for commit in reversed(commits):
        at_s = ends_s.get(commit, at_s)
        found[commit] = at_s
    return found


def seen(changes: Sequence[Change], traces: Iterable[Sequence[Call]]) -> Seen:
    """Return the figures of a fleet whose beads are all closed."""
    calls = [call for trace in traces for call in trace]
    at_s = landed_s([change.commit for change in changes], calls)
    ready_s: dict[str, float] = {}
    waits_s, closes_s = [], []
    for change in changes:
        for bead, status in change.statuses.items():
            if status == "open":
                ready_s[bead] = at_s[change.commit]
            elif status == "in_progress":
                waits_s.append(at_s[change.commit] - ready_s[bead])
            elif status == "closed":
                closes_s.append(at_s[change.commit])
    pushes = [call for call in calls if call.verb in ("push", "ask", "sign")]
    lost = sum(bool(call.code) for call in pushes if call.verb == "push")
    took_s = max(closes_s) - min(ready_s.values())
    return Seen(60 * len(closes_s) / took_s, median(waits_s), len(pushes), lost)


def costs_of(calls: Sequence[Call], service_s: float) -> Costs:
    """Return what the machine takes, by the trace of a lone agent whose beads all take the same time."""
    pairs = [pair for pair in pairwise(calls) if not any(call.code for call in pair)]
    fetched = [push.began_s - fetch.began_s for fetch, push in pairs if (fetch.verb, push.verb) == ("fetch", "push")]
    worked = [fetch.began_s - push.ended_s for push, fetch in pairs if (push.verb, fetch.verb) == ("push", "fetch")]
    pushed = [call.ended_s - call.began_s for call in calls if call.verb == "push" and not call.code]
    return Costs(mean(fetched), mean(pushed), mean(worked) - service_s)


# --- the same on paper ---


def scenario(fleet: Fleet, costs: Costs) -> dict[str, Any]:
    """Return the scenario file of a fleet on a machine."""
    made_s = [_SETTLED_S + at_s for at_s in fleet.made_s]
    return {
        "title": fleet.name,
        "duration": _text(made_s[-1] + 2 * sum(fleet.services_s) / fleet.agents + 60),
        "starts": _text(_STARTS_S),
        "peek": "1s",
        "heartbeat": "30s",
        "fetch_time": _text(costs.fetch_s),
        "push_time": _text(costs.push_s),
        "agents": [{"name": "agent", "count": fleet.agents, "interval": f"{_INTERVAL_S}s"}],
        "work": [
            {
                "name": "beads",
                "arrivals": [_text(at_s) for at_s in made_s],
                "burst": fleet.burst,
                "service": [_text(service_s + costs.around_s) for service_s in fleet.services_s],
            }
        ],
    }


def _text(seconds: float) -> str:
    return f"{seconds:.3f}s"


def _simulated(machine: Machine, fleet: Fleet, costs: Costs) -> list[Seen]:
    path = machine.folder / f"{fleet.name.replace(' ', '-')}.json"
    path.write_text(json.dumps(scenario(fleet, costs)))
    words = [*machine.bd, "simulate", "--scenario", str(path), "--timeline", "1", "--json"]
    return [_figures(json.loads(machine.run([*words, "--seed", str(seed)]))) for seed in range(1, _RUNS + 1)]


def _figures(found: Mapping[str, Any]) -> Seen:
    took_s = found["last_close_s"] - found["timeline"][0]["at_s"]
    pushes = found["pushes"] + found["asks"] + found["signs"]
    return Seen(60 * found["closes"] / took_s, found["wait_p50_s"], pushes, found["lost"])


def _compared(fleet: Fleet, real: Seen, runs: Sequence[Seen]) -> list[Row]:
    paper = Seen(*(mean(values) for values in zip(*runs, strict=True)))
    words = (
        f"{fleet.name}: {fleet.agents} agents, {len(fleet.services_s)} beads of {mean(fleet.services_s):.1f} s; of the pushes, "
        f"{real.lost:.0f} were refused, simulated {paper.lost:.1f}"
    )
    return [
        Note(words, {"fleet": fleet.name, "lost": real.lost, "lost_simulated": paper.lost}),
        Agreement(f"  {fleet.name}: beads a minute", real.per_minute, paper.per_minute, LIMIT),
        Agreement(f"  {fleet.name}: median wait, s", real.wait_s, paper.wait_s, LIMIT),
        Agreement(f"  {fleet.name}: pushes", real.pushes, paper.pushes, LIMIT),
    ]
