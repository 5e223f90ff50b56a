"""Raw table dumps: a folder with one JSONL file per table, as written by the Go tool's `backup`.

This module joins the tables into issue rows; jsonl_import.py knows the columns. The times of events are local times marked as
UTC, so only the author of a close is taken from them; the rest of the history stays in the dump.
"""

from __future__ import annotations

import os

from bd import TYPE_CHECKING
from bd.compat import jsonl_import
from bd.core.errors import NotFound

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from bd.compat.jsonl_import import Batch
    from bd.compat.spellings import Words

_ISSUES = "issues.jsonl"
# Where in a folder the tables may be: directly, or as in a workspace of the Go tool.
_PLACES = ("", ".beads/backup", "backup", ".beads")


def folder_of(folder: str) -> str:
    """Return the folder with issues.jsonl, at or below this one. Raises NotFound."""
    for place in _PLACES:
        inside = os.path.join(folder, place) if place else folder
        if os.path.isfile(os.path.join(inside, _ISSUES)):
            return inside
    raise NotFound(f"{folder} has no {_ISSUES} in it", hint="name the folder of a table dump, or a JSONL file")


def read(folder: str, on_progress: Callable[[int, int, str], None] | None = None, words: Words | None = None) -> Batch:
    """Read the beads of a dump with their labels, edges and comments. Raises NotFound."""
    inside = folder_of(folder)
    rows, unread = _table(inside, _ISSUES)
    notes: list[str] = []
    by_id = {str(row["id"]): row for _, row in rows if isinstance(row, dict) and row.get("id")}
    tables: dict[str, list[dict[str, Any]]] = {}
    for name in ("labels", "dependencies", "comments", "config", "events"):
        found, broken = _table(inside, f"{name}.jsonl")
        unread += broken
        unread += [(where, "is not a JSON object") for where, row in found if not isinstance(row, dict)]
        tables[name] = [row for _, row in found if isinstance(row, dict)]
    lost: list[str] = []
    for row in tables["labels"]:
        _attach(row, by_id, "labels", row.get("label"), notes)
    for row in tables["comments"]:
        _attach(row, by_id, "comments", row, notes)
    for row in tables["dependencies"]:
        owner = str(row.get("issue_id") or "")
        if owner in by_id:
            by_id[owner]["dependencies"] = [*(by_id[owner].get("dependencies") or []), row]
        else:
            lost.append(f"{owner} -> {row.get('depends_on_id')} ({row.get('type') or 'blocks'}): no such bead")
    _closers(tables["events"], by_id, notes)
    batch = jsonl_import.gather(folder, rows, unread, on_progress, words)
    settings = {str(row.get("key")): row.get("value") for row in tables["config"]}
    prefix = str(settings.get("issue_prefix") or "") or None
    return batch._replace(lost_edges=[*batch.lost_edges, *lost], notes=[*batch.notes, *notes], prefix=prefix)


def _table(folder: str, name: str) -> tuple[list[tuple[str, Any]], list[tuple[str, str]]]:
    path = os.path.join(folder, name)
    if not os.path.isfile(path):
        return [], []
    return jsonl_import.rows_of(jsonl_import.bytes_of(path), f"{name} ")


def _attach(row: dict[str, Any], by_id: dict[str, dict[str, Any]], key: str, value: Any, notes: list[str]) -> None:
    owner = by_id.get(str(row.get("issue_id") or ""))
    if owner is None:
        notes.append(f"{key}.jsonl: one for {row.get('issue_id')!r}, which is not in the dump")
    elif value not in (None, ""):
        owner[key] = [*(owner.get(key) or []), value]


def _closers(events: list[dict[str, Any]], by_id: dict[str, dict[str, Any]], notes: list[str]) -> None:
    """Set who closed each closed issue, from the last event that says so."""
    for event in events:
        row = by_id.get(str(event.get("issue_id") or ""))
        if row is not None and event.get("event_type") == "closed" and row.get("status") == "closed" and event.get("actor"):
            row["closed_by"] = str(event["actor"])
    if events:
        notes.append(f"of {len(events)} events only who closed what is taken; the rest of the history stays in the dump")
