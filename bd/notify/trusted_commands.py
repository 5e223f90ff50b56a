"""The commands that this clone may run: its own, its user's, and pinned ones of the hub.

Commands never come from beads. Pinning is in command_pins.py, running them in bd.processes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from bd.notify.command_pins import asked_for, is_trusted

if TYPE_CHECKING:
    from typing import Any

    from bd.store import Clone


class Command(NamedTuple):
    """A command with its name; `where` tells people in which setting it is."""

    name: str
    where: str
    text: str


def commands(hub: Clone, key: str) -> list[Command]:
    """Return the commands of a setting (`notify`, `validators`, `judges`), the layer with the highest precedence first."""
    own = [
        Command(name, f"{where}.{key}{f'.{name}' if name else ''}", text)
        for where, layer in (("clone", hub.place.clone_layer), ("user", hub.place.user_layer))
        for name, text in _texts(layer.get(key))
    ]
    if not hub.snapshot().config().get(key):
        return own
    prefix = f"config.{key}"
    asked = [one for one in asked_for(hub.snapshot()) if one.name == prefix or one.name.startswith(f"{prefix}.")]
    return [*own, *(Command(one.name[len(prefix) + 1 :], one.name, one.text) for one in asked if is_trusted(hub, one))]


def _texts(value: Any) -> list[tuple[str, str]]:
    if isinstance(value, dict):
        return [(str(name), str(text)) for name, text in sorted(value.items()) if text]
    return [("", str(value))] if value else []
