"""Import of Beads JSONL: one issue per line, converted to bead fields.

This module knows the keys of a line, and which values only mean "unset". table_dumps.py reads table dumps, and
operations/import_beads.py merges with existing beads.

Unknown keys stay in the bead under their own names. A value that is invalid for one of our keys (such as a number as `progress`)
is kept in `foreign_fields`.
"""

from __future__ import annotations

import hashlib
import json
from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.compat.go_statuses import OWN_STATUS, stored
from bd.compat.issue_edges import EdgeList
from bd.compat.spellings import Words
from bd.core import ids
from bd.core.errors import BadInput, NotFound
from bd.core.files import typed_bytes
from bd.core.json_shapes import no_constant
from bd.core.schema import BEAD_FIELDS, JSON_NAMES
from bd.core.times import canonical_time
from bd.operations.field_values import check_label
from bd.operations.import_beads import STATED_KEYS
from bd.store.yaml import codec, editor

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_OWN_NAMES = {name: key for key, name in JSON_NAMES.items()}
FOREIGN_FIELDS = "foreign_fields"
# Derived from other data, or about the origin of the line.
_DERIVED = frozenset(
    {
        *("_type", "_schema", "schema_version", "dependency_count", "dependent_count", "comment_count", "content_hash"),
        *("phase", "effective_priority", "published", "blocked_by", "blocked_by_count", "dependents", "dependency_type"),
        *("epic_total_children", "epic_closed_children", "epic_closeable", "revision", "claim_fence", "wisp"),
        OWN_STATUS,
    }
)
STRUCTURE = frozenset(
    {"id", "labels", "dependencies", "depends_on", "parent", "links", "edge_details", "comments", FOREIGN_FIELDS}
)
_SWITCHES = frozenset({"ephemeral", "pinned", "is_template", "no_history", "crystallizes"})
# Columns of a raw table dump that are not JSON keys.
_COLUMNS = frozenset(
    {"source_repo", "agent_state", "hook_bead", "role_bead", "role_type", "rig", "quality_score", "last_activity", "timeout_ns"}
)
_EMPTY_IS_UNSET = (STATED_KEYS | _COLUMNS | _SWITCHES | set(_OWN_NAMES)) - {"priority"}
_ZERO_TIME = "0001-01-01T00:00:00"
# What every record of the Go tool's exports states; it leaves out a priority of 0 only. Others who state none mean no priority.
_GO_KEYS = frozenset({"id", "status", "issue_type", "created_at", "updated_at"})
_SHOWN_IDS = 5
# One of these is in every record of Beads JSONL, also in those that are no beads.
_ANY_RECORD = frozenset({"title", "_type", "_schema", "status"})
_DELETED = "was deleted there (a tombstone)"
_FORMATS = "Beads JSONL, a table dump, or a tracker's files (docs/compatibility.md); a plan is for `bd plan apply`"


class Batch(NamedTuple):
    """The contents of a file or folder: bead fields ready for import, and everything else with the reasons.

    `unread` are pairs (location, reason) of unreadable lines; `lost_edges` are edges whose bead is not in the batch, or that
    lead to a bead that was deleted there.
    """

    source: str
    beads: list[dict[str, Any]]
    skipped: list[dict[str, str]]
    unread: list[tuple[str, str]]
    lost_edges: list[str]
    notes: list[str]
    memories: int = 0
    prefix: str | None = None


# --- reading ------------------------------------------------------------------------------


def bytes_of(source: str) -> bytes:
    """Return the content of a file, or of stdin for `-`. Raises NotFound or BadInput."""
    try:
        return typed_bytes(source)
    except FileNotFoundError:
        raise NotFound(f"there is no {source}", hint="a file that is there, or - for stdin") from None
    except OSError as error:
        raise BadInput(f"can't read {source}: {error.strerror or error}") from error


def event_of(data: bytes, shown: str) -> dict[str, Any]:
    """Parse an event: one JSON object. Raises BadInput."""
    try:
        event = json.loads(data, parse_constant=no_constant)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{shown} is not JSON: {error}", hint="an event is one JSON object") from None
    if not isinstance(event, dict):
        raise BadInput(f"{shown} is not a JSON object", hint="an event is one JSON object")
    return event


def rows_of(data: bytes, prefix: str = "") -> tuple[list[tuple[str, Any]], list[tuple[str, str]]]:
    """Return the JSON values of a file with their locations, and the lines that are not JSON with the reasons.

    The file has one value per line, or is one JSON array (`bd list --json`) or object.
    """
    whole = _whole(data)
    if whole is not None:
        return [(f"{prefix}entry {number}", value) for number, value in enumerate(whole, start=1)], []
    rows: list[tuple[str, Any]] = []
    unread: list[tuple[str, str]] = []
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        if not line.strip():
            continue
        where = f"{prefix}line {number}"
        try:
            rows.append((where, json.loads(line.decode("utf-8"), parse_constant=no_constant)))
        except UnicodeDecodeError as error:
            unread.append((where, f"is not UTF-8 (byte {error.start + 1})"))
        except (ValueError, RecursionError) as error:
            unread.append((where, f"is not JSON: {error}"))
    return rows, unread


def _whole(data: bytes) -> list[Any] | None:
    start = data[:200].removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    first, _, rest = data.lstrip().partition(b"\n")
    if start == b"[" or (start == b"{" and rest.strip() and first.strip() in (b"{", b"")):
        try:
            value = json.loads(data.decode("utf-8-sig"), parse_constant=no_constant)
        except (ValueError, RecursionError):
            return None
        return value if isinstance(value, list) else [value]
    return None


def read(
    source: str, on_progress: Callable[[int, int, str], None] | None = None, words: Words | None = None, data: bytes | None = None
) -> Batch:
    """Read the beads of a JSONL file (`-`: stdin). Raises NotFound or BadInput if there is nothing to read."""
    rows, unread = rows_of(bytes_of(source) if data is None else data)
    if unread and not rows:
        where, why = unread[0]
        raise BadInput(f"{source} is in no format that `bd import` reads: {where} {why}", hint=_FORMATS)
    if len(rows) > 1 and not any(isinstance(row, dict) and row.keys() & _ANY_RECORD for _, row in rows):
        raise BadInput(f"{source} is in no format that `bd import` reads: nothing in it has a title", hint=_FORMATS)
    batch = gather(source, rows, unread, on_progress, words)
    if any(isinstance(row, dict) and "timeout_ns" in row for _, row in rows[:1]):
        batch.notes.append("this is one table of a dump: import its folder, and dependencies, labels and comments come too")
    return batch


def gather(
    source: str,
    rows: list[tuple[str, Any]],
    unread: list[tuple[str, str]],
    on_progress: Callable[[int, int, str], None] | None = None,
    words: Words | None = None,
) -> Batch:
    """Make a batch from issue rows. Of two rows with the same id, the newer is used. `words` are the hub's own."""
    batch = Batch(source, [], [], list(unread), [], [])
    spelled = _Spelled(words or Words())
    found: dict[str, dict[str, Any]] = {}
    strays: list[tuple[str, dict[str, Any]]] = []
    memories = 0
    for number, (where, row) in enumerate(rows, start=1):
        if on_progress and (number % 100 == 0 or number == len(rows)):
            on_progress(number, len(rows), "reading")
        if isinstance(row, dict) and row.get("_type") == "memory":
            memories += 1
        elif isinstance(row, dict) and (row.get("_type") not in (None, "issue") or ("_schema" in row and "title" not in row)):
            if "_schema" not in row:
                batch.notes.append(f"{where}: a {row['_type']}, not a bead")
        else:
            _take(where, spelled.row(row) if isinstance(row, dict) else row, found, strays, batch)
    for owner, edge in strays:
        if owner in found:
            its_edges = EdgeList.of(found[owner])
            its_edges.add(edge)
            found[owner] = its_edges.put_into(found[owner])
        else:
            batch.lost_edges.append(f"{owner} -> {edge.get('depends_on_id')} ({edge.get('type') or 'blocks'}): no such bead")
    gone = {entry["id"] for entry in batch.skipped if entry["reason"] == _DELETED} - found.keys()
    for fields in found.values():
        its_edges = EdgeList.of(fields)
        lost = its_edges.drop(gone)
        batch.lost_edges.extend(f"{fields['id']} -> {target} ({kind}): was deleted there" for kind, target in lost)
        batch.beads.append(its_edges.put_into(fields) if lost else fields)
    batch.notes.extend(spelled.notes())
    return batch._replace(memories=memories)


class _Spelled:
    """Rows in the hub's words, with a record of every translation."""

    def __init__(self, words: Words) -> None:
        self._words = words
        self._meant: dict[tuple[str, str, Any], list[str]] = {}
        self._without_priority: list[str] = []

    def row(self, row: dict[str, Any]) -> dict[str, Any]:
        """Return the row with its status, type and priority in this hub's words."""
        told = dict(row)
        shown = str(row.get("id") or row.get("title") or "?")
        for key, read in (("status", self._words.status), ("issue_type", self._words.type), ("type", self._words.type)):
            if row.get(key):
                told[key], given = read(row[key])
                self._note(key, given, told[key], shown)
        told["priority"], given = self._words.priority(row.get("priority"))
        self._note("priority", given, told["priority"], shown)
        if told["priority"] in (None, "") and row.get("base_priority") is None:
            told["priority"] = 0 if "priority" not in row and row.keys() >= _GO_KEYS else 2
            if told["priority"] and row.get("status") != "tombstone":
                self._without_priority.append(shown)
        return told

    def _note(self, key: str, given: str | None, meant: Any, shown: str) -> None:
        if given is not None:
            self._meant.setdefault((key.removeprefix("issue_"), given, meant), []).append(shown)

    def notes(self) -> list[str]:
        """Return a line for each word that was translated."""
        lines = [f"{key} {given!r} is read as {_level(meant)}: {_few(ids)}" for (key, given, meant), ids in self._meant.items()]
        if self._without_priority:
            lines.append(f"without a priority, so P2: {_few(self._without_priority)}")
        return lines


def _level(meant: Any) -> str:
    return f"P{meant}" if isinstance(meant, int) else str(meant)


def _few(names: list[str]) -> str:
    more = len(names) - _SHOWN_IDS
    return ", ".join(names[:_SHOWN_IDS]) + (f" and {more} more" if more > 0 else "")


def _take(where: str, row: Any, found: dict[str, dict[str, Any]], strays: list[tuple[str, dict[str, Any]]], batch: Batch) -> None:
    """Add a row to the batch: to the beads, the skipped, or the unread."""
    if not isinstance(row, dict):
        batch.unread.append((where, "is not a JSON object"))
        return
    bead_id = str(row.get("id") or "").strip()
    try:
        if row.get("status") == "tombstone":
            batch.skipped.append({"id": bead_id, "reason": _DELETED})
            return
        if bead_id:
            try:
                ids.check_bead_id(bead_id)
            except BadInput as error:
                batch.skipped.append({"id": bead_id, "reason": str(error)})
                return
        fields = fields_of(row, strays)
    except (codec.Unreadable, ValueError, BadInput) as error:
        batch.unread.append((where, f"{bead_id + ': ' if bead_id else ''}{error}"))
        return
    before = found.get(bead_id) if bead_id else None
    if before is not None:
        batch.skipped.append({"id": bead_id, "reason": f"is there twice ({where} again); the newer is taken"})
        if before.get("updated_at", "") > fields.get("updated_at", ""):
            return
    found[bead_id or f"\0{len(found)}"] = fields


# --- one row ------------------------------------------------------------------------------


def fields_of(row: dict[str, Any], strays: list[tuple[str, dict[str, Any]]] | None = None) -> dict[str, Any]:
    """Return the bead fields of an issue row, typed and checked like those of a bead file.

    Edges whose `issue_id` is another bead go into `strays`. Raises codec.Unreadable or ValueError with the reason.
    """
    fields: dict[str, Any] = {"id": str(row.get("id") or "").strip()}
    for key, value in row.items():
        if key in STRUCTURE or key in _DERIVED:
            continue
        name, kept = _taken(key, stored(row) if key == "status" else value)
        if kept is not None:
            fields[name] = kept
    if row.get("wisp"):
        fields["ephemeral"] = True
    labels = row.get("labels") or []
    if labels:
        fields["labels"] = sorted({_label(label) for label in (labels if isinstance(labels, list) else str(labels).split(","))})
    comments = [_comment(entry) for entry in _listed("comments", row)]
    if comments:
        fields["comments"] = comments
    its_edges = _edges_of(row, fields, strays)
    given = row.get(FOREIGN_FIELDS) or {}
    if not isinstance(given, dict):
        raise ValueError(f"{FOREIGN_FIELDS}: a map was expected")
    foreign = dict(given)
    if not isinstance(fields.get("metadata", {}), dict):
        foreign["metadata"] = fields.pop("metadata")
    if foreign:
        fields[FOREIGN_FIELDS] = foreign
    return _canonical(its_edges.put_into(fields))


def _label(value: Any) -> str:
    try:
        return check_label(value)
    except BadInput as error:
        raise ValueError(f"labels: {error.message}") from None


def _taken(key: str, value: Any) -> tuple[str, Any]:
    """Return the bead's key and value for a key of a row; the value is None if it means "unset"."""
    name = "timeout" if key == "timeout_ns" else _OWN_NAMES.get(key, key)
    if value is None or (value == "" and (key in _EMPTY_IS_UNSET or name in BEAD_FIELDS)):
        return name, None
    if key in _SWITCHES:
        return name, True if value in (1, True, "1", "true") else None
    if key in _EMPTY_IS_UNSET and not value:
        return name, None
    if key == "waiters" and isinstance(value, str):
        return name, _json_or(value, [value]) or None
    if key == "metadata" and isinstance(value, str):
        return name, _json_or(value, value) or None
    if isinstance(value, str) and value.startswith(_ZERO_TIME) and (BEAD_FIELDS.get(name) == "time" or key in _EMPTY_IS_UNSET):
        return name, None
    return name, value


def _json_or(text: str, otherwise: Any) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return otherwise


def _listed(key: str, row: dict[str, Any]) -> list[Any]:
    value = row.get(key)
    if value in (None, ""):
        return []
    if not isinstance(value, list):
        raise ValueError(f"{key}: a list was expected")
    return value


def _comment(entry: Any) -> dict[str, Any]:
    """Return a comment in a bead's form. Its id is a string; if it has none, it is made from its content."""
    if not isinstance(entry, dict):
        raise ValueError("comments: a list of objects was expected")
    at = entry.get("created_at") or entry.get("at")
    comment = {
        "id": str(entry.get("own_id") or ("" if entry.get("id") is None else entry["id"])),
        "author": str(entry.get("author") or ""),
        "at": None if not at or str(at).startswith(_ZERO_TIME) else str(at),
        "text": str(entry.get("text") or ""),
        **{
            k: v
            for k, v in entry.items()
            if k not in ("id", "own_id", "issue_id", "author", "created_at", "at", "text") and v is not None
        },
    }
    if not comment["id"]:
        words = f"{comment['author']}\0{comment['at']}\0{comment['text']}"
        comment["id"] = hashlib.sha256(words.encode("utf-8", "replace")).hexdigest()[:16]
    return {key: value for key, value in comment.items() if value is not None}


def _edges_of(row: dict[str, Any], fields: dict[str, Any], strays: list[tuple[str, dict[str, Any]]] | None) -> EdgeList:
    made_at = fields.get("created_at")
    try:
        its_edges = EdgeList(canonical_time(str(made_at)) if made_at else None)
    except ValueError:
        raise ValueError(f"created_at: {made_at!r} is not a time") from None
    for entry in _listed("dependencies", row):
        edge = {"depends_on_id": entry} if isinstance(entry, str) else entry
        if not isinstance(edge, dict):
            raise ValueError("dependencies: a list of objects was expected")
        owner = str(edge.get("issue_id") or fields["id"])
        if strays is not None and owner != fields["id"] and fields["id"]:
            strays.append((owner, edge))
        else:
            its_edges.add(edge)
    for target in _listed("depends_on", row):
        its_edges.add({"depends_on_id": target})
    for link in _listed("links", row):
        if not isinstance(link, dict):
            raise ValueError("links: a list of objects was expected")
        its_edges.add({"type": "related", **link, "depends_on_id": link.get("id")})
    if row.get("parent"):
        its_edges.add_parent(str(row["parent"]))
    return its_edges


def _canonical(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields as they would be read from a bead file, all values typed. Raises codec.Unreadable."""
    given = {**fields, "id": fields["id"] or "x"}
    while True:
        try:
            typed = codec.parse_bead(editor.document(given, BEAD_FIELDS).encode(), given["id"]).fields
            break
        except codec.Unreadable as error:
            key = "claim" if str(error).startswith("has a claim") else str(error).partition(":")[0].partition(".")[0]
            if key not in BEAD_FIELDS or key in STATED_KEYS or key not in given or key == "id":
                raise
            given[FOREIGN_FIELDS] = {**given.get(FOREIGN_FIELDS, {}), key: given.pop(key)}
    if not fields["id"]:
        del typed["id"]
    return typed
