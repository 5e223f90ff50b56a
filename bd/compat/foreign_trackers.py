"""Files of other trackers, as rows in the words of Beads JSONL: task-master, Taskwarrior, Backlog.md, ticket, beans.

Belongs here: recognising a file or folder by what is in it, and what its keys mean. Does not belong here: the Go tool's own
formats (jsonl_import.py, table_dumps.py), and other spellings of statuses, types and priorities (spellings.py).

Ids stay as they are where they can be a bead's; a number or a UUID gets the tracker's mark in front.
"""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.compat import documents, jsonl_import
from bd.core import ids
from bd.core.errors import BadInput
from bd.store.yaml import codec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from bd.compat.jsonl_import import Batch
    from bd.compat.spellings import Words

    Row = dict[str, Any]

_SECTION = re.compile(r"^##[ \t]+(.+?)[ \t]*$", re.MULTILINE)
_MARK = re.compile(r"^<!-- [A-Z]+(?::[A-Z_]+)*:(?:BEGIN|END) -->[ \t]*\n?", re.MULTILINE)
_BEANS_ID = re.compile(r"\A---\n# +(\S+) *$", re.MULTILINE)
_TASKWARRIOR_KEYS = frozenset({"uuid", "description", "status"})
_SQLITE = b"SQLite format 3\0"
_DOLT_FOLDERS = (".dolt", ".beads/dolt", ".beads/embeddeddolt", "dolt", "embeddeddolt")
_EXPORT_FIRST = "`bd export -o issues.jsonl` with the tool that made it, then `bd import issues.jsonl`"
_GITHUB_WAY = (
    """`--jq '.[] | {id: "gh-\\(.number)", title, description: .body}'` behind `gh issue list --json number,title,body`"""
)
# Where a task-master project keeps its tasks, in new and old releases.
_TASK_MASTER_FILES = (".taskmaster/tasks/tasks.json", "tasks/tasks.json", "tasks.json")


class Found(NamedTuple):
    """The rows of a tracker's files, each with where it stands, and what of it can't become beads."""

    tracker: str
    rows: list[tuple[str, Row]]
    notes: list[str]


def read(source: str, words: Words | None = None, on_progress: Callable[[int, int, str], None] | None = None) -> Batch | None:
    """The beads of another tracker's folder or Markdown file; None where it is none that is known here.

    Raises BadInput for a format that is known and can't be read, naming it and the way that leads to beads.
    """
    found = _folder(source) if os.path.isdir(source) else _markdown([source]) if source.endswith(".md") else None
    return None if found is None else _batch(found, source, words, on_progress)


def of_bytes(
    data: bytes, source: str, words: Words | None = None, on_progress: Callable[[int, int, str], None] | None = None
) -> Batch | None:
    """The same of a file's content."""
    found = _content(data, source)
    return None if found is None else _batch(found, source, words, on_progress)


def _batch(found: Found, source: str, words: Words | None, on_progress: Callable[[int, int, str], None] | None) -> Batch:
    rows: list[tuple[str, Any]] = [
        (where, {k: v for k, v in row.items() if v not in (None, "", [])}) for where, row in found.rows
    ]
    batch = jsonl_import.gather(source, rows, [], on_progress, words)
    return batch._replace(notes=[f"read as {found.tracker}", *found.notes, *batch.notes])


# --- recognising ------------------------------------------------------------------------


def _folder(folder: str) -> Found | None:
    for name in _TASK_MASTER_FILES:
        path = os.path.join(folder, name)
        if os.path.isfile(path) and (found := _content(jsonl_import.bytes_of(path), path)):
            return found
    for name in ("backlog", ".backlog", ""):
        place = os.path.join(folder, name)
        is_named = bool(name) or any(os.path.isfile(os.path.join(place, config)) for config in ("config.yml", "config.yaml"))
        if is_named and _pages([os.path.join(place, "tasks")]):
            return _backlog(place)
    for name in (".tickets", ".beans", ""):
        place = os.path.join(folder, name)
        if (pages := _pages([place, os.path.join(place, "archive")])) and (found := _markdown(pages)):
            return found
    has_tables = any(
        os.path.isfile(os.path.join(folder, place, "issues.jsonl")) for place in ("", ".beads", ".beads/backup", "backup")
    )
    if not has_tables and any(os.path.isdir(os.path.join(folder, name)) for name in _DOLT_FOLDERS):
        raise BadInput(f"{folder} holds a Dolt database of the Go tool", hint=_EXPORT_FIRST)
    return None


def _content(data: bytes, source: str) -> Found | None:
    """A JSON text of task-master or Taskwarrior. Raises BadInput for other files whose format is known."""
    if data.startswith(_SQLITE):
        raise BadInput(f"{source} is an SQLite database, which older releases of the Go tool keep", hint=_EXPORT_FIRST)
    if not any(key in data for key in (b'"uuid"', b'"tasks"', b'"number"', b'"created_at":[')):
        return None
    values, unread = jsonl_import.rows_of(data)
    rows = [value for _, value in values if isinstance(value, dict)]
    if unread or not rows or len(rows) < len(values):
        return None
    first = rows[0]
    if all(row.keys() >= _TASKWARRIOR_KEYS and "title" not in row for row in rows):
        return _taskwarrior(rows)
    if len(rows) == 1 and (tags := _task_master_tags(first)):
        return _task_master(tags)
    if "title" in first and isinstance(first.get("number"), int) and not isinstance(first.get("id"), str):
        raise BadInput(f"{source} is a list of GitHub issues", hint=_GITHUB_WAY)
    if isinstance(first.get("created_at"), list):
        raise BadInput(f"{source} is the state file of beads-rs, whose times are pairs of numbers", hint=_EXPORT_FIRST)
    return None


def _pages(folders: Iterable[str]) -> list[str]:
    """The Markdown files of folders, in the order of their names; no link is followed."""
    found = [
        os.path.join(folder, name)
        for folder in folders
        if os.path.isdir(folder)
        for name in sorted(os.listdir(folder))
        if name.endswith(".md")
    ]
    return [path for path in found if os.path.isfile(path) and not os.path.islink(path)]


# --- task-master ------------------------------------------------------------------------


def _task_master_tags(value: Row) -> dict[str, list[Row]]:
    """The tasks of each tag; a file without tags has one, `master`. Empty where it is no file of task-master."""
    tags = {"master": value} if isinstance(value.get("tasks"), list) else value
    found = {
        tag: [task for task in group["tasks"] if isinstance(task, dict)]
        for tag, group in tags.items()
        if isinstance(group, dict) and isinstance(group.get("tasks"), list)
    }
    tasks = [task for group in found.values() for task in group]
    return found if tasks and all("id" in task and "title" in task for task in tasks) else {}


def _task_master(tags: dict[str, list[Row]]) -> Found:
    rows: list[tuple[str, Row]] = []
    for tag, tasks in tags.items():
        mark = "tm" if tag == "master" else f"tm-{_word(tag)}"
        for task in tasks:
            own = f"{mark}-{task['id']}"
            labels = [] if tag == "master" else [tag]
            rows.append((f"task {task['id']}", _task_master_row(task, own, mark, labels)))
            subtasks = [sub for sub in _items(task.get("subtasks")) if isinstance(sub, dict)]
            siblings = {str(sub.get("id")) for sub in subtasks}
            for sub in subtasks:
                row = _task_master_row(sub, f"{own}.{sub.get('id')}", mark, labels, own, siblings)
                rows.append((f"task {task['id']}.{sub.get('id')}", {**row, "parent": own}))
    return Found("task-master", rows, [])


def _task_master_row(task: Row, own: str, mark: str, labels: list[str], parent: str = "", siblings: Iterable[str] = ()) -> Row:
    """A task or a subtask, whose dependencies may name its siblings by their numbers alone."""
    needed = _many(task.get("dependencies"))
    return {
        "id": own,
        "title": task.get("title"),
        "description": task.get("description"),
        "design": task.get("details"),
        "acceptance_criteria": task.get("testStrategy"),
        "status": "in_progress" if task.get("status") == "review" else task.get("status"),
        "priority": task.get("priority"),
        "labels": labels,
        "dependencies": [f"{parent}.{target}" if target in siblings else f"{mark}-{target}" for target in needed],
    }


def _word(text: str) -> str:
    """A text as part of an id."""
    return re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-") or "x"


# --- Taskwarrior ------------------------------------------------------------------------


def _taskwarrior(tasks: list[Row]) -> Found:
    short = {str(task["uuid"]): f"tw-{str(task['uuid'])[:8]}" for task in tasks}
    rows: list[tuple[str, Row]] = []
    templates = [str(task["description"]) for task in tasks if task["status"] == "recurring"]
    notes = [f"{title!r} recurs, and is left out: `bd schedule add` makes beads by the clock" for title in templates]
    for number, task in enumerate(tasks, start=1):
        if task["status"] != "recurring":
            rows.append((f"task {number}", _taskwarrior_row(task, short)))
    return Found("Taskwarrior's export", rows, notes)


def _taskwarrior_row(task: Row, short: dict[str, str]) -> Row:
    needed = task.get("depends")
    needed = needed.split(",") if isinstance(needed, str) else _many(needed)
    status = {"pending": "open", "waiting": "deferred", "completed": "closed", "deleted": "tombstone"}.get(str(task["status"]))
    if status == "open" and task.get("start"):
        status = "in_progress"
    if status == "open" and task.get("wait"):
        status = "deferred"
    notes = [note for note in _items(task.get("annotations")) if isinstance(note, dict)]
    project = [f"project:{task['project']}"] if task.get("project") else []
    return {
        "id": short[str(task["uuid"])],
        "title": task["description"],
        "status": status or task["status"],
        "priority": task.get("priority"),
        "labels": [*_many(task.get("tags")), *project],
        "created_at": task.get("entry"),
        "updated_at": task.get("modified"),
        "started_at": task.get("start"),
        "closed_at": task.get("end") if status == "closed" else None,
        "due_at": task.get("due"),
        "defer_until": task.get("wait"),
        "dependencies": [short.get(target, f"tw-{target[:8]}") for target in needed],
        "comments": [{"at": note.get("entry"), "text": note.get("description")} for note in notes],
        "external_ref": f"taskwarrior:{task['uuid']}",
    }


# --- Markdown with front matter -----------------------------------------------------------


class _Page(NamedTuple):
    """A Markdown file: the keys of its front matter, typed as JSON would have them, and its sections by their headings."""

    path: str
    head: Row
    text: str
    mark: str
    """The id in a comment at the top, as beans writes it."""

    @property
    def stem(self) -> str:
        return os.path.basename(self.path)[: -len(".md")]

    def sections(self) -> dict[str, str]:
        """What stands below each heading of the second level, in lower case; before the first, below the empty one."""
        parts = _SECTION.split(_MARK.sub("", self.text))
        named = zip(parts[1::2], parts[2::2], strict=True)
        found = {"": parts[0].strip(), **{name.lower(): text.strip() for name, text in named}}
        return {name: text for name, text in found.items() if text}


def _page(path: str) -> _Page | None:
    """The file; None for one without front matter. Raises codec.Unreadable."""
    text = codec.text_of(jsonl_import.bytes_of(path)).replace("\r\n", "\n")
    _, opening, rest = text.partition("---\n")
    head, closing, body = rest.partition("\n---")
    if not text.startswith("---\n") or not opening or not closing:
        return None
    mark = _BEANS_ID.search(text)
    values = {key: documents.as_json(value) for key, value in documents.mapping_of(head).items()}
    return _Page(path, values, body.lstrip("-").strip("\n"), mark[1] if mark else "")


def _markdown(paths: list[str]) -> Found | None:
    """The pages of the tracker that the first recognised page is of; None if none is recognised. Others are left out, with a note."""
    pages: list[_Page] = []
    notes: list[str] = []
    for path in paths:
        try:
            page = _page(path)
        except codec.Unreadable as error:
            notes.append(f"{path} can't be read: {error}")
            continue
        pages += [page] if page else []
    reader = next((reader for page in pages if (reader := _reader_of(page))), None)
    if reader is None:
        return None
    name, row_of = reader
    rows = [(page.path, row_of(page)) for page in pages if _reader_of(page) == reader]
    notes += [f"left out: {page.path}" for page in pages if _reader_of(page) != reader]
    return Found(name, _both_ways(rows), notes)


def _reader_of(page: _Page) -> tuple[str, Callable[[_Page], Row]] | None:
    head = page.head
    if "id" in head and "title" in head and head.keys() & {"created_date", "dependencies", "assignee"}:
        return "Backlog.md", _backlog_row
    if "id" in head and "title" not in head and "status" in head:
        return "ticket", _ticket_row
    if "title" in head and "status" in head and "id" not in head and (page.mark or "created_at" in head):
        return "beans", _beans_row
    return None


def _both_ways(rows: list[tuple[str, Row]]) -> list[tuple[str, Row]]:
    """The rows with what one says of others (`blocking`) at those, and with ids as their own row spells them."""
    own = {str(row["id"]).lower(): str(row["id"]) for _, row in rows}
    by_id = {str(row["id"]): row for _, row in rows}

    def spelled(target: Any) -> str:
        return own.get(str(target).lower(), str(target))

    for _, row in rows:
        row["dependencies"] = [spelled(target) for target in row.get("dependencies") or []]
        row["parent"] = spelled(row["parent"]) if row.get("parent") else None
    for _, row in rows:
        for target in row.pop("blocking", None) or []:
            blocked = by_id.get(spelled(target))
            if blocked is not None and row["id"] not in blocked["dependencies"]:
                blocked["dependencies"].append(str(row["id"]))
    return rows


def _backlog(folder: str) -> Found | None:
    found = _markdown(_pages([os.path.join(folder, "tasks"), os.path.join(folder, "completed")]))
    left = {name: len(_pages([os.path.join(folder, name)])) for name in ("drafts", "archive/tasks", "docs", "decisions")}
    words = ", ".join(f"{number} in {name}" for name, number in left.items() if number)
    return found and found._replace(notes=[*found.notes, *([f"left out: {words}"] if words else [])])


def _backlog_row(page: _Page) -> Row:
    head, parts = page.head, page.sections()
    people = [str(name).lstrip("@") for name in _many(head.get("assignee"))]
    milestone = [f"milestone:{head['milestone']}"] if head.get("milestone") else []
    notes = [parts.get(name) or head.get(name.replace(" ", "_")) for name in ("implementation notes", "final summary")]
    return {
        "id": head["id"],
        "title": head["title"],
        "type": head.get("type"),
        "status": head.get("status"),
        "priority": head.get("priority"),
        "assignee": people[0] if people else None,
        "metadata": {"assignees": people} if len(people) > 1 else None,
        "labels": [*_many(head.get("labels")), *milestone],
        "created_at": head.get("created_date"),
        "updated_at": head.get("updated_date"),
        "due_at": head.get("due_date"),
        "parent": head.get("parent_task_id"),
        "dependencies": _many(head.get("dependencies")),
        "description": parts.get("description") or head.get("description") or parts.get(""),
        "acceptance_criteria": parts.get("acceptance criteria"),
        "design": parts.get("implementation plan") or head.get("implementation_plan"),
        "notes": "\n\n".join(str(text) for text in notes if text),
    }


def _ticket_row(page: _Page) -> Row:
    head, parts = page.head, page.sections()
    title, _, description = parts.get("", "").partition("\n")
    return {
        "id": head["id"],
        "title": title.removeprefix("#").strip() or str(head["id"]),
        "type": head.get("type"),
        "status": head.get("status"),
        "priority": head.get("priority"),
        "assignee": head.get("assignee"),
        "labels": _many(head.get("tags")),
        "created_at": head.get("created"),
        "external_ref": head.get("external-ref"),
        "parent": head.get("parent"),
        "dependencies": _many(head.get("deps")),
        "links": [{"type": "related", "id": str(target)} for target in _many(head.get("links"))],
        "description": description.strip(),
        **{key: parts.get(key.replace("_", " ")) for key in ("design", "acceptance_criteria", "notes")},
    }


def _beans_row(page: _Page) -> Row:
    head = page.head
    stem = page.stem.partition("--")[0]
    priority = head.get("priority")
    return {
        "id": page.mark or (stem if ids.is_bead_id(stem) else _word(stem)),
        "title": head["title"],
        "type": head.get("type"),
        "status": head.get("status"),
        "priority": 4 if priority == "deferred" else priority,
        "labels": _many(head.get("tags")),
        "created_at": head.get("created_at"),
        "updated_at": head.get("updated_at"),
        "parent": head.get("parent"),
        "dependencies": _many(head.get("blocked_by")),
        "blocking": _many(head.get("blocking")),
        "description": page.text.strip(),
    }


def _many(value: Any) -> list[str]:
    """The texts of a list; one value as a list of it."""
    return [str(item) for item in _items(value)]


def _items(value: Any) -> list[Any]:
    """A list as it is; one value as a list of it."""
    return value if isinstance(value, list) else [value] if value not in (None, "") else []
