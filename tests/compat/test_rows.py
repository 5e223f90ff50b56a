"""A bead as an issue line and back: nothing is lost on the way, whatever the bead says."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bd.compat.bead_json import edges
from bd.compat.issue_edges import EdgeList
from bd.compat.jsonl_export import record_of
from bd.compat.jsonl_import import event_of, fields_of, gather, rows_of
from bd.compat.spellings import Words
from bd.core.errors import BadInput
from bd.core.model import Bead
from bd.core.schema import BEAD_FIELDS
from bd.operations.import_beads import _same
from bd.store.yaml import codec, editor
from tests.compat.foreign import column_row, edge, issue
from tests.memory import make_bead

TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=40).filter(lambda text: text.strip() != "")
LABEL = TEXT.map(lambda text: " ".join(text.replace(",", " ").split())).filter(bool)
ID = st.sampled_from([f"web-{letter}" for letter in "bcdefg"])
TIME = st.sampled_from(["2026-02-20T09:00:00Z", "2026-02-20T10:00:00.123456789Z", "2026-02-21T00:00:00.5Z"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | TEXT, lambda inner: st.lists(inner, max_size=2), max_leaves=4
)
BEAD = st.fixed_dictionaries(
    {"id": st.just("web-a"), "title": TEXT, "type": st.sampled_from(["task", "bug", "rig-x"]), "priority": st.integers(0, 4)},
    optional={
        "status": st.sampled_from(["open", "in_progress", "closed", "hooked", "in_review", "dead_letter"]),
        "description": TEXT,
        "notes": TEXT,
        "labels": st.lists(LABEL, min_size=1, max_size=3, unique=True),
        "assignee": TEXT,
        "created_at": TIME,
        "updated_at": TIME,
        "deadline": TIME,
        "estimated_minutes": st.integers(1, 500),
        "metadata": st.dictionaries(TEXT, JSON, min_size=1, max_size=3),
        "depends_on": st.lists(ID, min_size=1, max_size=3, unique=True),
        "parent": ID,
        "links": st.lists(st.fixed_dictionaries({"type": st.sampled_from(["related", "waits-for"]), "id": ID}, optional={"created_at": TIME, "created_by": TEXT}), min_size=1, max_size=2, unique_by=lambda link: (link["type"], link["id"])),
        "comments": st.lists(st.fixed_dictionaries({"id": st.sampled_from(["7", "007", "01H", "9" * 20]), "author": TEXT, "at": TIME, "text": TEXT}), min_size=1, max_size=2, unique_by=lambda entry: entry["id"]),
        "claim": st.fixed_dictionaries({"agent": st.just("coder"), "token": st.just("01T"), "attempt": st.integers(1, 3)}),
        "attempts": st.integers(0, 3),
        "failures": st.lists(st.fixed_dictionaries({"reason": TEXT, "at": TIME}), min_size=1, max_size=2),
        "needs": st.lists(TEXT, min_size=1, max_size=2),
        "pinned": st.just(True),
        "own_key": JSON.filter(lambda value: value is not None),
    },
)  # fmt: skip


@given(BEAD)
def test_a_bead_comes_back_from_its_line(fields: dict[str, Any]) -> None:
    bead = Bead(codec.parse_bead(editor.document(fields, BEAD_FIELDS).encode(), "web-a").fields)
    line = json.dumps(record_of(bead, 0))
    again = Bead(fields_of(json.loads(line)))
    assert _same(again, bead)
    assert json.dumps(record_of(again, 0)) == line


def test_comment_ids_are_written_as_numbers_and_stand_beside_them_where_they_are_none() -> None:
    ids = ["7", "007", "0", "01KF2TVVM8R6HK8RMTEKNW93D6", "99999999999999999999", "a1"]
    bead = make_bead("web-a", comments=[{"id": text, "author": "ada", "at": "2026-02-20T09:00:00Z", "text": "x"} for text in ids])
    record = record_of(bead, 0)
    written = record["comments"]
    assert [entry["id"] for entry in fields_of(record)["comments"]] == ids
    assert {type(entry["id"]) for entry in written} == {int}
    assert len({entry["id"] for entry in written}) == len(ids)
    assert [entry.get("own_id", str(entry["id"])) for entry in written] == ids
    assert written == record_of(bead, 0)["comments"]


@pytest.mark.parametrize(
    ("status", "told"),
    [("cancelled", "closed"), ("dead_letter", "blocked"), ("validating", "in_progress"), ("in_review", "in_progress")],
)
def test_a_status_that_viewers_do_not_know_is_told_in_their_words_and_comes_back(status: str, told: str) -> None:
    record = record_of(make_bead("web-a", status=status), 0)
    assert (record["status"], record["own_status"]) == (told, status)
    assert fields_of(record)["status"] == status
    changed = fields_of({**record, "status": "open"})
    assert changed["status"] == "open"
    assert "own_status" not in changed


def test_a_status_that_viewers_know_stands_alone() -> None:
    for status in ("open", "in_progress", "blocked", "deferred", "closed", "pinned", "hooked"):
        record = record_of(make_bead("web-a", status=status), 0)
        assert record["status"] == status
        assert "own_status" not in record
        assert fields_of({**record, "own_status": "closed"})["status"] == status


def test_a_record_begins_with_its_type_and_says_nothing_that_depends_on_now() -> None:
    bead = make_bead("web-a", status="deferred", defer_until="2020-01-01T00:00:00Z", parent="web-b", labels=["b", "a"])
    record = record_of(bead, 3)
    assert list(record)[:3] == ["_type", "id", "title"]
    assert (record["status"], record["issue_type"], record["labels"]) == ("deferred", "task", ["a", "b"])
    assert (record["dependency_count"], record["dependent_count"], record["comment_count"]) == (0, 3, 0)
    assert not {"parent", "phase", "effective_priority", "type", "links", "depends_on"} & set(record)


@pytest.mark.parametrize(
    ("row", "priority", "is_told"),
    [
        (issue("web-a", priority=None), 0, False),  # the Go tool leaves out what is zero
        ({**issue("web-a"), "priority": None}, 2, True),
        ({**issue("web-a"), "priority": ""}, 2, True),
        ({"id": "web-a", "title": "x"}, 2, True),
        ({"id": "web-a", "title": "x", "issue_type": "bug", "status": "open"}, 2, True),
        ({"title": "x"}, 2, True),
        ({"id": "web-a", "title": "x", "base_priority": 65}, 3, False),
        ({"id": "web-a", "title": "x", "priority": "high"}, 1, False),
        ({"id": "web-a", "title": "x", "priority": "P3"}, 3, False),
        ({"id": "web-a", "title": "x", "priority": 0}, 0, False),
    ],
)
def test_a_missing_priority_is_p2_and_reported_but_in_the_exports_of_the_go_tool(
    row: dict[str, Any], priority: int, is_told: bool
) -> None:
    batch = gather("x", [("line 1", row)], [])
    assert batch.beads[0]["priority"] == priority
    assert any(note.startswith("without a priority, so P2") for note in batch.notes) == is_told


@pytest.mark.parametrize(
    ("key", "given", "meant", "is_told"),
    [
        *(("status", word, "in_progress", False) for word in ("In Progress", "in-progress", "IN_PROGRESS", " in  progress ")),
        *(("status", word, "in_progress", True) for word in ("wip", "Doing", "InProgress")),
        *(("status", word, "open", True) for word in ("To Do", "todo", "pending", "Ready")),
        *(("status", word, "closed", True) for word in ("Done", "completed")),
        *(("status", word, "cancelled", True) for word in ("Canceled", "won't fix", "scrapped")),
        ("status", "Hooked", "hooked", False),
        ("status", "review", "review", False),
        ("status", "QA review", "qa_review", False),
        ("issue_type", "Merge-Request", "merge-request", False),
        ("issue_type", "merge_request", "merge-request", False),
        ("issue_type", "Bug", "bug", False),
        ("issue_type", "User Story", "story", True),
        ("type", "enhancement", "feature", True),
        ("issue_type", "convoy", "convoy", False),
    ],
)
def test_words_of_others_are_read_in_the_hubs(key: str, given: str, meant: str, is_told: bool) -> None:
    batch = gather("x", [("line 1", {**issue("web-a", issue_type=None), key: given})], [])
    assert batch.beads[0][key.removeprefix("issue_")] == meant
    assert any(f"{given!r} is read as {meant}" in note for note in batch.notes) == is_told


def test_a_hubs_own_words_stay() -> None:
    row = issue("web-a", status="todo", issue_type="Defect")
    bead = gather("x", [("line 1", row)], [], words=Words(["todo"], ["Defect"])).beads[0]
    assert (bead["status"], bead["type"]) == ("todo", "Defect")


def test_unset_columns_are_unset_and_switches_are_truth_values() -> None:
    fields = fields_of(column_row("web-a", pinned=1, last_activity="0001-01-01T00:00:00Z", quality_score=0))
    assert set(fields) == {
        "id",
        "title",
        "type",
        "status",
        "priority",
        "owner",
        "created_at",
        "created_by",
        "updated_at",
        "pinned",
    }
    assert fields["pinned"] is True
    assert fields_of(issue("web-a", wisp=True))["ephemeral"] is True


def test_foreign_values_under_our_keys_are_kept_and_written_again() -> None:
    row = issue("web-a", progress=50, claim="nobody", metadata=["a", "b"])
    fields = fields_of(row)
    assert fields["foreign_fields"] == {"progress": 50, "claim": "nobody", "metadata": ["a", "b"]}
    record = record_of(Bead(fields), 0)
    assert (record["progress"], record["claim"], record["metadata"]) == (50, "nobody", ["a", "b"])
    assert fields_of(record) == fields


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"id": "web-a"}, "no title"),
        (issue("web-a", title="x" * 501), "more than 500"),
        (issue("web-a", created_at="yesterday"), "created_at"),
        (issue("web-a", comments="none"), "comments"),
        (issue("web-a", dependencies=[edge("web-a", "web-b", created_at="soon")]), "'soon' is not a time"),
        (issue("web-a", labels=[["x"]], description={"a": 1}), "description"),
        (issue("web-a", labels=["a,b"]), "labels: 'a,b' can't be a label"),
        (issue("web-a", labels=["a", " "]), "labels: ' ' can't be a label"),
        (issue("web-a", labels=["one\ntwo"]), "labels: "),
        (issue("web-a", labels="a,,b"), "labels: '' can't be a label"),
    ],
)
def test_rows_that_no_bead_can_hold_are_unread(row: dict[str, Any], words: str) -> None:
    batch = gather("x", [("line 1", row)], [])
    assert batch.beads == []
    assert words in batch.unread[0][1]


def test_labels_written_as_one_text_are_several() -> None:
    [bead] = gather("x", [("line 1", issue("web-a", labels="b, a"))], []).beads
    assert bead["labels"] == ["a", "b"]


def test_of_two_rows_with_one_id_the_newer_is_taken() -> None:
    rows = [
        issue("web-a", title="Newer", updated_at="2026-02-02T00:00:00Z"),
        issue("web-a", title="Older", updated_at="2026-02-01T00:00:00Z"),
    ]
    for order in (rows, rows[::-1]):
        batch = gather("x", [(f"line {number}", row) for number, row in enumerate(order, 1)], [])
        assert [fields["title"] for fields in batch.beads] == ["Newer"]
        assert "twice (line 2 again)" in batch.skipped[0]["reason"]


def test_an_edge_goes_to_the_bead_it_says() -> None:
    rows = [issue("web-a", dependencies=[edge("web-b", "web-c"), edge("web-x", "web-a")]), issue("web-b"), issue("web-c")]
    batch = gather("x", [("line", row) for row in rows], [])
    by_id = {fields["id"]: fields for fields in batch.beads}
    assert by_id["web-b"]["depends_on"] == ["web-c"]
    assert "depends_on" not in by_id["web-a"]
    assert batch.lost_edges == ["web-x -> web-a (blocks): no such bead"]


def test_who_made_an_edge_and_when_comes_back_for_each_of_two_edges_to_one_bead() -> None:
    found = EdgeList("2026-02-20T09:00:00Z")
    given_edges = [
        edge("web-a", "web-b", created_by="ada", metadata="{}"),
        edge("web-a", "web-b", "parent_child", created_by="bob", created_at="2026-02-20T09:00:00Z"),
        edge("web-a", "web-c", "parent-child", thread_id="t"),
    ]
    for one in given_edges:
        found.add(one)
    fields = found.put_into(dict(make_bead("web-a").fields))
    assert fields["edge_details"]["parent-child:web-b"] == {"created_by": "bob"}
    assert fields["links"][0]["type"] == "parent-child"
    spelled = [{**one, "type": one["type"].replace("_", "-")} for one in given_edges]
    assert edges(Bead(fields)) == spelled


def test_beads_own_words_for_edges_are_understood_in_a_row_too() -> None:
    links = [{"type": "caused-by", "id": "web-c", "created_by": "ada"}, {"id": "web-d"}]
    fields = fields_of(issue("web-a", depends_on=["web-b"], parent="web-e", links=links))
    assert (fields["depends_on"], fields["parent"]) == (["web-b"], "web-e")
    assert fields["links"] == [{"type": "caused-by", "id": "web-c", "created_by": "ada"}, {"type": "related", "id": "web-d"}]
    for wrong in ({"depends_on": "web-b"}, {"links": ["web-b"]}, {"dependencies": [7]}, {"comments": ["x"]}):
        with pytest.raises(ValueError, match="expected"):
            fields_of(issue("web-a", **wrong))


def test_a_comment_without_id_gets_the_same_one_every_time() -> None:
    comment = {"author": "ada", "text": "hello", "created_at": "2026-02-20T09:00:00Z"}
    first, again = (fields_of(issue("web-a", comments=[comment]))["comments"] for _ in range(2))
    assert first == again
    assert len(first[0]["id"]) == 16
    assert fields_of(issue("web-a", comments=[{**comment, "text": "other"}]))["comments"][0]["id"] != first[0]["id"]


def test_a_stray_edge_leaves_what_its_bead_had() -> None:
    own = [edge("web-b", "web-c"), edge("web-b", "web-c", "parent-child"), edge("web-b", "web-a", "related")]
    rows = [
        issue("web-b", dependencies=own),
        issue("web-a", dependencies=[edge("web-b", "web-d")]),
        issue("web-c"),
        issue("web-d"),
    ]
    batch = gather("x", [("line", row) for row in rows], [])
    bead = Bead(next(fields for fields in batch.beads if fields["id"] == "web-b"))
    assert edges(bead) == [own[0], edge("web-b", "web-d"), own[1], own[2]]


def test_html_escapes_byte_order_marks_and_crlf_are_nothing_special() -> None:
    data = b'\xef\xbb\xbf{"id":"web-a","title":"\\u003cb\\u003e \\u0026 \xc3\xa9"}\r\n\r\n{"id":"web-b","title":"y"}'
    rows, unread = rows_of(data)
    assert [row["title"] for _, row in rows] == ["<b> & é", "y"]
    assert unread == []
    assert rows_of(b'{"n": NaN}')[1][0][1] == "is not JSON: NaN is not a number"
    assert [where for where, _ in rows_of(b'[\n{"id": 1},\n{"id": 2}\n]')[0]] == ["entry 1", "entry 2"]


@pytest.mark.parametrize("data", [b'{"n": NaN}', b"[]", b"{", b"\xff", b"[" * 200_000])
def test_an_event_is_one_json_object(data: bytes) -> None:
    with pytest.raises(BadInput, match="the delivery is"):
        event_of(data, "the delivery")
