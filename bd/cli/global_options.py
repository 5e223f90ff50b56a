"""Global flags: removed from the command line, wherever they are, before click sees it.

Existing clients put them first, last or in between; click accepts them in one place only.
"""

from __future__ import annotations

import os

from bd import TYPE_CHECKING
from bd.cli.app import Globals
from bd.core.errors import BadInput
from bd.core.ids import check_agent

if TYPE_CHECKING:
    from collections.abc import Sequence

_SWITCHES = {
    "--json": ("json", True),
    "--quiet": ("quiet", True),
    "-q": ("quiet", True),
    "--verbose": ("verbose", True),
    "-v": ("verbose", True),
    "--strict": ("strict", True),
    "--fetch": ("fetch", True),
    "--no-fetch": ("fetch", False),
}
_VALUES = {
    "--agent": "agent",
    "--actor": "actor",
    "--directory": "directory",
    "-C": "directory",
    "--db": "directory",
    "--at": "at",
}
# Flags of the Go tool that have no effect here; existing clients send them.
_IGNORED = frozenset(
    [
        "--sandbox",
        "--readonly",
        "--global",
        "--profile",
        "--no-auto-flush",
        "--no-auto-import",
        "--no-daemon",
        "--allow-stale",
        "--no-db",
        "--ignore-schema-skew",
        "--no-pager",
        "--flat",
    ]
)
_IGNORED_VALUES = frozenset({"--dolt-auto-commit"})
# Those with an effect, for listings.
NAMES = frozenset({*_SWITCHES, *_VALUES})


def takes_value(flag: str) -> bool:
    """Whether a flag that works everywhere takes a value."""
    return flag in _VALUES


def split(arguments: Sequence[str]) -> tuple[Globals, list[str]]:
    """Return the global flags, and the rest of the command line in order. Everything after `--` is left alone."""
    found: dict[str, object] = {}
    rest: list[str] = []
    place = 0
    while place < len(arguments):
        word = arguments[place]
        place += 1
        if word == "--":
            rest += arguments[place - 1 :]
            break
        name, equals, value = word.partition("=")
        if name in _SWITCHES and (not equals or value.lower() in ("true", "false", "1", "0")):
            key, meaning = _SWITCHES[name]
            found[key] = meaning if not equals or value.lower() in ("true", "1") else not meaning
        elif name in _IGNORED:
            found["is_foreign"] = True
        elif name in _VALUES or name in _IGNORED_VALUES:
            if not equals:
                if place >= len(arguments):
                    raise BadInput(f"{name} needs a value")
                value = arguments[place]
                place += 1
            if name in _IGNORED_VALUES:
                found["is_foreign"] = True
            else:
                found[_VALUES[name]] = _read(name, value)
        elif name == "--format" and _is_json(value, equals, arguments, place):
            found["json"] = True
            place += 0 if equals else 1
        else:
            rest.append(word)
    return Globals(**found), rest  # type: ignore[arg-type]


def _is_json(value: str, equals: str, arguments: Sequence[str], place: int) -> bool:
    return value == "json" if equals else arguments[place : place + 1] == ["json"]


def _read(name: str, value: str) -> str:
    """Return the value of a flag. Raises BadInput for an empty one, and for an invalid agent name."""
    if name == "--agent":
        return check_agent(value)
    if name in ("--at", "-C", "--directory") and not value.strip():
        raise BadInput(f"{name} is empty", hint=f"give it a value, or leave {name} out")
    return _directory(value) if name == "--db" and value else value


def _directory(path: str) -> str:
    """Return the folder that contains a `--db` path."""
    return path if os.path.isdir(path) else os.path.dirname(os.path.abspath(path))
