"""Documents written by a person or a program, read as untyped values: JSON, JSON lines, or YAML.

This module detects the format and keeps the spelling of values, so that a title `1.10` stays `1.10` (`Plain` is a scalar without
quotes). It does not know what keys mean.
"""

from __future__ import annotations

import json
import re
from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.core.errors import BadInput
from bd.core.field_kinds import Plain, plain, typed
from bd.store.yaml import codec

if TYPE_CHECKING:
    from typing import Any


# A choice such as `"code" | "research"`, as the source papers write it. It is invalid YAML, so its first value is used.
_CHOICE = re.compile(
    r"""^(\s*(?:-\s+)?[\w-]+:[ \t]+)("[^"\n]*"|'[^'\n]*')(?:[ \t]*\|[ \t]*(?:"[^"\n]*"|'[^'\n]*'))+""", re.MULTILINE
)
_WORD_CHOICE = re.compile(r"([\w-]+)(?: \| [\w-]+)+\Z")
_LINE = re.compile(r"\(line (\d+)\)")


class Entry(NamedTuple):
    """One value of a document, and its location: `line 3`, or "" for the whole document."""

    where: str
    value: Any


def entries_of(data: bytes, source: str) -> list[Entry]:
    """Return the values of a document: one for JSON or YAML, one per line for JSON lines. Raises BadInput with the line."""
    try:
        text = codec.text_of(data)
    except codec.Unreadable as error:
        raise BadInput(f"{source} {error}") from None
    found = (_json_document(text) or _json_lines(text, source)) if text.strip() and text.lstrip()[:1] in "{[" else None
    found = found or [Entry("", _yaml(text, source))]
    if not any(entry.value for entry in found):
        raise BadInput(f"{source} is empty: it says nothing but comments", hint="nothing was made; docs/format.md has a plan")
    return found


def _json_document(text: str) -> list[Entry] | None:
    try:
        return [Entry("", plain(_loads(text)))]
    except (ValueError, RecursionError):
        return None


def _json_lines(text: str, source: str) -> list[Entry] | None:
    """Parse the lines as JSON; None if the first one is not JSON."""
    found: list[Entry] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            found.append(Entry(f"line {number}", plain(_loads(line))))
        except (ValueError, RecursionError) as error:
            if not found:
                return None
            raise BadInput(f"{source}, line {number}: not JSON: {error}", hint="one JSON object a line") from None
    return found


def _loads(text: str) -> Any:
    return json.loads(text, parse_float=Plain, parse_int=Plain, parse_constant=Plain)


def _yaml(text: str, source: str) -> Any:
    """Parse a YAML document, a mapping or a list. A choice between quoted values is read as its first value."""
    try:
        return _yaml_document(text)
    except codec.Unreadable as error:
        simpler = _CHOICE.sub(r"\1\2", text)
        if simpler != text:
            try:
                return _yaml_document(simpler)
            except codec.Unreadable:
                pass
        raise BadInput(f"{source} {error}", hint="a plan is YAML or JSON; docs/format.md has one") from None


def _yaml_document(text: str) -> Any:
    """Parse a text with one mapping or list. The reader only takes mappings, so a list is read as the value of a key."""
    lines = text.split("\n")
    first = next((i for i, line in enumerate(lines) if line.strip() and not line.lstrip().startswith(("#", "---"))), 0)
    if not lines[first].startswith(("- ", "[")) and lines[first].strip() != "-":
        return mapping_of(text)
    body = [*("" for _ in lines[:first]), *(f" {line}" for line in lines[first:])]
    try:
        return mapping_of("\n".join(["beads:", *body]))["beads"]
    except codec.Unreadable as error:
        raise codec.Unreadable(_LINE.sub(lambda match: f"(line {int(match[1]) - 1})", str(error))) from None


def mapping_of(text: str) -> dict[str, Any]:
    """Return the one YAML mapping of a text, its values as spelled. Raises codec.Unreadable."""
    return codec._read(text).root or {}  # noqa: SLF001  untyped; `parse` would change the spelling of 1.10


def first_choice(value: Any) -> Any:
    """Return the first value of a choice such as `available | busy | offline`; any other value unchanged."""
    match = _WORD_CHOICE.match(value) if isinstance(value, Plain) else None
    return Plain(match[1]) if match else value


def is_null(value: Any) -> bool:
    """Return whether a raw value is null or empty."""
    return value is None or (type(value) is Plain and value in ("", "null", "Null", "NULL", "~"))


def as_json(value: Any) -> Any:
    """Convert a raw value as JSON would: quoted values are text, unquoted ones may be numbers or booleans."""
    return typed("value", value, "any")
