"""What a worker is asked to do, and what it tells of each attempt."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from bd.worker.job import Command


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


class Ended(NamedTuple):
    """One attempt that ended: what became of it, in one word and in a sentence."""

    id: str
    title: str
    what: str
    words: str
