"""YAML text to fields, and back. The only importer of ruamel.

`parse` converts values only as the tables of schema.py say: a plain `no` in a text field stays the text "no". It refuses
duplicate keys, anchors, aliases, tags, nesting deeper than `DEPTH_LIMIT`, and everything but one mapping; an empty document
(comments, `---`, `null`) is an empty mapping. `rewrite` changes the top-level keys that differ and keeps every other byte.
"""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.field_kinds import Plain, WrongKind, typed
from bd.core.schema import BEAD_FIELDS, FILE_LIMIT, TITLE_LIMIT, flaw_of_claim
from bd.store.yaml import editor, plain_reader

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from bd.core.schema import Kind

DEPTH_LIMIT = editor.DEPTH_LIMIT
SLOW_LIMIT = 100_000
_MARKS_OF_CONFLICT = ("<<<<<<<", ">>>>>>>")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_NOTHING = ("", "~", "null", "Null", "NULL")


class Unreadable(Exception):
    """The reason why a file can't be read; the store turns it into a Damage."""


class Parsed:
    """The fields of a file, and whether its lines alone show where its top-level keys are."""

    __slots__ = ("column", "fields", "is_simple", "spans")

    def __init__(self, fields: dict[str, Any], spans: list[tuple[str, int, int]], column: int, *, is_simple: bool) -> None:
        self.fields = fields
        self.spans = spans
        self.column = column
        self.is_simple = is_simple


# --- reading ----------------------------------------------------------------------------


def text_of(data: bytes) -> str:
    """Decode a file. Raises Unreadable if it is not UTF-8, too large, or contains a NUL."""
    if len(data) > FILE_LIMIT:
        raise Unreadable(f"is larger than {FILE_LIMIT // 1_000_000} MB")
    if b"\0" in data:
        raise Unreadable("has a NUL byte in it")
    try:
        return data.removeprefix(_BYTE_ORDER_MARK).decode()
    except UnicodeDecodeError as error:
        raise Unreadable(f"is not UTF-8 (byte {error.start})") from None


def parse(data: bytes, table: Mapping[str, Kind]) -> Parsed:
    """Read one YAML mapping, typed by the table. Raises Unreadable with the fault and its line."""
    text = text_of(data)
    if _MARKS_OF_CONFLICT[0] in text and any(line.startswith(_MARKS_OF_CONFLICT) for line in text.split("\n")):
        raise Unreadable("has conflict markers in it")
    plain = plain_reader.read(text) if not data.startswith(_BYTE_ORDER_MARK) else None
    if plain is not None:
        root, spans = plain
        return Parsed(_typed(root, table), spans, 0, is_simple=True)
    reader = _read(text)
    fields = _typed(reader.root or {}, table)
    lines = text.splitlines(keepends=True)
    spans = editor.trimmed(lines, [(key, start, end) for key, start, end in reader.spans], reader.column)
    is_simple = bool(spans) and spans == editor.spans_of_lines(lines) and not data.startswith(_BYTE_ORDER_MARK)
    return Parsed(fields, spans, reader.column, is_simple=is_simple)


def _typed(root: Mapping[str, Any], table: Mapping[str, Kind]) -> dict[str, Any]:
    """Convert the values as the table says; unset ones are left out. Raises Unreadable."""
    fields: dict[str, Any] = {}
    try:
        for key, value in root.items():
            found = typed(key, value, table.get(key, "any"))
            if found is not None:
                fields[key] = found
    except WrongKind as error:
        raise Unreadable(str(error)) from None
    return fields


def parse_bead(data: bytes, bead_id: str) -> Parsed:
    """Read a bead file; its id must be the file's name. Raises Unreadable."""
    parsed = parse(data, BEAD_FIELDS)
    fields = parsed.fields
    if not fields:
        raise Unreadable(f"has no fields: a bead has an id and a title; write `id: {bead_id}` and `title: ...` in it")
    if "id" not in fields:
        raise Unreadable(f"has no id: write `id: {bead_id}` in it")
    if fields.get("id") != bead_id:
        raise Unreadable(f"says id {fields.get('id')!r}, and is named {bead_id}.yaml")
    title = fields.get("title")
    if not title or not title.strip():
        raise Unreadable("has no title")
    if len(title) > TITLE_LIMIT:
        raise Unreadable(f"has a title of more than {TITLE_LIMIT} characters")
    for claim in (fields.get("claim"), *fields.get("claims", ())):
        flaw = flaw_of_claim(claim) if claim is not None else ""
        if flaw:
            raise Unreadable(flaw)
    fields.setdefault("type", "task")
    fields.setdefault("status", "open")
    fields.setdefault("priority", _priority_of(fields))
    return parsed


def _priority_of(fields: dict[str, Any]) -> int:
    base = fields.get("base_priority")
    if base is None:
        return 2
    return next((level for level, last in enumerate((9, 29, 59, 79, 100)) if base <= last), 4)


class _Reader:
    """Builds the mapping of a text from a YAML parser's events, with its own stack, so that depth is limited.

    `spans` holds [key, first line, line after its last] for the root's keys, `column` their column; both only for a root in block
    style.
    """

    def __init__(self) -> None:
        self.root: dict[str, Any] | None = None
        self.is_block = True
        self.column = 0
        self.spans: list[list[Any]] = []
        self._stack: list[tuple[Any, Any, bool]] = []  # (container, key waiting for its value, in flow style)
        self._key: Any = None

    def read(self, parser: Any) -> None:
        """Read all events. Raises Unreadable for what bead files don't use."""
        from ruamel.yaml import events

        documents = 0
        while True:
            event = parser.get_event()
            kind = type(event)
            if kind is events.ScalarEvent:
                self._scalar(event)
            elif kind is events.MappingStartEvent:
                self._open(event, {})
            elif kind is events.SequenceStartEvent:
                self._open(event, [])
            elif kind is events.MappingEndEvent or kind is events.SequenceEndEvent:
                self._close(event)
            elif kind is events.AliasEvent:
                raise _refused(event, "an alias")
            elif kind is events.DocumentStartEvent:
                documents += 1
                if documents > 1:
                    raise _refused(event, "a second document")
            elif event is None or kind is events.StreamEndEvent:
                return

    def _scalar(self, event: Any) -> None:
        _refuse_extras(event)
        style, text = event.style, event.value
        self._place(Plain(text) if style in (None, "") else str(text), event)
        if style in (None, "", "'", '"'):
            self._reach(event.end_mark.line + 1)
        elif text[-2:] == "\n\n" or text == "\n":  # its trailing blank lines are part of the text
            self._reach(event.end_mark.line)

    def _open(self, event: Any, container: Any) -> None:
        _refuse_extras(event)
        if len(self._stack) >= DEPTH_LIMIT:
            raise _refused(event, f"nesting deeper than {DEPTH_LIMIT}")
        if not self._stack:
            if not isinstance(container, dict):
                raise Unreadable("is not a mapping of keys to values")
            self.root, self.is_block, self.column = container, not event.flow_style, event.start_mark.column
        self._stack.append((container, self._key, event.flow_style))
        self._key = None

    def _close(self, event: Any) -> None:
        container, self._key, in_flow = self._stack.pop()
        if self._stack:
            self._place(container, event)
            if in_flow:
                self._reach(event.end_mark.line + 1)

    def _reach(self, line: int) -> None:
        """Extend the current key's span at least to this line."""
        if self.spans and self.spans[-1][2] < line:
            self.spans[-1][2] = line

    def _place(self, value: Any, event: Any) -> None:
        """Add a finished value to its container, or keep it as the next key."""
        if not self._stack:
            if type(value) is not Plain or value not in _NOTHING:
                raise Unreadable("is not a mapping of keys to values")
            self.root = {}
            return
        container = self._stack[-1][0]
        if isinstance(container, list):
            container.append(value)
        elif self._key is not None:
            container[self._key] = value
            self._key = None
        elif isinstance(value, (dict, list)):
            raise _refused(event, "a key that is not a text")
        else:
            self._key = name = str(value)
            if name in container:
                raise Unreadable(f"has the key {name!r} twice (line {event.start_mark.line + 1})")
            container[name] = None
            if len(self._stack) == 1 and self.is_block:
                line = event.start_mark.line
                self.spans.append([name, line, line + 1])


def _read(text: str) -> _Reader:
    """Parse the text into nested plain values. Raises Unreadable."""
    from ruamel.yaml.cyaml import CParser  # type: ignore[attr-defined]
    from ruamel.yaml.error import YAMLError

    reader = _Reader()
    if all(line.lstrip()[:1] in ("", "#") for line in text.split("\n")):
        return reader  # also tabs, which YAML parsers reject
    try:
        reader.read(CParser(text))
    except YAMLError as error:
        slowly = _read_slowly(text) if "unexpected ':'" in str(error) else None
        if slowly is None:
            raise Unreadable(_yaml_words(error)) from None
        reader = slowly
    return reader


def _read_slowly(text: str) -> _Reader | None:
    """Parse with ruamel's Python parser: the C one rejects a colon inside a plain text in flow style (`[repo:site]`)."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    # The Python parser would turn escapes such as "\ud800" into lone surrogates.
    if len(text) > SLOW_LIMIT or "\\ud" in text.lower():
        return None
    reader = _Reader()
    try:
        reader.read(YAML(typ="safe", pure=True).get_constructor_parser(text)[1])
    except (YAMLError, ValueError, RecursionError):
        return None
    return reader


def line_of(data: bytes, path: Sequence[str | int], word: str = "") -> int | None:
    """Return the line of a YAML or JSON text where the value at a path, or a word in it, begins; None if unknown.

    For error messages about parsed values, which do not carry their lines.
    """
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        node = YAML(typ="safe", pure=True).compose(text_of(data))
    except (YAMLError, Unreadable, ValueError, RecursionError):
        return None
    for step in path:
        pairs = node.value if isinstance(getattr(node, "value", None), list) else []
        if isinstance(step, int) and step < len(pairs) and not isinstance(pairs[step], tuple):
            node = pairs[step]
        else:
            node = next((pair[1] for pair in pairs if isinstance(pair, tuple) and pair[0].value == step), node)
    scalars = list(_scalars(node)) if word else []
    found = next((one for one in scalars if one.value == word), None) or next(
        (one for one in scalars if word in one.value.replace(",", " ").replace(":", " ").split()), node
    )
    return None if found is None else int(found.start_mark.line) + 1


def _scalars(node: Any) -> Iterator[Any]:
    """Yield every scalar below a node, including keys, in the order of the text."""
    stack = [node]
    while stack:
        current = stack.pop()
        if isinstance(getattr(current, "value", None), str):
            yield current
        elif current is not None:
            parts = [part for one in current.value for part in (one if isinstance(one, tuple) else (one,))]
            stack.extend(reversed(parts))


def _refuse_extras(event: Any) -> None:
    tag = event.tag
    if event.anchor or (tag and str(tag) != "!"):
        raise _refused(event, "an anchor or a tag")


def _refused(event: Any, what: str) -> Unreadable:
    return Unreadable(f"has {what}, which bead files don't use (line {event.start_mark.line + 1})")


def _yaml_words(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or str(error).splitlines()[0]
    return f"is not YAML: {problem}" + (f" (line {mark.line + 1})" if mark is not None else "")


# --- writing ----------------------------------------------------------------------------


def dump(fields: Mapping[str, Any], table: Mapping[str, Kind]) -> str:
    """Compose a new file, with the keys in the table's order."""
    return editor.document(fields, table)


def rewrite(
    data: bytes,
    old: Mapping[str, Any],
    new: Mapping[str, Any],
    table: Mapping[str, Kind],
    *,
    is_simple: bool,
) -> str:
    """Return the file with the keys replaced that differ between `old` (its current fields) and `new`.

    `is_simple` is the result of `parse`: if true, the lines alone show where the keys are, and no YAML is parsed. A file in flow
    style is rewritten in block style.
    """
    text = text_of(data)
    changes = {key: new.get(key) for key in {**old, **new} if old.get(key) != new.get(key)}
    lines = text.splitlines(keepends=True)
    # A last line without a line end may be part of a block, whose text a line end would change: handled below.
    spans = editor.spans_of_lines(lines) if is_simple and text.endswith("\n") else None
    if spans is not None:
        return editor.replace_keys(text, spans, changes, list(table))
    parsed, anew = parse(data, table), editor.document(new, table)
    mark = "\ufeff" if data.startswith(_BYTE_ORDER_MARK) else ""
    if parsed.spans:
        out = mark + editor.replace_keys(text, parsed.spans, changes, list(table), parsed.column)
    elif not parsed.fields:
        out = mark + editor.replace_keys(editor.comments_of(text), [], changes, list(table))
    else:
        return anew
    return out if _says_the_same(out, anew, table) else anew


def _says_the_same(text: str, anew: str, table: Mapping[str, Kind]) -> bool:
    """Return whether an edited file has the same fields as one written from scratch."""
    try:
        return parse(text.encode(), table).fields == parse(anew.encode(), table).fields
    except Unreadable:
        return False
