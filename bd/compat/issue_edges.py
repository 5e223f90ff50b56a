"""Converts the edges of an issue row to the fields of a bead: depends_on, parent, links, and who added each and when.

A bead keeps its dependencies and its parent as plain ids. Everything else about an edge (author, time, metadata) goes into the
bead's `edge_details`, by target; bead_json.edges puts it back.
"""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.times import canonical_time
from bd.operations.import_beads import EDGE_DETAILS

if TYPE_CHECKING:
    from typing import Any

_PARENT = "parent-child"
_KINDS = frozenset(
    {
        *("blocks", _PARENT, "conditional-blocks", "waits-for", "related", "discovered-from", "replies-to", "relates-to"),
        *("duplicates", "supersedes", "authored-by", "assigned-to", "approved-by", "attests", "tracks", "until", "caused-by"),
        *("validates", "delegated-from"),
    }
)
_UNSET_TIMES = ("0001-01-01T00:00:00", "1970-01-01T00:00:00")


class EdgeList:
    """The edges of one bead, in the order in which they were added.

    An edge's time is dropped if it equals `made_at`, the bead's.
    """

    def __init__(self, made_at: str | None) -> None:
        self._made_at = made_at
        self._depends_on: list[str] = []
        self._parent: str | None = None
        self._links: list[dict[str, Any]] = []
        self._details: dict[tuple[str, str], dict[str, Any]] = {}

    @classmethod
    def of(cls, fields: dict[str, Any]) -> EdgeList:
        """Return the edges in the fields of a bead."""
        found = cls(fields.get("created_at"))
        found._depends_on = list(fields.get("depends_on", []))
        found._parent = fields.get("parent")
        found._links = list(fields.get("links", []))
        for key, value in fields.get(EDGE_DETAILS, {}).items():
            kind, _, target = key.rpartition(":")
            is_parent = kind == _PARENT or target not in found._depends_on
            found._details[_PARENT if is_parent else "blocks", target] = dict(value)
        return found

    def add(self, edge: dict[str, Any]) -> None:
        """Add an edge, raw or as in `show`. Raises ValueError if it has no target or an invalid time."""
        is_raw = "depends_on_id" in edge
        target = str(edge.get("depends_on_id" if is_raw else "id") or "").strip()
        if not target:
            raise ValueError("dependencies: an edge without depends_on_id")
        kind = _kind_of(str(edge.get("type" if is_raw else "dependency_type") or "blocks"))
        detail = self._detail(edge) if is_raw else {}
        if kind == "blocks" and target not in self._depends_on:
            self._depends_on.append(target)
            self._details["blocks", target] = detail
        elif kind == _PARENT and self._parent is None:
            self._parent = target
            self._details[_PARENT, target] = detail
        elif kind != "blocks" and (kind, target) not in self._pairs():
            self._links.append({"type": kind, "id": target, **detail})

    def _pairs(self) -> set[tuple[str, str | None]]:
        return {(_PARENT, self._parent), *((link["type"], link["id"]) for link in self._links)}

    def add_parent(self, target: str) -> None:
        """Set the parent that a row names outside of its edges."""
        if self._parent is None:
            self._parent = target

    def drop(self, gone: set[str]) -> list[tuple[str, str]]:
        """Leave out the edges to these ids; the (kind, target) of each that was there."""
        lost = [("blocks", target) for target in self._depends_on if target in gone]
        lost += [(_PARENT, self._parent)] if self._parent in gone and self._parent else []
        lost += [(link["type"], link["id"]) for link in self._links if link["id"] in gone]
        self._depends_on = [target for target in self._depends_on if target not in gone]
        self._parent = None if self._parent in gone else self._parent
        self._links = [link for link in self._links if link["id"] not in gone]
        self._details = {pair: detail for pair, detail in self._details.items() if pair[1] not in gone}
        return lost

    def put_into(self, fields: dict[str, Any]) -> dict[str, Any]:
        """Return the fields with these edges."""
        details: dict[str, dict[str, Any]] = {}
        for (kind, target), detail in self._details.items():
            if detail:
                shares = kind == _PARENT and target in self._depends_on
                details[f"{_PARENT}:{target}" if shares else target] = detail
        edges = {"depends_on": self._depends_on, "parent": self._parent, "links": self._links, EDGE_DETAILS: details}
        kept = {key: value for key, value in fields.items() if key not in edges}
        return {**kept, **{key: value for key, value in edges.items() if value}}

    def _detail(self, edge: dict[str, Any]) -> dict[str, Any]:
        known = ("issue_id", "depends_on_id", "id", "type", "created_at")
        detail = {key: value for key, value in edge.items() if key not in known and value not in (None, "")}
        if "created_by" in detail:
            detail["created_by"] = str(detail["created_by"])
        made_at = str(edge.get("created_at") or "")
        if made_at and not made_at.startswith(_UNSET_TIMES):
            try:
                made_at = canonical_time(made_at)
            except ValueError:
                raise ValueError(f"dependencies: {made_at!r} is not a time") from None
            if made_at != self._made_at:
                return {"created_at": made_at, **detail}
        return detail


def _kind_of(text: str) -> str:
    """Return the edge's kind. Spellings with underscores mean the same as with hyphens."""
    spelled = text.strip().lower().replace("_", "-")
    return spelled if spelled in _KINDS else text.strip()
