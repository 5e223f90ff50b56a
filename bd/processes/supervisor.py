"""The program between bd and a command: it ends the command's whole tree when bd asks for it, or has died.

tree.py starts it, by its path, as `supervisor.py CONTROL REPORT GRACE_S ORPHAN_GRACE_S STAYS GIVEN COMMAND...`. It imports nothing of bd.

- REPORT is a pipe that gets the command's process id, and the number of the error if it can't be started.
- CONTROL is a pipe of which bd holds the other end, or -1. Each byte is a signal for the command, which has GRACE_S to end;
  9 ends the whole tree at once. Its end says that bd has gone: the tree has ORPHAN_GRACE_S.
- TERM, INT, HUP and QUIT to the supervisor itself ask the command to end, too, except for those it was born to ignore.
- STAYS is 1 where it waits for everything that the command has started. With 0, what the command leaves running when it
  ends by itself is none of its business.
- GIVEN are the descriptors, with commas, that are the command's alone.

A tree that ends: TERM goes to the command's process group, and to what is left of the tree when the command has gone; then KILL.
On Linux the supervisor is a subreaper: what daemonizes stays in its tree. Elsewhere a tree is the command's process group.
"""

from __future__ import annotations

import errno
import os
import select
import signal
import sys
import time

TYPE_CHECKING = False  # typing takes as long to import as everything else here
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
# Python ignores these for itself; a command expects to be ended by them.
_RESTORED = ("SIGPIPE", "SIGXFSZ")
# What can't be killed within this time (another user's process, a dead file server) is left.
_KILL_LIMIT_S = 5.0
_KILL_AGAIN_S = 0.01


def main(words: Sequence[str]) -> None:
    """Run the command, and end as it did: with its exit code, or by its signal."""
    control, report = int(words[0]), int(words[1])
    for descriptor in (control, report):
        if descriptor >= 0:
            os.set_inheritable(descriptor, False)
    prctl = _prctl()
    prctl(_PR_SET_CHILD_SUBREAPER, 1)
    wake = _wake_on_signals()
    leader = _start(words[6:], report, prctl)
    for descriptor in (report, *(int(given) for given in words[5].split(",") if given)):
        os.close(descriptor)
    _end_as(Supervisor(leader, control, wake, float(words[2]), float(words[3]), stays=words[4] == "1").run())


class Supervisor:
    """The watch over one command, `leader` of a session and process group of its own."""

    def __init__(self, leader: int, control: int, wake: int, grace_s: float, orphan_grace_s: float, *, stays: bool) -> None:
        self._leader, self._control, self._wake = leader, control, wake
        self._grace_s, self._orphan_grace_s, self._stays = grace_s, orphan_grace_s, stays
        self._status: int | None = None
        self._has_children = True
        self._kill_at_s: float | None = None  # set as soon as the tree is to end
        self._asked = set[int]()
        self._left_by_itself = False  # the command had gone before anybody was asked to end
        self._poller = select.poll()
        self._poller.register(wake, select.POLLIN)
        if control >= 0:
            self._poller.register(control, select.POLLIN)

    def run(self) -> int | None:
        """Watch until the command has ended, and its tree where that was asked for. Its wait status."""
        while not self._is_over():
            self._wait()
            self._reap()
            if self._kill_at_s is not None and self._status is not None:
                self._ask_orphans()
        if self._kill_at_s is not None:
            self._kill_all()
        return self._status

    def _is_over(self) -> bool:
        if self._kill_at_s is not None:
            return not self._has_children or time.monotonic() >= self._kill_at_s
        return not self._has_children if self._stays else self._status is not None

    def _wait(self) -> None:
        """Until a child has ended, somebody asks for something, or the grace is over."""
        rest_s = None if self._kill_at_s is None else max(0.0, self._kill_at_s - time.monotonic())
        for descriptor, _ in self._poller.poll(None if rest_s is None else rest_s * 1000 + 1):
            said = os.read(descriptor, 512)
            if descriptor == self._wake:
                if set(said) - {signal.SIGCHLD}:
                    self._end(signal.SIGTERM, self._grace_s)
            elif not said:
                self._poller.unregister(descriptor)
                self._end(signal.SIGTERM, self._orphan_grace_s)
            for number in said if descriptor == self._control else b"":
                self._end(number, 0.0 if number == signal.SIGKILL else self._grace_s)

    def _end(self, number: int, within_s: float) -> None:
        """Send the command a signal; its tree has to be gone within that time."""
        at_s = time.monotonic() + within_s
        self._kill_at_s = at_s if self._kill_at_s is None else min(self._kill_at_s, at_s)
        if self._status is None:
            _signal_group(self._leader, number)

    def _ask_orphans(self) -> None:
        """Ask each process to end that the command has left, once; those of its group have been asked."""
        for pid, parent, group in _processes():
            if parent == os.getpid() and pid not in self._asked:
                self._asked.add(pid)
                if group != self._leader or self._left_by_itself:
                    _signal(pid, parent, signal.SIGTERM)

    def _reap(self) -> None:
        """Take note of every child that has ended: the command, and orphans of its tree."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                self._has_children = False
                return
            if pid == 0:
                return
            if pid == self._leader:
                self._status = status
                self._left_by_itself = self._kill_at_s is None

    def _kill_all(self) -> None:
        """Kill until nobody is left: each round reaches what the last one could not see yet."""
        until_s = time.monotonic() + _KILL_LIMIT_S
        while self._has_children and time.monotonic() < until_s:
            _signal_group(self._leader, signal.SIGKILL)
            for pid, parent in _descendants(os.getpid()):
                _signal(pid, parent, signal.SIGKILL)
            self._reap()
            if self._has_children and select.select([self._wake], [], [], _KILL_AGAIN_S)[0]:
                os.read(self._wake, 512)
            self._reap()


# --- the command ---------------------------------------------------------------------------------


def _start(command: Sequence[str], report: int, prctl: Callable[[int, int], None]) -> int:
    """Start the command in a session of its own, so that neither a terminal nor its own `kill 0` reaches the supervisor."""
    parent = os.getpid()
    leader = os.fork()
    if leader:
        return leader
    try:
        os.setsid()
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)  # a killed supervisor takes the command with it
        if os.getppid() != parent:
            os._exit(1)
        for name in _RESTORED:
            signal.signal(getattr(signal, name), signal.SIG_DFL)
        os.write(report, b"%d\n" % os.getpid())
        os.execvp(command[0], list(command))  # noqa: S606  the command as it stands, in a process of its own
    except OSError as error:
        os.write(report, b"%d\n" % (error.errno or errno.EIO))
    finally:
        os._exit(127)


def _end_as(status: int | None) -> None:
    """End as the command did; by KILL where nothing could end it."""
    code = -signal.SIGKILL if status is None else os.waitstatus_to_exitcode(status)
    if code >= 0:
        os._exit(code)
    import resource  # noqa: PLC0415  only after a signal

    try:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the command has dumped its own core
        signal.signal(-code, signal.SIG_DFL)
    except (OSError, ValueError):  # KILL can't be set
        pass
    os.kill(os.getpid(), -code)
    os._exit(128 - code)


# --- the system ----------------------------------------------------------------------------------


def _prctl() -> Callable[[int, int], None]:
    """Linux's prctl(2); elsewhere a function that does nothing."""
    if sys.platform == "linux":
        try:
            import ctypes  # noqa: PLC0415  not every Python has it

            call = ctypes.CDLL(None).prctl
            return lambda option, value: call(option, ctypes.c_ulong(value), 0, 0, 0)
        except (ImportError, OSError, AttributeError):
            pass
    return lambda *_: None


def _wake_on_signals() -> int:
    """A descriptor that gets the number of each signal that concerns the supervisor."""
    read, write = os.pipe()
    os.set_blocking(write, False)
    signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda *_: None)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    return read


def _signal_group(leader: int, number: int) -> None:
    try:
        os.killpg(leader, number)
    except (ProcessLookupError, PermissionError):
        pass


def _signal(pid: int, parent: int, number: int) -> None:
    """Send a signal to a process if it is still that parent's child: a number can be another's by now."""
    try:
        descriptor = os.pidfd_open(pid)
    except (AttributeError, OSError):
        return
    try:
        if (_family_of(pid) or (0, 0))[0] == parent:
            signal.pidfd_send_signal(descriptor, number)
    except (ProcessLookupError, PermissionError):
        pass
    finally:
        os.close(descriptor)


def _processes() -> Iterator[tuple[int, int, int]]:
    """Every process of this machine, its parent and its group, where the system shows them as Linux does."""
    try:
        names = os.listdir("/proc")
    except OSError:
        return
    for name in names:
        family = _family_of(int(name)) if name.isdigit() else None
        if family is not None:
            yield int(name), *family


def _family_of(pid: int) -> tuple[int, int] | None:
    """The parent and the group of a process; None where there is none of this number, or none to be seen."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            _, parent, group = file.read().rpartition(b")")[2].split()[:3]
            return int(parent), int(group)
    except (OSError, ValueError):
        return None


def _descendants(root: int) -> list[tuple[int, int]]:
    """Every process below this one with its parent, parents first."""
    children: dict[int, list[int]] = {}
    for pid, parent, _ in _processes():
        children.setdefault(parent, []).append(pid)
    found: list[tuple[int, int]] = []
    todo = [root]
    while todo:
        parent = todo.pop(0)
        for pid in children.pop(parent, ()):
            found.append((pid, parent))
            todo.append(pid)
    return found


if __name__ == "__main__":
    main(sys.argv[1:])
