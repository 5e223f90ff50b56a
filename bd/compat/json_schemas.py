"""JSON Schemas of a hub's YAML files, for editors; made from the tables of core/schema.py.

They are hardly stricter than the reader: unknown keys are allowed, because bd keeps them. Only times in the format of
docs/format.md are valid; the reader accepts more.
"""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core import schema as fields

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from bd.core.schema import Kind

DIALECT = "http://json-schema.org/draft-07/schema#"
_TIME = r"^\s*\d{4}-\d{2}-\d{2}([Tt ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?\s*([Zz]|[+-]\d{2}:?\d{2})?)?\s*$"
_DURATION = r"^\s*(\d+(\.\d+)?|(\d+(\.\d+)?[sSmMhHdD])+)\s*$"
_TRUTH = "^([Tt][Rr][Uu][Ee]|[Ff][Aa][Ll][Ss][Ee]|[Yy][Ee][Ss]|[Nn][Oo]|[01])$"
# The types that an editor may see for an unquoted scalar; bd reads them all as text.
_SCALAR = ["string", "number", "boolean", "null"]
_KINDS: dict[Kind, dict[str, Any]] = {
    "text": {"type": _SCALAR},
    "int": {"anyOf": [{"type": ["integer", "null"]}, {"type": "string", "pattern": r"^\s*[-+]?\d+\s*$"}]},
    "number": {"anyOf": [{"type": ["number", "null"]}, {"type": "string", "pattern": r"^\s*[-+]?[0-9.]+([eE][-+]?\d+)?\s*$"}]},
    "bool": {"anyOf": [{"type": ["boolean", "null"]}, {"enum": [0, 1]}, {"type": "string", "pattern": _TRUTH}]},
    "time": {"type": ["string", "null"], "pattern": _TIME},
    "duration": {"anyOf": [{"type": ["number", "null"]}, {"type": "string", "pattern": _DURATION}]},
    "list": {"anyOf": [{"type": "array", "items": {"type": _SCALAR}}, {"type": _SCALAR}]},
    "map": {"type": ["object", "null"]},
    "maps": {"type": ["array", "null"], "items": {"type": "object"}},
    "any": {},
    "priority": {
        "anyOf": [{"type": ["integer", "null"], "minimum": 0, "maximum": 4}, {"type": "string", "pattern": "^[Pp]?[0-4]$"}],
    },
    "status": {"anyOf": [{"enum": [*fields.STORED_STATUSES, "ready"]}, {"type": _SCALAR}]},
}
# The values that an editor suggests; a hub may add its own.
_OFFERED: dict[str, list[str]] = {"type": fields.TYPES, "claim_mode": ["exclusive", "advisory"]}

FILES: dict[str, tuple[str, Mapping[str, Kind], tuple[str, ...]]] = {
    "bead": ("A bead, beads/<id>.yaml", fields.BEAD_FIELDS, ("id", "title")),
    "agent": ("An agent, .beads/agents/<name>.yaml", fields.AGENT_FIELDS, ()),
    "config": ("A hub's settings, .beads/config.yaml", fields.CONFIG_FIELDS, ("format",)),
}


def schema(name: str) -> dict[str, Any]:
    """Return the schema of a kind of file: bead, agent or config."""
    title, table, required = FILES[name]
    made: dict[str, Any] = {"$schema": DIALECT, "title": title, **_object(table)}
    if required:
        made["required"] = list(required)
    if name == "bead":
        made["properties"]["title"] = {"type": ["string", "number", "boolean"], "maxLength": fields.TITLE_LIMIT}
    return made


def _object(table: Mapping[str, Kind]) -> dict[str, Any]:
    return {"type": "object", "properties": {key: _value(key, kind) for key, kind in table.items()}}


def _value(key: str, kind: Kind) -> dict[str, Any]:
    inner = fields.INNER_FIELDS.get(key)
    if key in _OFFERED:
        return {"anyOf": [{"enum": _OFFERED[key]}, _KINDS[kind]]}
    if inner and kind == "map":
        return {**_KINDS["map"], "properties": _object(inner)["properties"]}
    if inner and kind == "maps":
        return {**_KINDS["maps"], "items": _object(inner)}
    return _KINDS[kind]
