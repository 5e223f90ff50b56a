"""The other processes of this clone that want to write: many operations, one push (docs/protocol.md).

Who finds the clone's lock held leaves its operation in its journal entry (state `waiting`) and keeps that locked. The
holder takes what is there, and answers it; an author who gives up withdraws. What was taken and not answered by a holder
that died is put back by the next one.

Belongs here: who is taken, and waiting for an answer. Does not belong here: the entries (local/journal.py), deciding (batch.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bd.core.settings import PROCESS_KEYS
from bd.core.versions import same_rules

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from bd.store.contract import Journal, JournalEntry
    from bd.store.replica import Replica

AT_ONCE = 64


def kin(replica: Replica) -> str:
    """What two processes of a clone have in common when they would decide the same: their hub and their settings."""
    settings = replica.settings()
    own = {name for name, source in settings.sources.items() if source != "default"} - PROCESS_KEYS
    # The first word keeps 0.9.0 away, which compares this text alone.
    return repr(
        (
            "rules apart",
            replica.branch,
            replica.remote_name,
            settings.expected,
            sorted((name, getattr(settings, name)) for name in own),
        )
    )


def take(journal: Journal, kind: str, number: int) -> list[tuple[str, dict[str, Any]]]:
    """Up to this many waiting operations whose hub, settings and rules are the holder's, now the holder's to answer."""

    def fits(data: Mapping[str, Any]) -> bool:
        if data.get("kin") != kind:
            return False
        return same_rules(data.get("rules"))

    return journal.take(fits, number)


def withdraw(journal: Journal, entry: JournalEntry) -> bool:
    """Take a waiting entry back; False when a holder has it already: then nobody knows how it ends."""
    is_back = journal.withdraw(entry)
    if not is_back:
        entry.data["state"] = "unknown"
    return is_back
