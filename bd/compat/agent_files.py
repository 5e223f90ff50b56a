"""Agents as other systems describe them, as agent files: a registration (`agent:` in YAML), and pools in TOML (`[[agent]]`).

Belongs here: what their keys mean, and which can't be taken over. Does not belong here: the agent file itself (core/schema.py).
"""

from __future__ import annotations

import tomllib
from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.compat.documents import as_json, is_null, mapping_of
from bd.core.errors import BadInput
from bd.core.ids import check_agent
from bd.core.nearest import nearest
from bd.core.schema import AGENT_FIELDS, INNER_FIELDS
from bd.core.times import duration_s, duration_text
from bd.store.yaml import codec, editor

if TYPE_CHECKING:
    from typing import Any

_NAMES = {
    "id": "name",
    "type": "role",
    "poll_interval": "interval",
    "max_concurrent_tasks": "max_concurrent",
    "budget_remaining_usd": "budget_usd",
}
# What an agent does not say of itself here, and where it is said.
_INSTEAD = {
    "current_tasks": "the capacity file says it",
    "last_heartbeat": "the capacity file says it",
    "status": "`bd drain NAME` and `bd offline NAME` say it",
    "provider": "`start`, or pool.start, names the command that starts the agent",
    "prompt_template": "the command that starts it reads it with `bd prime --template FILE`",
}


class Agent(NamedTuple):
    """One agent: its name, the keys of its file, and in words what could not be taken over."""

    name: str
    fields: dict[str, Any]
    left: list[str]


def read(data: bytes, source: str) -> list[Agent] | None:
    """The agents that a text describes; None where it describes none. Raises BadInput naming what is wrong."""
    if b"agent" not in data:
        return None
    if source.endswith(".toml"):
        return _of_toml(data, source)
    try:
        root = mapping_of(codec.text_of(data))
    except codec.Unreadable:
        return None
    if not isinstance(root.get("agent"), dict):
        return None
    return [_agent({key: None if is_null(value) else as_json(value) for key, value in root["agent"].items()}, source)]


def _of_toml(data: bytes, source: str) -> list[Agent] | None:
    try:
        root = tomllib.loads(codec.text_of(data))
    except (tomllib.TOMLDecodeError, codec.Unreadable) as error:
        raise BadInput(f"{source} is not valid TOML: {error}") from None
    given = root.get("agent")
    if not isinstance(given, list) or not all(isinstance(one, dict) for one in given):
        return None
    found = [_agent(one, source) for one in given]
    names = [one.name for one in found]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise BadInput(f"{source}: the agent {twice} is there twice")
    others = [f"[{key}] of {source}" for key in root if key != "agent"]
    return [found[0]._replace(left=[*others, *found[0].left]), *found[1:]] if found and others else found


def _agent(given: dict[str, Any], source: str) -> Agent:
    named = given.get("id", given.get("name"))
    if not named:
        raise BadInput(f"{source}: the agent has no name", hint="name: codemonkey")
    name = check_agent(str(named).lower())
    fields: dict[str, Any] = {"name": name}
    left: list[str] = []
    for key, value in given.items():
        if key in ("id", "name") or value is None:
            continue
        plain = key.removesuffix("_sec").removesuffix("_seconds")
        known = _NAMES.get(plain, plain)
        if known in AGENT_FIELDS:
            fields[known] = _pool(value, name, left) if known == "pool" else _value_of(known, value)
        else:
            left.append(f"{name}: {key}{_why(known, AGENT_FIELDS)}")
    return Agent(name, _typed(fields, f"{source}: {name}"), left)


def _typed(fields: dict[str, Any], where: str) -> dict[str, Any]:
    """The fields as a clone will read them from the agent file. Raises BadInput if none could."""
    try:
        return codec.parse(editor.document(fields, AGENT_FIELDS).encode(), AGENT_FIELDS).fields
    except (codec.Unreadable, BadInput) as error:
        raise BadInput(f"{where}: {error}") from None


def _pool(given: Any, name: str, left: list[str]) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise BadInput(f"{name}: pool is not a mapping")
    pool = {key: value for key, value in given.items() if key in INNER_FIELDS["pool"]}
    left += [f"{name}: pool.{key}{_why(key, INNER_FIELDS['pool'])}" for key in given if key not in pool]
    return pool


def _value_of(key: str, value: Any) -> Any:
    """The value as the file has it: seconds as a duration."""
    return duration_text(duration_s(str(value))) if AGENT_FIELDS[key] == "duration" else value


def _why(key: str, known: Any) -> str:
    if key in _INSTEAD:
        return f": {_INSTEAD[key]}"
    meant = nearest(key, known)
    return f": did you mean {meant}?" if meant else ""
