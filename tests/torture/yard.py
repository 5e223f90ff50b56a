"""Where one history happens: a hub, its clones, the sealed environment, and what is known of who holds what.

Belongs here: making and removing them, starting calls and waiting for them. Does not belong here: what is called, and
what goes wrong.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from typing import TYPE_CHECKING

from tests.runtime import RUNTIME
from tests.sealing import sealed_environment
from tests.torture.calls import Call, Running, Told

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterable
    from pathlib import Path

# No call may take longer than this, however much fails: longer is a hang.
PATIENCE_S = 120.0
SETTINGS = {"BD_RETRY_TIME": "2.5", "BD_GIT_TIMEOUT": "1.5", "BD_LOCK_TIMEOUT": "4"}
# On top of every test's: the folders may be another user's.
CONFIGURATION = """\
[safe]
\tdirectory = *
"""


def sealed(home: Path) -> dict[str, str]:
    """The environment of every process of a history: nothing of the machine's own settings is in it."""
    found = sealed_environment(home)
    with open(found["GIT_CONFIG_GLOBAL"], "a", encoding="utf-8") as file:
        file.write(CONFIGURATION)
    return {**found, **SETTINGS}


def git(folder: Path | str, *args: str, env: dict[str, str] | None = None, check: bool = True, data: bytes | None = None) -> str:
    """What a git command prints, stripped."""
    done = subprocess.run(["git", "-C", os.fspath(folder), *args], capture_output=True, env=env, input=data)
    if check and done.returncode:
        raise RuntimeError(f"git {' '.join(args)}: exit {done.returncode}: {done.stderr.decode(errors='replace')}")
    return done.stdout.decode("utf-8", "replace").strip()


def template(folder: Path, beads: Iterable[str], agents: Iterable[str]) -> None:
    """A hub with open beads on it at `folder/hub.git`, made once and copied by every history."""
    env = sealed(folder / "home")
    git(folder, "init", "--quiet", "--bare", "hub.git", env=env)
    first = folder / "first"
    first.mkdir()
    done = Running(
        Call("", "", "init", ["init", str(first), "--prefix", "hub", "--remote", str(folder / "hub.git")]), 0, folder, env
    )
    while not done.poll():
        time.sleep(0.01)
    assert done.told(0).code == 0, done.told(0)
    (first / "beads").mkdir(exist_ok=True)
    for number, bead_id in enumerate(beads):
        stamp = "2026-02-20T09:00:00Z"
        text = f"id: {bead_id}\nuid: {RUNTIME.new_id()}\ntitle: Do {bead_id}\ntype: task\nstatus: open\npriority: {number % 4}\n"
        text += f"expected: 1s\nmax_attempts: 9\ncreated_at: {stamp}\ncreated_by: human:Ada\nupdated_at: {stamp}\n"
        (first / "beads" / f"{bead_id}.yaml").write_text(text)
    for name in agents:
        file = first / ".beads" / "agents" / f"{name}.yaml"
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"name: {name}\nmax_concurrent: 3\nskills: {{}}\n")
    git(first, "add", "beads", ".beads/agents", env=env)
    git(first, "commit", "--quiet", "-m", "seed", env=env)
    git(first, "push", "--quiet", "origin", "HEAD:main", env=env)


class Yard:
    """One history's hub and clones. `generation` tells a clone from the one that was there before it."""

    def __init__(self, folder: Path, model: Path, rng: random.Random, beads: Iterable[str]) -> None:
        self.folder = folder
        self.rng = rng
        self.hub = folder / "hub.git"
        self.env = sealed(folder / "home")
        shutil.copytree(model / "hub.git", self.hub)
        git(self.hub, "config", "core.logAllRefUpdates", "always", env=self.env)
        self.beads = list(beads)
        # Whether what stands beside the branch can't be taken away with a push any more.
        self.is_blind = False
        self.clones: list[str] = []
        self.generation: dict[str, int] = {}
        self.more_env: dict[str, dict[str, str]] = {}
        self.told: list[Told] = []
        self.faults: list[str] = []
        self.lost_clones: set[str] = set()
        # Tips that a rewriting fault has thrown away, and where each new line begins.
        self.rewritten: list[str] = []
        self.pending: list[Call] = []
        self.undo: list[Callable[[], object]] = []
        self.began = time.monotonic()
        self._number = self._names = 0
        self._due: list[tuple[float, Callable[[], object]]] = []
        self._homes: dict[str, list[str]] = {}

    # --- clones ---

    def path(self, clone: str) -> Path:
        return self.folder / clone

    def identity(self, clone: str) -> str:
        return f"{clone}.{self.generation[clone]}"

    def add_clone(self, name: str) -> None:
        """A plain git clone, for the first time or anew."""
        git(self.folder, "clone", "--quiet", str(self.hub), name, env=self.env)
        self.generation[name] = self.generation.get(name, -1) + 1
        if name not in self.clones:
            self.clones.append(name)

    # --- calls ---

    def add(self, call: Call) -> Call:
        """A call that a fault brings along: it starts with the round's others."""
        self.pending.append(call)
        return call

    def start(self, call: Call) -> Running:
        self._number += 1
        # The checker has to know which clone it was: one that was deleted may have lost what it had kept.
        env = {**self.env, "BD_SESSION": f"{call.agent}-{call.clone}", **self.more_env.get(call.clone, {})}
        return Running(call, self._number, self.path(call.clone), env)

    def note(self, running: Running) -> Told:
        """Take down what an ended call has said."""
        told = running.told(self.began)._replace(clone=self.identity(running.call.clone))
        self.told.append(told)
        if told.has_happened:
            self.faults.extend(told.faults)
        return told

    def run(self, *calls: Call) -> list[Told]:
        """Start these at once, and wait for all of them."""
        return self.wait([self.start(call) for call in calls])

    def wait(self, runs: list[Running]) -> list[Told]:
        while sum(run.poll() for run in runs) < len(runs):
            self.tick()
            for run in runs:
                if time.monotonic() - run.began > PATIENCE_S and not run.poll():
                    run.give_up()
            time.sleep(0.003)
        return [self.note(run) for run in runs]

    def be_patient(self) -> None:
        """From now on nothing is given up that is only slow, as on a busy machine."""
        for name in SETTINGS:
            del self.env[name]

    # --- what the workload and the faults ask ---

    def fresh(self, name: str) -> Path:
        """A path that nobody has used yet."""
        self._names += 1
        return self.folder / f"{name}-{self._names}"

    def mark(self) -> str:
        """A text that nobody else writes."""
        self._names += 1
        return f"mark{self._names:04d}"

    def clone_of(self, agent: str) -> str:
        """Where an agent works: mostly in the same clone, which it may share with others."""
        homes = self._homes.setdefault(agent, [self.rng.choice(self.clones)])
        return homes[0] if self.rng.random() < 0.9 else self.rng.choice(self.clones)

    def held_by(self, agent: str) -> str:
        """A bead that the agent was told it holds, or any other."""
        mine = [bead for bead, holder in self._held().items() if holder == agent]
        return self.rng.choice(mine if mine and self.rng.random() < 0.9 else self.beads)

    def _held(self) -> dict[str, str]:
        held: dict[str, str] = {}
        for told in self.told:
            if told.code == 0 and told.kind == "claim" and isinstance(told.json, list):
                held.update({bead["id"]: told.agent for bead in told.json if isinstance(bead, dict) and "id" in bead})
        return held

    def later(self, seconds: float, action: Callable[[], object]) -> None:
        """Do this after so long, while calls run."""
        self._due.append((time.monotonic() + seconds, action))

    def tick(self) -> None:
        """Do what is due."""
        now = time.monotonic()
        due, self._due = [one for one in self._due if one[0] <= now], [one for one in self._due if one[0] > now]
        for _, action in due:
            action()

    def end_round(self) -> None:
        """What was due and has not happened yet, happens now."""
        due, self._due = self._due, []
        for _, action in sorted(due, key=lambda one: one[0]):
            action()

    def await_late_pushes(self) -> None:
        """Until the pushes that faults have put off have arrived, or were killed as well."""
        until = time.monotonic() + 3.0
        while time.monotonic() < until and list(self.folder.glob("due-*")):
            time.sleep(0.01)

    def accept_rewrite(self) -> None:
        """Everybody goes on from what somebody has made of the hub's history."""
        self.run(*[Call(name, "", "accept", ["sync", "--accept-rewrite", "--json"]) for name in self.clones])

    def injected(self, name: str) -> None:
        self.faults.append(name)
