"""Everything that a fleet can't settle without a person, on one page. Changes nothing."""

from __future__ import annotations

from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.core.schema import AGENTS_DIR, CAPACITY_DIR
from bd.core.times import instant_of
from bd.policy import overload
from bd.policy.account_rest import Rests, names_of
from bd.policy.capacity import duty_of, held_by, is_overloaded, is_presumed_offline, tracked
from bd.policy.lifecycle import given_back_in_a_row, is_given_back_too_often, waits_for_human
from bd.report.selection import dead_letters

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime
    from typing import Any

    from bd.core.model import Bead, Snapshot
    from bd.policy.account_rest import Rest
    from bd.policy.liveness import Stall
    from bd.store import KeptCommit, QueuedWrite


class Attention(NamedTuple):
    """The things that need a person, by kind; each entry is a JSON object without nulls. The longest wait comes first."""

    dead_letters: list[dict[str, Any]]
    waiting: list[dict[str, Any]]
    stalled: list[dict[str, Any]]
    refused: list[dict[str, Any]]
    offline: list[dict[str, Any]]
    damaged: list[dict[str, Any]]
    unpublished: list[dict[str, Any]]
    overloaded: list[dict[str, Any]]
    given_back: list[dict[str, Any]]
    repos: list[dict[str, Any]]
    outages: list[dict[str, Any]]

    @property
    def total(self) -> int:
        return sum(len(entries) for entries in self)

    def as_json(self) -> dict[str, Any]:
        """Return the kinds and the total; kinds that were added later come last."""
        shown = self._asdict()
        newer = {kind: shown.pop(kind) for kind in ("unpublished", "overloaded", "given_back", "repos", "outages")}
        return {**shown, "total": self.total, **newer}


def gather(
    snapshot: Snapshot,
    stalls: Iterable[Stall],
    refused: Iterable[KeptCommit],
    unpublished: Iterable[QueuedWrite],
    now: datetime,
    repos: Iterable[dict[str, Any]] = (),
) -> Attention:
    """Collect everything that needs a person: in the hub, in an observation of the fleet, and among rejected and unpublished changes.

    `repos` are the code repositories that get no work in this clone until a person has looked.
    """
    live = sorted(snapshot.live(), key=lambda bead: (bead.priority, bead.id))
    rejected = list(refused)
    reasons = {item.uid for item in rejected}  # writes that wait since the hub refuses this clone are told with its reason alone
    return Attention(
        _oldest_first(_dead_letter(bead, now) for bead in dead_letters(snapshot) if not bead.get("reviewed")),
        _oldest_first(_waiting(bead, now) for bead in live if waits_for_human(bead)),
        _oldest_first(_stalled(stall, snapshot, now) for stall in stalls),
        [_set(uid=item.uid, commit=item.commit, error=item.error) for item in rejected],
        _oldest_first(_offline(name, snapshot, now) for name in _silent(snapshot, now)),
        [damage.as_dict() for damage in snapshot.damages],
        _oldest_first(_unpublished(one, now) for one in unpublished if one.uid not in reasons),
        _oldest_first(_overloaded(name, snapshot, now) for name in _names(snapshot) if _is_worn_out(name, snapshot)),
        _oldest_first(_given_back(bead, now) for bead in _given_back_too_often(live, snapshot)),
        list(repos),
        _oldest_first(_outage(rest, snapshot, now) for rest in Rests(snapshot, now).by_account.values()),
    )


def _dead_letter(bead: Bead, now: datetime) -> dict[str, Any]:
    last = (bead.get("failures") or [{}])[-1]
    since = bead.get("dead_lettered_at") or bead.updated_at
    return _set(
        **_named(bead, since, now),
        attempts=bead.attempts,
        reason=last.get("reason"),
        error=last.get("error"),
        poison_pill=bead.get("poison_pill"),
    )


def _waiting(bead: Bead, now: datetime) -> dict[str, Any]:
    since = bead.get("waiting_since") or bead.updated_at
    return _set(**_named(bead, since, now), question=bead.get("status_reason"), asked_by=bead.get("prefer_agent"))


def _stalled(stall: Stall, snapshot: Snapshot, now: datetime) -> dict[str, Any]:
    bead = snapshot.head(stall.id)
    return _set(
        id=stall.id,
        title=bead.title if bead else "",
        since=stall.since,
        age_s=_age_s(stall.since, now),
        owner=stall.owner,
        why=stall.why,
        text=stall.text,
        attempt=stall.attempt,
    )


def _unpublished(one: QueuedWrite, now: datetime) -> dict[str, Any]:
    return _set(uid=one.uid, commit=one.commit, subject=one.subject, since=one.since, age_s=_age_s(one.since, now))


def _silent(snapshot: Snapshot, now: datetime) -> list[str]:
    """Return the agents presumed offline; whoever set others offline knows about them."""
    return [
        name for name in _names(snapshot) if duty_of(name, snapshot) != "offline" and is_presumed_offline(name, snapshot, now)
    ]


def _names(snapshot: Snapshot) -> list[str]:
    return sorted({*snapshot.records(AGENTS_DIR), *snapshot.records(CAPACITY_DIR)})


def _is_worn_out(name: str, snapshot: Snapshot) -> bool:
    return duty_of(name, snapshot) != "offline" and is_overloaded(name, snapshot)


def _overloaded(name: str, snapshot: Snapshot, now: datetime) -> dict[str, Any]:
    record = tracked(name, snapshot)
    since = record.get("overloaded_at") or ""
    last = len(record.get("recent") or [])
    return _set(
        agent=name,
        since=since,
        age_s=_age_s(since, now),
        failed=overload.failed_attempts(record, overload.rules_of(snapshot)),
        of=last,
    )


def _given_back(bead: Bead, now: datetime) -> dict[str, Any]:
    since = bead.updated_at
    times = given_back_in_a_row(bead)
    return _set(**_named(bead, since, now), times=times, reason=bead.get("status_reason"), retry_at=bead.get("retry_at"))


def _given_back_too_often(live: Iterable[Bead], snapshot: Snapshot) -> list[Bead]:
    likely = [bead.id for bead in live if is_given_back_too_often(bead)]  # without their failures, which say what does not count
    return [bead for bead in snapshot.wholes(likely) if is_given_back_too_often(bead)]


def _outage(rest: Rest, snapshot: Snapshot, now: datetime) -> dict[str, Any]:
    agents = [name for name in _names(snapshot) if rest.account in names_of(name, snapshot)]
    return _set(**rest.as_json(), age_s=_age_s(rest.since, now), agents=agents, needs_person=rest.needs_person or None)


def _offline(name: str, snapshot: Snapshot, now: datetime) -> dict[str, Any]:
    since = (snapshot.capacity(name) or {}).get("last_heartbeat") or ""
    holds = sorted(bead.id for bead in held_by(name, snapshot))
    return _set(agent=name, since=since, age_s=_age_s(since, now), beads=holds)


def _named(bead: Bead, since: str, now: datetime) -> dict[str, Any]:
    return {"id": bead.id, "title": bead.title, "since": since, "age_s": _age_s(since, now)}


def _age_s(since: str, now: datetime) -> int | None:
    return max(0, int((now - instant_of(since)).total_seconds())) if since else None


def _set(**fields: Any) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if value not in (None, "", [])}


def _oldest_first(entries: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(entries, key=lambda entry: -entry.get("age_s", 0))
