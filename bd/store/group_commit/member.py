"""What is written down of an operation that travels: its form, what it won, and what became of it."""

from __future__ import annotations

from bd.core.light import json_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any

    from bd.core.errors import BdError
    from bd.core.model import Change, Snapshot
    from bd.core.operation import Operation


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
