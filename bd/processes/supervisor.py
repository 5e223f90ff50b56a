"""The program between bd and a command: it ends the command's whole tree when bd asks for it, or has died.

tree.py starts it, by its path, as `supervisor.py CONTROL REPORT GRACE_S ORPHAN_GRACE_S STAYS GIVEN COMMAND...`. It imports nothing of bd.

- REPORT is a pipe that gets the command's process id, and the number of the error if it can't be started.
- CONTROL is a pipe whose other end bd holds, or -1. Each byte is a signal for the command, which has GRACE_S to end;
  9 ends the whole tree at once. End of file means that bd has gone: the tree then has ORPHAN_GRACE_S.
- TERM, INT, HUP and QUIT to the supervisor itself also ask the command to end, except for those ignored from the start.
- STAYS is 1 if it waits for everything that the command started. With 0, it ignores what the command leaves running when it
  ends by itself.
- GIVEN lists the descriptors that only the command gets, separated by commas.

To end a tree, it sends TERM to the command's process group, and to the rest of the tree once the command has gone; then KILL.
On Linux the supervisor is a subreaper: a process that daemonizes stays in its tree. Elsewhere a tree is the command's process group.
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
# A process that can't be killed within this time (another user's, one that waits for a dead file server) is left.
_KILL_LIMIT_S = 5.0
_KILL_AGAIN_S = 0.01
_ASK_GROUP_S = 0.05


def main(words: Sequence[str]) -> None:
    """Run the command, and end as it did: with its exit code or by its signal."""
    control, report = int(words[0]), int(words[1])
    for descriptor in (control, report):
        if descriptor >= 0:
            os.set_inheritable(descriptor, False)
    prctl = _prctl()
    adopts = prctl(_PR_SET_CHILD_SUBREAPER, 1)
    wake = _wake_on_signals()
    leader = _start(words[6:], report, prctl)
    for descriptor in (report, *(int(given) for given in words[5].split(",") if given)):
        os.close(descriptor)
    supervisor = Supervisor(leader, control, wake, float(words[2]), float(words[3]), stays=words[4] == "1", adopts=adopts)
    _end_as(supervisor.run())


class Supervisor:
    """The watch over one command, the `leader` of its own session and process group.

    `adopts`: orphans of the tree become its children. Otherwise it can only ask whether the group still has processes.
    """

    def __init__(
        self, leader: int, control: int, wake: int, grace_s: float, orphan_grace_s: float, *, stays: bool, adopts: bool
    ) -> None:
        self._leader, self._control, self._wake = leader, control, wake
        self._grace_s, self._orphan_grace_s, self._stays, self._adopts = grace_s, orphan_grace_s, stays, adopts
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
        """Watch until the command has ended, and its tree if that was asked for. Return the command's wait status."""
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
            return self._is_gone() or time.monotonic() >= self._kill_at_s
        return not self._has_children if self._stays else self._status is not None

    def _is_gone(self) -> bool:
        """Return whether nothing is left of the tree."""
        return not self._has_children and (self._adopts or not _has_group(self._leader))

    def _wait(self) -> None:
        """Wait until a child has ended, a signal or a request has come, or the grace period is over."""
        rest_s = None if self._kill_at_s is None else max(0.0, self._kill_at_s - time.monotonic())
        if rest_s is not None and not self._has_children:  # no signal tells when the group has gone
            rest_s = min(rest_s, _ASK_GROUP_S)
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
        """Send the command a signal. Its tree must be gone within that time."""
        at_s = time.monotonic() + within_s
        self._kill_at_s = at_s if self._kill_at_s is None else min(self._kill_at_s, at_s)
        if self._status is None:
            _signal_group(self._leader, number)

    def _ask_orphans(self) -> None:
        """Ask each process that the command left behind to end, once. Those of its group have already been asked."""
        for pid, parent, group in _processes():
            if parent == os.getpid() and pid not in self._asked:
                self._asked.add(pid)
                if group != self._leader or self._left_by_itself:
                    _signal(pid, parent, signal.SIGTERM)

    def _reap(self) -> None:
        """Collect every child that has ended: the command, and orphans of its tree."""
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
        """Kill until nothing is left: each round reaches the processes that the last one could not see yet."""
        until_s = time.monotonic() + _KILL_LIMIT_S
        while not self._is_gone() and time.monotonic() < until_s:
            _signal_group(self._leader, signal.SIGKILL)
            for pid, parent in _descendants(os.getpid()):
                _signal(pid, parent, signal.SIGKILL)
            self._reap()
            if not self._is_gone() and select.select([self._wake], [], [], _KILL_AGAIN_S)[0]:
                os.read(self._wake, 512)
            self._reap()


# --- the command ---------------------------------------------------------------------------------


def _start(command: Sequence[str], report: int, prctl: Callable[[int, int], bool]) -> int:
    """Start the command in its own session, so that neither a terminal nor the command's `kill 0` reaches the supervisor."""
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
        os.execvp(command[0], list(command))  # noqa: S606  the command without a shell, in its own process
    except OSError as error:
        os.write(report, b"%d\n" % (error.errno or errno.EIO))
    finally:
        os._exit(127)


def _end_as(status: int | None) -> None:
    """End as the command did, or by KILL if nothing could end it."""
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


def _prctl() -> Callable[[int, int], bool]:
    """Return Linux's prctl(2), as a function that returns whether it succeeded; elsewhere one that does nothing."""
    if sys.platform == "linux":
        try:
            import ctypes  # noqa: PLC0415  not every Python has it

            call = ctypes.CDLL(None).prctl
            return lambda option, value: call(option, ctypes.c_ulong(value), 0, 0, 0) == 0
        except (ImportError, OSError, AttributeError):
            pass
    return lambda *_: False


def _wake_on_signals() -> int:
    """Return a descriptor that gets the number of each signal that concerns the supervisor."""
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


def _has_group(leader: int) -> bool:
    """Return whether a process group has processes."""
    try:
        os.killpg(leader, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # another user's
        pass
    return True


def _signal(pid: int, parent: int, number: int) -> None:
    """Send a signal to a process if it is still that parent's child. Another process may have its number by now."""
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
    """Yield each process of this machine with its parent and its group, if the system shows them as Linux does."""
    try:
        names = os.listdir("/proc")
    except OSError:
        return
    for name in names:
        family = _family_of(int(name)) if name.isdigit() else None
        if family is not None:
            yield int(name), *family


def _family_of(pid: int) -> tuple[int, int] | None:
    """Return the parent and the group of a process; None if it does not exist or can't be seen."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            _, parent, group = file.read().rpartition(b")")[2].split()[:3]
            return int(parent), int(group)
    except (OSError, ValueError):
        return None


def _descendants(root: int) -> list[tuple[int, int]]:
    """Return every descendant of a process with its parent, parents first."""
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
