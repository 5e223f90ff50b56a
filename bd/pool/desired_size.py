"""The number of members that each pool needs: a requested size, the result of its `check`, or by its ready and held beads.

A check that fails, takes too long or prints no number has no result: the pool stays as it is.
"""

from __future__ import annotations

from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.notify import trusted_commands
from bd.policy.scaling import demand, why_none

if TYPE_CHECKING:
    from datetime import datetime

    from bd.core.model import Snapshot
    from bd.core.pools import Pool
    from bd.notify.command_pins import Asked

CHECK_LIMIT_S = 30.0
_SAID_LIMIT = 200


class Wanted(NamedTuple):
    """A number, or why there is none. `why` says what a 0 comes from."""

    number: int | None
    error: str = ""
    why: str = ""


def wanted(pool: Pool, snapshot: Snapshot, folder: str, now: datetime, check: Asked | None, *, is_fresh: bool) -> Wanted:
    """Return what a pool needs now. `check` is its check command, if trusted. `is_fresh`: the snapshot was just fetched."""
    if pool.size is not None:
        return Wanted(pool.size, why=f"`bd pool scale {pool.name} auto` ends the size that was set")
    if not pool.is_explicit:
        return Wanted(1)  # always on
    if not pool.check:
        return (
            Wanted(demand(pool, snapshot, now), why=why_none(pool, snapshot, now))
            if is_fresh
            else Wanted(None, "the hub can't be reached, or refuses this clone's writes")
        )
    if check is None:
        return Wanted(None, "its check is not trusted here; `bd trust` shows it")
    return _run_check(pool, check, folder)


def _run_check(pool: Pool, check: Asked, folder: str) -> Wanted:
    """Run a pool's check in a clone of the hub, under the pool's name."""
    names = {"BD_AGENT": pool.name, "BD_POOL": pool.name, "BD_CHECK_OF": pool.name}
    ran = trusted_commands.run(check.text, names, CHECK_LIMIT_S, folder=folder, files=check.files)
    why = ran.err[:_SAID_LIMIT]
    if ran.code is None:
        return Wanted(None, f"its check {why}")
    if ran.code != 0:
        return Wanted(None, f"its check ended with exit code {ran.code}{f': {why}' if why else ''}")
    if not (ran.out.isascii() and ran.out.isdigit() and len(ran.out) < _SAID_LIMIT):
        return Wanted(None, f"its check did not print a number: {ran.out[:60]!r}")
    return Wanted(int(ran.out), why=f"its check printed {int(ran.out)}")
