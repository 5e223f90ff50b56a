"""Rests of accounts as parts of a change: an attempt's end begins or ends one in the same commit. The rules are in policy/account_rest.py."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.model import Overlay
from bd.core.pools import template_of
from bd.core.schema import CAPACITY_DIR, capacity_path
from bd.core.times import instant_of
from bd.policy import account_rest

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import datetime
    from typing import Any

    from bd.core.model import Change, Snapshot


def with_rest(
    change: Change, snapshot: Snapshot, agent: str, kind: str, at: datetime, resets_at: datetime | None = None
) -> Change:
    """Return the change with the rest of the agent's account after a failure of this kind, in the agent's capacity file alone."""
    after = Overlay(snapshot, change)
    account = account_rest.name_for(kind, agent, after)
    rest = account_rest.next_rest(account, kind, account_rest.Rests(after, at).by_account.get(account), at, resets_at)
    change = without_rests(change, snapshot, {account})
    path = capacity_path(agent)
    record = Overlay(snapshot, change).record(path) or {"agent": agent}
    return change.replace(records={**change.records, path: {**record, "rest": rest.as_json()}})


def with_rest_left(change: Change, snapshot: Snapshot, member: str, now: datetime) -> Change:
    """Return a change that removes a pool member's capacity file, with the rest that was in it moved to its pool's file."""
    pool = template_of(member, snapshot) or member
    kept = account_rest.recorded({name: snapshot.record(capacity_path(name)) or {} for name in (member, pool)})
    counting = account_rest.Rests(snapshot, now).by_account
    rest = max((rest for _, rest in kept if rest.account in counting), key=lambda rest: rest.until, default=None)
    if rest is None:
        return change
    path = capacity_path(pool)
    record = Overlay(snapshot, change).record(path) or {"agent": pool}
    return change.replace(records={**change.records, path: {**record, "rest": rest.as_json()}})


def without_rests(change: Change, snapshot: Snapshot, accounts: Collection[str]) -> Change:
    """Return the change with no rest left of these accounts, whoever's capacity file it is in."""
    after = Overlay(snapshot, change)
    records: dict[str, Any] = {}
    for agent, rest in account_rest.recorded(after.records(CAPACITY_DIR)):
        path = capacity_path(agent)
        if rest.account in accounts:
            records[path] = {key: value for key, value in (after.record(path) or {}).items() if key != "rest"}
    return change.replace(records={**change.records, **records}) if records else change


def after_success(change: Change, snapshot: Snapshot, agent: str) -> Change:
    """Return the change after an agent has finished a bead: what it works with rests no longer, if it began since the outage.

    The end of work that began before the outage does not show that the provider is back.
    """
    after = Overlay(snapshot, change)
    names = account_rest.names_of(agent, after)
    rests = [rest for _, rest in account_rest.recorded(after.records(CAPACITY_DIR)) if rest.account in names]
    if not rests:
        return change
    ended = (snapshot.bead(bead_id) for bead_id in change.beads)
    begun = [claim.get("claimed_at") for bead in ended if bead for claim in bead.claims if claim.get("agent") == agent]
    proved = {rest.account for rest in rests if any(at and instant_of(at) >= instant_of(rest.since) for at in begun)}
    return without_rests(change, snapshot, proved)
