"""Rewriting a file that a person arranged: what changed is replaced, and every other byte stays.

Each file is a list of segments: one top-level key with all its lines, or lines that are
nobody's (comments, blank lines, markers). So the tests know what belongs to which key without
asking the code that they test.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bd.core.schema import BEAD_FIELDS
from bd.store.yaml import codec
from tests.store.values import same, value_of

pytestmark = pytest.mark.one_in(3)


class Segment(NamedTuple):
    """A key's lines; or nobody's, without a key."""

    key: str
    text: str


def nobodys(text: str) -> Segment:
    return Segment("", text)


def text_of(segments: list[Segment]) -> str:
    return "".join(segment.text for segment in segments)


ARRANGED = [
    nobodys("# What this bead is about.\n# Second line.\n\n"),
    Segment("id", "id:   hub-a\n"),
    Segment("title", "title : It's a 'quoted' one   # the title\n"),
    nobodys("\n\n# --- state ---\n"),
    Segment("status", "status: open # for now\n"),
    Segment("x_own", "x_own: {a: 1, b: [x, y]}   # flow # twice\n"),
    Segment("labels", "labels:\n- one\n# a comment between\n- two\n\n-   three\n"),
    nobodys("# behind the labels\n"),
    Segment("description", "description: |\n  First.\n\n    Indented.\n  # no comment\n  Last.\n"),
    nobodys("\n"),
    Segment("priority", "priority: P1\n"),
    Segment("claim", "claim:\n   agent:  coder\n   token:  abc\n   # inside\n   routed: x\n"),
    Segment("notes", "notes: >-\n    folded\n    text\n"),
    nobodys("# Before the links.\n"),
    Segment("links", 'links: [{type: related, id: hub-b},\n        {type: "tracks", id: hub-c}]  # many\n'),
    Segment("depends_on", "depends_on: [\"hub-x\", 'hub-y']\n"),
    Segment("close_reason", 'close_reason: "say \\"#hi\\"" # why\n'),
    Segment("created_at", "created_at: 2026-02-20 10:00:00+01:00\n"),
    nobodys("\n# The end.\n"),
]

# Files whose lines alone do not tell where the keys are.
INTRICATE: dict[str, list[Segment]] = {
    "quoted keys": [
        Segment("id", '"id": hub-a\n'),
        Segment("title", "'title' : x # c\n"),
        Segment("a: b", '"a: b": "c" # d\n'),
        Segment("status", "status: open\n"),
    ],
    "blank lines that count": [
        Segment("id", "id: hub-a\n"),
        Segment("description", "description: |+\n  text\n\n\n"),
        nobodys("# c\n"),
        Segment("notes", "notes: |+\n\n  more\n\n"),
        Segment("status", "status: open\n"),
    ],
    "a quoted text over lines": [
        Segment("id", "id: hub-a\n"),
        Segment("title", 'title: "one\n# two"\n'),
        Segment("notes", "notes: 'a\n\nb: c\n- d\n'\n"),
        Segment("status", "status: open\n"),
    ],
    "a list in flow style at column 0": [
        Segment("id", "id: hub-a\n"),
        Segment("x_own", "x_own: [\na,\nb: c,\n# inside\n]\n"),
        nobodys("# c\n"),
        Segment("status", "status: open\n"),
    ],
    "markers": [
        nobodys("%YAML 1.1\n# c\n--- # start\n"),
        Segment("id", "id: hub-a\n"),
        Segment("title", "title: x\n"),
        nobodys("...\n# behind\n"),
    ],
    "everything indented": [
        nobodys("# c\n\n"),
        Segment("id", "  id: hub-a\n"),
        Segment("title", "  title: x  # t\n"),
        nobodys("  # about the labels\n"),
        Segment("labels", "  labels:\n  - a\n  - b\n"),
        Segment("description", "  description: |\n    a\n    b\n"),
        nobodys("\n"),
        Segment("status", "  status: open\n"),
    ],
    "colons in flow style": [
        Segment("id", "id: hub-a\n"),
        Segment("labels", "labels: [repo:site, 'x # y'] # c\n"),
        nobodys("# between\n"),
        Segment("status", "status: open\n"),
    ],
    "keys of other alphabets": [
        Segment("id", "id: hub-a\n"),
        Segment("größe", "größe: 5 # c\n"),
        Segment("title", "title: x\n"),
    ],
    "line breaks of YAML 1.1": [
        Segment("id", "id: hub-a\n"),
        Segment("title", 'title: "a\u2028b"\n'),
        Segment("notes", "notes: |\n  a\u2029  b\n  c\u0085"),
        Segment("status", "status: open\n"),
    ],
}


def with_newlines(segments: list[Segment], newline: str) -> list[Segment]:
    return [Segment(segment.key, segment.text.replace("\n", newline)) for segment in segments]


def without_last_newline(segments: list[Segment]) -> list[Segment]:
    *others, last = segments
    return [*others, Segment(last.key, last.text.removesuffix("\n"))]


FILES: dict[str, list[Segment]] = {
    "arranged": ARRANGED,
    "arranged, CRLF": with_newlines(ARRANGED, "\r\n"),
    "arranged, a start marker": [nobodys("---\n"), *ARRANGED],
    "arranged, no last line end": without_last_newline(ARRANGED[:-1]),
    "arranged, a byte order mark": [nobodys("\ufeff"), *ARRANGED],
    **INTRICATE,
    **{f"{name}, CRLF": with_newlines(segments, "\r\n") for name, segments in INTRICATE.items() if "1.1" not in name},
}

NEW_VALUES: dict[str, Any] = {
    "title": "Another: one # with signs",
    "status": "in_progress",
    "labels": ["fresh", "two words", "no"],
    "description": "Now\nlonger\n",
    "notes": "short",
    "priority": 0,
    "claim": {"agent": "other", "token": "t2", "claimed_at": "2026-02-21T15:00:00Z"},
    "links": [{"type": "related", "id": "hub-z"}],
    "depends_on": ["hub-q"],
    "assignee": "other",
    "attempts": 3,
    "comments": [{"id": "c1", "author": "a", "at": "2026-02-21T15:00:00Z", "text": "multi\nline"}],
    "created_at": "2026-02-21T15:00:00Z",
    "close_reason": "",
    "x_own": [1, 2],
    "x_new": {"a": {"b": ["c"]}},
    "a: b": "new",
    "größe": None,
}


def line_start(text: str, part: str, place: int) -> int:
    """Where the part stands from a line's start on; -1 for nowhere."""
    at = text.find(part, place)
    while at > 0 and text[at - 1] not in "\n\r\u0085\u2028\u2029\ufeff":
        at = text.find(part, at + 1)
    return at


def check(segments: list[Segment], changes: dict[str, Any]) -> str:
    """Rewrite the file with the changes (None removes), as simple where it is and as not; the text it is now."""
    data = text_of(segments).encode()
    parsed = codec.parse(data, BEAD_FIELDS)
    new = {key: value for key, value in {**parsed.fields, **changes}.items() if value is not None}
    changed = {key for key in {**parsed.fields, **changes} if parsed.fields.get(key) != new.get(key)}
    out = ""
    for is_simple in {parsed.is_simple, False}:
        out = codec.rewrite(data, parsed.fields, new, BEAD_FIELDS, is_simple=is_simple)
        assert same(codec.parse(out.encode(), BEAD_FIELDS).fields, new), (is_simple, out)
        place, rest = 0, ""
        for segment in segments:
            if segment.key in changed or not segment.text.strip():
                continue
            at = line_start(out, segment.text, place)
            assert at >= 0, f"{segment} is not as it was (is_simple={is_simple}):\n{out}"
            rest += out[place:at]
            place = at + len(segment.text)
        rest += out[place:]
        found = codec.parse(rest.encode(), BEAD_FIELDS).fields if rest.strip() and rest.strip() != "\ufeff" else {}
        assert found.keys() <= changed, f"more than what changed was written (is_simple={is_simple}):\n{rest}"
    return out


@pytest.mark.parametrize("name", FILES)
def test_nothing_changed_nothing_touched(name: str) -> None:
    text = text_of(FILES[name])
    assert check(FILES[name], {}) == text


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("key", NEW_VALUES)
def test_one_key_set(name: str, key: str) -> None:
    check(FILES[name], {key: NEW_VALUES[key]})


@pytest.mark.parametrize("name", FILES)
def test_each_key_removed(name: str) -> None:
    for segment in FILES[name]:
        if segment.key not in ("", "id"):
            check(FILES[name], {segment.key: None})


@pytest.mark.parametrize("name", FILES)
def test_everything_changed_at_once(name: str) -> None:
    check(FILES[name], NEW_VALUES)


@pytest.mark.parametrize("name", FILES)
def test_everything_but_the_id_removed(name: str) -> None:
    check(FILES[name], {segment.key: None for segment in FILES[name] if segment.key not in ("", "id")})


known_keys = st.sampled_from(list(BEAD_FIELDS)).flatmap(
    lambda key: st.tuples(st.just(key), st.one_of(st.none(), value_of(key, BEAD_FIELDS[key])))
)
unknown_keys = st.tuples(
    st.sampled_from(["x_own", "x_new", "a: b", "größe", "other key"]), st.sampled_from([None, 5, "no", [1], {"a": "b"}])
)
changes_of = st.lists(st.one_of(known_keys, unknown_keys), max_size=8).map(dict).filter(lambda changes: "id" not in changes)


@given(st.sampled_from(list(FILES)), changes_of)
def test_any_change_of_any_file(name: str, changes: dict[str, Any]) -> None:
    check(FILES[name], changes)


# Ways to write one value, each with the key before it.
STYLES: dict[str, list[str]] = {
    "title": ["title: a b\n", "title:   a b   # c\n", "'title': a b\n", 'title: "a b"\n', "title: >-\n  a\n  b\n", "title: a\n  b\n", 'title:\n  "a\n\n  b"\n'],
    "labels": ["labels: [a, b]\n", "labels: [a,\n  b] # c\n", "labels:\n- a\n- b # c\n", "labels:\n    - a\n    # c\n    - b\n", "labels: a\n"],
    "notes": ["notes: |\n  a\n  b\n", "notes: |-\n  a\n\n  b\n", "notes: |2\n   a\n  b\n", "notes: >\n  a\n\n\n  b\n", "notes: ''\n", "notes: |+\n  a\n\n"],
    "metadata": ["metadata: {a: b}\n", "metadata:\n  a: b\n", "metadata:\n     a:\n       - b\n       -\n         c: d\n", "metadata: {a: b,\n  c: 'd # e'} # f\n"],
    "status": ["status: open\n", "status: Open\n", 'status: "open" # c\n', "status:\n  open\n", "status  :   open\n"],
    "x_own": ["x_own: 1\n", "x_own:\n", "x_own: ~ # c\n", "x_own: [{a: b}, c]\n", "? x_own\n: 5\n"],
}  # fmt: skip
GAPS = ["", "\n", "# c\n", "\n# c\n\n", "  # indented comment\n", "\n\n", "#\n"]


@st.composite
def arranged_files(draw: st.DrawFn) -> list[Segment]:
    """A file of some keys in any order and style, with anything between them."""
    keys = draw(st.permutations(list(STYLES)))[: draw(st.integers(1, len(STYLES)))]
    segments = [nobodys(draw(st.sampled_from(["", "---\n", "# top\n", "\n"]))), Segment("id", "id: hub-a\n")]
    for key in keys:
        # behind `|+` blank lines are part of the text
        gap = "# c\n" if "|+" in segments[-1].text else draw(st.sampled_from(GAPS))
        # an indented comment reads as part of the key before it
        segments.append(Segment(segments[-1].key, gap) if gap.startswith("  ") else nobodys(gap))
        segments.append(Segment(key, draw(st.sampled_from(STYLES[key]))))
    segments.append(nobodys(draw(st.sampled_from(["", "# end\n", "...\n", "# end\n\n"]))))
    return with_newlines(segments, draw(st.sampled_from(["\n", "\n", "\r\n"])))


@given(arranged_files(), changes_of)
def test_any_change_of_any_arrangement(segments: list[Segment], changes: dict[str, Any]) -> None:
    check(segments, changes)


# --- comments on the line that changes --------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "rewritten"),
    [
        ("title: x  # c", "title: new  # c"),
        ("title:    x", "title: new"),
        ("title: x# no comment", "title: new"),
        ("title: x\t# c", "title: new  # c"),
        ("title: 'x # y' # c", "title: new  # c"),
        ("title: 'it''s # y' # c", "title: new  # c"),
        ('title: "x \\" # y" # c', "title: new  # c"),
        ("title: it's # c", "title: new  # c"),
        ("title: # c", "title: new  # c"),
        ("title:", "title: new"),
        ("'title': x # c", "title: new  # c"),
    ],
)
def test_the_comment_behind_a_value_stays(line: str, rewritten: str) -> None:
    data = f"id: hub-a\n{line}\nstatus: open\n".encode()
    parsed = codec.parse(data, BEAD_FIELDS)
    new = {**parsed.fields, "title": "new"}
    for is_simple in {parsed.is_simple, False}:
        out = codec.rewrite(data, parsed.fields, new, BEAD_FIELDS, is_simple=is_simple)
        assert out == f"id: hub-a\n{rewritten}\nstatus: open\n"


@pytest.mark.parametrize(
    ("line", "rewritten"),
    [
        ("labels: [a, b] # c", "labels: [z]  # c"),
        ('labels: [a, "x # y"] # c', "labels: [z]  # c"),
        ('labels: [a, "x # y", b]', "labels: [z]"),
        ("labels: ['it''s # 1', b]", "labels: [z]"),
        ("labels: [it's, 'x # y'] # c", "labels: [z]  # c"),
        ("labels: [a,  # inner", None),
    ],
)
def test_signs_within_a_list_are_no_comment(line: str, rewritten: str | None) -> None:
    data = f"id: hub-a\n{line}\n{'' if rewritten else '  b]'}\n".encode()
    parsed = codec.parse(data, BEAD_FIELDS)
    out = codec.rewrite(data, parsed.fields, {**parsed.fields, "labels": ["z"]}, BEAD_FIELDS, is_simple=parsed.is_simple)
    assert out.splitlines()[1] == (rewritten or "labels: [z]")


# --- where new keys go ------------------------------------------------------------------------


def test_a_new_key_goes_behind_the_nearest_before_it_in_the_table() -> None:
    data = b"# top\nid: hub-a\ntitle: x\n\n# about the status\nstatus: open\nx_own: 1\n"
    old = codec.parse(data, BEAD_FIELDS).fields
    new = {**old, "type": "bug", "priority": 1, "assignee": "a", "x_new": 2, "x_newer": 3, "uid": "u"}
    assert codec.rewrite(data, old, new, BEAD_FIELDS, is_simple=True) == (
        "# top\nid: hub-a\nuid: u\ntitle: x\ntype: bug\n\n# about the status\nstatus: open\n"
        "priority: 1\nassignee: a\nx_own: 1\nx_new: 2\nx_newer: 3\n"
    )


def test_a_key_before_all_others_goes_to_the_front_of_them() -> None:
    data = b"# top\n\ntitle: x\n"
    old = codec.parse(data, BEAD_FIELDS).fields
    assert codec.rewrite(data, old, {**old, "id": "a"}, BEAD_FIELDS, is_simple=True) == "# top\n\nid: a\ntitle: x\n"


def test_a_file_in_flow_style_is_written_anew() -> None:
    data = b"{id: hub-a, title: x, labels: [a]}  # c\n"
    parsed = codec.parse(data, BEAD_FIELDS)
    assert not parsed.is_simple
    out = codec.rewrite(data, parsed.fields, {**parsed.fields, "title": "new"}, BEAD_FIELDS, is_simple=False)
    assert out == "id: hub-a\ntitle: new\nlabels: [a]\n"


@pytest.mark.parametrize(
    "changes", [{"title": "u"}, {"labels": ["a"]}, {"comments": [{"id": "A", "text": "c"}]}, {"notes": None}]
)
def test_a_block_that_ends_the_file_without_a_line_end_says_the_same(changes: dict[str, Any]) -> None:
    data = b"id: hub-x\ntitle: t\nnotes: |\n  a\n  b"
    parsed = codec.parse(data, BEAD_FIELDS)
    assert parsed.fields["notes"] == "a\nb"
    new = {key: value for key, value in {**parsed.fields, **changes}.items() if value is not None}
    out = codec.rewrite(data, parsed.fields, new, BEAD_FIELDS, is_simple=parsed.is_simple)
    assert codec.parse(out.encode(), BEAD_FIELDS).fields == new


@pytest.mark.parametrize(
    ("data", "changes"),
    [
        (b"id: hub-x\ntitle: t\nnotes: |\n  a\n   ", {"notes": "a\n b\n"}),  # blanks without a line end behind a block
        (
            b"id:\xe2\x80\xa8 hub-x\ntitle: t\ncomments:\n- {id: A, author: b, at: 2026-01-01T00:00:00Z, text: c}\n",
            {"title": "T: u"},
        ),
    ],
)
def test_a_file_whose_lines_tell_otherwise_says_what_it_has_to(data: bytes, changes: dict[str, Any]) -> None:
    parsed = codec.parse_bead(data, "hub-x")
    before = codec.parse(data, BEAD_FIELDS).fields
    after = {**before, **changes}
    text = codec.rewrite(data, before, after, BEAD_FIELDS, is_simple=parsed.is_simple)
    assert codec.parse(text.encode(), BEAD_FIELDS).fields == after
