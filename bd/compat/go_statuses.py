"""The mapping between our statuses and those that viewers of the Go tool's exports know, in both directions.

A viewer may drop a whole line whose status it does not know.
"""

from __future__ import annotations

from bd import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

# The key that keeps our own status in an export, next to the one for viewers.
OWN_STATUS = "own_status"
_KNOWN = frozenset({"open", "in_progress", "blocked", "deferred", "closed", "pinned", "hooked"})
_IN_THEIR_WORDS = {"cancelled": "closed", "dead_letter": "blocked"}
# For `validating` and a hub's own statuses: neither available nor done.
_OTHERWISE = "in_progress"


def in_viewers_words(status: str) -> str:
    """Return the status that viewers know for a stored status."""
    return status if status in _KNOWN else _IN_THEIR_WORDS.get(status, _OTHERWISE)


def stored(row: dict[str, Any]) -> Any:
    """Return the stored status of an exported row, unless somebody has changed the viewers' status since."""
    status, own = row.get("status"), row.get(OWN_STATUS)
    return own if isinstance(own, str) and own not in _KNOWN and in_viewers_words(own) == status else status
