"""The commands that this clone may run: its own, its user's, and pinned ones of the hub.

Commands never come from beads. Pinning is in command_pins.py, running them in bd.processes.
"""

from __future__ import annotations

import os
from types import MappingProxyType
from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.notify.command_files import changed_in
from bd.notify.command_pins import trusted
from bd.processes import run as processes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from bd.processes.confinement import Confinement
    from bd.processes.tree import ProcessTree
    from bd.store import Clone


class Command(NamedTuple):
    """A command with its name; `where` tells people in which setting it is; `files` are those pinned with it, by SHA-256."""

    name: str
    where: str
    text: str
    files: Mapping[str, str] = {}


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
    asked = [one for one in trusted(hub, hub.snapshot()) if one.name == prefix or one.name.startswith(f"{prefix}.")]
    return [*own, *(Command(one.name[len(prefix) + 1 :], one.name, one.text, one.files) for one in asked)]


def _texts(value: Any) -> list[tuple[str, str]]:
    if isinstance(value, dict):
        return [(str(name), str(text)) for name, text in sorted(value.items()) if text]
    return [("", str(value))] if value else []


def run(
    text: str,
    environment: Mapping[str, str],
    limit_s: float,
    *,
    stdin: str = "",
    folder: str | None = None,
    files: Mapping[str, str] = MappingProxyType({}),
    hub_folder: str | None = None,
    started: Callable[[ProcessTree], None] = lambda _: None,
    confinement: Confinement | None = None,
    mounts: tuple[Sequence[str], Sequence[str]] = ((), ()),
) -> processes.Ran:
    """Run a shell command, as bd.processes does, unless one of the `files` that were pinned with it has changed.

    They are compared in its folder and in the hub's. With a `confinement` it gets no more than an agent; `mounts` are what it
    reads and writes besides.
    """
    changed = changed_in([one for one in (folder or os.getcwd(), hub_folder) if one], files)
    if changed:
        return processes.Ran(None, "", f"was not run: {changed} is not the file that was trusted; `bd trust` shows it")
    command = confinement.shell(text, folder or os.getcwd(), mounts) if confinement else text
    inherited = confinement.inherited() if confinement else None
    return processes.run(command, environment, limit_s, stdin=stdin, folder=folder, started=started, inherited=inherited)
