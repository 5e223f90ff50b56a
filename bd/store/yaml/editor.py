"""YAML as text: writes values, and replaces top-level keys of a file without touching the rest.

Uses the standard library only: a claim can't wait for a YAML library to be imported. codec.py reads YAML, and decides whether a
file is simple enough for `spans_of_lines`.

Strings are quoted unless every YAML 1.1 and 1.2 reader would read them as strings.
"""

from __future__ import annotations

import re

from bd import TYPE_CHECKING
from bd.core.errors import BadInput
from bd.core.schema import BEAD_FIELDS, CAPACITY_FIELDS, INNER_FIELDS
from bd.core.times import is_canonical

if TYPE_CHECKING:
    import re
    from collections.abc import Iterable, Mapping
    from typing import Any

_RETYPED = frozenset(["null", "true", "false", "yes", "no", "on", "off", "y", "n", "~"])
_UNPRINTABLE = "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ufffe\uffff]"
# Characters that a plain scalar may not contain: anywhere, and in a list in flow style.
_NOT_IN_PLAIN = frozenset("#\t\n\r")
_NOT_IN_FLOW = _NOT_IN_PLAIN | frozenset(",[]{}:\"'?")
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
_KEY_CHARS = _LETTERS + "0123456789-"
_COMMENT = r"(?:\A|[ \t])#"
_FLOW_WIDTH = 88
DEPTH_LIMIT = 40
_KEY_LIMIT = 1000  # YAML readers look for the colon within 1024 characters
# Keys whose times are written plainly, as people write them; elsewhere a time is a text, and quoted.
_TIMES = {key for table in (BEAD_FIELDS, CAPACITY_FIELDS) for key, kind in table.items() if kind == "time"}
_INNER_TIMES = {name: {key for key, kind in table.items() if kind == "time"} for name, table in INNER_FIELDS.items()}
_NO_TIMES: set[str] = set()
_SURROGATE = "[\ud800-\udfff]"


# --- writing ----------------------------------------------------------------------------


def quoted(text: str) -> str:
    """Return the double-quoted form, on one line. Raises BadInput if the text is not valid Unicode."""
    if not text.isprintable() and re.search(_SURROGATE, text):
        raise BadInput("a text that is not valid Unicode", hint="save it as UTF-8")
    out = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r")
    return '"' + (out if out.isprintable() else re.sub(_UNPRINTABLE, _escaped, out)) + '"'


def _escaped(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def _is_plain(text: str, without: frozenset[str] = _NOT_IN_PLAIN) -> bool:
    return (
        text[:1].isalnum()
        and not text[0].isdecimal()
        and without.isdisjoint(text)
        and text.lower() not in _RETYPED
        and ": " not in text
        and not text.endswith((":", " "))
        and (text.isprintable() or not (re.search(_UNPRINTABLE, text) or re.search(_SURROGATE, text)))
    )


def scalar(value: Any, *, in_flow: bool = False, is_time: bool = False) -> str:
    """Format a scalar on one line. Raises BadInput for text that is not valid Unicode, and for numbers that are not finite."""
    if value is None:
        return "null"
    if value is True:
        return "true"
    if value is False:
        return "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        if value != value or abs(value) == float("inf"):
            raise BadInput(f"{value} is not a number", hint="a number that JSON has, or a text in quotes")
        return repr(value)
    text = str(value)
    if is_time and is_canonical(text):
        return text
    return text if _is_plain(text, _NOT_IN_FLOW if in_flow else _NOT_IN_PLAIN) else quoted(text)


def _literal(text: str, indent: int) -> str | None:
    """Format a long text as a literal block; None if only quotes preserve it."""
    body = text.removesuffix("\n")
    if "\n" not in text or not body or body.endswith("\n") or "\t" in text[:1]:
        return None
    if re.search(_UNPRINTABLE, text) or re.search(_SURROGATE, text):
        return None
    head = "|"
    if text[0] in " \n":
        head += "2"
    if not text.endswith("\n"):
        head += "-"
    pad = " " * indent
    lines = [pad + line if line else "" for line in body.split("\n")]
    if any(line.strip() == "" and line for line in lines):
        return None  # the spaces of a line of only spaces would be read as indentation
    return head + "\n" + "\n".join(lines)


def entry(key: str, value: Any, indent: int = 0, times: set[str] = _NO_TIMES) -> str:
    """Format `key: value`, on as many lines as needed, without the last line end. `times` are the keys whose texts are times."""
    pad = " " * indent
    name = _name(key)
    if isinstance(value, dict):
        if not value:
            return f"{pad}{name}: {{}}"
        return f"{pad}{name}:\n{_entries(value, indent + 2, _inner_times(key, times))}"
    if isinstance(value, list):
        flow = _flow(value)
        if flow is not None and (not value or indent + len(name) + len(flow) <= _FLOW_WIDTH):
            return f"{pad}{name}: {flow}"
        return f"{pad}{name}:\n" + "\n".join(_item(item, indent + 2, _inner_times(key, times)) for item in value)
    if isinstance(value, str):
        literal = _literal(value, indent + 2)
        if literal is not None:
            return f"{pad}{name}: {literal}"
    return f"{pad}{name}: {scalar(value, is_time=key in times)}"


def _name(key: str) -> str:
    """Format a key. Raises BadInput for one that no YAML reader would find."""
    name = key if _is_plain(key, _NOT_IN_FLOW) and " " not in key else quoted(key)
    if len(name) > _KEY_LIMIT:
        raise BadInput(f"a key of {len(key)} characters: {key[:40]}...")
    return name


def _inner_times(key: str, times: set[str]) -> set[str]:
    """Return the time keys of the maps below a key; only a file's top-level keys have any."""
    return _INNER_TIMES.get(key, _NO_TIMES) if times is _TIMES else _NO_TIMES


def _entries(values: Mapping[str, Any], indent: int, times: set[str]) -> str:
    return "\n".join(entry(str(key), value, indent, times) for key, value in values.items())


def top_entry(key: str, value: Any, indent: int = 0) -> str:
    """Format one of a file's top-level keys. Raises BadInput for a value that could not be read back."""
    if isinstance(value, (dict, list)) and _is_deeper(value, DEPTH_LIMIT - 1):
        raise BadInput(f"{key} is nested deeper than {DEPTH_LIMIT}")
    return entry(key, value, indent, _TIMES)


def _is_deeper(value: Any, limit: int) -> bool:
    if not isinstance(value, (dict, list)):
        return False
    if limit == 0:
        return True
    return any(_is_deeper(item, limit - 1) for item in (value.values() if isinstance(value, dict) else value))


def _flow(values: list[Any]) -> str | None:
    if any(isinstance(value, (dict, list)) for value in values):
        return None
    return "[" + ", ".join(scalar(value, in_flow=True) for value in values) + "]"


def _item(value: Any, indent: int, times: set[str]) -> str:
    pad = " " * indent
    if isinstance(value, dict) and value:
        return f"{pad}- {_entries(value, indent + 2, times)[indent + 2 :]}"
    if isinstance(value, dict):
        return f"{pad}- {{}}"
    if isinstance(value, list):
        flow = _flow(value)
        if flow is not None:
            return f"{pad}- {flow}"
        inner = "\n".join(_item(item, indent + 2, _NO_TIMES) for item in value)
        return f"{pad}-\n{inner}"
    if isinstance(value, str):
        literal = _literal(value, indent + 2)
        if literal is not None:
            return f"{pad}- {literal}"
    return f"{pad}- {scalar(value)}"


def document(fields: Mapping[str, Any], order: Iterable[str]) -> str:
    """Compose a new file: the table's keys in their order, then the others."""
    known = [key for key in order if key in fields]
    rest = [key for key in fields if key not in set(known)]
    return "".join(top_entry(key, fields[key]) + "\n" for key in [*known, *rest])


# --- editing ---------------------------------------------------------------------------


def spans_of_lines(lines: list[str]) -> list[tuple[str, int, int]] | None:
    """Return (key, first line, line after its last) of every top-level key, judging by the lines alone.

    None if the lines are not enough (quoted keys, several documents, flow style). Trailing blank lines and comments at column 0
    belong to no key.
    """
    found: list[tuple[str, int, int]] = []
    for number, line in enumerate(lines):
        first = line[:1]
        if first in ("", " ", "\n", "\r", "#", "\t") or not line.strip():
            continue
        if first == "-":
            if line.startswith("---"):
                if found or line.strip() != "---":
                    return None
                continue
            if not found or not line.startswith("- "):
                return None
            continue
        key = _key_of(line)
        if not key:
            return None
        found.append((key, number, number + 1))
    return trimmed(lines, found)


def _key_of(line: str) -> str | None:
    """Return the plain key that a line begins with; None if there is none."""
    name, colon, value = line.partition(":")
    name = name.rstrip(" ")
    if not colon or value[:1] not in ("", " ", "\t", "\r", "\n") or not name or name[0] not in _LETTERS:
        return None
    return None if name.strip(_KEY_CHARS) else name


def trimmed(lines: list[str], spans: list[tuple[str, int, int]], column: int = 0) -> list[tuple[str, int, int]]:
    """Shorten the spans by the blank lines and comments before the next key; they never get shorter than given."""
    found: list[tuple[str, int, int]] = []
    for place, (key, start, least) in enumerate(spans):
        end = spans[place + 1][1] if place + 1 < len(spans) else len(lines)
        while end > least and _is_nobodys(lines[end - 1], column):
            end -= 1
        found.append((key, start, end))
    return found


def _is_nobodys(line: str, column: int) -> bool:
    """Return whether a line is blank, the end of a document, or a comment indented no more than the keys."""
    words = line.lstrip(" ")
    return not line.strip() or line.startswith("...") or (words.startswith("#") and len(line) - len(words) <= column)


def replace_keys(
    text: str, spans: list[tuple[str, int, int]], changes: Mapping[str, Any], order: list[str], column: int = 0
) -> str:
    """Return the file with these top-level keys, at `column`, set (None removes one); every other byte is kept.

    A new key goes after the nearest one that precedes it in `order`.
    """
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = text.splitlines(keepends=True)
    is_unended = bool(lines) and not lines[-1].endswith(("\n", "\r"))
    if is_unended:
        lines[-1] += newline
    count = len(lines)
    at = {key: (start, end) for key, start, end in spans}
    rank = {key: place for place, key in enumerate(order)}
    edits: list[tuple[int, int, int, list[str]]] = []
    for key, value in changes.items():
        block = [] if value is None else [line + newline for line in top_entry(key, value, column).split("\n")]
        if key in at:
            start, end = at[key]
            if end == start + 1 <= len(lines) and len(block) == 1:
                block = [_with_comment(lines[start], block[0], newline)]
            edits.append((start, end, 0, block))
        elif block:
            place = rank.get(key, len(rank))
            before = [end for other, (_, end) in at.items() if rank.get(other, len(rank)) <= place]
            start = max(before) if before else (spans[0][1] if spans else len(lines))
            edits.append((start, start, place, block))
    edits.sort(key=lambda edit: edit[:3])
    for start, end, _, block in reversed(edits):
        lines[start:end] = block
    if is_unended and all(end < count for _, end, _, _ in edits):
        lines[-1] = lines[-1].removesuffix(newline)
    return "".join(lines)


def comments_of(text: str) -> str:
    """Reduce an empty document to its comments, blank lines and markers, without the `null` or `{}`."""
    kept: list[str] = []
    for line in text.splitlines(keepends=True):
        words, end = line.strip(), line[len(line.rstrip("\r\n")) :]
        if not words or words[0] in "#%" or words == "---":
            kept.append(line.lstrip("\t "))
            continue
        mark = "---" if words.startswith("---") else ""
        comment = re.search(_COMMENT, words)
        rest = words[comment.start() :].strip() if comment else ""
        if mark or rest:
            kept.append(f"{mark} {rest}".strip() + end)
    return "".join(kept)


def _with_comment(old: str, new: str, newline: str) -> str:
    """Return the new one-line entry with the old line's comment appended."""
    line = old.strip()
    key_end = _closing_quote(line) if line[:1] in ("'", '"') else 0
    value = line[key_end:].partition(":")[2].strip()
    if value[:1] in ("'", '"'):
        value = value[_closing_quote(value) + 1 :]
    elif value[:1] in ("[", "{"):
        value = _behind_flow(value)
    comment = re.search(_COMMENT, value) if "#" in value else None
    return f"{new.rstrip()}  {value[comment.start() :].strip()}{newline}" if comment else new


def _behind_flow(value: str) -> str:
    """Return the text after a list or map in flow style."""
    place, before = 0, "["
    while place < len(value):
        char = value[place]
        if char in ("'", '"') and before in "[{,:":
            place += _closing_quote(value[place:])
        elif char == "#" and value[place - 1] in " \t":
            return value[place - 1 :]
        before = char if char.strip() else before
        place += 1
    return ""


def _closing_quote(value: str) -> int:
    quote, place = value[0], 1
    while place < len(value):
        if quote == '"' and value[place] == "\\":
            place += 2
            continue
        if value[place] == quote:
            if quote == "'" and value[place + 1 : place + 2] == "'":
                place += 2
                continue
            return place
        place += 1
    return place
