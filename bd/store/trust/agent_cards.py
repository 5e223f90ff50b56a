"""What an identity says of itself, beside its key on this machine: its version, models and capabilities, for every hub.

`$XDG_CONFIG_HOME/bd/keys/<name>.json`. Belongs here: keeping it. Does not belong here: what a hub makes of it
(operations/signers.py).
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from bd.core import files
from bd.core.errors import BadInput, CantSign
from bd.store.trust import signing

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

# What is told, and what it is called in an agent file.
KEYS = {"version": "version", "models": "models_available", "capabilities": "capabilities"}
_LONGEST, _MOST = 200, 100


def read(name: str) -> dict[str, Any]:
    """What a name says of itself here, by the keys of an agent file; nothing where it says nothing. Raises BadInput."""
    path = _path(name)
    try:
        with open(path, encoding="utf-8") as file:
            return told_in(file.read(100_000), path)
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"can't read {path}: {error}", hint="`bd identity init` with --model and so on writes it anew") from error


def write(name: str, fields: Mapping[str, Any]) -> None:
    """Keep what a name says of itself. Raises CantSign."""
    path = _path(name)
    told = {key: fields[field] for key, field in KEYS.items() if fields.get(field)}
    try:
        os.makedirs(signing.folder(), mode=0o700, exist_ok=True)
        files.replace(path, json.dumps(told, indent=2, ensure_ascii=False) + "\n")
    except OSError as error:
        raise CantSign(f"can't write {path}: {error.strerror}", hint="it is kept beside the key") from error


def told_in(text: str, source: str) -> dict[str, Any]:
    """What a JSON document says of an identity, by the keys of an agent file; keys that are none of these are left out.

    Raises BadInput.
    """
    try:
        told = json.loads(text)
    except (ValueError, RecursionError):
        told = None
    if not isinstance(told, dict):
        raise BadInput(f"{source} is no identity", hint="`bd identity show --json` prints one")
    found: dict[str, Any] = {}
    for key, field in KEYS.items():
        value = told.get(key)
        if value is None or value == []:
            continue
        words = [value] if key == "version" else value
        if not isinstance(words, list) or len(words) > _MOST or not all(_is_word(word) for word in words):
            raise BadInput(f"{source}: {key} is not what it has to be", hint="a text for version, lists of texts for the others")
        found[field] = value
    return found


def key_in(path: str) -> tuple[str, dict[str, Any]]:
    """The public key in a file; where that is what `identity show --json` prints, also what it says of the identity.

    Raises BadInput.
    """
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read(100_000).strip()
    except OSError as error:
        raise BadInput(f"can't read {path}: {error.strerror}", hint="give the key, or the .pub file that holds it") from error
    if not text.startswith("{"):
        return text, {}
    told = told_in(text, path)
    return str(json.loads(text).get("key")), told


def _is_word(word: Any) -> bool:
    return isinstance(word, str) and 0 < len(word) <= _LONGEST and word.isprintable()


def _path(name: str) -> str:
    return signing.path_of(name) + ".json"
