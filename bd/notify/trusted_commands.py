"""The commands that this clone may run, and running them: its own, its user's, and pinned ones of the hub.

Commands never come from beads. Pinning is in command_pins.py.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from bd.notify.command_files import changed_in
from bd.notify.command_pins import trusted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import IO, Any

    from bd.store import Clone

_KEPT = 20_000


class Command(NamedTuple):
    """A command with its name; `where` tells people in which setting it is; `files` are those pinned with it, by SHA-256."""

    name: str
    where: str
    text: str
    files: Mapping[str, str] = {}


class Ran(NamedTuple):
    """The result of a command and the end of its output; `code` is None if it timed out or could not be started."""

    code: int | None
    out: str
    err: str = ""


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
    started: Callable[[subprocess.Popen[bytes]], None] = lambda _: None,
) -> Ran:
    """Run a shell command, and kill it with all its children after the time limit. `started` can be used to kill it earlier.

    Its output goes to files of which only the end is read, so its size does not matter. It does not run if one of the `files`
    that were pinned with it has changed, in its folder or in the hub's.
    """
    changed = changed_in([one for one in (folder or os.getcwd(), hub_folder) if one], files)
    if changed:
        return Ran(None, "", f"{changed} is not the file that was trusted; `bd trust` shows it")
    with tempfile.TemporaryFile() as told, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        told.write(stdin.encode("utf-8", "replace"))
        told.seek(0)
        try:
            process = subprocess.Popen(  # noqa: S602  a command of this clone, or reviewed and pinned here
                text,
                shell=True,
                cwd=folder,
                env={**os.environ, **environment},
                stdin=told,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            return Ran(None, "", str(error))
        try:
            started(process)
            code = process.wait(limit_s)
        except subprocess.TimeoutExpired:
            return Ran(None, "", f"took longer than {limit_s:g}s")
        finally:
            if process.returncode is None:  # also after Ctrl-C, which does not reach another session
                end(process)
        return Ran(code, _words(out), _words(err))


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill a command with all its children."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:  # pragma: no cover  not on POSIX
            process.kill()
    process.wait()


def _words(file: IO[bytes]) -> str:
    file.seek(max(0, file.seek(0, os.SEEK_END) - _KEPT))
    return file.read(_KEPT).decode("utf-8", "replace").strip()
