"""A simulated job: how long the work on a claimed bead takes, how it ends, and what it costs."""

from __future__ import annotations

from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.core.times import duration_s

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from bd.simulation.scenario import Draws, Group, Scenario

# Which kind of work a bead is, in its file; and if its duration is known, how many of the kind were made before it.
KIND, NUMBER = "simulated", "number"


class Job(NamedTuple):
    """One attempt. It ends at `ends_s`, as done or with a failure; if `dies_s` is set, with its agent."""

    bead: str
    token: str
    began_s: float
    ends_s: float
    failure: str = ""
    dies_s: float | None = None
    usd: float = 0.0
    rests_s: float = 0.0

    @property
    def took_s(self) -> float:
        return self.ends_s - self.began_s


class Jobs:
    """Draws the jobs of a run."""

    def __init__(self, scenario: Scenario, draws: Draws) -> None:
        self._scenario = scenario
        self._draws = draws
        self._work = {work.name: work for work in scenario.kinds_of_work}

    def __call__(self, group: Group, bead_id: str, token: str, bead: Mapping[str, Any], now_s: float) -> Job:
        """Return the attempt that begins now."""
        metadata = bead.get("metadata") or {}
        work = self._work[str(metadata.get(KIND) or next(iter(self._work)))]
        service_s = self._draws.service_s(work, int(metadata.get(NUMBER, 0))) / group.speed
        ends_s, failure, dies_s = now_s + service_s, "", None
        if self._draws.happens(group.dies):
            ends_s = dies_s = now_s + service_s * self._draws.spread()
        elif self._draws.happens(1 - (1 - group.fails) * (1 - work.fails)):
            failure = group.failure if group.fails else work.failure
            ends_s = now_s + service_s * self._draws.spread()
        for outage in self._scenario.outages:
            hits_s = max(now_s, outage.starts_s) + outage.after_s
            is_hit = not outage.groups or group.name in outage.groups
            if is_hit and now_s < outage.ends_s and hits_s < ends_s and dies_s is None:
                ends_s, failure = hits_s, outage.failure
        usd = work.usd + group.usd_per_hour * (ends_s - now_s) / 3600
        rests_s = duration_s(str(group.file.get("cool_down") or "0s"))
        return Job(bead_id, token, now_s, ends_s, failure, dies_s, round(usd, 4), rests_s)
