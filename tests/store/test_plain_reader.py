"""What is read without a YAML library is read as the library reads it, or not at all."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bd.core.field_kinds import Plain
from bd.core.schema import BEAD_FIELDS
from bd.store.yaml import codec, editor, plain_reader
from tests.memory import held, make_bead
from tests.store.values import NASTY, fields

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.one_in(2)


def shape(value: Any) -> Any:
    """A value with everything that tells two of them apart: also whether a scalar was written without quotes."""
    if isinstance(value, dict):
        return [(key, shape(item)) for key, item in value.items()]
    if isinstance(value, list):
        return [shape(item) for item in value]
    return type(value) is Plain, str(value)


def by_library(text: str) -> tuple[Any, list[tuple[str, int, int]]]:
    """The values and spans as the library's events give them. Raises Unreadable."""
    reader = codec._read(text)
    lines = text.splitlines(keepends=True)
    spans = editor.trimmed(lines, [(key, start, end) for key, start, end in reader.spans], reader.column)
    assert reader.column == 0
    assert spans == editor.spans_of_lines(lines), "and the lines alone tell where its keys are"
    return shape(reader.root), spans


def check(text: str) -> bool:
    """Whether the text is read here; if so, it has to be read as by the library."""
    found = plain_reader.read(text)
    if found is None:
        return False
    assert (shape(found[0]), found[1]) == by_library(text), text
    return True


# --- what bd writes is read here ----------------------------------------------------------------

OWN = [
    make_bead(
        labels=["a", "b-c"], depends_on=["hub-1", "hub-2.3"], description="Long\ntext: with # and 'quotes'.\n\nAnd \"more\"."
    ),
    make_bead(
        title='Said "so": yes', notes="ends without a line's end\n  indented\nx", estimated_minutes=12.5, metadata={"a": {"b": 1}}
    ),
    make_bead(
        title="Grüße – 日本語 🎉", uid="01ARZ3NDEKTSV4RRFFQ69G5FAV", external_ref="https://example.org/a?b=c", base_priority=0
    ),
    make_bead(
        comments=[{"id": "c", "author": "Ada", "at": "2026-02-20T09:00:00Z", "text": "Two\nlines\n"}, {"id": "d", "text": "x"}]
    ),
    make_bead(links=[{"type": "related", "id": "hub-1"}], skills={}, close_reason="merged as #12"),
    held(),
]


@pytest.mark.parametrize("bead", OWN)
def test_what_bd_writes_is_read_here(bead: Any) -> None:
    """Otherwise all of this would be for nothing."""
    assert check(editor.document(bead.fields, BEAD_FIELDS))


@given(fields())
@settings(max_examples=100, deadline=None)
def test_whatever_fields_hold(given: dict[str, Any]) -> None:
    check(editor.document(given, BEAD_FIELDS))


# --- what anybody else writes is read the same, or left to the library ---------------------------

PIECES = [
    *[
        "\n",
        "\n\n",
        " ",
        "  ",
        "    ",
        "\t",
        ":",
        ": ",
        " :",
        "-",
        "- ",
        " - ",
        "#",
        " #",
        "# ",
        '"',
        "'",
        "|",
        "|-",
        "|+",
        "|2",
        ">",
    ],
    *[
        "[",
        "]",
        "{",
        "}",
        "{}",
        "[]",
        ",",
        ", ",
        "&a",
        "*a",
        "!",
        "!!str ",
        "? ",
        "%",
        "@",
        "`",
        "---",
        "...",
        "---\n",
        "...\n",
        "\\",
        "\\n",
    ],
    *[
        "\\u00e9",
        "\\x41",
        "\r",
        "\r\n",
        "\0",
        "\x85",
        "\u2028",
        "\ufeff",
        "\xa0",
        "é",
        "日",
        "🎉",
        "\u200d",
        "a",
        "b: c",
        "null",
        "~",
        "12",
        "-1",
    ],
    *[
        "a: b\n",
        "a:\n",
        "a: |\n",
        "a:\n  b: c\n",
        "a:\n  - b\n",
        "  - b: c\n    d: e\n",
        "a:\n- b\n",
        '"a": b\n',
        "'a': b\n",
        "<<: a\n",
        "  x\n",
    ],
]
LINES = [
    *[
        "a: b",
        "b: c d",
        "c: [x, y]",
        'd: "q"',
        "e: |",
        "f: |-",
        "g:",
        "h: {}",
        "i: []",
        "j: 12:30",
        "k: a: b",
        "l: a #b",
        "m: a#b",
        "n: 'x'",
    ],
    *[
        "  x",
        "  y: z",
        "  - z",
        "  - p: q",
        "    r: s",
        "  - |",
        "    t",
        "      deeper",
        "   odd",
        "- top",
        "-",
        "",
        "  ",
        "# c",
        "  # c",
        "---",
        "...",
    ],
    *[
        "o:",
        "p: |2",
        "q: >",
        "r: [a, [b]]",
        's: [a, "b, c"]',
        't: "a" b',
        "u: [a,b]",
        "v: a, b]",
        "w: [a",
        "x: *a",
        "y: &a b",
        "z: !t b",
        "a: again",
    ],
]


@given(st.lists(st.sampled_from(LINES), max_size=9))
@settings(max_examples=300, deadline=None)
def test_any_lines(lines: list[str]) -> None:
    check("".join(f"{line}\n" for line in lines))


@given(st.lists(st.sampled_from([*PIECES, *NASTY]), max_size=12))
@settings(max_examples=300, deadline=None)
def test_any_pieces(pieces: list[str]) -> None:
    check("a: " + "".join(pieces) + "\n")


@given(st.integers(0, 2**32))
@example(1)
@settings(max_examples=300, deadline=None)
def test_own_files_with_something_changed(seed: int) -> None:
    rng = random.Random(seed)
    text = editor.document(rng.choice(OWN).fields, BEAD_FIELDS)
    for _ in range(rng.randint(1, 3)):
        text = rng.choice(CHANGES)(rng, text)
    check(text)


def _put(rng: random.Random, text: str) -> str:
    at = rng.randrange(len(text) + 1)
    return text[:at] + rng.choice(PIECES) + text[at:]


def _cut(rng: random.Random, text: str) -> str:
    at = rng.randrange(len(text) + 1)
    return text[:at] + text[at + rng.randint(1, 4) :]


def _move(rng: random.Random, text: str) -> str:
    lines = text.split("\n")
    line = lines.pop(rng.randrange(len(lines)))
    lines.insert(rng.randrange(len(lines) + 1), rng.choice([line, f" {line}", f"  {line}", line.lstrip(), f"{line} "]))
    return "\n".join(lines)


CHANGES: list[Callable[[random.Random, str], str]] = [_put, _cut, _move]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a: b",
        "# a comment\na: b\n",
        "a: b\n\nc: d\n",
        "a: 'b'\n",
        "a: b # why\n",
        "a: b\n  c\n",
        "a: |\n\n  b\n",
        "a: |\n  b\n\n",
        "a: |2\n   b\n",
        "a: b\na: c\n",
        "a: {b: c}\n",
        "a: [b:c]\n",
        "a: &x b\n",
        "a:\n- b\n",
        "- a\n",
        "---\na: b\n",
        "a: b\r\n",
        "a: b\tc\n",
        "\ufeffa: b\n",
        "<<<<<<< ours\n",
    ],
)
def test_what_is_left_to_the_library(text: str) -> None:
    assert plain_reader.read(text) is None
