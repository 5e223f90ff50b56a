"""A parsed bead as the rows of the cache: its columns, its head, its body, its edges; and back.

Belongs here: what of a bead goes where. Does not belong here: the tables (database.py), and who
fills them (cache.py).

Rows hold a bead's head (what lists and policy look at) and its body (the long fields) apart, so
that reading ten thousand beads does not read their texts; and in columns what beads are found,
counted and put in order by, so that most of them are not read at all.
"""

from __future__ import annotations

import marshal
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from bd.core.costs import Spent, spent_of
from bd.core.queries import is_calm, made_of, rank_of
from bd.core.schema import ARCHIVE_DIR, BEADS_DIR, DONE_STATUSES, LONG_FIELDS, WAITING_LINKS, suffix_of

if TYPE_CHECKING:
    from typing import Any

    from bd.store.hub_files import Row

# What nearly every head has, kept as a tuple in this order: half the time of a dictionary to load.
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
_HEAD_SET = frozenset(_HEAD_KEYS)
# How an edge counts: as a dependency, as a link that blocks like one, or only as a mention.
DEPENDS, WAITS, MENTIONS = 2, 1, 0


class Packed(NamedTuple):
    """One file of a hub as it goes into the tables: the columns of `beads` behind their number, and what hangs on it."""

    path: str
    oid: str
    is_simple: bool
    reason: str | None = None
    fields: bytes | None = None  # of a record
    columns: tuple[Any, ...] = ()  # of a bead
    head: bytes = b""
    body: bytes | None = None
    edges: tuple[tuple[str, int], ...] = ()
    costs: tuple[Spent, ...] = ()

    @property
    def is_live(self) -> bool:
        """Whether it is a bead that is neither done nor archived."""
        return bool(self.columns and self.columns[6])


def sealed(value: Any) -> bytes:
    """A value as the cache keeps it: a checksum first, since marshal reads other bytes as anything, or ends the process."""
    data = marshal.dumps(value)
    return crc32(data).to_bytes(_SEAL_SIZE) + data


def is_sealed(blob: bytes) -> bool:
    """Whether these bytes are what `sealed` made of a value."""
    return len(blob) > _SEAL_SIZE and crc32(memoryview(blob)[_SEAL_SIZE:]) == int.from_bytes(blob[:_SEAL_SIZE])


def opened(blob: bytes) -> Any:
    """The value of sealed bytes that were checked when they were read from the cache."""
    return marshal.loads(memoryview(blob)[_SEAL_SIZE:])


def packed(row: Row) -> Packed:
    """A parsed file as it goes into the tables."""
    if row.reason is not None or row.fields is None:
        return Packed(row.path, row.oid, row.is_simple, row.reason)
    if not row.path.startswith(BEADS_DIR):
        return Packed(row.path, row.oid, row.is_simple, fields=sealed(row.fields))
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
        costs=tuple(spent_of(fields)),
    )


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
    """Each bead that is named, once, by what counts most."""
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
    """The fields of a packed head."""
    *values, rest = opened(blob)
    fields = {key: value for key, value in zip(_HEAD_KEYS, values, strict=True) if value is not None}
    if rest:
        fields.update(rest)
    return fields


def whole_of(head: bytes, body: bytes | None) -> dict[str, Any]:
    """The fields of a whole bead."""
    fields = head_of(head)
    fields.pop("comment_count", None)
    fields.pop("max_cost_usd", None)
    if body:
        fields.update(opened(body))
    return fields
