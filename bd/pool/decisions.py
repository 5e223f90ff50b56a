"""Decisions of the controller: when it checks its pools, and what it reports. Pure: controller.py carries them out.

policy/scaling.py decides the number of members. Times are in seconds, instants on the monotonic clock.
"""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.backoff import grown_s
from bd.core.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from bd.core.pools import Pool

_REST_S = 30.0
_LEAST_REST_S = 1.0
_LONGEST_REST_S = 300.0


class Progress(Value):
    """The checks so far: when each pool was last checked, how many rounds in a row have failed, and why the last one did."""

    looked_s: Mapping[str, float] = {}
    failures: int = 0
    why: str = ""

    def looked(self, pool: str, now_s: float) -> Progress:
        return self.replace(looked_s={**self.looked_s, pool: now_s})

    def failed(self, why: str) -> Progress:
        return self.replace(failures=self.failures + 1, why=why)

    def went_well(self) -> Progress:
        return self.replace(failures=0, why="")


def rest_s(progress: Progress, pool: Pool, now_s: float) -> float:
    """Return the seconds until a pool is checked again; 0 or less if it is due."""
    looked_s = progress.looked_s.get(pool.name)
    return 0.0 if looked_s is None else looked_s + pool.scale_interval_s - now_s


def next_round_in_s(progress: Progress, pools: Iterable[Pool], now_s: float) -> float:
    """Return the seconds until the next round."""
    return max(_LEAST_REST_S, min((rest_s(progress, pool, now_s) for pool in pools), default=_REST_S))


def retry_in_s(progress: Progress) -> float:
    """Return the seconds until the next round after a failed one: longer each time."""
    return grown_s(_LEAST_REST_S, progress.failures, _LONGEST_REST_S)


def trouble(unreadable: str, wrong: Sequence[str]) -> str:
    """Describe what is wrong with a pool; "" if nothing is."""
    return "; ".join([*([f"its agent file can't be read: {unreadable}"] if unreadable else []), *wrong])


def keeps_old_trouble(now: str, *, was_resized: bool, fails: int) -> bool:
    """Return whether the last trouble still stands: waiting to try again is no improvement."""
    return not now and not (was_resized and not fails)
