"""Export of beads as Beads JSONL, one issue per line.

A record contains only stored data and nothing that depends on the current time, so two exports of the same state are identical.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter

from bd import TYPE_CHECKING
from bd.compat.bead_json import edges
from bd.compat.go_statuses import OWN_STATUS, in_viewers_words
from bd.compat.jsonl_import import FOREIGN_FIELDS, STRUCTURE
from bd.core import files
from bd.core.errors import BadInput
from bd.core.schema import BEAD_FIELDS, JSON_NAMES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from bd.core.model import Bead, Snapshot

_ORDER = (
    *("description", "design", "acceptance_criteria", "notes", "status", "priority", "type", "assignee", "owner"),
    *("estimated_minutes", "created_at", "created_by", "updated_at", "started_at", "closed_at", "close_reason"),
    *("deadline", "defer_until", "external_ref", "metadata"),
)
_LARGEST_NUMBER = 2**63
# Left out by the Go tool's exports unless requested.
_INFRA = frozenset({"agent", "rig", "role", "message"})
# The key for a comment's original id, next to its number.
OWN_ID = "own_id"
_DIGITS = 13  # the digits that a double can represent exactly


def record_of(bead: Bead, dependent_count: int) -> dict[str, Any]:
    """Return a bead as an issue record: first the fields that every reader knows, then all others.

    It contains only stored data, nothing that depends on the current time.
    """
    fields = {key: value for key, value in bead.fields.items() if value not in (None, "", [], {})}
    fields["status"] = in_viewers_words(bead.status)
    record: dict[str, Any] = {"_type": "issue", "id": bead.id, "title": bead.title}
    if bead.updated_at:
        fields["updated_at"] = bead.updated_at  # some readers refuse a line without it
    for key in _ORDER:
        if key in fields:
            record[JSON_NAMES.get(key, key)] = fields[key]
    if bead.labels:
        record["labels"] = sorted(bead.labels)
    raw = edges(bead)
    if raw:
        record["dependencies"] = raw
    if bead.comments:
        record["comments"] = [_written_comment(entry, bead) for entry in bead.comments]
    record["dependency_count"] = len(bead.depends_on)
    record["dependent_count"] = dependent_count
    record["comment_count"] = len(bead.comments)
    ours = [key for key in BEAD_FIELDS if key in fields]
    others = sorted(key for key, value in bead.fields.items() if key not in BEAD_FIELDS and value is not None)
    for key in (*ours, *others):
        if key not in STRUCTURE and key not in _ORDER and key not in record:
            record[key] = bead.fields[key]
    for key, value in fields.get(FOREIGN_FIELDS, {}).items():
        record.setdefault(key, value)
    if record["status"] != bead.status:
        record[OWN_STATUS] = bead.status
    return record


def records_of(
    snapshot: Snapshot, left_out: Counter[str], *, everything: bool = False, include_infra: bool = False
) -> Iterator[dict[str, Any]]:
    """Yield the records of all beads by id, including closed ones.

    Beads that the Go tool's exports leave out are only counted, by kind, in `left_out`.
    """
    heads = sorted({bead.id: bead for bead in snapshot.every()}.values(), key=lambda bead: bead.id)
    waiting = Counter(target for head in heads for target in set(head.depends_on))
    for head in heads:
        bead = snapshot.bead(head.id)
        kind = None if bead is None or everything else _kind_left_out(bead, include_infra=include_infra)
        if kind:
            left_out[kind] += 1
        elif bead is not None:
            yield record_of(bead, waiting[bead.id])


def _kind_left_out(bead: Bead, *, include_infra: bool) -> str | None:
    if bead.type in _INFRA and not include_infra:
        return "infrastructure"
    if bead.get("is_template"):
        return "template"
    return "ephemeral" if bead.get("ephemeral") else None


def _written_comment(entry: dict[str, Any], bead: Bead) -> dict[str, Any]:
    at = entry.get("at") or bead.created_at
    own = str(entry.get("id", ""))
    number = _number_of(own)
    written = {
        "id": number,
        "issue_id": bead.id,
        "author": entry.get("author", ""),
        "text": entry.get("text", ""),
        "created_at": at,
        **{key: value for key, value in entry.items() if key not in ("id", "author", "text", "at")},
        **({} if own == str(number) else {OWN_ID: own}),
    }
    return written if at else {key: value for key, value in written.items() if key != "created_at"}


def _number_of(text: str) -> int:
    """Return a comment's id as a stable number, because older viewers drop a whole bead if the id is a string."""
    if text.isascii() and text.isdigit() and (text == "0" or text[0] != "0") and int(text) < _LARGEST_NUMBER:
        return int(text)
    return int(hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:_DIGITS], 16)


def lines_of(records: Iterable[dict[str, Any]]) -> Iterable[str]:
    """Yield one compact JSON object per line."""
    for record in records:
        yield json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n"


def write_whole(path: str, lines: Iterable[str]) -> None:
    """Write a file atomically; an existing pipe or device is written to directly. Raises BadInput."""
    target = os.path.realpath(path)
    try:
        os.stat(os.path.dirname(target))  # no folder is created
        if os.path.isfile(target) or not os.path.exists(target):
            files.replace(target, "".join(lines), durably=True)
            return
        with open(target, "w", encoding="utf-8", newline="\n") as stream:
            stream.writelines(lines)
    except OSError as error:
        raise BadInput(f"can't write {path}: {error.strerror or error}") from error
