"""The `--json` objects: beads in the form that clients of the Go `bd` expect, with our additions.

docs/format.md, section "JSON", describes the field names and the two shapes of `dependencies`. There are no nulls: unset fields
are left out.
"""

from __future__ import annotations

import json
from itertools import islice

from bd import TYPE_CHECKING
from bd.core.queries import made_of
from bd.core.schema import JSON_NAMES
from bd.core.times import instant_of
from bd.policy.dag import awaited
from bd.policy.derivations import lasting
from bd.policy.live_notes import notes_of
from bd.policy.ranking import Ranking, is_critical
from bd.policy.readiness import Readiness, status_now

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import datetime
    from typing import Any

    from bd.core.model import Bead, Change, Snapshot
    from bd.core.queries import Derive, Lineup

_AS_THEY_ARE = frozenset(
    """
    title description design acceptance_criteria notes priority type assignee
    owner estimated_minutes created_at created_by updated_at started_at reopened_at closed_at deadline
    defer_until close_reason closed_by external_ref metadata claim claims claim_mode
    attempts attempts_forgiven max_attempts retry_at failures needs exclusive repo expected
    prefer_agent prefer_until spec cost output progress waiting_on waiting_since status_reason
    base_priority temperature heated_at dead_lettered_at poison_pill reviewed resolution budget_ceiling_usd idempotency_key
    uid
    """.split()
)
# The name of the cached list entries in the store, and how many entries are written at once.
ISSUE = "issue"
PIECE = 500


def issue(bead: Bead, ranking: Ranking) -> dict[str, Any]:
    """Return the Issue object of a bead: id first, labels sorted, times as stored, plus `phase` and `effective_priority`.

    `ranking` belongs to the snapshot and the time of the output; use the same one for all beads shown together.
    """
    return {**_lasting(bead), **_passing(bead, ranking)}


def written(beads: Iterable[Bead], change: Change | None, ranking: Ranking, *, published: bool) -> list[dict[str, Any]]:
    """Return the Issues that a write touched, each with `published`, and the failures of others.

    Of an advisory bead's claims, `claim` is the one that the write made, where any other bead has its only one.
    """
    shown = [{**issue(bead, ranking), "published": published} for bead in beads]
    for token, bead_id in change.tokens if change else ():
        for one in shown:
            own = [claim for claim in one.get("claims", []) if one["id"] == bead_id and claim.get("token") == token]
            one.update({"claim": own[0]} if own else {})
    failures = change.failures if change else ()
    return [*shown, *({key: value for key, value in failure.items() if key != "exit_code"} for failure in failures)]


def _lasting(bead: Bead) -> dict[str, Any]:
    """Return the part of the Issue object that depends only on the bead's file."""
    shown: dict[str, Any] = {"id": bead.id, "title": bead.title}
    for key, value in bead.fields.items():
        if key in _AS_THEY_ARE:
            shown[JSON_NAMES.get(key, key)] = value
    shown["priority"] = bead.priority
    shown["issue_type"] = bead.type
    shown["created_at"] = bead.created_at or bead.updated_at or "1970-01-01T00:00:00Z"
    shown["updated_at"] = _later(bead.updated_at, shown["created_at"])
    if bead.labels:
        shown["labels"] = sorted(bead.labels)
    return shown


def _passing(bead: Bead, ranking: Ranking) -> dict[str, Any]:
    """Return the part of the Issue object that depends on other beads and the clock."""
    return {
        "status": status_now(bead, ranking.now),
        "phase": ranking.readiness.phase(bead),
        "effective_priority": round(ranking.effective(bead), 3),
    }


def _later(one: str, other: str) -> str:
    if not one:
        return other
    return one if instant_of(one) >= instant_of(other) else other


def edges(bead: Bead) -> list[dict[str, Any]]:
    """Return the raw edges of a bead, as in lists and exports. Their authors and times are in `edge_details`."""
    made = {"created_at": bead.created_at or "1970-01-01T00:00:00Z"}
    details = bead.get("edge_details")
    details = details if isinstance(details, dict) else {}

    def edge(target: str, kind: str, detail: Any) -> dict[str, Any]:
        extra = {key: value for key, value in detail.items() if value not in (None, "")} if isinstance(detail, dict) else {}
        return {"issue_id": bead.id, "depends_on_id": target, "type": kind, **made, **extra}

    found = [edge(target, "blocks", details.get(target)) for target in bead.depends_on]
    if bead.parent:
        shared = details.get(bead.parent) if bead.parent not in bead.depends_on else None
        found.append(edge(bead.parent, "parent-child", details.get(f"parent-child:{bead.parent}", shared)))
    for link in bead.get("links", []):
        if "id" not in link:
            continue
        kind = link.get("type", "related")
        if kind == "related" and isinstance(details.get(link["id"]), dict):
            kind = details[link["id"]].get("type", kind)  # stored as related because it would have closed a cycle
        found.append(edge(link["id"], kind, {key: value for key, value in link.items() if key not in ("id", "type")}))
    return found


def listed(beads: Lineup, snapshot: Snapshot, now: datetime, size: int = 0) -> Iterator[str]:
    """Yield the JSON text of a list in pieces, indented by two spaces: Issues with raw edges and counts (of `blocks` edges).

    The store caches the entries that don't change by time (`lasting_entries`); the others are made here. `size` is the most beads
    to list; 0 means no limit.
    """
    ranking = Ranking(snapshot, now)
    entries = islice(beads.derived(ISSUE), size or None)
    before = "[\n"
    while piece := list(islice(entries, PIECE)):
        unknown = [bead_id for bead_id, text in piece if text is None]
        made = dict(snapshot.derived(ISSUE, unknown))
        made.update(_entries([bead_id for bead_id in unknown if bead_id not in made], ranking))
        yield before + ",\n".join(_as_of_now(text or made[bead_id], ranking) for bead_id, text in piece)
        before = ",\n"
    yield "\n]\n" if before == ",\n" else "[]\n"


class Entries:
    """List entries for many lists on one snapshot: each is made once, and shown as of the time of its list."""

    def __init__(self) -> None:
        self._made: dict[str, str] = {}

    def listed(self, beads: Sequence[Bead], snapshot: Snapshot, now: datetime) -> str:
        """Return the JSON text of a list, as the function `listed` does."""
        ranking = Ranking(snapshot, now)
        unknown = [bead.id for bead in beads if bead.id not in self._made]
        if unknown:
            self._made.update(snapshot.derived(ISSUE, unknown))
            self._made.update(_entries([bead_id for bead_id in unknown if bead_id not in self._made], ranking))
        entries = [_as_of_now(self._made[bead.id], ranking) for bead in beads]
        return "[\n" + ",\n".join(entries) + "\n]\n" if entries else "[]\n"


def lasting_entries(snapshot: Snapshot, now: datetime) -> Derive:
    """Return a function that derives list entries by id, for beads whose entry changes only when some bead changes."""
    ranking, is_lasting = Ranking(snapshot, now), lasting(snapshot)

    def derive(ids: Sequence[str]) -> dict[str, str]:
        return _entries([bead.id for bead in snapshot.heads(ids) if is_lasting(bead)], ranking)

    return derive


def _entries(ids: Sequence[str], ranking: Ranking) -> dict[str, str]:
    """Return the list entries of beads by id, with a mark in place of the effective priority."""
    snapshot = ranking.snapshot
    if not ids:
        return {}
    beads = snapshot.wholes(list(ids))
    snapshot.heads({target for bead in beads for target in (*awaited(bead), bead.parent or bead.id)})  # loads them all at once
    dependents = snapshot.dependent_counts(list(ids))
    ranking.weigh(ids)
    return {bead.id: _entry(bead, dependents.get(bead.id, 0), ranking) for bead in beads}


_PRIORITY = '"effective_priority": "@'


def _marked(bead: Bead, ranking: Ranking, phase: str) -> str:
    """Return the mark for the effective priority: a place on the time-dependent scale, or a fixed number."""
    if phase == "ready":
        return f"@{'c' if is_critical(bead) else 'r'}{ranking.place(bead, is_ready=True)!r}"
    return f"@={round(ranking.effective(bead), 3)!r}"


def _as_of_now(text: str, ranking: Ranking) -> str:
    """Replace the mark in an entry with the effective priority as of now.

    The mark is the last match: user keys come before it.
    """
    before, _, rest = text.rpartition(_PRIORITY)
    mark, _, behind = rest.partition('"')
    points = mark[1:] if mark[0] == "=" else repr(round(ranking.at_place(float(mark[1:]), critical=mark[0] == "c"), 3))
    return f'{before}"effective_priority": {points}{behind}'


def _entry(bead: Bead, dependents: int, ranking: Ranking) -> str:
    """Return a bead as lines of JSON, indented for a list."""
    shown = _lasting(bead)
    raw = edges(bead)
    if raw:
        shown["dependencies"] = raw
    shown["dependency_count"] = len(bead.depends_on)
    shown["comment_count"] = len(bead.comments)
    if bead.parent:
        shown["parent"] = bead.parent
    phase = ranking.readiness.phase(bead)
    shown.update(status=status_now(bead, ranking.now), phase=phase, effective_priority=_marked(bead, ranking, phase))
    shown["dependent_count"] = dependents
    return "  " + _json(shown, "  ")


def _json(value: Any, margin: str) -> str:
    """Do the same as `json.dumps` with an indentation of two, which is pure Python and takes five times as long."""
    kind = type(value)
    if kind is str:
        return json.encoder.encode_basestring(value)
    if kind is int:
        return str(value)
    if not value or kind not in (list, dict):
        return json.dumps(value)
    inner = margin + "  "
    if kind is list:
        return f"[\n{inner}" + f",\n{inner}".join([_json(item, inner) for item in value]) + f"\n{margin}]"
    members = [f"{json.encoder.encode_basestring(str(key))}: {_json(item, inner)}" for key, item in value.items()]
    return f"{{\n{inner}" + f",\n{inner}".join(members) + f"\n{margin}}}"


def detailed(bead: Bead, snapshot: Snapshot, now: datetime) -> dict[str, Any]:
    """Return the IssueDetails for `show`: full objects of dependencies and dependents, comments, and counts."""
    ranking = Ranking(snapshot, now)
    shown = issue(bead, ranking)
    above = [(edge["depends_on_id"], edge["type"]) for edge in edges(bead)]
    below = [
        (other, edge["type"])
        for other in snapshot.mentioning(bead.id)
        for edge in edges(other)
        if edge["depends_on_id"] == bead.id
    ]
    dependencies = [linked(snapshot.bead(target), kind, ranking) for target, kind in above]
    dependents = [linked(snapshot.bead(other.id), kind, ranking) for other, kind in sorted(below, key=_child_order)]
    if above:
        shown["dependencies"] = [entry for entry in dependencies if entry]
    if below:
        shown["dependents"] = [entry for entry in dependents if entry]
    if bead.comments:
        shown["comments"] = comments(bead)
    if bead.parent:
        shown["parent"] = bead.parent
    notes = notes_of(bead, snapshot)
    if notes:
        shown["progress"] = notes
    shown["dependency_count"] = len(above)
    shown["dependent_count"] = len(below)
    shown["comment_count"] = len(bead.comments)
    children = [other for other, kind in below if kind == "parent-child"]
    if bead.type == "epic" and children:
        shown["epic_total_children"] = len(children)
        shown["epic_closed_children"] = sum(child.is_done for child in children)
        shown["epic_closeable"] = all(child.is_done for child in children)
    extra = {key: value for key, value in bead.fields.items() if key not in shown and key not in _KNOWN}
    shown.update(extra)
    return shown


_KNOWN = frozenset(
    {*_AS_THEY_ARE, "id", "status", "labels", "depends_on", "links", "parent", "comments", "claimed_at", "comment_count"}
)


def _child_order(pair: tuple[Bead, str]) -> tuple[str, str]:
    return made_of(pair[0].fields), pair[0].id


def linked(bead: Bead | None, kind: str, ranking: Ranking) -> dict[str, Any] | None:
    """Return an Issue as one end of an edge."""
    return {**issue(bead, ranking), "dependency_type": kind} if bead else None


def blocked(bead: Bead, ranking: Ranking) -> dict[str, Any]:
    """Return an Issue with the beads that block it."""
    waits = ranking.readiness.blockers(bead)
    return {**issue(bead, ranking), "blocked_by_count": len(waits), "blocked_by": waits}


def comments(bead: Bead) -> list[dict[str, str]]:
    """Return a bead's comments, oldest first."""
    made = [
        {
            "id": str(entry.get("id", "")),
            "issue_id": bead.id,
            "author": entry.get("author", ""),
            "text": entry.get("text", ""),
            "created_at": entry.get("at") or bead.created_at,
        }
        for entry in bead.comments
    ]
    return sorted(made, key=lambda entry: entry["created_at"])


def epics(snapshot: Snapshot, now: datetime) -> list[dict[str, Any]]:
    """Return the open epics with the progress of their children."""
    found = []
    ranking = Ranking(snapshot, now)
    for bead in sorted(snapshot.live(), key=lambda bead: (bead.priority, made_of(bead.fields), bead.id)):
        if bead.type != "epic":
            continue
        children = snapshot.children_of(bead.id)
        done = sum(child.is_done for child in children)
        whole = snapshot.bead(bead.id) or bead
        found.append(
            {
                "epic": issue(whole, ranking),
                "total_children": len(children),
                "closed_children": done,
                "eligible_for_close": bool(children) and done == len(children),
            }
        )
    return found


def statistics(snapshot: Snapshot, now: datetime) -> dict[str, Any]:
    """Return the numbers for `stats`: by stored status, by phase, and the Go tool's summary."""
    by_status: dict[str, int] = {}
    by_phase: dict[str, int] = {}
    leads: list[float] = []
    blocked_count = closable = 0
    readiness = Readiness(snapshot, now)
    for bead in snapshot.every():
        status = status_now(bead, now)
        by_status[status] = by_status.get(status, 0) + 1
        phase = readiness.phase(bead)
        by_phase[phase] = by_phase.get(phase, 0) + 1
        if bead.get("closed_at") and bead.created_at and status == "closed":
            leads.append((instant_of(bead.get("closed_at")) - instant_of(bead.created_at)).total_seconds() / 3600)
        if not bead.is_done:
            blocked_count += bool(readiness.blockers(bead))
            if bead.type == "epic":
                children = snapshot.children_of(bead.id)
                closable += bool(children) and all(child.is_done for child in children)
    summary = {
        "total_issues": sum(by_status.values()),
        "open_issues": by_status.get("open", 0),
        "in_progress_issues": by_status.get("in_progress", 0),
        "closed_issues": by_status.get("closed", 0),
        "blocked_issues": blocked_count,
        "deferred_issues": by_status.get("deferred", 0),
        "ready_issues": by_phase.get("ready", 0),
        "pinned_issues": by_status.get("pinned", 0),
        "epics_eligible_for_closure": closable,
        "average_lead_time_hours": round(sum(leads) / len(leads), 3) if leads else 0.0,
    }
    return {"summary": summary, "by_status": by_status, "by_phase": by_phase}
