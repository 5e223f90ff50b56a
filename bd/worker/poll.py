"""One poll of an agent, for cron lines that claim by themselves: is it due, and is there work for it."""

from __future__ import annotations

from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.core import times
from bd.core.json_shapes import MAYBE_TEXT
from bd.notify.hooks import tell as tell_people
from bd.policy.eligibility import Eligibility
from bd.policy.liveness import FAR_INTERVAL_S
from bd.policy.pacing import is_look_due
from bd.policy.readiness import Reason
from bd.worker import heartbeats
from bd.worker.fleet_state import look
from bd.worker.maintenance import keep_house
from bd.worker.pacing_state import Pacer
from bd.worker.stall_recovery import reassign
from bd.worker.stealing import steal

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from bd.store import CachedSnapshot, Clone


# When this clone last checked for stalled claims in a poll that was not due.
_LOOKED = "stalls-looked.json"


class Poll(NamedTuple):
    """The result of a poll. `ready` counts the beads that the agent may take, 0 if it was not due; `reasons` say why none.

    `freed` are claims that had stalled, `stolen` beads that it took over from the queues of others.
    """

    agent: str
    due: bool
    next_poll_at: str
    interval_s: float
    empty_cycles: int
    ready: int
    reasons: tuple[Reason, ...] = ()
    freed: tuple[str, ...] = ()
    stolen: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        shown: dict[str, Any] = {**self._asdict(), "reasons": [{"code": one.code, "text": one.text} for one in self.reasons]}
        if self.reasons:
            shown.update({"reason": self.reasons[0].code, "reason_text": self.reasons[0].text})
        for key in ("freed", "stolen"):
            shown[key] = list(shown[key])
        return {key: value for key, value in shown.items() if value or key not in ("freed", "stolen")}


def poll(hub: Clone, agent: str, *, fetch: bool = True, interval_s: float | None = None) -> Poll:
    """Look for work if the agent is due or the hub has moved, free stalled claims, and keep the pace.

    Stalled claims are looked for from time to time even if the agent is not due. Raises RemoteUnreachable.
    """
    snapshot = hub.snapshot()
    pacer = Pacer(hub, agent, snapshot, interval_s)
    if fetch and not pacer.is_due(hub) and not (_looks_for_stalls(hub, snapshot) and look(hub, f"agent:{agent}").abandoned):
        idle = Eligibility(snapshot, agent, hub.runtime.now()).idle()
        resting = Reason("not_due", "not due yet, and the hub has not moved")
        return _told(hub, agent, pacer, due=False, ready=0, reasons=[idle, resting] if idle else [resting])
    if fetch:
        hub.catch_up()
    view = look(hub, f"agent:{agent}", fetch=fetch)
    freed: tuple[str, ...] = ()
    stalls = view.abandoned if fetch and view.settings.recover else []
    outcome = reassign(hub, stalls, f"agent:{agent}")
    if outcome is not None and outcome.change is not None:
        freed = outcome.change.touched
    if fetch:
        tell_people(hub, f"agent:{agent}", view._replace(snapshot=hub.snapshot()).stalls)
    snapshot = hub.snapshot()
    answer = Eligibility(snapshot, agent, hub.runtime.now())
    ready = sum(1 for _ in answer.beads())
    stolen = steal(hub, agent) if fetch and not ready else ()
    if stolen:
        snapshot = hub.snapshot()
        answer = Eligibility(snapshot, agent, hub.runtime.now())
        ready = sum(1 for _ in answer.beads())
    if ready:
        pacer.found_work(hub, tip=snapshot.commit)
    else:
        pacer.found_none(hub, snapshot.commit, answer)
    if fetch:
        heartbeats.tell(hub, agent, pacer.as_json())
    if fetch and not ready:
        keep_house(hub, f"agent:{agent}")
        if hub.snapshot().commit != snapshot.commit:  # beads that were scheduled, say
            answer = Eligibility(hub.snapshot(), agent, hub.runtime.now())
            ready = sum(1 for _ in answer.beads())
    return _told(hub, agent, pacer, due=True, ready=ready, reasons=[] if ready else answer.why_none())._replace(
        freed=freed, stolen=stolen
    )


def _looks_for_stalls(hub: Clone, snapshot: CachedSnapshot) -> bool:
    """Return whether a poll that is not due checks for stalled claims: once in the shortest heartbeat interval."""
    signs = [float((bead.get("claim") or {}).get("heartbeat_interval_s") or FAR_INTERVAL_S) for bead in snapshot.claimed()]
    now = hub.runtime.now()
    last = (hub.noted_json(_LOOKED, {"at": MAYBE_TEXT}) or {}).get("at")
    if not signs or not hub.settings(snapshot).recover or not is_look_due(last, now, min(signs)):
        return False
    hub.note_json(_LOOKED, {"at": times.time_text(now)})
    return True


def _told(hub: Clone, agent: str, pacer: Pacer, *, due: bool, ready: int, reasons: Iterable[Reason]) -> Poll:
    pace = pacer.pace
    next_at = pace.next_poll_at or times.time_text(hub.runtime.now())
    return Poll(agent, due, next_at, pace.interval_s, pace.empty_cycles, ready, tuple(reasons))
