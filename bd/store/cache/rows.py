"""A parsed bead as rows of the cache: its columns, its head, its body and its edges; and back.

database.py has the tables, cache.py fills them.

A bead's head (what lists and policy need) and its body (the long fields) are stored apart, so that reading ten thousand beads
does not read their texts. What beads are found, counted and ordered by is in columns, so that most beads are not read at all.
"""

from __future__ import annotations

import marshal
from zlib import crc32

from bd import TYPE_CHECKING
from bd.core.costs import spent_of
from bd.core.known_keys import unknown_keys
from bd.core.queries import is_calm, made_of, rank_of
from bd.core.schema import ARCHIVE_DIR, BEAD_FIELDS, BEADS_DIR, CAPACITY_DIR, DONE_STATUSES, LONG_FIELDS, WAITING_LINKS, suffix_of
from bd.core.value import Value

if TYPE_CHECKING:
    from typing import Any

    from bd.store.hub_files import Row

# Fields that nearly every head has, stored as a tuple in this order: loads in half the time of a dict.
_HEAD_KEYS = (
    "id",
    "title",
    "type",
    "status",
    "priority",
    "created_at",
    "updated_at",
    "labels",
    "depends_on",
    "parent",
    "assignee",
    "closed_at",
)
_SEAL_SIZE = 4
# What most beads have: known keys with nothing inside them to look at.
_PLAIN = BEAD_FIELDS.keys() - {"retry", "spec", "output"}
_HEAD_SET = frozenset(_HEAD_KEYS)
# The weights of edges: a dependency, a link that blocks like one, or only a mention.
DEPENDS, WAITS, MENTIONS = 2, 1, 0


class Packed(Value):
    """One hub file as it goes into the tables: the columns of `beads` after the number, and the rows that belong to it."""

    path: str
    oid: str
    is_simple: bool
    reason: str | None = None
    fields: bytes | None = None  # of a record
    columns: tuple[Any, ...] = ()  # of a bead
    head: bytes = b""
    body: bytes | None = None
    edges: tuple[tuple[str, int], ...] = ()
    costs: tuple[tuple[str, str, float, str], ...] = ()
    unknown: tuple[tuple[str, str, str | None, bool], ...] = ()

    @property
    def is_live(self) -> bool:
        """Return whether it is a bead that is neither done nor archived."""
        return bool(self.columns and self.columns[6])


def sealed(value: Any) -> bytes:
    """Serialise a value for the cache. The checksum protects marshal, which may misread other bytes or crash on them."""
    data = marshal.dumps(value)
    return crc32(data).to_bytes(_SEAL_SIZE) + data


def is_sealed(blob: bytes) -> bool:
    """Return whether the bytes are as `sealed` wrote them."""
    return len(blob) > _SEAL_SIZE and crc32(memoryview(blob)[_SEAL_SIZE:]) == int.from_bytes(blob[:_SEAL_SIZE])


def opened(blob: bytes) -> Any:
    """Return the value of sealed bytes, whose checksum was verified when they were read."""
    return marshal.loads(memoryview(blob)[_SEAL_SIZE:])


def packed(row: Row) -> Packed:
    """Convert a parsed file into its rows."""
    if row.reason is not None or row.fields is None:
        return Packed(row.path, row.oid, row.is_simple, row.reason)
    unknown = _unknown(row.path, row.fields)
    if not row.path.startswith(BEADS_DIR):
        return Packed(row.path, row.oid, row.is_simple, fields=sealed(row.fields), unknown=unknown)
    fields = row.fields
    head = {key: value for key, value in fields.items() if key not in LONG_FIELDS}
    if fields.get("comments"):
        head["comment_count"] = len(fields["comments"])
    most = (fields.get("spec") or {}).get("max_cost_usd")
    if most is not None:
        head["max_cost_usd"] = most
    body = {key: value for key, value in fields.items() if key in LONG_FIELDS}
    return Packed(
        row.path,
        row.oid,
        row.is_simple,
        columns=_columns(row, fields),
        head=_packed_head(head),
        body=sealed(body) if body else None,
        edges=_edges(fields),
        costs=tuple((spent.agent, spent.at, spent.usd, spent.until) for spent in spent_of(fields)),
        unknown=unknown,
    )


def _unknown(path: str, fields: dict[str, Any]) -> tuple[tuple[str, str, str | None, bool], ...]:
    """The keys of a file that nothing reads."""
    if path.startswith(CAPACITY_DIR) or (path.startswith(BEADS_DIR) and fields.keys() <= _PLAIN):
        return ()
    return tuple((key.path, key.key, key.nearest, key.is_reported) for key in unknown_keys(path, fields))


def _columns(row: Row, fields: dict[str, Any]) -> tuple[Any, ...]:
    status = fields.get("status", "open")
    return (
        row.path,
        fields["id"],
        row.oid,
        fields.get("uid"),
        suffix_of(fields["id"]),
        row.is_simple,
        status not in DONE_STATUSES and not row.path.startswith(ARCHIVE_DIR),
        bool(fields.get("claim") or fields.get("claims")),
        is_calm(fields),
        status,
        fields.get("type", "task"),
        fields.get("priority", 2),
        fields.get("assignee") or "",
        fields.get("parent") or "",
        rank_of(fields),
        made_of(fields),
    )


def _edges(fields: dict[str, Any]) -> tuple[tuple[str, int], ...]:
    """Return each bead that is named, once, with the highest weight."""
    found: dict[str, int] = {}
    if fields.get("parent"):
        found[fields["parent"]] = MENTIONS
    for link in fields.get("links", ()):
        if "id" in link:
            found[link["id"]] = max(found.get(link["id"], MENTIONS), WAITS if link.get("type") in WAITING_LINKS else MENTIONS)
    for target in fields.get("depends_on", ()):
        found[target] = DEPENDS
    return tuple(found.items())


def _packed_head(head: dict[str, Any]) -> bytes:
    rest = {key: value for key, value in head.items() if key not in _HEAD_SET}
    return sealed((*(head.get(key) for key in _HEAD_KEYS), rest or None))


def head_of(blob: bytes) -> dict[str, Any]:
    """Return the fields of a packed head."""
    *values, rest = opened(blob)
    fields = {key: value for key, value in zip(_HEAD_KEYS, values, strict=True) if value is not None}
    if rest:
        fields.update(rest)
    return fields


def whole_of(head: bytes, body: bytes | None) -> dict[str, Any]:
    """Return all fields of a bead."""
    fields = head_of(head)
    fields.pop("comment_count", None)
    fields.pop("max_cost_usd", None)
    if body:
        fields.update(opened(body))
    return fields
