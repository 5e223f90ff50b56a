"""Files of other trackers: recognised by what is in them, and read as beads; others are refused in one line."""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Any

import pytest

from bd.compat.foreign_trackers import of_bytes
from bd.compat.go_workspace import read
from bd.core.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.running import Clone

pytestmark = pytest.mark.one_in(2)

_TASKS = [
    {
        "id": 1,
        "title": "Set up",
        "description": "A repository.",
        "details": "With hooks.",
        "testStrategy": "Clone it.",
        "status": "done",
        "priority": "high",
        "dependencies": [],
        "subtasks": [
            {"id": 1, "title": "Hooks", "status": "pending", "dependencies": []},
            {"id": 2, "title": "Docs", "status": "in-progress", "dependencies": [1, "2"]},
        ],
    },
    {"id": 2, "title": "Deploy", "status": "review", "dependencies": [1, "1.2"]},
]
_UUID = "a360fc44-315c-4366-b70c-ea7e7520b749"
_OTHER = "b360fc44-315c-4366-b70c-ea7e7520b749"
_CHORES = [
    {
        "id": 1,
        "uuid": _UUID,
        "description": "Buy milk",
        "entry": "20260118T050231Z",
        "status": "pending",
        "priority": "H",
        "tags": ["shop"],
        "project": "home",
        "annotations": [{"entry": "20260119T050231Z", "description": "the blue one"}],
    },
    {
        "id": 2,
        "uuid": _OTHER,
        "description": "Pay",
        "entry": "20260118T050231Z",
        "status": "completed",
        "end": "20260120T050231Z",
    },
    {"id": 3, "uuid": "c" + _UUID[1:], "description": "Rent", "entry": "20260118T050231Z", "status": "recurring"},
    {
        "id": 4,
        "uuid": "d" + _UUID[1:],
        "description": "Cook",
        "entry": "20260118T050231Z",
        "status": "waiting",
        "wait": "20300118T050231Z",
        "depends": [_UUID],
    },
]
_BACKLOG = """---
id: TASK-8
title: Write the texts
status: To Do
assignee:
  - '@ada'
created_date: '2026-01-13 19:21'
labels: [docs]
dependencies:
  - task-9
parent_task_id: task-1
priority: high
---

## Description

<!-- SECTION:DESCRIPTION:BEGIN -->
All of them.
<!-- SECTION:DESCRIPTION:END -->

## Acceptance Criteria
<!-- AC:BEGIN -->
- [ ] #1 Read
<!-- AC:END -->
"""
_TICKET = """---
id: nw-5c46
status: in_progress
deps: [nw-0001]
links: [nw-0002]
created: 2026-01-01T00:00:00Z
type: bug
priority: 1
tags: [ui]
---
# Fix the button

It does nothing.

## Design

None.
"""
_BEAN = """---
# beans-7kb7
title: 'beans: a list'
status: todo
type: feature
priority: critical
created_at: 2026-01-27T21:44:05Z
parent: beans-mmyp
blocking:
    - beans-8q44
---

Text.

## Part

More.
"""
_BLOCKED_BEAN = "---\ntitle: Later\nstatus: draft\ntype: task\ncreated_at: 2026-01-27T21:44:05Z\n---\n"


def _beads(source: Path) -> tuple[dict[str, dict[str, Any]], list[str]]:
    batch = read(str(source))
    assert not batch.unread
    return {bead["id"]: bead for bead in batch.beads}, batch.notes


def _write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("is_tagged", [True, False])
@pytest.mark.parametrize("by_folder", [True, False])
def test_tasks_of_task_master(tmp_path: Path, is_tagged: bool, by_folder: bool) -> None:
    content = {"master": {"tasks": _TASKS}, "next one": {"tasks": _TASKS[1:]}} if is_tagged else {"tasks": _TASKS}
    path = _write(tmp_path / ".taskmaster" / "tasks" / "tasks.json", json.dumps(content, indent=2))
    beads, notes = _beads(tmp_path if by_folder else path)
    assert notes[0] == "read as task-master"
    assert set(beads) == {"tm-1", "tm-1.1", "tm-1.2", "tm-2", *(["tm-next-one-2"] if is_tagged else [])}
    first, second, last = beads["tm-1"], beads["tm-1.2"], beads["tm-2"]
    assert (first["status"], first["priority"], first["design"], first["acceptance_criteria"]) == (
        *("closed", 1, "With hooks.", "Clone it."),
    )
    assert (second["status"], second["parent"], second["depends_on"]) == ("in_progress", "tm-1", ["tm-1.1", "tm-1.2"])
    assert (last["status"], last["priority"], last["depends_on"]) == ("in_progress", 2, ["tm-1", "tm-1.2"])


@pytest.mark.parametrize("write", [json.dumps, lambda rows: "\n".join(json.dumps(row) for row in rows)])
def test_tasks_of_taskwarrior(tmp_path: Path, write: Callable[[Any], str]) -> None:
    beads, notes = _beads(_write(tmp_path / "export", write(_CHORES)))
    assert notes[:2] == [
        "read as Taskwarrior's export",
        "'Rent' recurs, and is left out: `bd schedule add` makes beads by the clock",
    ]
    assert {key: bead["status"] for key, bead in beads.items()} == {
        "tw-a360fc44": "open",
        "tw-b360fc44": "closed",
        "tw-d360fc44": "deferred",
    }
    milk, cook = beads["tw-a360fc44"], beads["tw-d360fc44"]
    assert (milk["priority"], milk["labels"], milk["external_ref"]) == (1, ["project:home", "shop"], f"taskwarrior:{_UUID}")
    assert (milk["comments"][0]["at"], milk["comments"][0]["text"]) == ("2026-01-19T05:02:31Z", "the blue one")
    assert (cook["depends_on"], cook["defer_until"]) == (["tw-a360fc44"], "2030-01-18T05:02:31Z")


@pytest.mark.parametrize("place", ["", "backlog", "backlog/tasks", "backlog/tasks/task-8 - Texts.md"])
def test_tasks_of_backlog_md(tmp_path: Path, place: str) -> None:
    _write(tmp_path / "backlog" / "config.yml", "project_name: x\n")
    _write(tmp_path / "backlog" / "tasks" / "task-8 - Texts.md", _BACKLOG)
    beads, notes = _beads(tmp_path / place)
    assert notes[0] == "read as Backlog.md"
    task = beads["TASK-8"]
    assert (task["status"], task["assignee"], task["priority"], task["labels"]) == ("open", "ada", 1, ["docs"])
    assert (task["depends_on"], task["parent"], task["created_at"]) == (["task-9"], "task-1", "2026-01-13T19:21:00Z")
    assert (task["description"], task["acceptance_criteria"]) == ("All of them.", "- [ ] #1 Read")


@pytest.mark.parametrize("place", ["", ".tickets", ".tickets/nw-5c46.md"])
def test_tickets(tmp_path: Path, place: str) -> None:
    _write(tmp_path / ".tickets" / "nw-5c46.md", _TICKET)
    beads, notes = _beads(tmp_path / place)
    assert notes[0] == "read as ticket"
    ticket = beads["nw-5c46"]
    assert (ticket["title"], ticket["type"], ticket["status"]) == ("Fix the button", "bug", "in_progress")
    assert (ticket["description"], ticket["design"]) == ("It does nothing.", "None.")
    assert (ticket["depends_on"], ticket["links"][0]["id"], ticket["labels"]) == (["nw-0001"], "nw-0002", ["ui"])


@pytest.mark.parametrize("place", ["", ".beans"])
def test_beans(tmp_path: Path, place: str) -> None:
    _write(tmp_path / ".beans" / "beans-7kb7--a-list.md", _BEAN)
    _write(tmp_path / ".beans" / "archive" / "beans-8q44--later.md", _BLOCKED_BEAN)
    beads, notes = _beads(tmp_path / place)
    assert notes[0] == "read as beans"
    bean, blocked = beads["beans-7kb7"], beads["beans-8q44"]
    assert (bean["title"], bean["status"], bean["priority"], bean["parent"]) == ("beans: a list", "open", 0, "beans-mmyp")
    assert bean["description"] == "Text.\n\n## Part\n\nMore."
    assert (blocked["status"], blocked["depends_on"]) == ("deferred", ["beans-7kb7"])


@pytest.mark.parametrize(
    ("name", "content", "words", "way"),
    [
        ("beads.db", b"SQLite format 3\0\x10\0", "SQLite", "bd export"),
        ("issues.json", b'[{"number": 3, "title": "x", "state": "OPEN"}]', "GitHub issues", "gh issue list"),
        ("plan.yaml", b"title: Release\ntasks:\n  - name: a\n    title: A\n", "plan.yaml", "bd plan apply"),
        ("state.jsonl", b'{"id":"x-1","title":"t","created_at":[1767225600000,0]}\n', "beads-rs", "bd export"),
        ("jira.json", b'[{"key": "A-1", "summary": "x"}, {"key": "A-2", "summary": "y"}]', "jira.json", "docs/compatibility.md"),
        ("work.csv", b"id,title\n1,x\n2,y\n", "work.csv", "docs/compatibility.md"),
    ],
)
def test_a_format_that_can_not_be_read_is_refused_in_one_line(
    tmp_path: Path, name: str, content: bytes, words: str, way: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(BadInput) as caught:
        read(str(path))
    assert words in caught.value.message
    assert "\n" not in caught.value.message
    assert way in (caught.value.hint or "")


def test_a_page_of_no_tracker_is_left_out(tmp_path: Path) -> None:
    stray = _write(tmp_path / ".tickets" / "README.md", "---\ntitle: Our tickets\n---\n# How we work\n")
    other = _write(tmp_path / ".tickets" / "task-8.md", _BACKLOG)
    _write(tmp_path / ".tickets" / "aa-1.md", _TICKET)
    beads, notes = _beads(tmp_path)
    assert list(beads) == ["nw-5c46"]
    assert [note for note in notes if note.startswith("left out")] == [f"left out: {stray}", f"left out: {other}"]


def test_a_row_of_no_tracker_makes_no_export_of_taskwarrior(tmp_path: Path) -> None:
    batch = read(str(_write(tmp_path / "export.json", json.dumps([*_CHORES, {"description": "No uuid"}]))))
    assert not batch.beads


def _places(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The ways to everything within a value."""
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield (*way, key)
        yield from _places(inner, (*way, key))


@pytest.mark.parametrize("content", [{"tasks": _TASKS}, _CHORES], ids=["task-master", "Taskwarrior"])
@pytest.mark.parametrize("odd", [5, True, None, "x", [], [5], [None], [[]], [{}], {}, {"a": 1}], ids=str)
def test_a_value_of_another_shape_is_no_bug(content: Any, odd: Any) -> None:
    for *way, last in _places(content):
        changed = json.loads(json.dumps(content))
        inner = changed
        for key in way:
            inner = inner[key]
        inner[last] = odd
        with contextlib.suppress(BadInput):
            of_bytes(json.dumps(changed).encode(), "export.json")


def test_a_task_may_name_one_dependency_without_a_list(tmp_path: Path) -> None:
    tasks = [_TASKS[0], {"id": 21, "title": "Other"}, {"id": 3, "title": "Last", "dependencies": "21"}]
    beads, _ = _beads(_write(tmp_path / "tasks.json", json.dumps({"tasks": tasks})))
    assert beads["tm-3"]["depends_on"] == ["tm-21"]


@pytest.mark.parametrize("folder", [".beads/dolt", ".beads/embeddeddolt"])
def test_a_database_of_the_go_tool_is_named(tmp_path: Path, folder: str) -> None:
    (tmp_path / folder).mkdir(parents=True)
    _write(tmp_path / "README.md", "# Our project\n")
    with pytest.raises(BadInput, match="a Dolt database"):
        read(str(tmp_path))


def test_another_trackers_project_is_migrated(clone: Callable[[str], Clone], tmp_path: Path) -> None:
    _write(tmp_path / "old" / ".tickets" / "nw-5c46.md", _TICKET)
    alice = clone("alice")
    alice.here("migrate", str(tmp_path / "old"))
    assert alice.here("show", "nw-5c46", "--json").json[0]["title"] == "Fix the button"
    before = alice.here("export").out
    assert "1 unchanged" in alice.here("import", str(tmp_path / "old")).out
    assert alice.here("export").out == before
