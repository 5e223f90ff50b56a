"""Stamps of a hub's newest commits: the time and the author that each commit names.

The time is the committer's: for a write that its clone kept for hours, the time at which it was put on top of its parent.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from bd.core.times import at_seconds
from bd.policy.clocks import Stamp
from bd.store.git import commit_message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bd.store.git.repository import GitRepo

# This many commits are enough to judge a fleet's clocks.
_NEWEST = 200


def commit_stamps(repo: GitRepo, tip: str) -> Iterator[Stamp]:
    """Yield the stamps of the newest commits that lead to a tip, as far as this clone has them."""
    read: dict[str, tuple[dict[str, list[str]], str]] = {}
    waiting = deque([tip])
    while waiting and len(read) < _NEWEST:
        name = waiting.popleft()
        data = None if name in read else repo.objects.read(name)
        if data is not None:
            read[name] = commit_message.split_commit(data)
            waiting += read[name][0].get("parent", [])
    dates = {name: commit_message.committed_at_s(headers) for name, (headers, _) in read.items()}
    for name, (headers, text) in read.items():
        said = commit_message.parse(text).get("Bd-Agent") or [commit_message.signed_by(headers)[0].split(" <")[0]]
        before = [dates[parent] for parent in headers.get("parent", []) if parent in dates]
        yield Stamp(said[-1], at_seconds(dates[name]), at_seconds(max(before)) if before else None)
