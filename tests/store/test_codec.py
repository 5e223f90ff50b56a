"""The codec: what is written reads as what it was, a rewrite touches what changed, and damage is named."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bd.core.schema import AGENT_FIELDS, BEAD_FIELDS, CAPACITY_FIELDS, CONFIG_FIELDS, INNER_FIELDS
from bd.store.yaml import codec
from tests.store.values import NASTY, fields, same, texts

if TYPE_CHECKING:
    from bd.core.schema import Kind

pytestmark = pytest.mark.one_in(3)


def parsed(text: str | bytes) -> dict[str, Any]:
    """The fields of a bead file's text."""
    return codec.parse(text.encode() if isinstance(text, str) else text, BEAD_FIELDS).fields


# --- there and back ---------------------------------------------------------------------------


NOTHING = {
    "no byte": "",
    "a line": "\n",
    "blanks": " \t\n  \n",
    "a byte order mark": "\ufeff",
    "a mark and comments": "\ufeff# one\n# two\n",
    "comments": "# one\n#two\n\n  # three\n",
    "comments without an end": "# one\n# two",
    "comments behind tabs": "\t# one\n",
    "lines that end as on Windows": "# one\r\n# two\r\n",
    "a document's start": "---\n",
    "its start and end": "---\n# one\n...\n",
    "a comment behind it": "--- # one\n",
    "a directive": "%YAML 1.2\n---\n# one\n",
    "null": "null\n",
    "null with a comment": "# one\nnull  # two\n# three\n",
    "null behind the start": "--- null\n",
    "a tilde": "~",
    "braces": "{}\n",
    "braces with a comment": "{}  # one\n",
}


def comments_in(text: str) -> list[str]:
    return [line.partition("#")[2].strip() for line in text.splitlines() if "#" in line]


@pytest.mark.parametrize("table", [CONFIG_FIELDS, AGENT_FIELDS, BEAD_FIELDS], ids=["settings", "an agent", "a bead"])
@pytest.mark.parametrize("what", NOTHING)
def test_a_document_that_says_nothing_is_an_empty_mapping_and_keeps_its_comments(what: str, table: dict[str, Kind]) -> None:
    data = NOTHING[what].encode()
    assert codec.parse(data, table).fields == {}
    added = {key: "x-1" for key, kind in table.items() if kind == "text"}
    written = codec.rewrite(data, {}, added, table, is_simple=False)
    assert codec.parse(written.encode(), table).fields == added
    assert comments_in(written) == comments_in(NOTHING[what])
    assert written.startswith("\ufeff") == NOTHING[what].startswith("\ufeff")


@pytest.mark.parametrize("what", NOTHING)
def test_a_bead_file_that_says_nothing_is_damage_in_plain_words(what: str) -> None:
    with pytest.raises(codec.Unreadable, match="has no fields: a bead has an id and a title; write `id: hub-1`"):
        codec.parse_bead(NOTHING[what].encode(), "hub-1")


@given(fields())
def test_what_is_written_reads_as_what_it_was(given: dict[str, Any]) -> None:
    text = codec.dump(given, BEAD_FIELDS)
    found = codec.parse(text.encode(), BEAD_FIELDS)
    assert same(found.fields, given), text
    assert codec.dump(found.fields, BEAD_FIELDS) == text


@given(fields(unknown=False))
def test_our_own_files_are_simple(given: dict[str, Any]) -> None:
    """Their lines alone tell where the keys are, so that a claim needs no YAML library."""
    assert codec.parse(codec.dump(given, BEAD_FIELDS).encode(), BEAD_FIELDS).is_simple


@pytest.mark.parametrize("text", NASTY)
def test_nasty_texts_everywhere(text: str) -> None:
    given = {
        "title": text,
        "labels": [text, "between", text],
        "comments": [{"author": text, "text": text}],
        "metadata": {"a": text, text: "b", "c": [text, [text]], "d": {text: text}},
        "x_other": text,
        "notes": text,
    }
    assert same(parsed(codec.dump(given, BEAD_FIELDS)), given)


@given(texts.filter(lambda text: text.count("\n") > 0))
def test_long_texts_with_every_kind_of_end(text: str) -> None:
    for end in ("", "\n", "\n\n", " ", "\t", "\n ", " \n"):
        given = {"description": text + end, "comments": [{"text": text + end}], "notes": "after"}
        assert same(parsed(codec.dump(given, BEAD_FIELDS)), given)


def other_readers() -> list[Any]:
    """Readers that are not ours: ruamel's pure one, as YAML 1.2 and as YAML 1.1."""
    from ruamel.yaml import YAML

    newer, older = YAML(typ="safe", pure=True), YAML(typ="safe", pure=True)
    older.version = (1, 1)
    return [newer, older]


def texts_of(value: Any, table: dict[str, Any], key: str = "") -> list[Any]:
    """The leaves that are texts by their kind, in order; times are left to whoever types times."""
    if isinstance(value, dict):
        inner = INNER_FIELDS.get(key, {}) if key else table
        return [leaf for name, item in value.items() if inner.get(name) != "time" for leaf in texts_of(item, {}, name)]
    if isinstance(value, list):
        return [leaf for item in value for leaf in texts_of(item, {}, key)]
    return [value] if isinstance(value, str) else []


@settings(max_examples=30)  # the pure reader is slow
@given(fields())
@example({"title": "2026-02-21T15:00:00Z", "created_at": "2026-02-21T15:00:00Z"})
@example({"metadata": {"at": "2026-02-21T15:00:00Z"}})
@example({"comments": [{"at": "2026-02-21T15:00:00Z", "text": "2026-02-21T15:00:00Z"}]})
@example({"x_y": "2026-02-21T15:00:00Z"})
def test_other_yaml_readers_read_the_same_texts(given: dict[str, Any]) -> None:
    text = codec.dump(given, BEAD_FIELDS)
    for reader in other_readers():
        read = reader.load(text)
        ordered = {key: given[key] for key in read}
        assert texts_of(read, BEAD_FIELDS) == texts_of(ordered, BEAD_FIELDS), (reader.version, text)


def test_times_are_written_plainly() -> None:
    """As people write them, and as the design shows them; only what is a time by its kind."""
    given = {"created_at": "2026-02-21T15:00:00Z", "comments": [{"at": "2026-02-21T15:00:00.5Z", "text": "2026-02-21T15:00:00Z"}]}
    assert codec.dump(given, BEAD_FIELDS) == (
        'created_at: 2026-02-21T15:00:00Z\ncomments:\n  - at: 2026-02-21T15:00:00.5Z\n    text: "2026-02-21T15:00:00Z"\n'
    )
    assert codec.dump({"last_heartbeat": "2026-02-21T15:00:00Z"}, CAPACITY_FIELDS) == "last_heartbeat: 2026-02-21T15:00:00Z\n"


# --- typing -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "key", "value"),
    [
        ("title: no", "title", "no"),
        ("title: 12:30", "title", "12:30"),
        ("title: 0123", "title", "0123"),
        ("title: 1e3", "title", "1e3"),
        ("title: 2026-01-02", "title", "2026-01-02"),
        ("title: true", "title", "true"),
        ("title: =", "title", "="),
        ("title: null", "title", None),
        ("title: ~", "title", None),
        ("title:", "title", None),
        ('title: "null"', "title", "null"),
        ("title: ''", "title", ""),
        ("labels: [no, 12:30, 0123, ~]", "labels", ["no", "12:30", "0123", "~"]),
        ("labels: [repo:site, 'a: b', https://example.org/x?y=z]", "labels", ["repo:site", "a: b", "https://example.org/x?y=z"]),
        ("labels:\n- repo:site\n-   b c", "labels", ["repo:site", "b c"]),
        ("spec: {url: https://example.org, at: 12:30}", "spec", {"url": "https://example.org", "at": "12:30"}),
        ("labels: solo", "labels", ["solo"]),
        ("labels: []", "labels", None),
        ("priority: P1", "priority", 1),
        ("priority: p0", "priority", 0),
        ('priority: "3"', "priority", 3),
        ("status: ready", "status", "open"),
        ("status: In-Progress", "status", "in_progress"),
        ("status: on_ice", "status", "on_ice"),
        ("deadline: 2026-02-21", "deadline", "2026-02-21T00:00:00Z"),
        ("deadline: 2026-02-21T08:00:00-07:00", "deadline", "2026-02-21T15:00:00Z"),
        ("deadline: 2026-02-21 15:00", "deadline", "2026-02-21T15:00:00Z"),
        ("expected: 45m", "expected", "45m"),
        ("attempts: 007", "attempts", 7),
        ("base_priority: 33.5", "base_priority", 33.5),
        ("base_priority: 1e2", "base_priority", 100),
        ("estimated_minutes: 9007199254740993", "estimated_minutes", 9007199254740993),
        ("poison_pill: yes", "poison_pill", True),
        ("reviewed: False", "reviewed", False),
        ("metadata: {a: 1, b: 1.5, c: true, d: null, e: no, f: 012, g: '1', h: 1e2}", "metadata",
         {"a": 1, "b": 1.5, "c": True, "d": None, "e": "no", "f": "012", "g": "1", "h": 100.0}),
        ("metadata: {}", "metadata", None),
        ("x_unknown: 5", "x_unknown", 5),
        ("x_unknown: [1, {a: b}]", "x_unknown", [1, {"a": "b"}]),
        ("x_unknown: 1e999", "x_unknown", "1e999"),
        ("comments: [{id: 1, at: 2026-02-21, text: 5}]", "comments", [{"id": "1", "at": "2026-02-21T00:00:00Z", "text": "5"}]),
        ("claim: {attempt: 2, agent: no, token: 0123, host: }", "claim", {"attempt": 2, "agent": "no", "token": "0123"}),
    ],
)  # fmt: skip
def test_only_the_table_types(line: str, key: str, value: Any) -> None:
    found = parsed(line + "\n")
    assert same(found.get(key), value)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("title: [a]", "title: a text was expected"),
        ("title: {a: b}", "title: a text was expected"),
        ("priority: 5", "'5' is not 0 to 4"),
        ("priority: urgent", "is not 0 to 4"),
        ("labels: {a: b}", "labels: a list was expected"),
        ("labels: [[a]]", "a list of texts was expected"),
        ("claim: coder", "claim: a mapping was expected"),
        ("claim: {attempt: two}", "claim.attempt: 'two' is not a whole number"),
        ("attempts: 1.5", "is not a whole number"),
        ("attempts: true", "is not a whole number"),
        ("base_priority: high", "base_priority:"),
        ("base_priority: .nan", "base_priority:"),
        ("base_priority: nan", "is not a number"),
        ("base_priority: inf", "is not a number"),
        ("base_priority: 1e999", "is not a number"),
        ("base_priority: [1]", "a number was expected"),
        ("poison_pill: maybe", "is neither true nor false"),
        ("deadline: soon", "'soon' is not a time"),
        ("deadline: 9999-12-31T23:59:59-01:00", "is not a time"),
        ("deadline: 2026-02-30", "is not a time"),
        ("expected: soon", "'soon' is not a duration"),
        ("links: {id: a}", "a list of mappings was expected"),
        ("links: [a]", "a list of mappings was expected"),
        ("comments: [{at: soon}]", "comments.at: 'soon' is not a time"),
        ("attempts: " + "9" * 5000, "attempts:"),
    ],
)
def test_a_wrong_type_is_named_with_its_key(line: str, words: str) -> None:
    with pytest.raises(codec.Unreadable) as refusal:
        parsed(line + "\n")
    assert words in str(refusal.value)


# --- damage -----------------------------------------------------------------------------------

DAMAGES: list[tuple[str | bytes, str]] = [
    ("id: a\nid: b\n", "has the key 'id' twice (line 2)"),
    ('id: a\n"id": b\n', "has the key 'id' twice"),
    ("metadata:\n  a: 1\n  a: 2\n", "has the key 'a' twice (line 3)"),
    ("metadata: {a: 1, a: 2}\n", "has the key 'a' twice"),
    ("title: &x a\n", "an anchor or a tag"),
    ("labels: &x [a]\n", "an anchor or a tag"),
    ("title: !!str a\n", "an anchor or a tag"),
    ("title: !x a\n", "an anchor or a tag"),
    ("spec: !!python/object:os.system {}\n", "an anchor or a tag"),
    ("title: *x\n", "an alias"),
    ("a: &x b\nc: *x\n", "an anchor or a tag"),
    ("id: a\n---\nid: b\n", "a second document"),
    ("---\nid: a\n...\n---\nid: b\n", "a second document"),
    ("- a\n- b\n", "is not a mapping of keys to values"),
    ("just words\n", "is not a mapping of keys to values"),
    ("[]\n", "is not a mapping of keys to values"),
    ("? [a]\n: b\n", "a key that is not a text"),
    ("? {a: b}\n: c\n", "a key that is not a text"),
    ("title: a: b\n", "is not YAML"),
    ("title: [a\n", "is not YAML"),
    ("title: 'a\n", "is not YAML"),
    ("\ttitle: a\n", "is not YAML"),
    ("title: @a\n", "is not YAML"),
    ("title: a\n  b: c\n", "is not YAML"),
    ("title: \x07\n", "is not YAML"),
    ('title: "\\ud800"\n', "is not YAML"),
    ('title: "\\uD800"\nlabels: [a:b]\n', "is not YAML"),
    ("title: a: b\nlabels: [a:b]\n", "is not YAML"),
    ("labels: [a:b\n", "is not YAML"),
    (b"title: a\0b\n", "has a NUL byte in it"),
    (b"title: \xff\n", "is not UTF-8 (byte 7)"),
    ("title: a\n".encode("utf-16"), "has a NUL byte in it"),
    ("<<<<<<< ours\ntitle: a\n=======\ntitle: b\n>>>>>>> theirs\n", "has conflict markers in it"),
    ("title: a\n<<<<<<< ours\n", "has conflict markers in it"),
    ("metadata: " + "[" * 60 + "]" * 60 + "\n", "nesting deeper than 40"),
    ("metadata: " + "{a: " * 60 + "}" * 60 + "\n", "nesting deeper than 40"),
    ("metadata: " + "[" * 100_000 + "\n", "nesting deeper than 40"),
    ("".join(f"{' ' * level}a:\n" for level in range(60)), "nesting deeper than 40"),
    (b"title: " + b"x" * 5_000_001 + b"\n", "is larger than 5 MB"),
]


@pytest.mark.parametrize(("data", "words"), DAMAGES, ids=range(len(DAMAGES)))
def test_damage_is_named(data: str | bytes, words: str) -> None:
    with pytest.raises(codec.Unreadable) as refusal:
        parsed(data)
    assert words in str(refusal.value)
    assert "\n" not in str(refusal.value)


@given(
    st.binary(max_size=60)
    | st.text(max_size=60).map(str.encode)
    | st.lists(st.sampled_from(NASTY)).map(lambda parts: "\n".join(parts).encode())
)
def test_whatever_the_bytes_the_answer_is_fields_or_unreadable(data: bytes) -> None:
    try:
        codec.parse(data, BEAD_FIELDS)
    except codec.Unreadable:
        pass


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("id: hub-b\ntitle: x\n", "says id 'hub-b', and is named hub-a.yaml"),
        ("title: x\n", "has no id"),
        ("id: hub-a\n", "has no title"),
        ("id: hub-a\ntitle: ' '\n", "has no title"),
        (f"id: hub-a\ntitle: {'x' * 501}\n", "more than 500 characters"),
        ("id: hub-a\ntitle: x\nclaim: {agent: coder}\n", "has a claim without agent or token"),
        ("id: hub-a\ntitle: x\nclaim: {token: t}\n", "has a claim without agent or token"),
    ],
)
def test_a_bead_file_says_its_id_and_title(text: str, words: str) -> None:
    with pytest.raises(codec.Unreadable) as refusal:
        codec.parse_bead(text.encode(), "hub-a")
    assert words in str(refusal.value)


@pytest.mark.parametrize(
    ("base", "priority"), [(None, 2), (0, 0), (9, 0), (9.5, 1), (10, 1), (30, 2), (60, 3), (80, 4), (100, 4)]
)
def test_a_bead_has_defaults_where_its_file_says_nothing(base: float | None, priority: int) -> None:
    text = "id: hub-a\ntitle: x\n" + (f"base_priority: {base}\n" if base is not None else "")
    found = codec.parse_bead(text.encode(), "hub-a").fields
    assert (found["type"], found["status"], found["priority"]) == ("task", "open", priority)


def test_a_byte_order_mark_is_no_part_of_the_first_key() -> None:
    assert parsed(b"\xef\xbb\xbfid: hub-a\n") == {"id": "hub-a"}


def test_other_tables_type_their_own_keys() -> None:
    read = codec.parse(b"format: 1\nprefix: 007\ntypes: poem\n", CONFIG_FIELDS).fields
    assert read == {"format": 1, "prefix": "007", "types": ["poem"]}


@pytest.mark.parametrize(
    ("line", "skills"), [("skills: {}", {}), ("skills:", None), ("skills: {types: [bug]}", {"types": ["bug"]})]
)
def test_no_rules_at_all_are_not_the_same_as_unset_ones(line: str, skills: dict[str, Any] | None) -> None:
    """An empty map matches everything; unset, the role's rules hold."""
    read = codec.parse(f"name: coder\nrole: coding\n{line}\n".encode(), AGENT_FIELDS).fields
    assert read.get("skills") == skills
    assert codec.parse(codec.dump(read, AGENT_FIELDS).encode(), AGENT_FIELDS).fields == read
