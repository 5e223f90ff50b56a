"""What a worker is asked to do, and what it tells of each attempt."""

from __future__ import annotations

import os
from threading import Thread

from bd import clock
from bd.light import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from bd.fleet.job import Command

_LOOK_EVERY_S = 0.5


class Plan(NamedTuple):
    """How a worker works: `once` ends when nothing fits, `max_tasks` after so many beads, `max_idle_s` after so long without."""

    agent: str
    command: Command
    once: bool = False
    jobs: int = 1
    max_tasks: int | None = None
    max_idle_s: float | None = None
    interval_s: float | None = None
    recover: bool | None = None
    drain_file: str | None = None

    @property
    def is_draining(self) -> bool:
        """Whether a pool's controller wants the worker to end: what is in hand is finished, and nothing more is claimed."""
        return bool(os.environ.get("BD_DRAIN")) or bool(self.drain_file and os.path.exists(self.drain_file))

    def watch(self, wake: Callable[[], None]) -> None:
        """Call `wake` once, from a thread of its own, when the drain file appears; a waiting worker ends at once then."""

        def look() -> None:
            while not self.is_draining:
                clock.sleep(_LOOK_EVERY_S)
            wake()

        if self.drain_file:
            Thread(target=look, daemon=True).start()


class Ended(NamedTuple):
    """One attempt that ended: what became of it, in one word and in a sentence."""

    id: str
    title: str
    what: str
    words: str
