"""The interface between the store and operations, and the context in which an operation decides.

An operation is a frozen value: methods that change it return a new one.
"""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.value import Value

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from typing import Any, Protocol

    from bd.core.model import Change, Snapshot
    from bd.core.settings import Settings


class UnknownOperation(ValueError):
    """A form that only a newer bd can read: of an unknown verb or version, or with an unknown argument."""


class Once(Value):
    """An idempotency key: the request has at most one effect, whoever carries it out, and however often it is sent.

    `key` is a digest of the caller and its key, `body` one of all that it asks for. `since` is a commit in whose history the key
    was looked up and not found; later commits are searched when the operation is decided.
    """

    key: str
    body: str
    since: str = ""


class DecisionContext(Value):
    """The inputs of a decision besides the snapshot.

    `heartbeats` are the refs of the claims that send heartbeats, by token, listed before the branch was fetched; None if the
    operation does not ask for them (`needs_heartbeats`) or the remote has no side refs. `is_request`: decided for another clone,
    whose process may be gone. `takes_side_refs`: the decision may rely on side refs.
    """

    now: datetime
    settings: Settings
    heartbeats: Mapping[str, str] | None = None
    is_request: bool = False
    takes_side_refs: bool = True


if TYPE_CHECKING:

    class Operation(Protocol):
        """One intended change, made once and decided as often as needed. Their base class is in bd/operations/base.py."""

        @property
        def verb(self) -> str:
            """Its name in commands, commits and the journal."""

        @property
        def uid(self) -> str:
            """Its permanent identity."""

        @property
        def by(self) -> str:
            """Its author."""

        @property
        def at(self) -> str:
            """The time when it was made."""

        @property
        def once(self) -> Once | None:
            """The idempotency key of the request that it carries out; None for most."""

        # --- how it is carried out ---

        @property
        def needs_remote(self) -> bool:
            """True if a result without the remote would be meaningless, as for a claim."""

        @property
        def needs_heartbeats(self) -> bool:
            """True if `decide` needs the heartbeats of claims, listed before the branch is fetched."""

        @property
        def is_portable(self) -> bool:
            """True if another process may carry it out: `decide` needs only the snapshot and the operation's form."""

        @property
        def brings_forward(self) -> bool:
            """True if it upgrades an older format, and so may write to a hub that has one."""

        def decide(self, snapshot: Snapshot, context: DecisionContext) -> Change:
            """Return the change on this snapshot. Raises a refusal."""

        def token_for(self, bead_id: str) -> str | None:
            """Return the claim token that the author presents for a bead."""

        # --- how it is written down ---

        def form(self) -> dict[str, Any]:
            """Return its JSON form as it was made, for another process to carry it out."""

        def pinned(self, change: Change, before: Snapshot) -> dict[str, Any]:
            """Return its JSON form as it was decided, for the commit."""

        def journal_fields(self) -> dict[str, Any]:
            """Return what crash recovery needs: `agent`, for whom it claims, and `ids`, the beads that were named."""

        # --- changed by what happens to it ---

        def new_ids(self, change: Change) -> dict[str, str]:
            """Return the beads of this operation that a change gives other ids than it names: old -> new."""

        def renamed(self, ids: Mapping[str, str]) -> Operation:
            """Return the operation with these beads named by their new ids (old -> new)."""

        def inheriting(self, entry: Mapping[str, Any]) -> Operation | None:
            """Return the operation that takes over the claim that a dead process of the same agent won.

            `entry` is that process's journal entry. None if this operation does not take it over.
            """
