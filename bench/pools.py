"""A pool over time: a burst of beads, then silence; its controller and a worker are killed, its check prints garbage.

What is counted comes from the system and from the hub's branch: members are the processes that lead a session of their
own and carry the pool's name, beads are files. bd is asked only what it did, for the last column.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bench.rows import Figure, Note
from bench.track import Track

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bench.machine import Machine
    from bench.rows import Row

TITLE = "a pool 0..10: thirty beads at once, then silence"
_EVERY_S = 1.0
_LONGEST_S = 120.0


class Sample(NamedTuple):
    """One moment: members by name, how many processes each has; beads that are open, in work and closed."""

    at_s: float
    members: Mapping[str, int]
    open: int
    held: int
    closed: int
    happened: str = ""

    def line(self) -> str:
        bar = "#" * len(self.members)
        return f"  {self.at_s:5.1f}s {len(self.members):5} {bar:<11}{self.open:5}{self.held:8}{self.closed:8}  {self.happened}"


def measure(machine: Machine) -> list[Row]:
    """The table of sizes, and what must not be in it."""
    if not Path("/proc/self/environ").exists():
        return [Note("needs /proc")]
    most, beads = (3, 8) if machine.quick else (10, 30)
    pool = _Pool(machine, most, beads)
    try:
        samples = pool.show()
    finally:
        pool.end()
    events = pool.events()
    count = Counter(one["event"] for one in events)
    sizes = [len(sample.members) for sample in samples]
    return [
        Note("   time  size              open in work  closed  what happened"),
        *(Note(sample.line().rstrip(), {**sample._asdict(), "members": sorted(sample.members)}) for sample in samples),
        Note(f"events: {', '.join(f'{number} {event}' for event, number in sorted(count.items()))}"),
        Figure("  most members", max(sizes), f"of {most}", most, "<="),
        Figure("  members started twice", max(max(one.members.values(), default=0) for one in samples) - 1, "", 1),
        # One for the killed worker, and one for what that had, where all others have gone by then.
        Figure("  starts beyond one each and two", count["started"] - most - 2, "", 1),
        Figure("  beads not done", beads - samples[-1].closed, f"of {beads}", 1),
        Figure("  members in the end", sizes[-1], "", 1),
    ]


class _Pool:
    """A hub with one pool, and its controller on this host."""

    def __init__(self, machine: Machine, most: int, beads: int) -> None:
        self._machine, self._beads = machine, beads
        self._track = Track(machine, 0)
        self._clone = self._track.clone("host")
        self._garbage = self._track.folder / "garbage"
        self._environment = {**machine.environment, "XDG_STATE_HOME": str(self._track.folder / "state")}
        self._controller: subprocess.Popen[bytes] | None = None
        self._is_dealt = False
        self._begun = time.perf_counter()
        bd = shlex.join(machine.bd)
        check = f"test ! -e {self._garbage} || exec echo a lot; echo $(($({bd} ready -q | wc -l) + $({bd} list --status in_progress -q | wc -l)))"
        settings = {
            "max": most,
            "check": check,
            "start": f"{bd} work --interval 1s -- sleep 1",
            "scale_interval": "1s",
            "cooldown_down": "3s",
        }
        file = self._track.maker / ".beads" / "agents" / "worker.yaml"
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps({"name": "worker", "pool": settings}))  # JSON is YAML
        for words in (["add", ".beads/agents"], ["commit", "--quiet", "-m", "pool"], ["push", "--quiet", "origin", "HEAD:main"]):
            machine.run(["git", *words], cwd=self._track.maker)
        machine.run([*machine.bd, "sync"], cwd=self._clone)
        machine.run([*machine.bd, "trust", "--yes"], cwd=self._clone)

    def show(self) -> list[Sample]:
        """From before the burst until all are gone again."""
        most_seen = 0
        steps: list[tuple[str, Callable[[Sample], bool], Callable[[], None]]] = [
            (f"{self._beads} beads", lambda _: True, self._deal),
            ("kill -9 of the controller", lambda one: len(one.members) >= 3, self._kill_controller),
            ("a controller again", lambda _: True, self._control),
            ("kill -9 of a worker", lambda one: one.closed >= self._beads // 5 and one.held > 0, self._kill_worker),
            ("its check prints garbage", lambda one: one.closed >= self._beads // 2, self._garbage.touch),
            ("and numbers again", lambda _: self._told("check failed") > 0, self._garbage.unlink),
        ]
        samples: list[Sample] = []
        self._control()
        while True:
            time.sleep(_EVERY_S)
            sample = self._sample()
            if steps and steps[0][1](sample):
                words, _, act = steps.pop(0)
                act()
                sample = sample._replace(happened=words)
            samples.append(sample)
            most_seen = max(most_seen, len(sample.members))
            # What the killed worker had is tried again after a while, perhaps when the pool is empty already.
            if not steps and most_seen and not sample.members and sample.closed == self._beads:
                return samples
            if sample.at_s > _LONGEST_S:
                return [*samples, sample._replace(happened="given up")]

    def end(self) -> None:
        """Leave nobody running."""
        if self._controller is not None:
            self._controller.kill()
            self._controller.wait()
        for leaders in self._leaders().values():
            for leader in leaders:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(leader, signal.SIGKILL)

    def events(self) -> list[dict[str, str]]:
        """What the controllers say they did."""
        out = self._machine.run([*self._machine.bd, "pool", "events", "--json"], cwd=self._clone, **self._environment)
        found: list[dict[str, str]] = json.loads(out)
        return found

    def _told(self, event: str) -> int:
        return sum(one["event"] == event for one in self.events())

    # --- what is done to it ---

    def _deal(self) -> None:
        self._track.deal(self._beads)
        self._is_dealt = True

    def _control(self) -> None:
        argv = [*self._machine.bd, "pool", "run"]
        with open(self._track.folder / "controller.log", "ab") as log:
            self._controller = subprocess.Popen(
                argv, cwd=self._clone, env=self._environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    def _kill_controller(self) -> None:
        assert self._controller is not None
        self._controller.kill()
        self._controller.wait()

    def _kill_worker(self) -> None:
        """The first member and all that is in its session, as a machine out of memory does it."""
        os.killpg(next(iter(self._leaders().values()))[0], signal.SIGKILL)

    # --- what is seen ---

    def _sample(self) -> Sample:
        members = {name: len(leaders) for name, leaders in self._leaders().items()}
        texts = self._track.texts().values() if self._is_dealt else ()
        counted = Counter(line for text in texts for line in text.splitlines() if line.startswith("status: "))
        found = [counted[f"status: {status}"] for status in ("open", "in_progress", "closed")]
        return Sample(time.perf_counter() - self._begun, members, *found)

    def _leaders(self) -> dict[str, list[int]]:
        """The processes of each member that lead its session, by the system's own account."""
        leaders: dict[int, tuple[str, int]] = {}
        for entry in os.listdir("/proc"):
            with contextlib.suppress(OSError, ValueError):
                pid = int(entry)
                words = Path(f"/proc/{pid}/environ").read_bytes().decode("utf-8", "replace").split("\0")
                said = dict(word.partition("=")[::2] for word in words)
                is_ours = said.get("XDG_STATE_HOME") == self._environment["XDG_STATE_HOME"]
                state, parent = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[:2]
                if is_ours and "BD_POOL_PID" in said and "BD_BEAD_ID" not in said and os.getsid(pid) == pid and state != "Z":
                    leaders[pid] = said["BD_AGENT"], int(parent)
        found: dict[str, list[int]] = {}
        for pid, (name, parent) in leaders.items():
            if parent not in leaders:  # else it is about to become the command of a bead, and has its parent's environment still
                found.setdefault(name, []).append(pid)
        return found
