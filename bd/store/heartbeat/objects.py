"""Beats: the objects that signs of life are made of.

A beat is no data. It is a commit with an empty tree, a fixed author, and nothing but the time of
the week, rounded to the interval: all agents move their refs to the same few objects, so that
nothing grows, and an observer compares names and fetches nothing. Because the objects are the same
everywhere, a name alone also tells when its beat was given, within a week.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bd.core.errors import TryAgain
from bd.core.versions import HEARTBEAT
from bd.store.object_names import name_of

if TYPE_CHECKING:
    from datetime import datetime

    from bd.store.contract import Repository

WEEK_S = 7 * 86400
# How far ahead of this clock another one may be (docs/protocol.md, "Signs of life").
AHEAD_S = 1800
_AUTHOR = b"bd <beat@bd>"


# By the version of the layout (core/versions.py).
_MESSAGES = {1: b"beat"}


def _content(slot_s: int, length: int) -> bytes:
    tree = name_of(b"tree", b"", length).encode()
    stamp = b"%s %d +0000" % (_AUTHOR, slot_s)
    return b"tree %s\nauthor %s\ncommitter %s\n\n%s\n" % (tree, stamp, stamp, _MESSAGES[HEARTBEAT])


def _slot(at_s: float, interval_s: float) -> int:
    size = max(1, int(interval_s))
    return int(at_s % WEEK_S) // size * size


def beat_at(repo: Repository, at: datetime, interval_s: float, length: int) -> str:
    """The name of the beat of an instant, written into this clone. Raises TryAgain where nothing can be written."""
    data = _content(_slot(at.timestamp(), interval_s), length)
    try:
        repo.write_object("tree", b"", length)
        return repo.write_object("commit", data, length)
    except OSError as error:
        raise TryAgain(f"this clone can't be written: {error}", hint="check the rights of its .git folder") from error


def beat_age_s(oid: str, now: datetime, interval_s: float) -> float | None:
    """How long before `now` a beat of this interval was given; negative from a clock that is ahead. None for another's."""
    size = max(1, int(interval_s))
    start = now.timestamp() + AHEAD_S
    for step in range(int((WEEK_S + AHEAD_S) // size)):
        at_s = start - step * size
        if name_of(b"commit", _content(_slot(at_s, size), len(oid)), len(oid)) == oid:
            return now.timestamp() - (at_s - at_s % WEEK_S % size)
    return None
