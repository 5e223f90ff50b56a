"""An agent's capacity file, computed from the live claims of a snapshot.

Every operation that changes a claim rewrites the holder's file in the same commit: `with_capacity` adds that to a change. The
file keeps whether the agent was set offline or draining (`status`) and how its attempts ended (`recent`); everything else only
repeats the claims, and no decision uses it.
"""

from __future__ import annotations

from bd import TYPE_CHECKING, __version__
from bd.core.model import Overlay
from bd.core.schema import capacity_path
from bd.core.times import time_text
from bd.operations.account_rests import after_success
from bd.operations.progress_notes import with_reported_notes
from bd.policy import overload
from bd.policy.budget import remaining
from bd.policy.capacity import held_by, limit_of, status_by, tracked
from bd.policy.roles import interval_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime
    from typing import Any

    from bd.core.model import Change, Snapshot
    from bd.policy.overload import Ending


def capacity_of(
    name: str,
    snapshot: Snapshot,
    at: datetime,
    *,
    sign_of_life: bool,
    endings: Iterable[Ending] = (),
    changes: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return an agent's capacity fields for the snapshot's claims; `at` is stamped only if it shows that the agent is alive.

    `endings` are its attempts that ended; `changes` are keys to set before the status is derived
    (None unsets).
    """
    fields: dict[str, Any] = {**tracked(name, snapshot), "agent": name, **(changes or {})}
    rules = overload.rules_of(snapshot)
    for ending in endings:
        fields.update(overload.after(fields, ending, at, interval_of(snapshot.agent(name) or {}), rules))
    held = sorted(bead.id for bead in held_by(name, snapshot))
    limit = limit_of(name, snapshot)
    fields["status"] = status_by(fields, len(held), limit, rules)
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
    endings: Sequence[Ending] = (),
    changes: Mapping[str, Any] | None = None,
) -> Change:
    """Return the change with the capacity files of these agents rewritten; `alive` names the one that acts.

    `endings` are attempts that were done, failed or stalled. A release is none of these. What the agents have reported on
    attempts that end is kept in the beads. `changes` are keys to set in each of the files. What an agent has finished ends the
    rest of its account.
    """
    change = with_reported_notes(change, snapshot)
    after = Overlay(snapshot, change)
    records = dict(change.records)
    for name in sorted({name for name in names if name}):
        own = [ending for ending in endings if ending.agent == name]
        records[capacity_path(name)] = capacity_of(name, after, at, sign_of_life=name == alive, endings=own, changes=changes)
    change = change.replace(records=records)
    for ending in endings:
        change = after_success(change, snapshot, ending.agent) if ending.what == "done" else change
    return change
