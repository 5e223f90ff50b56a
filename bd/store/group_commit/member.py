"""One operation of this clone on its way to the hub: the caller's own, or a neighbour's that was taken along."""

from __future__ import annotations

from bd.core.light import json_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from typing import Any

    from bd.core.errors import BdError
    from bd.core.model import Change, Snapshot
    from bd.core.operation import Operation
    from bd.store.contract import SideRef


class Member:
    """`path` is the journal entry of a neighbour, empty for the caller's own. Settled once it has a change or a refusal.

    `intent` is its object while it is asked for on the remote, since the tip `asked_on`; `missed` when a look did not
    show it any more. `may_arrive` are the intents that the remote has neither shown nor said that it did not take.
    """

    __slots__ = ("asked_on", "change", "intent", "is_settled", "may_arrive", "missed", "operation", "path", "refusal")

    def __init__(self, operation: Operation, path: str = "") -> None:
        self.operation = operation
        self.path = path
        self.intent: str | None = None
        self.asked_on = ""
        self.missed = False
        self.may_arrive: set[str] = set()
        self.is_settled = False
        self.change: Change | None = None
        self.refusal: BdError | None = None

    @property
    def uid(self) -> str:
        return self.operation.uid

    def settle(self, change: Change | None, refusal: BdError | None) -> None:
        """It was carried out, or refused for good."""
        self.change, self.refusal, self.is_settled, self.intent = change, refusal, True, None

    def hear(self, told: Mapping[str, Any], snapshot: Snapshot) -> None:
        """Somebody else has carried it out, or refused it."""
        from bd.store.group_commit import answer  # noqa: PLC0415  most writes are carried out by their authors

        refusal = answer.error_of(told)
        self.settle(None if refusal else answer.change_of(told, snapshot), refusal)

    def see(self, intents: Mapping[str, str]) -> bool:
        """Take in what a look shows; whether that leaves open what became of an intent of its own."""
        shown = intents.get(self.uid)
        if shown is not None and shown in self.may_arrive:  # late, but there
            self.intent = shown
            self.may_arrive.discard(shown)
        if shown is not None and shown == self.intent:
            self.missed = False
        return (self.intent is not None and shown != self.intent) or bool(self.may_arrive)

    @property
    def burial(self) -> SideRef | None:
        """What deletes its intent, where it has one."""
        if not self.intent:
            return None
        from bd.store.contract import SideRef as Ref  # noqa: PLC0415
        from bd.store.group_commit.requests import INTENTS  # noqa: PLC0415  most operations are never asked for

        return Ref(INTENTS + self.uid, None, self.intent)

    @property
    def in_doubt(self) -> bool:
        """Whether others may still carry it out."""
        return self.intent is not None or bool(self.may_arrive)

    def forget_intent(self) -> None:
        """It is not asked for any more, and nobody has carried it out: as if it had never been asked for."""
        self.intent, self.missed = None, False
        if not self.may_arrive:
            self.asked_on = ""


def told(change: Change | None, refusal: BdError | None) -> dict[str, Any]:
    """What became of an operation, for its author in another process."""
    from bd.store.group_commit import answer  # noqa: PLC0415  most operations' authors are in this one

    if refusal is not None:
        return answer.of_error(refusal)
    return answer.of_change(change) if change is not None else {}


def won(change: Change | None, before: Snapshot, inherited: Collection[str]) -> list[str]:
    """The tokens of claims that a change makes, and of those that its author has inherited.

    Not of those that were there before it: whoever dies now was told of them by an earlier command.
    """

    def was_there(token: str, bead_id: str) -> bool:
        bead = before.head(bead_id)
        return bead is not None and any(claim.get("token") == token for claim in bead.claims)

    pairs = change.tokens if change else ()
    return [token for token, bead_id in pairs if token in inherited or not was_there(token, bead_id)]


def portable_form(operation: Operation) -> dict[str, Any] | None:
    """What another process needs to carry the operation out; None where only this one can."""
    if not operation.is_portable:
        return None
    form = operation.form()
    try:
        json_text(form)
    except TypeError:  # it holds what JSON can't
        return None
    return form
