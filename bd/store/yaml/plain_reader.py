"""YAML as bd itself writes it, read without a YAML library: in a fifth of the time, and nothing has to be imported first.

Belongs here: the few forms that editor.py writes. Whatever else a text has in it (comments,
blank lines, other quotes, anchors ...) is left to the library by answering nothing, mistakes too:
codec.py goes on from there. What is read here, the library would read as the same; tests hold that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bd.store.yaml.types import Plain

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
    """The text has a form that is not read here."""


def read(text: str) -> tuple[dict[str, Any], list[tuple[str, int, int]]] | None:
    """What the text says, and the lines of its top-level keys: (key, first line, line behind its last). None: ask the library."""
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
    """Goes through the lines once; `place` is the next one to read."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.place = 0
        self.end = len(lines) - 1  # behind the last line's end there is nothing
        self.spans: list[tuple[str, int, int]] = []

    def mapping(self, indent: int, depth: int) -> dict[str, Any]:
        """The keys that stand at this column, until something stands further out."""
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
        """What stands behind the colon of a key, and below it."""
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
        """The items whose dashes stand at this column."""
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
        """A value on one line, or a literal block below it."""
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
        # Its first line says how far it stands in; blank lines at its end, and lines of blanks, are a matter of their own.
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
    """A text in double quotes, with the escapes that are common."""
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
    """A list on one line of plain words or quoted texts."""
    if text[-1] != "]":
        raise _Other
    return [_flow_item(item) for item in text[1:-1].split(", ")] if text != "[]" else []


def _flow_item(item: str) -> str:
    if item[:1] == '"':
        return _quoted(item)
    if not item[:1].isalnum() or item[-1] == " " or item.strip(_FLOW_CHARS):
        raise _Other
    return Plain(item)
