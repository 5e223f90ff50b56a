"""Conversion of typed texts: long texts from a file or stdin, lists, pairs, priorities, JSON. Imports no click."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from bd.core.errors import BadInput
from bd.core.json_shapes import no_constant

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any


def text_argument(value: str | None, file: str | None, what: str) -> str | None:
    """Return a long text: as given, from a file, or from stdin if either is `-`. Raises BadInput if it is empty."""
    if file and file != "-":
        try:
            with open(file, encoding="utf-8") as stream:
                value = stream.read()
        except (OSError, UnicodeDecodeError) as error:
            raise BadInput(f"can't read {what} from {file}: {error}") from error
    elif file or value == "-":
        try:
            value = sys.stdin.read()
        except UnicodeDecodeError as error:
            raise BadInput(f"can't read {what} from stdin: {error}") from error
    else:
        return value
    if not value.strip():
        raise BadInput(f"the {what} is empty", hint="nothing was changed")
    return value


def comma_list(text: str) -> list[str]:
    """Return the entries of a comma-separated list."""
    return [part.strip() for part in text.split(",") if part.strip()]


def flat(values: Iterable[list[str]] | None) -> list[str]:
    """Return the entries of a repeated list option, in order, once each."""
    return list(dict.fromkeys(entry for value in values or () for entry in value))


def priority_of(text: str) -> int:
    """Parse a priority, 0-4, from `0`-`4` or `P0`-`P4`. Raises BadInput."""
    number = text.strip().lower().removeprefix("p")
    if number not in ("0", "1", "2", "3", "4"):
        raise BadInput(f"{text!r} is no priority; write 0 (critical) to 4 (background), or P0 to P4")
    return int(number)


def key_values(pairs: tuple[str, ...]) -> dict[str, str]:
    """Parse `k=v` pairs into a mapping; `k=` is an empty text. Raises BadInput."""
    found: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise BadInput(f"{pair!r} is not KEY=VALUE")
        found[key] = value
    return found


def metadata_of(text: str | None) -> dict[str, Any] | None:
    """Parse a `--metadata` value: a JSON object, or @FILE. Raises BadInput."""
    if not text:
        return None
    if text.startswith("@"):
        try:
            with open(text[1:], encoding="utf-8") as file:
                text = file.read()
        except OSError as error:
            raise BadInput(f"can't read {text[1:]}: {error}") from error
    try:
        value = json.loads(text, parse_constant=no_constant)
    except ValueError as error:
        raise BadInput(f"--metadata is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise BadInput("--metadata is not a JSON object")
    return value
