"""The Runtime of tests: real life, moved and stopped by variables of the environment; and clones opened with it.

`BD_TEST_CLOCK_OFFSET_S` and `BD_TEST_UPTIME_OFFSET_S` are added to the clocks. `BD_TEST_AHEAD` names a file with seconds by
which all clocks are ahead, from the moment that it is there. `BD_TEST_STOP_AT` ends the process at that step of a write, as
kill -9 would. bd itself reads none of them: they hold for commands of this process (`here`), and for processes that
tests/entry.py starts; those that such a process starts inherit them.
"""

from __future__ import annotations

import contextlib
import os
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from bd.cli import app
from bd.cli.runtime import SystemRuntime
from bd.policy.ranking import longest_waiting_is_due

if TYPE_CHECKING:
    from datetime import datetime

    from bd.store import Clone, Place

PREFIX = "BD_TEST_"
CLOCK, UPTIME, AHEAD, STOP = (f"{PREFIX}{name}" for name in ("CLOCK_OFFSET_S", "UPTIME_OFFSET_S", "AHEAD", "STOP_AT"))


class HookedRuntime(SystemRuntime):
    """What the environment says at that moment holds: a test may change it between two commands."""

    def now(self) -> datetime:
        return super().now() + timedelta(seconds=_seconds(CLOCK) + _ahead_s())

    def monotonic(self) -> float:
        return super().monotonic() + _ahead_s()

    def uptime(self) -> float:
        return super().uptime() + _seconds(UPTIME) + _ahead_s()

    def new_id(self) -> str:
        """Return an id whose claim takes the beads in their order: no test waits for what one in ten does."""
        return next(uid for uid in iter(super().new_id, "") if not longest_waiting_is_due(uid))

    def on_step(self, name: str) -> None:
        if name == os.environ.get(STOP):
            os._exit(137)


def _seconds(variable: str) -> float:
    return float(os.environ.get(variable) or 0)


def _ahead_s() -> float:
    path = os.environ.get(AHEAD)
    with contextlib.suppress(FileNotFoundError):
        if path:
            with open(path, encoding="utf-8") as file:
                return float(file.read())
    return 0.0


# One for all: a test that wants another clock or other names sets them on it, with monkeypatch.
RUNTIME = HookedRuntime()


def open_clone(place: Place, **listeners: Any) -> Clone:
    """A clone as commands of this process open it."""
    return app.open_clone(place, RUNTIME, **listeners)
