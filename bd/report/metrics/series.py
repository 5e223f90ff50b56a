"""The flow of work over a period: waits, and what each agent held. Pure."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.times import time_of_seconds
from bd.report.bead_events import CLAIMING
from bd.report.metrics.metrics import size_of, spread

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from bd.report.metrics.flow import Flow
    from bd.report.metrics.metrics import Window


def waits(flow: Flow, window: Window) -> list[dict[str, Any]]:
    """Return how long claimed beads had been ready, for each part of the window: `at`, and the values of `metrics.spread`."""
    size = size_of(window)
    found: dict[int, list[int]] = {}
    for row in flow.rows:
        if row.what in CLAIMING and row.wait_s >= 0 and window.start_s <= row.at_s <= window.end_s:
            found.setdefault(row.at_s // size, []).append(row.wait_s)
    parts = range(window.start_s // size, window.end_s // size + 1)
    return [{"at": time_of_seconds(part * size), **spread(found.get(part, []))} for part in parts]


def in_hand(held: Iterable[tuple[int, int]], window: Window) -> list[tuple[float, int]]:
    """Return how many of these spans overlapped, as steps: (elapsed share of the window, number)."""
    moves: dict[int, int] = {window.start_s: 0}
    for start, end in held:
        if end > window.start_s and start < window.end_s:
            begin = max(start, window.start_s)
            moves[begin] = moves.get(begin, 0) + 1
            if end < window.end_s:
                moves[end] = moves.get(end, 0) - 1
    steps, number = [], 0
    for at_s in sorted(moves):
        number += moves[at_s]
        steps.append(((at_s - window.start_s) / window.length_s, number))
    return steps
