"""A worker's task, and its report on each attempt."""

from __future__ import annotations

from typing import NamedTuple

from bd import TYPE_CHECKING

if TYPE_CHECKING:
    from bd.worker.job import Command


class Plan(NamedTuple):
    """The options of a worker.

    `once`: end when nothing fits; `max_tasks`: after this many beads; `max_idle_s`: after this long without.
    """

    agent: str
    command: Command
    once: bool = False
    jobs: int = 1
    max_tasks: int | None = None
    max_idle_s: float | None = None
    interval_s: float | None = None
    recover: bool | None = None


class Ended(NamedTuple):
    """An attempt that ended: the result in one word, and in a sentence."""

    id: str
    title: str
    what: str
    words: str
