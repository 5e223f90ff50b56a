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
    from collections.abc import Callable, Mapping
    from typing import Any

    from bd.core.runtime import Runtime
    from bd.store.contract import Journal, JournalEntry
    from bd.store.replica import Replica

AT_ONCE = 64
_POLL_S = 0.004
_POLL_CAP_S = 0.03


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


def wait(
    journal: Journal,
    entry: JournalEntry,
    may_hold: Callable[[], bool],
    runtime: Runtime,
    *,
    patience_s: float,
    on_wait: Callable[[], None] | None,
) -> dict[str, Any] | None:
    """Wait until the entry is answered, or the lock is ours (None): then its author carries it out.

    Raises TimeoutError when neither happens in time: the entry is withdrawn, or in `data` its state is `unknown`.
    """
    begun = runtime.monotonic()
    pause, told = _POLL_S, False
    while True:
        found = journal.answered(entry)
        if found is not None:
            return found
        if may_hold():
            found = journal.answered(entry)  # the last holder may have answered before it let go
            if found is None:
                journal.reclaim(entry)
            return found
        waited_s = runtime.monotonic() - begun
        if waited_s > 1 and not told and on_wait:
            on_wait()
            told = True
        if waited_s > patience_s and (withdraw(journal, entry) or waited_s > 2 * patience_s):
            raise TimeoutError
        runtime.sleep(pause)
        pause = min(_POLL_CAP_S, pause * 1.3)


def withdraw(journal: Journal, entry: JournalEntry) -> bool:
    """Take a waiting entry back; False when a holder has it already: then nobody knows how it ends."""
    is_back = journal.withdraw(entry)
    if not is_back:
        entry.data["state"] = "unknown"
    return is_back
