"""Other processes of this clone that want to write: many operations, one push (docs/protocol.md).

A process that finds the clone's lock taken leaves its operation in its journal entry (state `waiting`) and keeps the entry
locked. The lock's holder takes the waiting operations and answers them; an author who gives up withdraws. If the holder dies, the
next one puts back what was taken and not answered.

The entries themselves are in local/journal.py, the decisions in batch.py.
"""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.settings import PROCESS_KEYS
from bd.core.versions import same_rules

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from bd.core.operation import Operation
    from bd.store.contract import Journal, JournalEntry
    from bd.store.replica import Replica

AT_ONCE = 64


def kin(replica: Replica) -> str:
    """Return a key that is equal for two processes of a clone if they decide alike: their hub and their settings."""
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


def take(
    journal: Journal, kind: str, number: int, read: Callable[[Mapping[str, Any]], Operation | None]
) -> list[tuple[str, Operation]]:
    """Take up to `number` waiting operations with the holder's hub, settings and rules. The holder then has to answer them.

    An operation that `read` does not know is left to its author.
    """
    known: dict[str, Operation] = {}

    def fits(data: Mapping[str, Any]) -> bool:
        if data.get("kin") != kind or not same_rules(data.get("rules")):
            return False
        operation = read(data.get("form") or {})
        if operation is None:
            return False
        known[data["uid"]] = operation
        return True

    return [(key, known[data["uid"]]) for key, data in journal.take(fits, number)]


def withdraw(journal: Journal, entry: JournalEntry) -> bool:
    """Withdraw a waiting entry. False if a holder has taken it already: then the result is unknown."""
    is_back = journal.withdraw(entry)
    entry.data["state"] = "waiting" if is_back else "unknown"  # a dead holder's successor may have put it back meanwhile
    return is_back
