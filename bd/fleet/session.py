"""One member's session: starting it, whether it lives, ending it. By default a child process with a log of its own.

A child holds a lock that it was born with, for as long as it or anything it started lives: whoever runs the controller
sees by the lock, not by a process id, that it is there, and a second one can't be started meanwhile. Other providers
(tmux, systemd, any commands) answer for themselves.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shlex
import signal
import subprocess

from bd import clock
from bd.fleet import trusted
from bd.light import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from bd.fleet.quarters import Quarters
    from bd.roster import Pool

KILL_GRACE_S = 10.0
COMMAND_LIMIT_S = 60.0
DRAIN_WORDS = "You are being drained: finish what you are at, claim nothing more, and end."
# The child says itself which process it is, and how it ended: nobody may be there to see either.
_PRELUDE = 'echo $$ > "$BD_POOL_PID"; sh -c "$BD_POOL_COMMAND"; code=$?; echo $code > "$BD_POOL_EXIT"; exit $code'


class Commands(NamedTuple):
    """How a provider does it; `{...}` as in a pool's own commands, `{command}` is what to run."""

    start: str
    alive: str
    stop: str
    nudge: str = ""


PROVIDERS = {
    "tmux": Commands(
        "tmux new-session -d -s {session} -c {clone} {command}",
        "tmux has-session -t ={session}",
        "tmux kill-session -t ={session}",
        "tmux send-keys -t ={session} {words} Enter",
    ),
    "systemd": Commands(
        "systemd-run --user --quiet --collect --unit {session} --working-directory {clone} sh -c {command}",
        "systemctl --user is-active --quiet {session}",
        "systemctl --user stop {session}",
    ),
}


class Session:
    """The session of one member: `places` are the values of {name}, {n}, {pool}, {hub}, {clone}."""

    def __init__(self, quarters: Quarters, pool: Pool, name: str, places: Mapping[str, str]) -> None:
        self._quarters, self._pool, self.name = quarters, pool, name
        self._places = {**places, "session": f"bd-{places['hub']}-{name}"}

    @property
    def drain_file(self) -> str:
        return self._quarters.path("members", f"{self.name}.drain")

    @property
    def log(self) -> str:
        return self._quarters.path("logs", f"{self.name}.log")

    def filled(self, text: str, **more: str) -> str:
        """A command with its places filled in, each as one word of the shell."""
        for key, value in {**self._places, **more}.items():
            text = text.replace("{" + key + "}", shlex.quote(value))
        return text

    @property
    def _provider(self) -> Commands | None:
        if self._pool.alive:  # the pool has commands for all of it
            return Commands("", self._pool.alive, self._pool.stop)
        return PROVIDERS.get(self._pool.provider)

    # --- start ---

    def start(self) -> bool:
        """Start it in its clone; False when it is there already, or its provider can't."""
        for leftover in ("drain", "exit", "pid"):
            self._quarters.forget(os.path.join("members", f"{self.name}.{leftover}"))
        provider = self._provider
        if provider is None:
            return self._start_child()
        if self.is_alive():
            return False
        words = " ".join(f"{key}={shlex.quote(value)}" for key, value in self._environment().items())
        command = f"exec env {words} sh -c {shlex.quote(self.filled(self._pool.start))}"
        return self._run(self.filled(provider.start or self._pool.start, command=command))

    def _environment(self) -> dict[str, str]:
        return {"BD_AGENT": self.name, "BD_POOL": self._pool.name, "BD_DRAIN_FILE": self.drain_file, "BD_SESSION": self.name}

    def _start_child(self) -> bool:
        held = self._grip()
        if held is None:
            return False
        environment = {
            **{key: value for key, value in os.environ.items() if key not in ("BD_TOKEN", "BD_DRAIN")},
            **self._environment(),
            "BD_POOL_PID": self._quarters.path("members", f"{self.name}.pid"),
            "BD_POOL_EXIT": self._quarters.path("members", f"{self.name}.exit"),
            "BD_POOL_COMMAND": self.filled(self._pool.start),
        }
        try:
            with open(self.log, "ab") as log:
                self._child = subprocess.Popen(
                    ["/bin/sh", "-c", _PRELUDE],
                    cwd=self._places["clone"],
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                    pass_fds=(held,),
                )
        except OSError:
            return False
        finally:
            os.close(held)
        return True

    def _grip(self) -> int | None:
        """The session's lock, taken; None while a child has it."""
        descriptor = os.open(self._quarters.path("members", f"{self.name}.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        return descriptor

    # --- look and end ---

    def is_alive(self) -> bool:
        provider = self._provider
        if provider is not None:
            return self._run(self.filled(provider.alive))
        held = self._grip()
        if held is not None:
            os.close(held)
        return held is None

    def exit_code(self) -> int | None:
        """How a child ended; None where it could not say, as after a kill."""
        try:
            with open(self._quarters.path("members", f"{self.name}.exit"), encoding="ascii") as file:
                return int(file.read())
        except (OSError, ValueError):
            return None

    def ask_to_drain(self) -> None:
        """Let the drain file appear, and nudge."""
        with open(self.drain_file, "w", encoding="ascii"):
            pass
        nudge = self._pool.nudge or (self._provider or Commands("", "", "")).nudge
        if nudge:
            self._run(self.filled(nudge, words=DRAIN_WORDS))

    def end(self) -> bool:
        """End it: asked first, then by force; whether it is gone."""
        if self._pool.stop:
            self._run(self.filled(self._pool.stop))
        elif self._provider is not None:
            self._run(self.filled(self._provider.stop))
        for number in () if self._provider is not None else (signal.SIGTERM, signal.SIGKILL):
            self._signal(number)
            deadline = clock.monotonic() + KILL_GRACE_S
            while self.is_alive() and clock.monotonic() < deadline:
                clock.sleep(0.05)
        return not self.is_alive()

    def _signal(self, number: int) -> None:
        """To the child's own session, which it leads: its number can't be another's while the lock is held from within."""
        try:
            with open(self._quarters.path("members", f"{self.name}.pid"), encoding="ascii") as file:
                leader = int(file.read())
        except (OSError, ValueError):
            return
        if leader > 1 and self.is_alive() and os.getpgrp() != leader:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(leader, number)

    def _run(self, command: str) -> bool:
        """Run one of a provider's commands; whether it says yes."""
        return trusted.run(command, self._environment(), COMMAND_LIMIT_S).code == 0
