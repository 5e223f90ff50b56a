"""The result of one operation as JSON, for an author who had somebody else carry it out.

Both directions. local.py transports answers within a clone, verdict_trailers.py between clones.
"""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core import errors
from bd.core.errors import BdError
from bd.core.json_shapes import MAYBE_TEXT, fits
from bd.core.model import Change

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from bd.core.model import Snapshot


_TEXTS = (list, type(None))


def of_change(change: Change) -> dict[str, Any]:
    """Return the answer for an operation that was carried out: what its author needs of the change."""
    told = {
        "subject": change.subject,
        "touched": list(change.touched),
        "notes": list(change.notes),
        "tokens": [list(pair) for pair in change.tokens],
        "failures": [dict(failure) for failure in change.failures],
        "result": change.result,
        "beads": list(change.beads),
        "records": list(change.records),
        "moves": dict(change.moves),
    }
    return {key: value for key, value in told.items() if value not in (None, "", [], {})}


def of_result(change: Change | None, refusal: BdError | None) -> dict[str, Any]:
    """Return the answer for a result: a change or a refusal."""
    if refusal is not None:
        return of_error(refusal)
    return of_change(change) if change is not None else {}


def of_error(error: BdError) -> dict[str, Any]:
    """Return the answer for a refused operation."""
    told: dict[str, Any] = {"code": error.code, "message": error.message, "hint": error.hint, "data": error.data}
    return {key: value for key, value in told.items() if value}


_SHAPE = {
    "subject": MAYBE_TEXT,
    "touched": _TEXTS,
    "notes": _TEXTS,
    "tokens": (list, type(None)),
    "failures": (list, type(None)),
    "beads": _TEXTS,
    "records": _TEXTS,
    "moves": (dict, type(None)),
    "code": MAYBE_TEXT,
    "message": MAYBE_TEXT,
    "hint": MAYBE_TEXT,
    "data": (dict, type(None)),
}


def is_answer(told: Any) -> bool:
    """Return whether `told` is a well-formed answer: anybody who may push can write one into a commit."""
    if not fits(told, _SHAPE):
        return False
    pairs = told.get("tokens") or []
    parts = (told.get("touched"), told.get("notes"), told.get("beads"), told.get("records"))
    return (
        all(fits(part or [], [str]) for part in parts)
        and all(fits(pair, [str]) and len(pair) == 2 for pair in pairs)
        and fits(told.get("failures") or [], [dict])
        and fits(told.get("moves") or {}, {...: str})
    )


def change_of(answer: Mapping[str, Any], snapshot: Snapshot) -> Change:
    """Rebuild the change from an answer, with its beads and records as they are on a snapshot that contains it."""
    return Change(
        {bead_id: snapshot.bead(bead_id) for bead_id in answer.get("beads", ())},
        answer.get("subject", ""),
        records={path: snapshot.record(path) for path in answer.get("records", ())},
        moves=answer.get("moves", {}),
        touched=tuple(answer.get("touched", ())),
        notes=tuple(answer.get("notes", ())),
        tokens=tuple((token, bead_id) for token, bead_id in answer.get("tokens", ())),
        failures=tuple(answer.get("failures", ())),
        result=answer.get("result"),
    )


def error_of(answer: Mapping[str, Any]) -> BdError | None:
    """Rebuild the refusal from an answer; None if the operation was carried out."""
    if "code" not in answer:
        return None
    kind = _kinds().get(answer["code"], BdError)
    error = kind.__new__(kind, answer.get("message", ""))
    data = dict(answer.get("data") or {})
    if kind.transient and data.get("written") not in errors.WRITTEN:  # anybody who may push can write an answer
        data["written"] = "unknown"
    BdError.__init__(error, answer.get("message", ""), hint=answer.get("hint"), **data)
    error.code = answer["code"]
    return error


def _kinds() -> dict[str, type[BdError]]:
    """Return the error classes by their JSON code."""
    found = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, BdError)]
    return {kind.code: kind for kind in found}
