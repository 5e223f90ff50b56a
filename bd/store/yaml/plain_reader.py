"""Reads YAML as bd itself writes it, without a YAML library: five times as fast, and with nothing to import.

It knows the few forms that editor.py writes. For anything else (comments, blank lines, other quotes, anchors, mistakes) it
returns nothing, and codec.py uses the library. Whatever it reads, the library reads the same way; tests check that.
"""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.field_kinds import Plain

if TYPE_CHECKING:
    from typing import Any

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_KEY_FIRST = frozenset(_LETTERS + "_")
_KEY_CHARS = _LETTERS + "0123456789_-"
_KEY_LIMIT = 100
_FLOW_CHARS = _LETTERS + "0123456789 _-./@+"
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\"}
_DEPTH_LIMIT = 8
_STEP = 2


class _Other(Exception):
    """The text has a form that this reader does not know."""


def read(text: str) -> tuple[dict[str, Any], list[tuple[str, int, int]]] | None:
    """Return the fields, and the lines of the top-level keys: (key, first line, line after its last). None: use the library."""
    if text[-1:] != "\n" or not text.replace("\n", "").isprintable():
        return None
    reader = _Reader(text.split("\n"))
    try:
        found = reader.mapping(0, 0)
    except _Other:
        return None
    if not found or reader.place < reader.end:
        return None
    return found, reader.spans


class _Reader:
    """Goes through the lines once; `place` is the next line to read."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.place = 0
        self.end = len(lines) - 1  # the text ends with a line end
        self.spans: list[tuple[str, int, int]] = []

    def mapping(self, indent: int, depth: int) -> dict[str, Any]:
        """Read the keys at this column, until a line is indented less."""
        lines, pad = self.lines, " " * indent
        found: dict[str, Any] = {}
        while self.place < self.end and lines[self.place].startswith(pad):
            start = self.place
            name, colon, rest = lines[start][indent:].partition(":")
            if not colon or not _is_key(name) or name in found:
                raise _Other
            self.place += 1
            found[name] = self._value(rest, indent, depth)
            if not indent:
                self.spans.append((name, start, self.place))
        return found

    def _value(self, rest: str, indent: int, depth: int) -> Any:
        """Read the value after a key's colon, or below the key."""
        if rest:
            return self._scalar(rest[1:], indent) if rest[0] == " " else _other()
        inner = indent + _STEP
        following = self.lines[self.place] if self.place < self.end else ""
        if not following.startswith(" " * (indent + 1)):
            return Plain("")
        if depth == _DEPTH_LIMIT:
            raise _Other
        if following.startswith("- ", inner):
            return self._sequence(inner, depth + 1)
        return self.mapping(inner, depth + 1) or _other()

    def _sequence(self, indent: int, depth: int) -> list[Any]:
        """Read the items whose dashes are at this column."""
        lines, dash = self.lines, " " * indent + "- "
        found: list[Any] = []
        while self.place < self.end and lines[self.place].startswith(dash):
            item = lines[self.place][len(dash) :]
            name, colon, rest = item.partition(":")
            if colon and rest[:1] in ("", " ") and _is_key(name):
                lines[self.place] = " " * (indent + _STEP) + item
                found.append(self.mapping(indent + _STEP, depth))
            else:
                self.place += 1
                found.append(self._scalar(item, indent))
        return found or _other()

    def _scalar(self, text: str, indent: int) -> Any:
        """Read a value on one line, or a literal block below it."""
        first = text[:1]
        if first == '"':
            return _quoted(text)
        if first == "|":
            return self._literal(text, " " * (indent + _STEP))
        if first == "[":
            return _flow(text)
        if not first.isalnum() or text[-1] in " :" or ": " in text or " #" in text:
            return {} if text == "{}" else _other()
        return Plain(text)

    def _literal(self, head: str, pad: str) -> str:
        lines, start, place = self.lines, self.place, self.place
        while place < self.end and (not lines[place] or lines[place].startswith(pad)):
            place += 1
        block = [line[len(pad) :] for line in lines[start:place]]
        # The first line gives the indentation; leading blank lines, trailing ones, and lines of spaces are left to the library.
        if head not in ("|", "|-") or not block or block[0][:1] in ("", " ") or not block[-1]:
            raise _Other
        if any(line.isspace() for line in block):
            raise _Other
        self.place = place
        return "\n".join(block) + ("" if head == "|-" else "\n")


def _other() -> Any:
    raise _Other


def _is_key(name: str) -> bool:
    return name[:1] in _KEY_FIRST and not name.strip(_KEY_CHARS) and len(name) < _KEY_LIMIT


def _quoted(text: str) -> str:
    """Read a text in double quotes, with the common escapes."""
    inner = text[1:-1]
    if len(text) < 2 or text[-1] != '"':
        raise _Other
    if "\\" not in inner:
        return inner if '"' not in inner else _other()
    pieces: list[str] = []
    place = 0
    while (at := inner.find("\\", place)) >= 0:
        escaped = _ESCAPES.get(inner[at + 1 : at + 2])
        if escaped is None or '"' in inner[place:at]:
            raise _Other
        pieces += (inner[place:at], escaped)
        place = at + 2
    if '"' in inner[place:]:
        raise _Other
    return "".join([*pieces, inner[place:]])


def _flow(text: str) -> list[str]:
    """Read a list on one line, of plain words or quoted texts."""
    if text[-1] != "]":
        raise _Other
    return [_flow_item(item) for item in text[1:-1].split(", ")] if text != "[]" else []


def _flow_item(item: str) -> str:
    if item[:1] == '"':
        return _quoted(item)
    if not item[:1].isalnum() or item[-1] == " " or item.strip(_FLOW_CHARS):
        raise _Other
    return Plain(item)
