"""YAML text <-> fields. The only importer of ruamel.

`parse` types exactly what the tables of model.py type and nothing else: a plain `no` in a text
field stays the text "no". It refuses duplicate keys, anchors, aliases and tags, nesting deeper
than `DEPTH_LIMIT`, and everything that is not one mapping. `rewrite` changes the top-level keys
that differ and leaves every other byte alone.
"""

from __future__ import annotations

import re

from bd.clock import canonical_time, duration_s
from bd.errors import BadInput
from bd.model import BEAD_FIELDS, FILE_LIMIT, INNER_FIELDS, TITLE_LIMIT
from bd.store import yamltext

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from bd.model import Kind

DEPTH_LIMIT = 40
_JSON_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(\.\d+)?(?:[eE][-+]?\d+)?\Z")
_WHOLE = re.compile(r"[-+]?\d+\Z")
_NULLS = ("", "null", "Null", "NULL", "~")
_KEEP_BLANKS = re.compile(r"[|>]\d?\+")


class Unreadable(Exception):
    """Why a file can't be read; a store turns it into a Damage."""


class Plain(str):
    """A scalar written without quotes: it may stand for a number, a truth value or nothing."""

    __slots__ = ()


class Parsed:
    """What a file says, and whether its lines alone tell where its top-level keys are."""

    __slots__ = ("fields", "is_simple", "starts")

    def __init__(self, fields: dict[str, Any], starts: list[tuple[str, int]], *, is_simple: bool) -> None:
        self.fields = fields
        self.starts = starts
        self.is_simple = is_simple


# --- reading ----------------------------------------------------------------------------


def text_of(data: bytes) -> str:
    """The file's text. Raises Unreadable for what is not UTF-8, too large, or has a NUL."""
    if len(data) > FILE_LIMIT:
        raise Unreadable(f"is larger than {FILE_LIMIT // 1_000_000} MB")
    if b"\0" in data:
        raise Unreadable("has a NUL byte in it")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Unreadable(f"is not UTF-8 (byte {error.start})") from None


def parse(data: bytes, table: Mapping[str, Kind]) -> Parsed:
    """Read one YAML mapping, typed by the table. Raises Unreadable saying what is wrong and where."""
    text = text_of(data)
    if "<<<<<<<" in text and re.search(r"^(<<<<<<<|>>>>>>>)", text, re.MULTILINE):
        raise Unreadable("has conflict markers in it")
    raw, starts, is_block = _events(text)
    fields: dict[str, Any] = {}
    for key, value in raw.items():
        typed = _typed(key, value, table.get(key, "any"))
        if typed is not None:
            fields[key] = typed
    lines = text.splitlines(keepends=True)
    simple = None if not is_block or _KEEP_BLANKS.search(text) else yamltext.spans_of_lines(lines)
    is_simple = simple is not None and [(key, start) for key, start, _ in simple] == starts
    return Parsed(fields, starts if is_block else [], is_simple=is_simple and not data.startswith(b"\xef\xbb\xbf"))


def parse_bead(data: bytes, bead_id: str) -> Parsed:
    """Read a bead file; its id must be the file's name. Raises Unreadable."""
    parsed = parse(data, BEAD_FIELDS)
    fields = parsed.fields
    if fields.get("id") != bead_id:
        raise Unreadable(f"says id {fields.get('id')!r}, and is named {bead_id}.yaml")
    title = fields.get("title")
    if not title or not title.strip():
        raise Unreadable("has no title")
    if len(title) > TITLE_LIMIT:
        raise Unreadable(f"has a title of more than {TITLE_LIMIT} characters")
    claim = fields.get("claim")
    if claim is not None and not (claim.get("agent") and claim.get("token")):
        raise Unreadable("has a claim without agent or token")
    fields.setdefault("type", "task")
    fields.setdefault("status", "open")
    fields.setdefault("priority", _priority_of(fields))
    return parsed


def _priority_of(fields: dict[str, Any]) -> int:
    base = fields.get("base_priority")
    if base is None:
        return 2
    return next((level for level, last in enumerate((9, 29, 59, 79, 100)) if base <= last), 4)


def _parser(text: str) -> Any:
    from ruamel.yaml.cyaml import CParser

    return CParser(text)


def _events(text: str) -> tuple[dict[str, Any], list[tuple[str, int]], bool]:
    """The one mapping of the text as nested plain values, the first lines of its keys, and whether it is block style.

    Walks the C parser's events with a stack of its own, so that depth is bounded by us.
    """
    from ruamel.yaml.error import YAMLError
    from ruamel.yaml.events import AliasEvent, MappingStartEvent, ScalarEvent, SequenceStartEvent

    root: dict[str, Any] | None = None
    starts: list[tuple[str, int]] = []
    is_block = True
    stack: list[tuple[Any, Any]] = []  # (container, key waiting for its value)
    key: Any = None
    documents = 0
    try:
        parser = _parser(text)
        while True:
            event = parser.get_event()
            if event is None:
                break
            kind = type(event)
            if kind is ScalarEvent or kind.__name__ == "ScalarEvent":
                if event.anchor or (event.tag and event.tag != "!"):
                    raise _refused(event, "an anchor or a tag")
                value: Any = Plain(event.value) if event.style in (None, "") else str(event.value)
            elif kind is MappingStartEvent or kind is SequenceStartEvent:
                if event.anchor or (event.tag and event.tag != "!"):
                    raise _refused(event, "an anchor or a tag")
                if len(stack) >= DEPTH_LIMIT:
                    raise _refused(event, f"nesting deeper than {DEPTH_LIMIT}")
                container: Any = {} if kind is MappingStartEvent else []
                if not stack:
                    if kind is not MappingStartEvent:
                        raise Unreadable("is not a mapping of keys to values")
                    root, is_block = container, not event.flow_style
                stack.append((container, key))
                key = None
                continue
            elif kind is AliasEvent:
                raise _refused(event, "an alias")
            else:
                name = kind.__name__
                if name == "DocumentStartEvent":
                    documents += 1
                    if documents > 1:
                        raise _refused(event, "a second document")
                    continue
                if name not in ("MappingEndEvent", "SequenceEndEvent"):
                    if name == "StreamEndEvent":
                        break
                    continue
                value, key = stack.pop()
                if not stack:
                    continue
            if not stack:
                raise Unreadable("is not a mapping of keys to values")
            key = _placed(stack[-1][0], key, value, event, starts if len(stack) == 1 else None)
    except YAMLError as error:
        raise Unreadable(_yaml_words(error)) from None
    except RecursionError:
        raise Unreadable("is nested too deeply") from None
    if root is None:
        raise Unreadable("is empty")
    return root, starts, is_block


def _placed(container: Any, key: Any, value: Any, event: Any, starts: list[tuple[str, int]] | None) -> Any:
    """Put a finished value into its container; returns the key that now waits for its value."""
    if isinstance(container, list):
        container.append(value)
        return None
    if key is None:
        if isinstance(value, (dict, list)):
            raise _refused(event, "a key that is not a text")
        name = str(value)
        if name in container:
            raise Unreadable(f"has the key {name!r} twice (line {event.start_mark.line + 1})")
        container[name] = None
        if starts is not None:
            starts.append((name, event.start_mark.line))
        return name
    container[key] = value
    return None


def _refused(event: Any, what: str) -> Unreadable:
    return Unreadable(f"has {what}, which bead files don't use (line {event.start_mark.line + 1})")


def _yaml_words(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or str(error).splitlines()[0]
    return f"is not YAML: {problem}" + (f" (line {mark.line + 1})" if mark is not None else "")


# --- typing -----------------------------------------------------------------------------


def _typed(key: str, value: Any, kind: Kind) -> Any:
    """The value as its kind says; None when it is unset. Raises Unreadable for a wrong type."""
    if type(value) is Plain and value in _NULLS:
        return None
    try:
        return _TYPERS[kind](key, value)
    except (ValueError, BadInput) as error:
        raise Unreadable(f"{key}: {error}") from None


def _as_text(key: str, value: Any) -> str:
    if isinstance(value, (dict, list)):
        raise ValueError("a text was expected")
    return str(value)


def _as_int(key: str, value: Any) -> int:
    if isinstance(value, (dict, list)) or not _WHOLE.match(value.strip()):
        raise ValueError(f"{value!r} is not a whole number")
    return int(value)


def _as_number(key: str, value: Any) -> float:
    if isinstance(value, (dict, list)):
        raise ValueError("a number was expected")
    number = float(value)
    if number != number or abs(number) == float("inf"):
        raise ValueError(f"{value!r} is not a number")
    return int(number) if number == int(number) and "." not in value else number


def _as_bool(key: str, value: Any) -> bool:
    word = str(value).lower()
    if word not in ("true", "false", "yes", "no", "1", "0"):
        raise ValueError(f"{value!r} is neither true nor false")
    return word in ("true", "yes", "1")


def _as_time(key: str, value: Any) -> str:
    try:
        return canonical_time(_as_text(key, value))
    except ValueError:
        raise ValueError(f"{value!r} is not a time") from None


def _as_duration(key: str, value: Any) -> str:
    duration_s(_as_text(key, value))
    return str(value)


def _as_priority(key: str, value: Any) -> int:
    word = _as_text(key, value).strip().lower().removeprefix("p")
    if word not in ("0", "1", "2", "3", "4"):
        raise ValueError(f"{value!r} is not 0 to 4")
    return int(word)


def _as_status(key: str, value: Any) -> str:
    word = _as_text(key, value).strip().lower().replace("-", "_")
    return "open" if word == "ready" else word


def _as_list(key: str, value: Any) -> list[str] | None:
    if isinstance(value, dict):
        raise ValueError("a list was expected")
    items = value if isinstance(value, list) else [value]
    if any(isinstance(item, (dict, list)) for item in items):
        raise ValueError("a list of texts was expected")
    return [str(item) for item in items] or None


def _as_map(key: str, value: Any) -> dict[str, Any] | None:
    if not isinstance(value, dict):
        raise ValueError("a mapping was expected")
    return _typed_map(key, value) or None


def _as_maps(key: str, value: Any) -> list[dict[str, Any]] | None:
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise ValueError("a list of mappings was expected")
    return [_typed_map(key, item) for item in value] or None


def _typed_map(key: str, value: dict[str, Any]) -> dict[str, Any]:
    inner = INNER_FIELDS.get(key, {})
    typed: dict[str, Any] = {}
    for name, item in value.items():
        known = inner.get(name)
        found = _typed(f"{key}.{name}", item, known) if known else _as_json(name, item)
        if found is not None or not known:
            typed[name] = found
    return typed


def _as_json(key: str, value: Any) -> Any:
    """A value nobody types: what JSON would read a plain scalar as, everything else as text."""
    if isinstance(value, dict):
        return {name: _as_json(name, item) for name, item in value.items()}
    if isinstance(value, list):
        return [_as_json(key, item) for item in value]
    if type(value) is Plain:
        if value in _NULLS:
            return None
        if value in ("true", "false"):
            return value == "true"
        number = _JSON_NUMBER.match(value)
        if number:
            return int(value) if _WHOLE.match(value) else float(value)
    return str(value)


_TYPERS: dict[Kind, Any] = {
    "text": _as_text,
    "int": _as_int,
    "number": _as_number,
    "bool": _as_bool,
    "time": _as_time,
    "duration": _as_duration,
    "list": _as_list,
    "map": _as_map,
    "maps": _as_maps,
    "any": _as_json,
    "priority": _as_priority,
    "status": _as_status,
}


# --- writing ----------------------------------------------------------------------------


def dump(fields: Mapping[str, Any], table: Mapping[str, Kind]) -> str:
    """A new file, keys in the table's order."""
    return yamltext.document(fields, table)


def rewrite(
    data: bytes,
    old: Mapping[str, Any],
    new: Mapping[str, Any],
    table: Mapping[str, Kind],
    *,
    is_simple: bool,
) -> str:
    """The file with the keys that differ between `old` (what it says) and `new` replaced.

    `is_simple` is what `parse` said of it: then the lines alone tell where the keys are, and no
    YAML is read. A file in flow style is written anew in block style.
    """
    text = text_of(data)
    changes = {key: new.get(key) for key in {**old, **new} if old.get(key) != new.get(key)}
    lines = text.splitlines(keepends=True)
    spans = yamltext.spans_of_lines(lines) if is_simple else None
    if spans is not None:
        return yamltext.replace_keys(text, spans, changes, list(table))
    parsed = parse(data, table)
    if parsed.starts:
        out = yamltext.replace_keys(text, yamltext.trimmed(lines, parsed.starts), changes, list(table))
        try:
            again = parse(out.encode(), table).fields
        except Unreadable:
            again = {}
        wanted = {key: value for key, value in new.items() if key in again or key in parsed.fields or key in changes}
        if again and all(again.get(key) == value for key, value in wanted.items()):
            return out
    return yamltext.document(new, table)
