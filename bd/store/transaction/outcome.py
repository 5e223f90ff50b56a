"""The outcome of a transaction, as its caller gets it."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.value import Value

if TYPE_CHECKING:
    from bd.core.errors import BdError
    from bd.core.model import Change
    from bd.store.contract import JournalEntry
    from bd.store.transaction.replay import RefusedReplay


class Outcome(Value):
    """The outcome of a transaction. Call `acknowledge` once the caller has reported it."""

    change: Change | None
    published: bool
    commit: str
    tries: int = 1
    replayed: int = 0
    received: int = 0
    refused: tuple[RefusedReplay, ...] = ()
    notes: tuple[str, ...] = ()
    entry: JournalEntry | None = None
    refusal: BdError | None = None

    def acknowledge(self) -> None:
        if self.entry is not None:
            self.entry.remove()
