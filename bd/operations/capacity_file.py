"""An agent's capacity file, computed from the live claims of a snapshot.

Every operation that changes a claim rewrites the holder's file in the same commit: `with_capacity` adds that to a change. The
file keeps whether the agent was set offline or draining (`status`) and how its attempts ended (`recent`); everything else only
repeats the claims, and no decision uses it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bd import __version__
from bd.core.model import Overlay
from bd.core.schema import capacity_path
from bd.core.times import time_text
from bd.operations.progress_notes import with_reported_notes
from bd.policy.budget import remaining
from bd.policy.capacity import held_by, limit_of, status_by, tracked, with_outcome
from bd.policy.roles import interval_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime
    from typing import Any

    from bd.core.model import Change, Snapshot


def capacity_of(
    name: str,
    snapshot: Snapshot,
    at: datetime,
    *,
    sign_of_life: bool,
    outcome: str | None = None,
    changes: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return an agent's capacity fields for the snapshot's claims; `at` is stamped only if it shows that the agent is alive.

    `outcome` is how one of its attempts ended (done, failed, stalled); `changes` are keys to set before the status is derived
    (None unsets).
    """
    fields: dict[str, Any] = {**tracked(name, snapshot), "agent": name, **(changes or {})}
    if outcome:
        fields.update(with_outcome(fields, outcome, at, interval_of(snapshot.agent(name) or {})))
    held = sorted(bead.id for bead in held_by(name, snapshot))
    limit = limit_of(name, snapshot)
    fields["status"] = status_by(fields, len(held), limit)
    fields.update({"current_tasks": len(held), "max_concurrent": limit, "beads": held, "version": __version__})
    if held:
        fields.update({"idle": False, "idle_since": None})
    left = remaining(name, snapshot, at)
    fields["budget_remaining_usd"] = None if left is None else round(left, 4)
    if sign_of_life:
        fields["last_heartbeat"] = time_text(at)
    return {key: value for key, value in fields.items() if value not in (None, [])}


def with_capacity(
    change: Change,
    snapshot: Snapshot,
    names: Iterable[str | None],
    at: datetime,
    *,
    alive: str | None = None,
    outcomes: Mapping[str, str] | None = None,
) -> Change:
    """Return the change with the capacity files of these agents rewritten; `alive` names the one that acts.

    `outcomes` says how an agent's attempt ended: done, failed or stalled. A release is none of these. What the agents have
    reported on attempts that end is kept in the beads.
    """
    change = with_reported_notes(change, snapshot)
    after = Overlay(snapshot, change)
    records = dict(change.records)
    for name in sorted({name for name in names if name}):
        outcome = (outcomes or {}).get(name)
        records[capacity_path(name)] = capacity_of(name, after, at, sign_of_life=name == alive, outcome=outcome)
    return change._replace(records=records)
