"""The session of one member: starting it, checking that it lives, ending it. By default a child process with its own log.

A child holds a lock for as long as it lives: the controller knows by that lock, not by a process id, that it is there, and no
second one can be started meanwhile. Its own supervisor ends it with everything that it has started. Other providers (tmux,
systemd, any commands) answer for themselves.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shlex
import signal
import subprocess
from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.core import files
from bd.core.errors import WrongState
from bd.notify import trusted_commands
from bd.notify.command_files import changed_in
from bd.pool.placeholders import environment, filled
from bd.processes.tree import ProcessTree
from bd.schedule import agent_log
from bd.schedule.invocation import KEPT_VARIABLES

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from bd.core.pools import Pool
    from bd.pool.state import Quarters
    from bd.processes.run import Ran

# Longer than `bd work` gives its own command, so that it can give back the bead.
KILL_GRACE_S = 30.0
COMMAND_LIMIT_S = 60.0
# How often to check whether an ended session is gone: by its lock, or by a command of its provider.
_LOOK_S, _ASK_S = 0.05, 0.5
DRAIN_WORDS = "You are being drained: finish your current work, claim nothing more, and exit."
# Variables of the controller's own session that are not passed on.
_NOT_PASSED = ("BD_TOKEN", "BD_DRAIN")
# Variables of the controller that are passed on explicitly, because a provider has its own environment.
_PASSED = ("PATH", "XDG_STATE_HOME", *KEPT_VARIABLES)
# The session itself records its process id and its exit code: the controller may not be there to see either.
_CHILD = 'echo $PPID > "$BD_POOL_SUPERVISOR"; '
_PRELUDE = 'echo $$ > "$BD_POOL_PID"; sh -c "$BD_POOL_COMMAND"; code=$?; echo $code > "$BD_POOL_EXIT"; exit $code'
# Exit codes of a shell that could not run a command at all.
_NOT_RUN = (126, 127)


class Commands(NamedTuple):
    """A provider's commands; `{...}` as in a pool's own commands, `{command}` is what to run.

    The exit code of `alive` says whether the session is there, except for codes in `cant_tell`. `dollar` stands for a dollar sign
    of what to run.
    """

    start: str
    alive: str
    stop: str
    nudge: str = ""
    cant_tell: Collection[int] = _NOT_RUN
    dollar: str = "$"


PROVIDERS = {
    "tmux": Commands(
        "tmux new-session -d -s {session} -c {clone} {command}",
        "tmux has-session -t ={session}",
        "tmux kill-session -t ={session}",
        "tmux send-keys -t ={session}: {words} Enter",
    ),
    "systemd": Commands(
        "systemd-run --user --quiet --collect --unit {session} --working-directory {clone} sh -c {command}",
        "systemctl --user is-active --quiet {session}",
        "systemctl --user stop {session}",
        cant_tell=(1, *_NOT_RUN),  # no manager to ask
        dollar="$$",  # else the manager puts values of its own environment for variables
    ),
}


class Session:
    """The session of one member. `places` are the values of its placeholders (placeholders.py).

    `home` is the folder of the hub's files, in which all commands but the member's own run; `pinned` has the files that were
    pinned with each command of the pool, by its key. `doubt` says why the last check could not tell whether it is there.
    """

    def __init__(
        self,
        quarters: Quarters,
        pool: Pool,
        name: str,
        places: Mapping[str, str],
        home: str,
        pinned: Mapping[str, Mapping[str, str]],
    ) -> None:
        self._quarters, self._pool, self.name, self._home, self._pinned = quarters, pool, name, home, pinned
        self._runtime = quarters.runtime
        self._places = places
        self._variables = environment(places)
        self.doubt = ""

    @property
    def clone(self) -> str:
        return self._places["clone"]

    @property
    def drain_file(self) -> str:
        return self._path("drain")

    @property
    def log(self) -> str:
        return self._quarters.path("logs", f"{self.name}.log")

    def _path(self, kind: str) -> str:
        return self._quarters.path("members", f"{self.name}.{kind}")

    @property
    def _provider(self) -> Commands | None:
        if self._pool.alive:  # the pool has its own commands for everything
            return Commands(self._pool.start, self._pool.alive, self._pool.stop)
        return PROVIDERS.get(self._pool.provider)

    # --- start ---

    def refuse_second(self) -> None:
        """Refuse to start one if one may be there, or none can be. Raises WrongState."""
        if self._provider is None and self._pool.provider != "child":
            raise WrongState(f"no provider is called {self._pool.provider}")
        if self.is_alive():
            raise WrongState(f"it may be there: {self.doubt}" if self.doubt else "it is already running")

    def changed_file(self) -> str:
        """Return a file of its start in its clone that has changed since it was pinned; empty if there is none."""
        return changed_in([self.clone], self._pinned.get("start", {}))

    def start(self) -> None:
        """Start it in its clone. Raises WrongState if its provider can't, or if a pinned file has changed."""
        changed = self.changed_file()
        if changed:
            raise WrongState(f"{changed} is not the file that was trusted; `bd trust` shows it")
        self._forget("drain", "exit", "pid", "supervisor")
        provider = self._provider
        if provider is None:
            self._start_child()
            return
        passed = {key: os.environ[key] for key in _PASSED if key in os.environ}
        words = " ".join(shlex.quote(f"{key}={value}") for key, value in {**passed, **self._inner}.items())
        command = f"exec env {' '.join(f'-u {key}' for key in _NOT_PASSED)} {words} sh -c {shlex.quote(_PRELUDE)}"
        ran = self._run("start", provider.start, command=command.replace("$", provider.dollar))
        if ran.code != 0:
            raise WrongState(f"its start {_words(ran)}")

    @property
    def _environment(self) -> dict[str, str]:
        own = {"BD_AGENT": self.name, "BD_POOL": self._pool.name, "BD_DRAIN_FILE": self.drain_file, "BD_SESSION": self.name}
        return {**own, **self._variables}

    @property
    def _inner(self) -> dict[str, str]:
        own = {
            "BD_POOL_PID": self._path("pid"),
            "BD_POOL_EXIT": self._path("exit"),
            "BD_POOL_SUPERVISOR": self._path("supervisor"),
        }
        return {**self._environment, **own, "BD_POOL_COMMAND": filled(self._pool.start)}

    def _start_child(self) -> None:
        held = self._grip()
        if held is None:
            raise WrongState("it is already running")
        kept = {key: value for key, value in os.environ.items() if key not in _NOT_PASSED}
        agent_log.rotate(self.log)
        try:
            with open(self.log, "ab", opener=files.private) as log:
                self._child = ProcessTree(
                    f"{_CHILD}{_PRELUDE}",
                    grace_s=KILL_GRACE_S,
                    outlives=True,
                    cwd=self.clone,
                    env={**kept, **self._inner},
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    pass_fds=(held,),
                )
        finally:
            os.close(held)

    def _grip(self) -> int | None:
        """Take the session's lock; None while a child has it."""
        descriptor = os.open(self._path("lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        return descriptor

    # --- check ---

    def is_alive(self) -> bool:
        """Return whether it is there. If its provider can't tell it counts as there, so that no second one is started."""
        provider = self._provider
        if provider is None:
            held = self._grip()
            if held is not None:
                os.close(held)
            return held is None
        ran = self._run("alive", provider.alive)
        is_known = ran.code is not None and ran.code not in provider.cant_tell
        self.doubt = "" if is_known else f"{self._pool.alive or self._pool.provider} {_words(ran)}"
        return ran.code == 0 or not is_known

    def exit_code(self) -> int | None:
        """Return its exit code; None if it could not record one, as after a kill."""
        return self._number("exit")

    def lived_s(self) -> float | None:
        """Return for how many seconds it ran; None if it could not record its end."""
        try:
            return os.path.getmtime(self._path("exit")) - os.path.getmtime(self._path("pid"))
        except OSError:
            return None

    def _number(self, kind: str) -> int | None:
        try:
            with open(self._path(kind), encoding="ascii") as file:
                return int(file.read())
        except (OSError, ValueError):
            return None

    # --- end ---

    def ask_to_drain(self) -> None:
        """Create the drain file, and nudge the session."""
        with open(self.drain_file, "w", encoding="ascii"):
            pass
        nudge = self._pool.nudge or (self._provider or Commands("", "", "")).nudge
        if nudge:
            self._run("nudge", nudge, words=DRAIN_WORDS)

    def end(self) -> None:
        """End it: ask first, then use force. Raises WrongState if it may still be there."""
        refused = ""
        if self._pool.stop:
            ran = self._run("stop", self._pool.stop)
            refused = f": its stop {_words(ran)}" if ran.code != 0 else ""
        elif not self._ask_supervisor():
            self._signal(signal.SIGTERM)
        if self._is_gone_soon():
            return
        if self._provider is not None and self._provider.stop:
            self._run("stop", self._provider.stop)
        self._ask_supervisor()  # which ends the rest when the command is killed
        self._signal(signal.SIGKILL)
        if not self._is_gone_soon():
            raise WrongState(f"it can't be ended{refused}")

    def _is_gone_soon(self) -> bool:
        """Return whether it goes within KILL_GRACE_S, with what it has left to its supervisor."""
        deadline = self._runtime.monotonic() + KILL_GRACE_S
        while self.is_alive() or self._supervisor() is not None:
            if self._runtime.monotonic() >= deadline:
                return False
            self._runtime.sleep(_LOOK_S if self._provider is None else _ASK_S)
        return True

    def _ask_supervisor(self) -> bool:
        """Have its supervisor end it, by force after KILL_GRACE_S. Return whether it has one."""
        supervisor = self._supervisor()
        if supervisor is None:
            return False
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(supervisor, signal.SIGTERM)
        return True

    def _supervisor(self) -> int | None:
        """Return the process id of its supervisor, which is there until the session's tree has gone; None if there is none."""
        pid = self._number("supervisor")
        return pid if pid is not None and self._is_ours(pid) else None

    def _signal(self, number: int) -> None:
        """Signal the session led by its process, whose id can't be reused while the session is there."""
        leader = self._number("pid")
        if leader is not None and leader > 1 and self.is_alive() and os.getpgrp() != leader:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(leader, number)

    def _is_ours(self, pid: int) -> bool:
        """Return whether a process belongs to this session, by its environment if the system shows it."""
        if not os.path.isdir("/proc/self"):
            return self.is_alive()
        return self._mark in _environment_of(pid)

    @property
    def _mark(self) -> bytes:
        """The variable that every process of this session has in its environment."""
        return f"BD_DRAIN_FILE={self.drain_file}".encode()

    def end_leftovers(self, tokens: Iterable[str]) -> None:
        """Kill processes that it started for these claims and left running in their own sessions when it was killed itself.

        Only those whose environment says so, if the system shows it.
        """
        marks = [f"BD_TOKEN={token}".encode() for token in tokens]
        for entry in os.listdir("/proc") if marks and os.path.isdir("/proc") else ():
            said = _environment_of(int(entry)) if entry.isdigit() else []
            if self._mark in said and any(mark in said for mark in marks):
                with contextlib.suppress(OSError):
                    os.kill(int(entry), signal.SIGKILL)

    def forget(self) -> None:
        """Forget a session that has ended and was cleaned up; its note is removed last."""
        self._forget("drain", "pid", "supervisor", "exit", "json")

    def _forget(self, *kinds: str) -> None:
        self._quarters.forget(*(os.path.join("members", f"{self.name}.{kind}") for kind in kinds))

    def _run(self, key: str, text: str, **more: str) -> Ran:
        """Run one of its commands; `more` are the values of further placeholders.

        Files were pinned with the pool's own commands. Those of a provider belong to this machine, and always run.
        """
        pinned = self._pinned.get(key, {}) if text == getattr(self._pool, key) else {}
        variables = {**self._environment, **environment(more)}
        return trusted_commands.run(filled(text), variables, COMMAND_LIMIT_S, folder=self._home, files=pinned)


def _words(ran: Ran) -> str:
    """Describe how a command failed."""
    if ran.code is None:
        return ran.err
    said, code = (ran.err or ran.out).splitlines(), f"ended with exit code {ran.code}"
    return f"{code}: {said[-1][:200]}" if said else code


def _environment_of(pid: int) -> list[bytes]:
    """Return the variables that a process was started with; none if the system does not show them."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return file.read().split(b"\0")
    except OSError:
        return []
