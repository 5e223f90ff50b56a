"""An identity's declarations about itself, stored next to its key: version, models and capabilities, for every hub.

`$XDG_CONFIG_HOME/bd/keys/<name>.json`. operations/signers.py applies it to a hub.
"""

from __future__ import annotations

import json
import os

from bd import TYPE_CHECKING
from bd.core import files
from bd.core.errors import BadInput, CantSign
from bd.store.trust import signing

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

# The declared keys, and their names in an agent file.
KEYS = {"version": "version", "models": "models_available", "capabilities": "capabilities"}
_LONGEST, _MOST = 200, 100


def read(name: str) -> dict[str, Any]:
    """Return what an identity declares here, by the keys of an agent file; empty if there is nothing. Raises BadInput."""
    path = _path(name)
    try:
        with open(path, encoding="utf-8") as file:
            return told_in(file.read(100_000), path)
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"can't read {path}: {error}", hint="`bd identity init` with --model etc. writes it again") from error


def write(name: str, fields: Mapping[str, Any]) -> None:
    """Store what an identity declares. Raises CantSign."""
    path = _path(name)
    told = {key: fields[field] for key, field in KEYS.items() if fields.get(field)}
    try:
        os.makedirs(signing.folder(), mode=0o700, exist_ok=True)
        files.replace(path, json.dumps(told, indent=2, ensure_ascii=False) + "\n")
    except OSError as error:
        raise CantSign(f"can't write {path}: {error.strerror}", hint="it is kept beside the key") from error


def told_in(text: str, source: str) -> dict[str, Any]:
    """Parse what an identity declares from JSON, by the keys of an agent file; other keys are ignored.

    Raises BadInput.
    """
    try:
        told = json.loads(text)
    except (ValueError, RecursionError):
        told = None
    if not isinstance(told, dict):
        raise BadInput(f"{source} is not an identity", hint="`bd identity show --json` prints one")
    found: dict[str, Any] = {}
    for key, field in KEYS.items():
        value = told.get(key)
        if value is None or value == []:
            continue
        words = [value] if key == "version" else value
        if not isinstance(words, list) or len(words) > _MOST or not all(_is_word(word) for word in words):
            raise BadInput(f"{source}: {key} has an invalid value", hint="a text for version, lists of texts for the others")
        found[field] = value
    return found


def key_in(path: str) -> tuple[str, dict[str, Any]]:
    """Return the public key in a file; from the output of `identity show --json`, also what the identity declares.

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
