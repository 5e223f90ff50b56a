"""What came out: the figures of one run."""

from __future__ import annotations

import math
from typing import NamedTuple

from bd import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from bd.simulation.hub import Hub
    from bd.simulation.scenario import Scenario


class Figures(NamedTuple):
    """One run. A bead's wait is from ready to claimed; beads that nobody has claimed yet are left out.

    `pushes` move the branch or try to, `lost` of them were too late; `asks` and `signs` are pushes of side refs. `is_steady`
    says whether the fleet keeps up: as many beads are claimed as are made, but for chance. `simulated_s` is shorter than
    asked for if the fleet did nothing any more but try again. `freed` are claims that had stalled, noticed `stall_p50_s` after
    their agents had died (the median, and the longest); `idle_p50_s` is how long agents had nothing to do before they got
    work. `empty_looks` found nothing.
    """

    simulated_s: float
    beads: int
    claims: int
    closes: int
    waiting: int
    last_close_s: float
    wait_p50_s: float
    wait_p95_s: float
    wait_p99_s: float
    wait_mean_s: float
    waiting_mean: float
    utilisation: float
    pushes: int
    lost: int
    asks: int
    signs: int
    conflict_rate: float
    pushes_per_claim: float
    pushes_per_minute: float
    pushes_per_minute_p95: float
    looks_per_minute: float
    reads_per_minute: float
    is_steady: bool
    empty_looks: int = 0
    failures: int = 0
    freed: int = 0
    given_up: int = 0
    stall_p50_s: float = 0.0
    stall_max_s: float = 0.0
    idle_p50_s: float = 0.0
    idle_max_s: float = 0.0
    spent_usd: float = 0.0

    def as_json(self) -> dict[str, Any]:
        return {key: round(value, 3) if isinstance(value, float) else value for key, value in self._asdict().items()}


def figures_of(scenario: Scenario, hub: Hub, half: tuple[int, int]) -> Figures:
    """Return the figures at the end of a run; `half` is how many beads had arrived and how many waited half-way through."""
    tally, simulated_s = hub.tally, hub.events.now_s
    waits_s = sorted(tally.waits_s)
    minutes = max(simulated_s, 1.0) / 60
    by_minute = sorted(tally.by_minute[: max(1, int(minutes))])
    room = sum(group.jobs * (tally.members(group.name, simulated_s) if group.is_pool else group.size) for group in scenario.fleet)
    idles_s, stalls_s = sorted(tally.idles_s), sorted(tally.stalls_s)
    return Figures(
        simulated_s=simulated_s,
        beads=tally.arrived,
        claims=tally.claims,
        closes=tally.closes,
        waiting=tally.waiting,
        last_close_s=tally.last_close_s,
        wait_p50_s=percentile(waits_s, 0.5),
        wait_p95_s=percentile(waits_s, 0.95),
        wait_p99_s=percentile(waits_s, 0.99),
        wait_mean_s=sum(waits_s) / len(waits_s) if waits_s else 0.0,
        waiting_mean=tally.bead_seconds(simulated_s) / simulated_s,
        utilisation=tally.work_seconds(simulated_s) / max(room * simulated_s, 1.0),
        pushes=tally.pushes,
        lost=tally.lost,
        asks=tally.asks,
        signs=tally.signs,
        conflict_rate=_part(tally.lost, tally.pushes),
        pushes_per_claim=_part(tally.own_pushes, tally.claims),
        pushes_per_minute=(tally.pushes + tally.asks + tally.signs) / minutes,
        pushes_per_minute_p95=percentile(by_minute, 0.95),
        looks_per_minute=tally.looks / minutes,
        reads_per_minute=tally.reads / minutes,
        is_steady=simulated_s >= scenario.duration_s and _keeps_up(tally.arrived - half[0], tally.waiting - half[1]),
        empty_looks=tally.empty_looks,
        failures=tally.failures,
        freed=tally.freed,
        given_up=tally.given_up,
        stall_p50_s=percentile(stalls_s, 0.5),
        stall_max_s=max(stalls_s, default=0.0),
        idle_p50_s=percentile(idles_s, 0.5),
        idle_max_s=max(idles_s, default=0.0),
        spent_usd=tally.spent_usd,
    )


def percentile(ordered: Sequence[float], part: float) -> float:
    """The smallest of the values that is at least as large as this part of them; 0 when there are none."""
    return ordered[max(0, math.ceil(part * len(ordered)) - 1)] if ordered else 0.0


def _keeps_up(arrived: int, more: int) -> bool:
    """Whether the beads that wait became more by no more than chance makes of these arrivals."""
    return more <= 1 + 0.03 * arrived + 1.5 * math.sqrt(arrived)


def _part(some: int, of: int) -> float:
    return some / of if of else 0.0
