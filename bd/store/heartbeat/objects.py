"""Heartbeat objects: the commits that claims' refs point to.

A heartbeat carries no data. It is a commit with an empty tree, a fixed author, and the time of the week rounded to the interval.
All agents move their refs to the same few objects, so nothing grows, and an observer compares names without fetching. Because the
objects are the same everywhere, a name alone also tells when the heartbeat was sent, within a week.
"""

from __future__ import annotations

from functools import lru_cache

from bd import TYPE_CHECKING
from bd.core.errors import TryAgain
from bd.core.versions import HEARTBEAT
from bd.store.object_names import name_of

if TYPE_CHECKING:
    from datetime import datetime

    from bd.store.contract import Repository

WEEK_S = 7 * 86400
# How far another clock may be ahead of this one (docs/protocol.md, "Heartbeats").
AHEAD_S = 1800
_AUTHOR = b"bd <beat@bd>"


# By the version of the layout (core/versions.py).
_MESSAGES = {1: b"beat"}


# The empty tree's name, by the length of names.
_NO_FILES = {length: name_of(b"tree", b"", length).encode() for length in (40, 64)}


def _content(slot_s: int, length: int) -> bytes:
    stamp = b"%s %d +0000" % (_AUTHOR, slot_s)
    return b"tree %s\nauthor %s\ncommitter %s\n\n%s\n" % (_NO_FILES[length], stamp, stamp, _MESSAGES[HEARTBEAT])


@lru_cache(maxsize=1 << 15)  # a week has 20,160 slots of 30 s; each look goes back over them until one fits
def _name(slot_s: int, length: int) -> str:
    return name_of(b"commit", _content(slot_s, length), length)


def _slot(at_s: float, interval_s: float) -> int:
    size = max(1, int(interval_s))
    return int(at_s % WEEK_S) // size * size


def beat_at(repo: Repository, at: datetime, interval_s: float, length: int) -> str:
    """Store the heartbeat object for an instant. Return its name. Raises TryAgain if nothing can be written."""
    data = _content(_slot(at.timestamp(), interval_s), length)
    try:
        repo.write_object("tree", b"", length)
        return repo.write_object("commit", data, length)
    except OSError as error:
        raise TryAgain(f"this clone can't be written: {error}", hint="check the permissions of its .git folder") from error


def beat_age_s(oid: str, now: datetime, interval_s: float) -> float | None:
    """Return how many seconds before `now` a heartbeat of this interval was sent; negative if its clock is ahead.

    None if it does not match.
    """
    size = max(1, int(interval_s))
    start = now.timestamp() + AHEAD_S
    for step in range(int((WEEK_S + AHEAD_S) // size)):
        at_s = start - step * size
        if _name(_slot(at_s, size), len(oid)) == oid:
            return now.timestamp() - (at_s - at_s % WEEK_S % size)
    return None
