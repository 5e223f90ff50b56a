"""Data that only this clone has, in files of bd's own folder: notes, the journal, the writer lock."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import cached_property

from bd import TYPE_CHECKING
from bd.core import files
from bd.store.local.journal import Journal
from bd.store.local.lock import CloneLock

if TYPE_CHECKING:
    from collections.abc import Callable

    from bd.core.runtime import Runtime
    from bd.store.local.journal import Journal
    from bd.store.local.lock import CloneLock


class LocalFiles:
    """The folder of one clone, created by the first write."""

    def __init__(self, folder: str, runtime: Runtime) -> None:
        self._folder = folder
        self._runtime = runtime

    @cached_property
    def journal(self) -> Journal:
        """The operations that this clone has begun and not yet settled."""
        return Journal(os.path.join(self._folder, "journal"))

    def lock(self, timeout_s: float, on_wait: Callable[[], None] | None = None) -> CloneLock:
        """Return the writer lock. Entering it waits up to `timeout_s`, and calls `on_wait` if it has to wait."""
        return CloneLock(os.path.join(self._folder, "lock"), timeout_s, self._runtime, on_wait)

    def read(self, name: str) -> str | None:
        """Return a note; None if there is none or it can't be read."""
        try:
            with open(os.path.join(self._folder, name), encoding="utf-8", errors="replace") as file:
                return file.read()
        except OSError:
            return None

    def write(self, name: str, text: str) -> None:
        """Write a note, whole or not at all. Raises OSError."""
        files.replace(os.path.join(self._folder, name), text, only_mine=True)

    def drop(self, name: str) -> None:
        """Remove a note."""
        with suppress(OSError):
            os.unlink(os.path.join(self._folder, name))

    def has_any(self, folder: str) -> bool:
        """Return whether there has ever been a note below this name."""
        return os.path.isdir(os.path.join(self._folder, folder))
