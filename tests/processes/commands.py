"""Commands that are hard to end, as programs of Python: each says the process ids of everything it has started in a file."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from tests.fleet.poolhost import is_alive
from tests.waiting import until

if TYPE_CHECKING:
    from pathlib import Path

_BEGIN = """
import os, signal, sys, time
def here(path, deaf=False):
    for name in ("SIGTERM", "SIGHUP", "SIGINT", "SIGQUIT") if deaf else ():
        signal.signal(getattr(signal, name), signal.SIG_IGN)
    with open(path, "a") as file:
        file.write(f"{os.getpid()}\\n")
def daemon(path, deaf=False):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.closerange(0, 256)
            here(path, deaf)
            while True: time.sleep(60)
        os._exit(0)
    os.wait()
"""
# The program by the kind of command, and how many processes it says of.
KINDS = {
    "plain": ("here(sys.argv[1])", 1),
    "deaf": ("here(sys.argv[1], deaf=True)", 1),
    "with a child": ("here(sys.argv[1])\nif os.fork() == 0: here(sys.argv[1], deaf=True)", 2),
    "with a daemon": ("daemon(sys.argv[1], deaf=True)\nhere(sys.argv[1])", 2),
    "deaf with daemons": ("daemon(sys.argv[1]); daemon(sys.argv[1], deaf=True)\nhere(sys.argv[1], deaf=True)", 3),
    "in a session of its own": ("if os.fork(): os.wait()\nelse:\n    os.setsid(); here(sys.argv[1], deaf=True)", 1),
}


def hard_to_end(kind: str, said: Path) -> list[str]:
    """The words of such a command."""
    return [sys.executable, "-I", "-S", "-c", f"{_BEGIN}\n{KINDS[kind][0]}\nwhile True: time.sleep(60)", str(said)]


def pids_of(kind: str, said: Path) -> list[int]:
    """Its processes, as soon as all of them are there."""
    until(lambda: said.exists() and said.read_text().count("\n") == KINDS[kind][1])
    return [int(line) for line in said.read_text().split()]


def all_gone(pids: list[int]) -> bool:
    return not any(is_alive(pid) for pid in pids)
