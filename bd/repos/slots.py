"""Slots: a small number for each attempt that runs on this machine, which no other one has. For ports and other things there is one of."""

from __future__ import annotations

import os

from bd import TYPE_CHECKING
from bd.core.errors import TryAgain
from bd.repos.folders import made, state_folder
from bd.store.local.lock import CloneLock

if TYPE_CHECKING:
    from bd.core.runtime import Runtime

_MOST = 1024


class Slot:
    """A slot that is held until `free`, or the end of the process."""

    def __init__(self, number: int, lock: CloneLock) -> None:
        self.number = number
        self._lock = lock

    def free(self) -> None:
        self._lock.__exit__()


def take_slot(runtime: Runtime) -> Slot:
    """Take the lowest free slot. Raises TryAgain."""
    folder = made(state_folder("slots"))
    for number in range(_MOST):
        lock = CloneLock(os.path.join(folder, f"{number}.lock"), 0, runtime)
        if lock.try_enter():
            return Slot(number, lock)
    raise TryAgain(f"{_MOST} attempts run on this machine already")
