"""Stamps of a hub's newest commits: the time and the author that each commit names.

The time is the committer's: for a write that its clone kept for hours, the time at which it was put on top of its parent.
"""

from __future__ import annotations

from collections import deque
from functools import lru_cache
from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.core.times import at_seconds
from bd.policy.clocks import Stamp
from bd.store.git import commit_message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bd.store.git.repository import GitRepo

# This many commits are enough to judge a fleet's clocks.
_NEWEST = 200


class _Said(NamedTuple):
    """What a commit says of itself: who wrote it, when it was put on its parents, and these."""

    agent: str
    at_s: int
    parents: tuple[str, ...]


@lru_cache(maxsize=4 * _NEWEST)  # a worker reads the same commits at each look, but for the new ones
def _said(data: bytes) -> _Said:
    headers, text = commit_message.split_commit(data)
    agents = commit_message.parse(text).get("Bd-Agent") or [commit_message.signed_by(headers)[0].split(" <")[0]]
    return _Said(agents[-1], commit_message.committed_at_s(headers), tuple(headers.get("parent", [])))


def commit_stamps(repo: GitRepo, tip: str) -> Iterator[Stamp]:
    """Yield the stamps of the newest commits that lead to a tip, as far as this clone has them."""
    read: dict[str, _Said] = {}
    waiting = deque([tip])
    while waiting and len(read) < _NEWEST:
        name = waiting.popleft()
        data = None if name in read else repo.objects.read(name)
        if data is not None:
            read[name] = _said(data)
            waiting += read[name].parents
    for said in read.values():
        before = [read[parent].at_s for parent in said.parents if parent in read]
        yield Stamp(said.agent, at_seconds(said.at_s), at_seconds(max(before)) if before else None)
