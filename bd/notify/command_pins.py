"""Pins: which commands from the hub have been reviewed and approved in this clone.

A command from the hub runs only if its exact text was pinned here by its hash; after a change it must be reviewed again.
Commands never come from beads.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from bd.core.model import Snapshot
    from bd.store import Clone

NOTE = "trust.json"
# Keys with commands, in an agent's pool and in the hub's settings.
POOL_COMMANDS = ("check", "start", "alive", "stop", "nudge")
CONFIG_COMMANDS = ("validators", "notify", "judges")


class Asked(NamedTuple):
    """A command from the hub: the place where it is set, its text, and the hash to pin it by."""

    name: str
    text: str
    pin: str


def asked_for(snapshot: Snapshot) -> list[Asked]:
    """Return every command in the hub."""
    return [Asked(name, text, _pin(name, text)) for name, text in _commands(snapshot)]


def _commands(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    for agent, fields in sorted(snapshot.records(".beads/agents/").items()):
        pool: Mapping[str, Any] = fields.get("pool") or {}
        for key in POOL_COMMANDS:
            if pool.get(key):
                yield f"agents/{agent}.pool.{key}", str(pool[key])
    config = snapshot.config()
    for key in CONFIG_COMMANDS:
        found = config.get(key)
        if isinstance(found, dict):
            for name, text in sorted(found.items()):
                yield f"config.{key}.{name}", str(text)
        elif found:
            yield f"config.{key}", str(found)


def _pin(name: str, text: str) -> str:
    return hashlib.sha256(f"{name}\0{text}".encode()).hexdigest()


def pinned(hub: Clone) -> dict[str, str]:
    """Return the pins of this clone: name -> hash."""
    return dict(hub.noted_json(NOTE, {...: str}) or {})


def is_trusted(hub: Clone, command: Asked) -> bool:
    """Return whether exactly this text was pinned here."""
    return pinned(hub).get(command.name) == command.pin


def pin(hub: Clone, commands: list[Asked]) -> None:
    """Pin these texts, replacing all former pins."""
    hub.note_json(NOTE, {command.name: command.pin for command in commands})


def revoke(hub: Clone) -> None:
    """Remove all pins."""
    hub.note_json(NOTE, {})
