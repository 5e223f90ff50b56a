"""The critical path: the longest chain of live beads that wait for a bead.

Only its length; priority.py has the points that it counts for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bd.core.model import Snapshot


def chains(ids: Iterable[str], snapshot: Snapshot, longest: int) -> dict[str, int]:
    """Return for each bead the length of the longest chain that waits for it, at most `longest`.

    All chains are followed at once, level by level, so that the store is asked a few times however many beads there are.
    """
    asked = list(dict.fromkeys(ids))
    waiting: dict[str, list[str]] = {}
    level = asked
    for _ in range(longest):
        waiting.update(snapshot.waiters(level))
        level = [
            other for other in dict.fromkeys(one for bead_id in level for one in waiting.get(bead_id, ())) if other not in waiting
        ]
        if not level:
            break
    known: dict[tuple[str, int], int] = {}
    return {bead_id: _length(bead_id, longest, waiting, known) for bead_id in asked}


def _length(bead_id: str, most: int, waiting: dict[str, list[str]], known: dict[tuple[str, int], int]) -> int:
    """Return the longest chain from here, at most `most` links; in a cycle, `most`."""
    others = waiting.get(bead_id)
    if not others or not most:
        return 0
    if (bead_id, most) not in known:
        known[bead_id, most] = 1 + max(_length(other, most - 1, waiting, known) for other in others)
    return known[bead_id, most]
