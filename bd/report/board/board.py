"""The board: the state of the whole fleet in one value. Pure; markdown.py and board_page.py show it.

Nothing in it changes with time alone except what the clock decides: the boards of a quiet day are all equal.
"""

from __future__ import annotations

from itertools import islice
from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.core.ids import hub_name
from bd.core.queries import made_of
from bd.core.times import instant_of, time_of_seconds
from bd.policy.capacity import is_presumed_offline, limit_of, status_of
from bd.policy.eligibility import pause_of, pause_words
from bd.policy.lifecycle import waits_for_human
from bd.policy.live_notes import last_note
from bd.policy.priority import TIERS, base_priority, tier_of
from bd.policy.readiness import PHASES, Readiness
from bd.report.agents import names_of
from bd.report.metrics.metrics import measure

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime
    from typing import Any

    from bd.core.model import Bead, Snapshot
    from bd.core.settings import Settings
    from bd.report.metrics.flow import Flow

# How many of each kind are shown; the number of further ones is given.
SHOWN = 12
LATELY = 10
_FLOW_S = 7 * 86400


class Entry(NamedTuple):
    """A bead on the board. `crew` is its holder, `since` since when it is in this state, `text` why or how."""

    id: str
    title: str
    phase: str
    gate: str
    crew: str = ""
    since: str = ""
    text: str = ""
    is_delayed: bool = False


class Agent(NamedTuple):
    """An agent: its status, its beads, and how many it may hold (None: no limit)."""

    name: str
    status: str
    role: str
    beads: tuple[str, ...]
    limit: int | None


class Board(NamedTuple):
    """The board. `ready` is by tier, the most urgent first; `flow` are the metrics of the week up to the last event."""

    name: str
    paused: str
    agents: list[Agent]
    flying: list[Entry]
    ready: dict[str, list[Entry]]
    blocked: list[Entry]
    waiting: list[Entry]
    dead: list[Entry]
    finished: list[Entry]
    flow: dict[str, Any]

    def as_json(self) -> dict[str, Any]:
        """Return the object of `bd board --json`."""
        lists = {key: list(map(_set, getattr(self, key))) for key in ("flying", "blocked", "waiting", "dead", "finished")}
        agents = [_set(crew) | {"beads": list(crew.beads)} for crew in self.agents]
        ready = {tier: list(map(_set, entries)) for tier, entries in self.ready.items()}
        paused = {"paused": self.paused} if self.paused else {}
        return {"name": self.name, **paused, "agents": agents, "ready": ready, **lists, "flow": self.flow}


def _set(entry: Entry | Agent) -> dict[str, Any]:
    return {key: value for key, value in entry._asdict().items() if value not in ("", None, ())}


def gather(snapshot: Snapshot, flow: Flow, settings: Settings, now: datetime) -> Board:
    """Compute the board of a snapshot."""
    by_phase: dict[str, list[Bead]] = {phase: [] for phase in PHASES}
    readiness = Readiness(snapshot, now)
    for bead in snapshot.live():
        by_phase[readiness.phase(bead)].append(bead)
    for beads in by_phase.values():
        beads.sort(key=lambda bead: (base_priority(bead), made_of(bead.fields), bead.id))
    held = [bead for phase in ("claimed", "running", "validating") for bead in by_phase[phase]]
    parked = by_phase["parked"]
    standing_still = [bead for bead in parked if not waits_for_human(bead) and bead.type != "epic"]
    blocked = [*by_phase["pending"], *by_phase["retrying"], *standing_still]
    paused = pause_of(snapshot)
    return Board(
        hub_name(snapshot.config().get("prefix")),
        pause_words(paused) if paused else "",
        [_agent(name, snapshot, now) for name in names_of(snapshot)],
        sorted(
            (_flying(bead, readiness, settings, last_note(bead, snapshot)) for bead in held),
            key=lambda entry: (entry.since, entry.id),
        ),
        {tier: entries for tier in TIERS if (entries := [_entry(b, "ready") for b in by_phase["ready"] if _tier(b) == tier])},
        [_entry(bead, readiness.phase(bead), text=_why(bead, readiness)) for bead in blocked],
        [_waiting(bead) for bead in parked if waits_for_human(bead)],
        [_dead(bead) for bead in _whole(by_phase["dead_lettered"], snapshot)],
        _finished(snapshot),
        _flow(flow, snapshot, now),
    )


def _tier(bead: Bead) -> str:
    return tier_of(base_priority(bead))


def _entry(bead: Bead, phase: str, **more: Any) -> Entry:
    return Entry(bead.id, bead.title, phase, f"P{bead.priority} {bead.type}", **more)


def _agent(name: str, snapshot: Snapshot, now: datetime) -> Agent:
    held = tuple(sorted(bead.id for bead in snapshot.claimed() if name in bead.holders))
    status = "offline" if is_presumed_offline(name, snapshot, now) else status_of(name, snapshot, now)
    return Agent(name, status, str((snapshot.agent(name) or {}).get("role") or ""), held, limit_of(name, snapshot))


def _flying(bead: Bead, readiness: Readiness, settings: Settings, note: str) -> Entry:
    since = min((claim.get("started_at") or claim.get("claimed_at") or "" for claim in bead.claims), default=bead.updated_at)
    expected_s = settings.expected_s(bead.type, bead.get("expected"))
    is_late = bool(since) and (readiness.now - instant_of(since)).total_seconds() > expected_s
    attempt = max((int(claim.get("attempt", 1)) for claim in bead.claims), default=1)
    text = ": ".join(filter(None, [f"attempt {attempt}" if attempt > 1 else "", note.replace("\n", " ")]))
    crew = ", ".join(dict.fromkeys(claim["agent"] for claim in bead.claims)) or bead.assignee or ""
    return _entry(bead, readiness.phase(bead), crew=crew, since=since, text=text, is_delayed=is_late)


def _why(bead: Bead, readiness: Readiness) -> str:
    """Describe what a bead waits for, without durations."""
    if bead.get("retry_at") and readiness.phase(bead) == "retrying":
        return f"is tried again at {bead.get('retry_at')}"
    reasons = [_without_age(reason.text) for reason in readiness.standing(bead).reasons]
    return "; ".join(dict.fromkeys(reasons))


def _without_age(text: str) -> str:
    """Return `waits on hub-a (in progress, ann, 2m)` without the age, which changes with time."""
    head, bracket, rest = text.partition(" (")
    if not bracket or not rest.endswith(")"):
        return text
    words = [word for word in rest[:-1].split(", ") if not (word[:-1].isdigit() and word[-1:] in "smhd")]
    return f"{head} ({', '.join(words)})" if words else head


def _waiting(bead: Bead) -> Entry:
    since = bead.get("waiting_since") or bead.updated_at
    return _entry(bead, "parked", crew=bead.get("prefer_agent") or "", since=since, text=bead.get("status_reason") or "")


def _dead(bead: Bead) -> Entry:
    last: Mapping[str, Any] = (bead.get("failures") or [{}])[-1]
    text = ": ".join(str(last[key]) for key in ("reason", "error") if last.get(key))
    since = bead.get("dead_lettered_at") or bead.updated_at
    return _entry(bead, "dead_lettered", crew=str(last.get("agent") or ""), since=since, text=text)


def _finished(snapshot: Snapshot) -> list[Entry]:
    """Return the beads that were done last, newest first."""
    done = sorted(snapshot.ended(), key=lambda bead: (bead.get("closed_at") or bead.updated_at, bead.id), reverse=True)
    return [
        _entry(
            bead,
            "completed" if bead.status == "closed" else "cancelled",
            crew=str(bead.get("closed_by") or bead.assignee or "").split(":", 1)[-1],
            since=bead.get("closed_at") or bead.updated_at,
            text=str(bead.get("close_reason") or ""),
        )
        for bead in _whole(list(islice(done, LATELY)), snapshot)
    ]


def _whole(beads: list[Bead], snapshot: Snapshot) -> list[Bead]:
    """Return the same beads with their long fields, in the same order."""
    found = {bead.id: bead for bead in snapshot.wholes([bead.id for bead in beads])}
    return [found[bead.id] for bead in beads if bead.id in found]


def _flow(flow: Flow, snapshot: Snapshot, now: datetime) -> dict[str, Any]:
    """Return the numbers of the week that ended with the last event: they change only with the next one."""
    last_s = max((row.at_s for row in flow.rows), default=int(now.timestamp()))
    until, since = (instant_of(time_of_seconds(at_s)) for at_s in (last_s, max(0, last_s - _FLOW_S)))
    numbers = measure(flow, snapshot, until, since)
    return {key: numbers[key] for key in ("since", "until", "wait_s", "work_s", "throughput", "contention", "attempts", "cost")}


def shown(entries: Iterable[Entry], most: int = SHOWN) -> tuple[list[Entry], int]:
    """Return the first entries of a list, and the number of the others."""
    found = list(entries)
    return found[:most], max(0, len(found) - most)
