"""Agents' records in side refs, sanitised: anybody who may push can write any JSON there.

Only the keys of a capacity file are kept, each with a value of its type; everything else is ignored.
"""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.field_kinds import WrongKind, plain, typed
from bd.core.schema import CAPACITY_FIELDS, is_agent

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

AGENTS = "refs/bd/agents/"
# Limits on nesting and on the length of a text; no real record reaches them.
_DEPTH_LIMIT = 6
_TEXT_LIMIT = 10_000


def refs_of(refs: Mapping[str, str]) -> dict[str, str]:
    """Drop entries below `refs/bd/agents/` whose name can't be an agent's."""
    return {ref: oid for ref, oid in refs.items() if not ref.startswith(AGENTS) or is_agent(ref.removeprefix(AGENTS))}


def records_of(entries: Any) -> dict[str, dict[str, Any]]:
    """Return the agents' records in a note of this clone, by name."""
    if not isinstance(entries, dict):
        return {}
    return {name: record_of(entry.get("record")) for name, entry in entries.items() if is_agent(name) and isinstance(entry, dict)}


def record_of(said: Any) -> dict[str, Any]:
    """Reduce a record to what a capacity file could hold."""
    found: dict[str, Any] = {}
    if not isinstance(said, dict):
        return found
    for key, kind in CAPACITY_FIELDS.items():
        try:
            value = typed(key, plain(_limited(said.get(key), _DEPTH_LIMIT)), kind)
        except WrongKind:
            continue
        if value is not None:
            found[key] = value
    return found


def _limited(value: Any, depth: int) -> Any:
    """Cut off what is too deep or too long."""
    if isinstance(value, dict):
        return {key: _limited(item, depth - 1) for key, item in value.items()} if depth else None
    if isinstance(value, list):
        return [_limited(item, depth - 1) for item in value] if depth else None
    return value[:_TEXT_LIMIT] if isinstance(value, str) else value
