"""Statuses in exports: what viewers of the Go tool's exports know, and ours in their words.

Belongs here: the mapping, both ways. A viewer may leave out a whole line whose status it does not know.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

# The key beside a status in a viewer's words that keeps the one it has here.
OWN_STATUS = "own_status"
_KNOWN = frozenset({"open", "in_progress", "blocked", "deferred", "closed", "pinned", "hooked"})
_IN_THEIR_WORDS = {"cancelled": "closed", "dead_letter": "blocked"}
# `validating` and what a hub adds: neither free nor done.
_OTHERWISE = "in_progress"


def in_viewers_words(status: str) -> str:
    """A stored status as viewers know it."""
    return status if status in _KNOWN else _IN_THEIR_WORDS.get(status, _OTHERWISE)


def stored(row: dict[str, Any]) -> Any:
    """The status of an exported row as it was stored, unless somebody has changed what stands beside it."""
    status, own = row.get("status"), row.get(OWN_STATUS)
    return own if isinstance(own, str) and own not in _KNOWN and in_viewers_words(own) == status else status
