"""Sending heartbeats: those of a claim, and the agent's own record in side refs.

A heartbeat takes no lock, and touches only bd's own folder and a few objects in the clone. If the server takes no side refs, a
heartbeat is a commit, at most every `BRANCH_EVERY_S`.
"""

from __future__ import annotations

from datetime import timedelta
from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.core import times, urls
from bd.operations.base import asked
from bd.operations.capacity_file import capacity_of
from bd.operations.heartbeat import Heartbeat as Sign
from bd.policy.liveness import FAR_INTERVAL_S, NEAR_INTERVAL_S, RECORD_EVERY_S, last_commit_of
from bd.policy.roles import heartbeat_interval_of
from bd.policy.stealing import queues
from bd.store import SideRef
from bd.store.heartbeat.side_refs import AGENTS, CLAIMS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from typing import Any

    from bd.core.runtime import Runtime
    from bd.core.settings import Settings
    from bd.store import Clone

BRANCH_EVERY_S = 900.0
PROGRESS_LIMIT = 20
# Keys that are no news by themselves: they change at every poll, and news cost a push.
_PASSING = frozenset({"last_heartbeat", "version", "host", "next_poll_at", "empty_cycles"})


class Heartbeat(NamedTuple):
    """A claim's way of sending heartbeats: every `interval_s` seconds, by `ref` or on the `branch`."""

    interval_s: float
    by: str

    def as_args(self) -> dict[str, Any]:
        whole = int(self.interval_s)
        return {"interval_s": whole if whole == self.interval_s else self.interval_s, "by": self.by}


class SteadyClock:
    """A clock for one claim's heartbeats that never goes back, so that no heartbeat is sent twice.

    Observers compare the names of heartbeats, which are made of their times: a name that was seen before shows nothing.
    """

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._last = runtime.now()
        self._last_up_s = runtime.uptime()

    def now(self) -> datetime:
        """Return the time of the wall clock, or the last time plus what has passed since on the boot-time clock if that is later."""
        up_s = self._runtime.uptime()
        passed = timedelta(seconds=max(0.0, up_s - self._last_up_s))
        self._last, self._last_up_s = max(self._runtime.now(), self._last + passed), up_s
        return self._last


def is_near(hub: Clone) -> bool:
    """Return whether the remote is a path, or on this machine."""
    return not hub.remote_name or urls.is_here(hub.place.url or "")


def heartbeat_for(hub: Clone, agent: Mapping[str, Any], settings: Settings) -> Heartbeat:
    """Return how a claim made here now will send heartbeats; probes the remote the first time. Raises RemoteUnreachable."""
    interval_s = heartbeat_interval_of(agent, settings) or (NEAR_INTERVAL_S if is_near(hub) else FAR_INTERVAL_S)
    if hub.sides.probe(hub.runtime.now()):
        return Heartbeat(interval_s, "ref")
    return Heartbeat(max(interval_s, BRANCH_EVERY_S), "branch")


def beat(hub: Clone, token: str, interval_s: float, at: datetime) -> bool:
    """Send a claim's heartbeat of this time by its ref. False if the ref is not what this holder wrote last: check the branch then.

    Raises RemoteUnreachable.
    """
    sides = hub.sides
    new, old = sides.beat(at, interval_s), sides.last_beat(token)
    if new == old:
        return True
    if sides.move([SideRef(CLAIMS + token, new, old)]):
        sides.note_beat(token, new)
        return True
    return False


def adopt(hub: Clone, token: str) -> None:
    """Accept the current value of a claim's ref: another process of the holder wrote it. Raises RemoteUnreachable."""
    hub.sides.note_beat(token, hub.sides.beats().get(token))


def branch_tip(hub: Clone) -> str:
    """Ask for the hub branch's tip without fetching it. Raises TryAgain."""
    if not hub.remote_name:
        return hub.repo.ref(hub.branch) or ""
    return hub.remote.list(hub.branch).get(hub.branch, "")


def is_due_on_branch(claim: Mapping[str, Any], now: datetime, every_s: float = BRANCH_EVERY_S) -> bool:
    """Return whether a claim's last commit is old enough for another one that is only a heartbeat.

    So is one that is dated far ahead: the clock was set back since.
    """
    said = last_commit_of(claim)
    return not said or abs((now - times.instant_of(said)).total_seconds()) >= every_s


def later_than(claim: Mapping[str, Any], now: datetime) -> datetime:
    """Return the time of a heartbeat that is sent now: none is dated before the one that it follows."""
    said = last_commit_of(claim)
    return max(now, times.instant_of(said) + timedelta(seconds=1)) if said else now


def sign_on_branch(hub: Clone, agent: str, bead_id: str, token: str, at: datetime) -> None:
    """Send a heartbeat of this time as a commit. Raises the refusals of a write."""
    form = asked(hub.runtime, f"agent:{agent}", tokens={bead_id: token}, ids=[bead_id])
    hub.publish(Sign(**{**form, "at": times.time_text(at, exact=True)}))


# --- the agent's own record ------------------------------------------------------------------


def tell(hub: Clone, agent: str, changes: Mapping[str, Any] | None = None) -> bool:
    """Send the agent's record if anything but the time has changed, or if it is old. Return whether it was sent.

    `changes` are keys of the record that the caller knows (pacing, progress). Raises RemoteUnreachable.
    """
    if not hub.sides.probe(hub.runtime.now()):
        return False
    refs = hub.sides.listing(AGENTS)
    heard = hub.hear(refs)
    record = record_of(hub, agent, heard.get(agent, {}), changes or {})
    if not is_news(record, heard.get(agent), hub.runtime.now()):
        return False
    commit = hub.sides.record_commit(record, agent, hub.runtime.now())
    # Another process of this agent may have been faster: its record is as good, and the next one corrects the rest.
    if not hub.sides.move([SideRef(AGENTS + agent, commit, refs.get(AGENTS + agent))]):
        return False
    hub.hear({**refs, AGENTS + agent: commit})
    return True


def forget(hub: Clone, agent: str) -> None:
    """Remove the record of an agent that no longer exists. Raises RemoteUnreachable."""
    refs = hub.sides.listing(AGENTS) if hub.sides.may_list() else {}
    oid = refs.pop(AGENTS + agent, None)
    if oid and hub.sides.move([SideRef(AGENTS + agent, None, oid)]):
        hub.hear(refs)


def record_of(hub: Clone, agent: str, before: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return an agent's current capacity, with what only it knows: progress and pacing."""
    snapshot = hub.snapshot()
    now = hub.runtime.now()
    record = capacity_of(agent, snapshot, now, sign_of_life=True)
    for key in ("progress", "next_poll_at", "interval_s", "empty_cycles", "idle", "idle_since"):
        if before.get(key) is not None:
            record[key] = before[key]
    record.update({key: value for key, value in changes.items() if value is not None})
    for key in [key for key, value in changes.items() if value is None]:
        record.pop(key, None)
    if changes.get("idle"):  # what waits in its own queue belongs to that report
        record["pending_count"] = len(queues(snapshot, now).get(agent, ()))
    if changes.get("progress"):  # for one of the beads it holds; notes about the others stay
        told = {note.get("bead") for note in changes["progress"]}
        record["progress"] = [
            *(note for note in before.get("progress", []) if note.get("bead") not in told),
            *changes["progress"],
        ]
    if "progress" in record:
        held = set(record.get("beads", []))
        record["progress"] = [note for note in record["progress"] if note.get("bead") in held][-PROGRESS_LIMIT:]
    return {key: value for key, value in record.items() if value not in (None, [], "")}


def is_news(record: Mapping[str, Any], before: Mapping[str, Any] | None, now: datetime) -> bool:
    """Return whether an agent's record is sent: the last one, `before`, says something else or is old."""
    if before is None:
        return True
    keys = {*record, *before} - _PASSING
    if any(record.get(key) != before.get(key) for key in keys):
        return True
    said = before.get("last_heartbeat")
    return not said or abs((now - times.instant_of(said)).total_seconds()) >= RECORD_EVERY_S
