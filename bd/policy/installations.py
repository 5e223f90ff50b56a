"""The version of bd that each agent runs, and who would be locked out if a hub required a newer one."""

from __future__ import annotations

from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.core.schema import CAPACITY_DIR
from bd.core.versions import is_older
from bd.policy.capacity import current_interval_s, held_by, is_away, silence_s

if TYPE_CHECKING:
    from datetime import datetime

    from bd.core.model import Snapshot

# Somebody without an interval, such as a person, counts as live for this long after the last sign.
_LIVE_S = 86400.0


class Installation(NamedTuple):
    """The bd of one agent. `version` is None if the agent never reported one; `silence_s` if it was never heard of."""

    agent: str
    version: str | None
    silence_s: float | None
    is_live: bool

    def is_older_than(self, least: str) -> bool:
        """Return whether it could not write to a hub that requires this version; an unknown version could not."""
        return is_older(self.version, least)


def installations(snapshot: Snapshot, now: datetime) -> list[Installation]:
    """Return the installation of every agent with a capacity record or a claim, by name."""
    names = {*snapshot.records(CAPACITY_DIR), *snapshot.heard, *(name for bead in snapshot.claimed() for name in bead.holders)}
    return [_installation(name, snapshot, now) for name in sorted(names)]


def live_and_older(snapshot: Snapshot, now: datetime, least: str) -> list[Installation]:
    """Return the live installations that are older than a version."""
    return [one for one in installations(snapshot, now) if one.is_live and one.is_older_than(least)]


def _installation(name: str, snapshot: Snapshot, now: datetime) -> Installation:
    held = held_by(name, snapshot)
    claimed_with = [claim.get("version") for bead in held for claim in bead.claims if claim.get("agent") == name]
    named = [str(version) for version in ((snapshot.capacity(name) or {}).get("version"), *claimed_with) if version]
    silent_s = silence_s(name, snapshot, now)
    is_heard = silent_s is not None and silent_s < max(_LIVE_S, current_interval_s(name, snapshot))
    oldest = next((one for one in named if all(not is_older(other, one) for other in named)), None)
    return Installation(name, oldest, silent_s, bool(held) or (is_heard and not is_away(name, snapshot, now)))
