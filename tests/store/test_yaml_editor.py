"""YAML as text: how values look, and where keys are found without reading YAML."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from hypothesis import given

from bd.core.errors import BadInput
from bd.core.schema import BEAD_FIELDS
from bd.store.yaml import codec, editor
from tests.store.values import NASTY, fields, texts

pytestmark = pytest.mark.one_in(3)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("plain words", "plain words"),
        ("Fix the login (again), now!", "Fix the login (again), now!"),
        ("it's", "it's"),
        ("a:b", "a:b"),
        ("Zürich 日本", "Zürich 日本"),
        ("no", '"no"'),
        ("NO", '"NO"'),
        ("12:30", '"12:30"'),
        ("0123", '"0123"'),
        ("1e3", '"1e3"'),
        ("2026-02-21", '"2026-02-21"'),
        ("2026-02-21T15:00:00Z", '"2026-02-21T15:00:00Z"'),
        ("null", '"null"'),
        ("", '""'),
        (" a", '" a"'),
        ("a ", '"a "'),
        ("a: b", '"a: b"'),
        ("a:", '"a:"'),
        ("a #b", '"a #b"'),
        ("- a", '"- a"'),
        ('say "hi"', 'say "hi"'),
        ('"hi"', '"\\"hi\\""'),
        ("a\tb", '"a\\tb"'),
        ("a\\b\x1b\u2028\x85\ufeff", '"a\\\\b\\x1b\\u2028\\x85\\ufeff"'),
        ("🚀", '"🚀"'),
        (True, "true"),
        (False, "false"),
        (None, "null"),
        (3, "3"),
        (0.5, "0.5"),
        (1e300, "1e+300"),
    ],
)
def test_scalars(value: Any, text: str) -> None:
    assert editor.scalar(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [("a", "a"), ("a,b", '"a,b"'), ("a:b", '"a:b"'), ("[a", '"[a"'), ("it's", '"it\'s"'), ("a?b", '"a?b"')]
)
def test_scalars_within_a_list_on_one_line(value: str, text: str) -> None:
    assert editor.scalar(value, in_flow=True) == text


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"title": "x", "id": "a", "other": 1}, "id: a\ntitle: x\nother: 1\n"),
        ({"labels": ["a", "b c"]}, "labels: [a, b c]\n"),
        ({"labels": []}, "labels: []\n"),
        ({"labels": ["x" * 39, "y" * 39]}, f"labels: [{'x' * 39}, {'y' * 39}]\n"),
        ({"labels": ["x" * 50, "y" * 50]}, f"labels:\n  - {'x' * 50}\n  - {'y' * 50}\n"),
        ({"description": "One.\nTwo.\n"}, "description: |\n  One.\n  Two.\n"),
        ({"description": "One.\nTwo."}, "description: |-\n  One.\n  Two.\n"),
        ({"description": "One.\n\nTwo.\n"}, "description: |\n  One.\n\n  Two.\n"),
        ({"description": " One.\nTwo.\n"}, "description: |2\n   One.\n  Two.\n"),
        ({"description": "One.\n\n"}, 'description: "One.\\n\\n"\n'),
        ({"description": "One.\n  \nTwo.\n"}, 'description: "One.\\n  \\nTwo.\\n"\n'),
        ({"metadata": {"a": {"b": 1}, "no": "no"}}, 'metadata:\n  a:\n    b: 1\n  "no": "no"\n'),
        ({"metadata": {"a": {}, "b": [[1, 2], {"c": 3}]}}, "metadata:\n  a: {}\n  b:\n    - [1, 2]\n    - c: 3\n"),
        ({"comments": [{"author": "a", "text": "x\ny"}]}, "comments:\n  - author: a\n    text: |-\n      x\n      y\n"),
        ({"x": [["a\nb", {}]]}, "x:\n  -\n    - |-\n      a\n      b\n    - {}\n"),
    ],
)
def test_documents(fields: dict[str, Any], text: str) -> None:
    assert editor.document(fields, BEAD_FIELDS) == text


@given(fields(unknown=False))
def test_a_field_a_line_so_that_a_difference_is_one_line(given: dict[str, Any]) -> None:
    text = editor.document(given, BEAD_FIELDS)
    spans = editor.spans_of_lines(text.splitlines(keepends=True))
    assert spans is not None
    assert [key for key, _, _ in spans] == [key for key in BEAD_FIELDS if key in given]


@given(texts)
def test_every_line_is_printable_and_splits_as_git_splits_it(text: str) -> None:
    """No control character, no line end but a line feed: what is written can be looked at with any tool."""
    written = editor.document({"title": text, "labels": [text], "metadata": {text: text}}, BEAD_FIELDS)
    assert written.splitlines() == written.removesuffix("\n").split("\n")
    assert all(char.isprintable() or char in "\n\t" or char.isspace() or ord(char) > 0xA0 for char in written)
    assert not set(written) & set("\x00\x07\x1b\x7f\x85\u2028\u2029\u202e\u200e\ufeff\r")


# --- what can't be written --------------------------------------------------------------------


@pytest.mark.parametrize(
    "fields",
    [
        {"title": "a\ud800"},
        {"title": "\udfff: b"},
        {"description": "a\n\ud800\n"},
        {"labels": ["a\ud800"]},
        {"metadata": {"a\ud800": 1}},
        {"metadata": {"\ud800": {"a": "b"}}},
        {"x\ud800": 1},
    ],
)
def test_half_a_character_is_bad_input(fields: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match="not valid Unicode"):
        editor.document(fields, BEAD_FIELDS)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_what_is_no_number_of_json_is_bad_input(value: float) -> None:
    with pytest.raises(BadInput, match="is not a number"):
        editor.document({"metadata": {"a": [value]}}, BEAD_FIELDS)


def nested(depth: int, kind: type) -> Any:
    value: Any = "end"
    for _ in range(depth):
        value = {"a": value} if kind is dict else [value]
    return value


@pytest.mark.parametrize("kind", [dict, list])
def test_what_could_not_be_read_back_is_not_written(kind: type) -> None:
    deepest = next(depth for depth in range(100, 0, -1) if _reads(nested(depth, kind)))
    assert editor.document({"x": nested(deepest, kind)}, BEAD_FIELDS)
    for depth in (deepest + 1, 200, sys.getrecursionlimit() * 2):
        with pytest.raises(BadInput, match="nested deeper than 40"):
            editor.document({"x": nested(depth, kind)}, BEAD_FIELDS)


def _reads(value: Any) -> bool:
    """Whether a file with this value, written without care, could be read."""
    try:
        codec.parse(editor.entry("x", value).encode(), BEAD_FIELDS)
    except codec.Unreadable:
        return False
    return True


@pytest.mark.parametrize("key", ["k" * 1000, "k k" * 300, "é" * 990, "\n" * 490])
def test_long_keys(key: str) -> None:
    text = editor.document({"metadata": {key: "v"}}, BEAD_FIELDS)
    assert codec.parse(text.encode(), BEAD_FIELDS).fields == {"metadata": {key: "v"}}


@pytest.mark.parametrize("key", ["k" * 1001, "k k" * 400, "\n" * 510, "k" * 100_000])
def test_a_key_that_no_reader_would_find_is_bad_input(key: str) -> None:
    with pytest.raises(BadInput, match="a key of"):
        editor.document({"metadata": {key: "v"}}, BEAD_FIELDS)


# --- where keys are, by the lines alone ---------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("id: a\ntitle: b\n", [("id", 0, 1), ("title", 1, 2)]),
        ("id: a\n\n# c\n\ntitle: b\n# end\n", [("id", 0, 1), ("title", 4, 5)]),
        ("---\nid: a\n", [("id", 1, 2)]),
        ("# c\n---\nid: a\n", [("id", 2, 3)]),
        ("labels:\n- a\n# c\n- b\nid: a\n", [("labels", 0, 4), ("id", 4, 5)]),
        ("notes: |\n  a\n\n  b\n\nid: a\n", [("notes", 0, 4), ("id", 5, 6)]),
        ("id:\ntitle :  b\n", [("id", 0, 1), ("title", 1, 2)]),
        ("id: a", [("id", 0, 1)]),
        ("id: a\r\ntitle: b\r\n", [("id", 0, 1), ("title", 1, 2)]),
        ("", []),
        ("# nothing\n", []),
    ],
)
def test_spans(text: str, spans: list[tuple[str, int, int]]) -> None:
    assert editor.spans_of_lines(text.splitlines(keepends=True)) == spans


@pytest.mark.parametrize(
    "text",
    [
        '"id": a\n',
        "'id': a\n",
        "{id: a}\n",
        "id: a\n---\nid: b\n",
        "id: a\n...\n",
        "--- # start\nid: a\n",
        "- a\n",
        "-a: b\n",
        "? id\n: a\n",
        "id:a\n",
        "größe: 5\n",
        "title: 'a\nb: c'\nd: [\n]\n",
        "%YAML 1.2\n---\nid: a\n",
        "a.b: c\n",
    ],
)
def test_where_the_lines_do_not_tell(text: str) -> None:
    assert editor.spans_of_lines(text.splitlines(keepends=True)) is None


@pytest.mark.parametrize("text", NASTY)
def test_a_nasty_text_never_hides_a_key(text: str) -> None:
    """The spans of our own files are those that a YAML reader finds."""
    given = {"title": text or "x", "labels": [text, text], "description": f"{text}\n{text}", "status": "open", "notes": text}
    written = editor.document(given, BEAD_FIELDS)
    assert codec.parse(written.encode(), BEAD_FIELDS).is_simple
