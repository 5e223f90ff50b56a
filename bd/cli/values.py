"""Conversion of typed texts: long texts from a file or stdin, lists, pairs, priorities, JSON. Imports no click."""

from __future__ import annotations

import json

from bd import TYPE_CHECKING
from bd.core.errors import BadInput
from bd.core.files import typed_bytes
from bd.core.json_shapes import no_constant

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any


def text_argument(value: str | None, file: str | None, what: str) -> str | None:
    """Return a long text: as given, from a file, or from stdin when either is `-`. What is read is kept as it is, empty or not.

    Raises BadInput for what can't be read, or is not UTF-8.
    """
    source = file or (value if value == "-" else None)
    return value if source is None else text_of(source, what)


def text_of(source: str, what: str) -> str:
    """Return the text of a file, or of stdin for `-`: read as bytes, so that neither the locale nor its line ends change it. Raises BadInput."""
    shown = "stdin" if source == "-" else source
    try:
        return typed_bytes(source).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"can't read {what} from {shown}: {error}") from error


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
        raise BadInput(f"{text!r} is not a priority; write 0 (critical) to 4 (background), or P0 to P4")
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
        text = text_of(text[1:], "the metadata")
    try:
        value = json.loads(text, parse_constant=no_constant)
    except ValueError as error:
        raise BadInput(f"--metadata is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise BadInput("--metadata is not a JSON object")
    return value
