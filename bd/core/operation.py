"""What the store may know of an operation, and what an operation may know when it decides.

An operation is a frozen value. Whatever makes it another one returns another one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from typing import Any, Protocol

    from bd.core.model import Change, Snapshot
    from bd.core.settings import Settings


class UnknownOperation(ValueError):
    """A form that only a newer bd can read: of an unknown verb or version, or with an unknown argument."""


class DecisionContext(NamedTuple):
    """What a decision may know besides the snapshot.

    `heartbeats` are the refs of the claims that send heartbeats, by token, listed before the branch was fetched; None
    where the operation does not ask for them (`needs_heartbeats`) or the remote has no such refs. `is_request`: decided
    for another clone, whose process may be gone by now. `takes_side_refs`: what is decided may rely on side refs.
    """

    now: datetime
    settings: Settings
    heartbeats: Mapping[str, str] | None = None
    is_request: bool = False
    takes_side_refs: bool = True


if TYPE_CHECKING:

    class Operation(Protocol):
        """One intended change, made once and decided as often as needed; bd/operations/base.py is what all of them share."""

        @property
        def verb(self) -> str:
            """Its name in commands, commits and the journal."""

        @property
        def uid(self) -> str:
            """Names it for ever."""

        @property
        def by(self) -> str:
            """Who asks."""

        @property
        def at(self) -> str:
            """When it was asked for."""

        # --- how it is carried out ---

        @property
        def needs_remote(self) -> bool:
            """Whether an answer without the remote would be a lie, as it is for a claim."""

        @property
        def needs_heartbeats(self) -> bool:
            """Whether `decide` has to see the heartbeats of claims, listed before the branch is fetched."""

        @property
        def is_portable(self) -> bool:
            """Whether another process may carry it out: `decide` needs nothing but the snapshot and the operation's form."""

        @property
        def brings_forward(self) -> bool:
            """Whether it ends an older format, and so may write to a hub that has one."""

        def decide(self, snapshot: Snapshot, context: DecisionContext) -> Change:
            """The change on this snapshot. Raises a refusal."""

        def token_for(self, bead_id: str) -> str | None:
            """The claim token that the asker presents for a bead."""

        # --- how it is written down ---

        def form(self) -> dict[str, Any]:
            """As it was asked for, for whoever carries it out in another process."""

        def pinned(self, change: Change, before: Snapshot) -> dict[str, Any]:
            """As it was decided, for the commit."""

        def journal_fields(self) -> dict[str, Any]:
            """What crash recovery has to know of it: `agent`, for whom it claims, and `ids`, the beads that were named."""

        # --- what becomes of it ---

        def new_ids(self, change: Change) -> dict[str, str]:
            """The beads of this operation that a change of it gives other ids than it names: old -> new."""

        def renamed(self, ids: Mapping[str, str]) -> Operation:
            """The operation that names these beads by their new ids (old -> new)."""

        def inheriting(self, entry: Mapping[str, Any]) -> Operation | None:
            """The operation that takes over the claim which a dead process of the same agent won, by its journal entry; None for no heir."""
