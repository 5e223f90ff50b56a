"""Pins: which commands from the hub have been reviewed and approved in this clone.

A pin covers the command's text, the hub's files that it names, and what decides how it runs (a pool's size and provider). Of a code
repository it covers the whole entry: where bd fetches from and pushes to, and its commands, which run files of that repository.
After any change the command must be reviewed again. Commands never come from beads.
"""

from __future__ import annotations

import hashlib
import json
from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.core.code_repos import entry_text
from bd.core.json_shapes import fits, json_value
from bd.core.pools import pool_of
from bd.core.schema import REPOS
from bd.notify.command_files import hub_files, named_by

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from bd.core.model import Snapshot
    from bd.store import CachedSnapshot, Clone

NOTE = "trust.json"
# Keys with commands, in an agent's pool and in the hub's settings.
POOL_COMMANDS = ("check", "start", "alive", "stop", "nudge")
CONFIG_COMMANDS = ("validators", "notify", "judges")
# The reason of a command that was never pinned here.
NOT_SEEN = "nobody has looked at it here"
_REPO = f"config.{REPOS}."
_SHAPE = {"text": str, "files": {...: str}, "runs": {...: str}}


class Asked(NamedTuple):
    """A command from the hub: the place where it is set, its text, and the hash of everything that a pin covers.

    `files` maps each file of the hub that it names to the SHA-256; `runs` has the settings that decide how it runs, as text.
    """

    name: str
    text: str
    pin: str
    files: Mapping[str, str] = {}
    runs: Mapping[str, str] = {}

    @property
    def agent(self) -> str:
        """The agent whose file has the command; empty for a command in the hub's settings."""
        return self.name.removeprefix("agents/").partition(".")[0] if self.name.startswith("agents/") else ""

    @property
    def repo(self) -> str:
        """The code repository whose entry it is; empty for a command."""
        return self.name.removeprefix(_REPO) if self.name.startswith(_REPO) else ""


def asked_for(hub: Clone, snapshot: CachedSnapshot) -> list[Asked]:
    """Return every command in the hub, and the entries of code repositories."""
    commands = list(_commands(snapshot))
    repos = repos_asked_for(snapshot)
    if not commands:
        return repos
    files = hub_files(hub, snapshot.commit)
    return [*(_asked(name, text, named_by(text, files), runs) for name, text, runs in commands), *repos]


def repos_asked_for(snapshot: Snapshot) -> list[Asked]:
    """Return the entries of code repositories in the hub. Their commands run files of those, none of the hub."""
    given = snapshot.config().get(REPOS)
    return [repo_asked(name, fields) for name, fields in _entries(given)] if isinstance(given, dict) else []


def repo_asked(name: str, fields: Any) -> Asked:
    """Return the entry of a code repository as something to pin."""
    return _asked(f"{_REPO}{name}", entry_text(fields), {}, {})


def _asked(name: str, text: str, files: Mapping[str, str], runs: Mapping[str, str]) -> Asked:
    pin = _old_pin(name, text)
    if files or runs:
        pin = hashlib.sha256(json.dumps([pin, files, runs], sort_keys=True).encode()).hexdigest()
    return Asked(name, text, pin, files, runs)


def _commands(snapshot: Snapshot) -> Iterator[tuple[str, str, dict[str, str]]]:
    for agent, fields in sorted(snapshot.records(".beads/agents/").items()):
        given = fields["pool"] if isinstance(fields.get("pool"), dict) else {}
        if fields.get("pool") is None and fields.get("start"):
            yield f"agents/{agent}.start", str(fields["start"]), _run_of(agent, fields)
        for key in POOL_COMMANDS:
            if given.get(key):
                yield f"agents/{agent}.pool.{key}", str(given[key]), _run_of(agent, fields) if key == "start" else {}
    config = snapshot.config()
    for key in CONFIG_COMMANDS:
        found = config.get(key)
        if isinstance(found, dict):
            for name, text in _entries(found):
                yield f"config.{key}.{name}", str(text), {}
        elif found:
            yield f"config.{key}", str(found), {}


def _entries(given: Mapping[Any, Any]) -> list[tuple[str, Any]]:
    """Return the entries of a map that somebody wrote, in order; YAML may have read a name as a number."""
    return sorted(((str(name), value) for name, value in given.items()), key=lambda one: one[0])


def _run_of(agent: str, file: Mapping[str, Any]) -> dict[str, str]:
    """Return the settings that decide how a pool's start command runs. `size` is left out: it stays within `min` and `max`."""
    pool = pool_of(agent, file)
    provider = "its own commands" if pool.alive else pool.provider
    return {"min": str(pool.min), "max": str(pool.max), "provider": provider, "names": " ".join(pool.names)}


# --- pins ---------------------------------------------------------------------------------------


def _old_pin(name: str, text: str) -> str:
    """Return the pin of bd 0.9, which covered the text alone. A command without files and settings still has this hash."""
    return hashlib.sha256(f"{name}\0{text}".encode()).hexdigest()


def pinned(hub: Clone) -> dict[str, str]:
    """Return the pins of this clone by name: the text of `_kept`, or the hash that bd 0.9 kept."""
    return dict(hub.noted_json(NOTE, {...: str}) or {})


def is_trusted(hub: Clone, command: Asked) -> bool:
    """Return whether exactly this command was pinned here, with everything that a pin covers."""
    return not changes(command, pinned(hub).get(command.name))


def trusted(hub: Clone, snapshot: CachedSnapshot) -> list[Asked]:
    """Return the commands of the hub that this clone may run."""
    known = pinned(hub)
    return [one for one in asked_for(hub, snapshot) if known.get(one.name) and not changes(one, known[one.name])]


def changes(command: Asked, kept: str | None) -> list[str]:
    """Return the reasons why a command is not the pinned one; none if it is."""
    if kept is None:
        return [NOT_SEEN]
    then = _read(kept)
    if then is None:
        return _since_old(command, kept)
    found = ["its text has changed"] if then["text"] != _old_pin(command.name, command.text) else []
    for path in sorted({*then["files"], *command.files}):
        old, new = then["files"].get(path), command.files.get(path)
        if old != new:
            found.append(f"{path} {'is a new file in it' if old is None else 'is gone' if new is None else 'has changed'}")
    runs = ((key, then["runs"].get(key, ""), command.runs.get(key, "")) for key in sorted({*then["runs"], *command.runs}))
    return [*found, *(f"{key} was {old or 'not set'}, is {new or 'not set'}" for key, old, new in runs if old != new)]


def _since_old(command: Asked, kept: str) -> list[str]:
    """Return the reasons for a pin of bd 0.9. It stays valid if there is nothing else to cover."""
    if kept != _old_pin(command.name, command.text):
        return ["its text has changed"]
    missing = [*(f"the content of {path}" for path in command.files), *(["its pool's size and provider"] if command.runs else [])]
    return [f"it was pinned by an older bd, whose pins did not cover {', '.join(missing)}"] if missing else []


def _read(kept: str) -> Mapping[str, Any] | None:
    """Return the parts of a pin; None if it is of bd 0.9, or damaged."""
    try:
        found = json_value(kept) if kept.startswith("{") else None
    except ValueError:
        return None
    return found if fits(found, _SHAPE) else None


def _kept(command: Asked) -> str:
    """Return the text to keep for a pinned command. bd 0.9 takes it for the hash of another text, and asks again."""
    return json.dumps({"text": _old_pin(command.name, command.text), "files": command.files, "runs": command.runs})


def pin(hub: Clone, commands: list[Asked]) -> None:
    """Pin these commands, replacing all former pins."""
    hub.note_json(NOTE, {command.name: _kept(command) for command in commands})


def pin_one(hub: Clone, command: Asked) -> None:
    """Pin this command; all other pins stay."""
    hub.note_json(NOTE, {**pinned(hub), command.name: _kept(command)})


def revoke(hub: Clone) -> None:
    """Remove all pins."""
    hub.note_json(NOTE, {})
