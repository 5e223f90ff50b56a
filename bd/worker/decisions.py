"""A worker's decisions about what to do next. Pure: loop.py carries them out.

`Standing` is that knowledge; every event returns a new one. Times are in seconds, instants on the monotonic clock.
"""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.backoff import grown_s
from bd.core.errors import BadInput, Damaged, NotFound, StaleToken, TryAgain
from bd.core.value import Value
from bd.policy import account_rest
from bd.policy.pacing import AGAIN_S
from bd.worker.result import FAILED, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bd.core.errors import BdError
    from bd.worker.options import Plan

# How often writing finished work is tried before it is left to the hub, which frees the bead when it stalls.
LAST_TRIES = 5
_LONGEST_PAUSE_S, _WHILE_STOPPING_S, _LEAST_PAUSE_S, _NOTHING_TO_WAIT_FOR_S = 30.0, 0.2, 0.01, 3600.0
# A claim is checked this long after it may have stalled: its holder's clock may be a little behind.
_AFTER_A_STALL_S = 1.0


class Standing(Value):
    """`started` counts attempts, `stops` how often it was asked to stop, `running` its jobs.

    It has been without work since `idle_since_s`, and looks for some at `next_look_s`. `nothing` is why the last look found none,
    and `tip` was the hub's tip then. `has_looked_again`: that look was for beads that it had made itself. `is_draining`: it ends as
    soon as it may.
    """

    idle_since_s: float
    started: int = 0
    stops: int = 0
    running: int = 0
    is_draining: bool = False
    next_look_s: float = 0.0
    tip: str = ""
    nothing: BdError | None = None
    has_looked_again: bool = False

    def begun(self, now_s: float) -> Standing:
        """An attempt started."""
        return self.replace(started=self.started + 1, idle_since_s=now_s)

    def ended(self, now_s: float) -> Standing:
        """An attempt ended."""
        return self.replace(idle_since_s=now_s)

    def found_work(self, *, rests_until_s: float | None = None) -> Standing:
        """There was work, or there may be some after a rest."""
        next_look_s = self.next_look_s if rests_until_s is None else rests_until_s
        return self.replace(nothing=None, next_look_s=next_look_s, has_looked_again=False)

    def made_work(self) -> Standing:
        """It found nothing, and then made beads itself, by a schedule, say: it looks again immediately."""
        return self.replace(nothing=None, next_look_s=0.0, has_looked_again=True)

    def found_nothing(self, why: BdError, tip: str, next_look_s: float) -> Standing:
        """There was no work at this tip of the hub."""
        return self.replace(nothing=why, tip=tip, next_look_s=next_look_s, has_looked_again=False)

    def failed_to_look(self, why: BdError, now_s: float) -> Standing:
        """A transient error prevented the look; a busy server says how long to wait."""
        return self.replace(nothing=why, next_look_s=now_s + max(AGAIN_S, why.data.get("retry_after_s") or 0))

    def woken(self) -> Standing:
        """The hub has moved."""
        return self.replace(next_look_s=0.0)


def wants_more(standing: Standing, plan: Plan) -> bool:
    """Return whether it may take another bead."""
    may_start = plan.max_tasks is None or standing.started < plan.max_tasks
    return not standing.is_draining and standing.running < plan.jobs and may_start


def is_due(standing: Standing, plan: Plan, now_s: float) -> bool:
    """Return whether it looks for work now."""
    return not standing.stops and wants_more(standing, plan) and now_s >= standing.next_look_s


def is_done(standing: Standing, plan: Plan, now_s: float) -> bool:
    """Return whether there is nothing left to stay for."""
    if standing.running:
        return False
    if standing.stops or not wants_more(standing, plan) or (plan.once and standing.nothing is not None):
        return True
    return plan.max_idle_s is not None and now_s - standing.idle_since_s >= plan.max_idle_s


def pause_s(standing: Standing, plan: Plan, now_s: float, limits_s: Iterable[float], peek_s: float) -> float:
    """Return how long to wait for an event: until a job's limit (`limits_s`), the next look, or the next peek at the hub."""
    rests_s = list(limits_s)
    if standing.stops:
        rests_s.append(_WHILE_STOPPING_S)
    elif wants_more(standing, plan):
        rests_s += [max(0.0, standing.next_look_s - now_s), peek_s]
        if plan.max_idle_s is not None and not standing.running:
            rests_s.append(max(0.0, standing.idle_since_s + plan.max_idle_s - now_s))
    return max(_LEAST_PAUSE_S, min(rests_s, default=_NOTHING_TO_WAIT_FOR_S))


def may_peek(standing: Standing, plan: Plan) -> bool:
    """Return whether it matters that the hub moves."""
    return wants_more(standing, plan) and not standing.stops


def may_claim(
    standing: Standing,
    plan: Plan,
    *,
    is_idle_for_a_reason: bool,
    is_due_by_pace: bool,
    has_moved: bool,
    has_stalls: bool = False,
) -> bool:
    """Return whether to try a claim: a worker run once by a timer skips the runs that its pace skips.

    It does not skip if a claim has stalled: the freed bead may fit it.
    """
    return is_idle_for_a_reason or is_due_by_pace or bool(standing.started) or has_moved or has_stalls or not plan.once


def looks_again(standing: Standing, plan: Plan, *, tip: str, tip_now: str) -> bool:
    """Return whether to look again: nothing was found at `tip`, and the maintenance since then has changed the hub.

    Only once in a row, or maintenance that is due at each look would never let it rest.
    """
    return tip_now != tip and not standing.has_looked_again and not standing.stops and wants_more(standing, plan)


def account_wait_s(nothing: BdError) -> float | None:
    """Return when the rest of the agent's account ends, or its trial; None if that is not why there was nothing."""
    wait_s = nothing.data.get("retry_after_s") if nothing.data.get("reason") == account_rest.CODE else None
    return None if wait_s is None else float(wait_s)


def next_look_in_s(pace_s: float, stall_s: float | None, turn_s: float | None, account_s: float | None = None) -> float:
    """Return when to look again after finding nothing: by pace, when a claim may have stalled, when a bead becomes due, or when
    the account's rest ends.
    """
    waits_s = [pace_s] if account_s is None else [pace_s, account_s]
    if stall_s is not None:
        waits_s.append(stall_s + _AFTER_A_STALL_S)
    if turn_s is not None:
        waits_s.append(turn_s)
    return min(waits_s)


def pause_before_try_s(tried: int, standing: Standing, error: BdError) -> float | None:
    """Return the pause before writing finished work again; None to give up. After a second stop request there are two tries."""
    last = 1 if standing.stops > 1 else LAST_TRIES - 1
    if tried >= last or error.data.get("scope") == "hub" or _is_published_later(error):
        return None
    return grown_s(1.0, tried, _LONGEST_PAUSE_S)


def _is_published_later(error: BdError) -> bool:
    """Return whether the write is in the offline queue: a later command publishes it."""
    return error.data.get("written") == "local" and "kept" not in error.data


def after_error(error: BdError, outcome: Outcome) -> tuple[str, str] | Outcome:
    """Return what is reported if an outcome could not be written, or the failure that is written instead."""
    if _is_published_later(error):
        return outcome.what, f"{outcome.text or 'Done'} ({error})"
    if isinstance(error, TryAgain):
        return "unknown", f"{error}; the hub frees it when it stalls"
    if isinstance(error, (NotFound, StaleToken)):
        return "lost", str(error)
    if isinstance(error, Damaged):
        return "unknown", str(error)
    if outcome.what == FAILED:
        return "lost", str(error)
    kind = "invalid_output" if isinstance(error, BadInput) else "other"
    return Outcome(FAILED, kind, f"can't be kept as {outcome.what}: {error}")
