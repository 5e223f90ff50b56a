"""Small data in the shapes that other tools write, made for these tests.

`tracker()` is a JSONL export with every peculiarity seen in the wild; `write_dump` a folder of
raw tables.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

MADE = "2026-01-16T07:21:09.280348123Z"
CHANGED = "2026-01-17T09:06:24.443576373Z"


def issue(bead_id: str, **fields: Any) -> dict[str, Any]:
    """An issue row with defaults for what is not said; None leaves a default out."""
    given = {
        "id": bead_id,
        "title": f"Do {bead_id}",
        "status": "open",
        "priority": 2,
        "issue_type": "task",
        "created_at": MADE,
        "created_by": "owner",
        "updated_at": CHANGED,
        **fields,
    }
    return {key: value for key, value in given.items() if value is not None}


def edge(bead_id: str, target: str, kind: str = "blocks", **extra: Any) -> dict[str, Any]:
    """A raw edge."""
    made = {"created_at": "2026-01-16T08:00:00.5Z", "created_by": "ada"}
    return {"issue_id": bead_id, "depends_on_id": target, "type": kind, **made, **extra}


def tracker() -> list[dict[str, Any]]:
    """Seven issues: forward references, both spellings of parents, comments, a tombstone, zero priority, unknown keys."""
    return [
        issue(
            "web-2",
            title="Use <b> & 'quotes'",
            issue_type="bug",
            priority=0,
            labels=["ui", "a11y"],
            dependencies=[edge("web-2", "web-9", metadata='{"gate":"x"}'), edge("web-2", "web-1", "parent_child")],
            comments=[
                {"id": 7, "issue_id": "web-2", "author": "ada", "text": "first\nsecond", "created_at": "2026-01-16T10:00:00Z"},
                {"id": 8, "issue_id": "web-2", "author": "bob", "text": "no: 12:30", "created_at": "2026-01-16T11:00:00.25Z"},
            ],
            compaction_level=0,
            compacted_at_commit="",
            original_size=0,
            estimated_minutes=30,
            external_ref="github:owner/web#7",
        ),
        issue("web-1", issue_type="epic", description="One.\n\n  \nTwo.\n", pinned=True, due_at="2026-03-01T00:00:00+01:00"),
        issue(
            "web-3",
            status="in_progress",
            assignee="GraySparrow",
            owner="person@example.org",
            started_at="2026-01-16T09:00:00Z",
            dependencies=[edge("web-3", "web-1", "parent-child"), edge("web-3", "web-2", "discovered-from")],
        ),
        issue("web-4", status="tombstone", deleted_at=CHANGED, delete_reason="a test"),
        issue("web-5", status="hooked", hook_slot={"rig": "a", "depth": [1, 2]}, team_score=0.5),
        issue(
            "web-6", status="closed", closed_at=CHANGED, close_reason="Closed", metadata={"k": "", "n": 3, "deep": {"x": None}}
        ),
        issue("web-9", design="0123", notes="no", acceptance_criteria="1e3", title="2026-01-01"),
    ]


def text_of(rows: Iterable[dict[str, Any]]) -> str:
    """The rows as JSONL with the characters of HTML escaped, as the Go tool writes them."""
    lines = [json.dumps(row, separators=(",", ":"), ensure_ascii=False) for row in rows]
    escaped = [line.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026") for line in lines]
    return "".join(f"{line}\n" for line in escaped)


def write_jsonl(path: Path, rows: Iterable[dict[str, Any]]) -> Path:
    """Write a JSONL file; its path."""
    path.write_text(text_of(rows), encoding="utf-8")
    return path


_COLUMNS: dict[str, Any] = {
    **dict.fromkeys(("acceptance_criteria", "actor", "agent_state", "await_id", "await_type", "close_reason"), ""),
    **dict.fromkeys(("closed_by_session", "description", "design", "event_kind", "hook_bead", "mol_type", "notes"), ""),
    **dict.fromkeys(("payload", "rig", "role_bead", "role_type", "sender", "source_repo", "source_system", "spec_id"), ""),
    **dict.fromkeys(("target", "waiters", "wisp_type", "work_type"), ""),
    **dict.fromkeys(("assignee", "closed_at", "compacted_at", "compacted_at_commit", "defer_until", "due_at"), None),
    **dict.fromkeys(("estimated_minutes", "external_ref", "last_activity", "original_size", "quality_score"), None),
    **dict.fromkeys(("compaction_level", "crystallizes", "ephemeral", "is_template", "pinned", "timeout_ns"), 0),
    "content_hash": "f0" * 32,
    "metadata": "{}",
}


def column_row(bead_id: str, **fields: Any) -> dict[str, Any]:
    """A row of the issues table: every column there, sorted, unset ones as the dump has them."""
    row = {
        **_COLUMNS,
        "id": bead_id,
        "title": f"Do {bead_id}",
        "status": "open",
        "priority": 2,
        "issue_type": "task",
        "owner": "human@example.org",
        "created_at": "2026-03-01T10:00:00Z",
        "created_by": "Human",
        "updated_at": "2026-03-02T10:00:00Z",
        **fields,
    }
    return dict(sorted(row.items()))


def write_dump(folder: Path) -> Path:
    """A folder of raw tables: four issues, an edge, a label, a comment, events an hour ahead."""
    folder.mkdir(parents=True)
    closed = {"status": "closed", "closed_at": "2026-03-02T10:00:00Z", "close_reason": "Published", "assignee": ""}
    tables: dict[str, list[dict[str, Any]]] = {
        "issues": [
            column_row("fleet-0i9", **closed, pinned=1),
            column_row("fleet-16h", status="in_progress", assignee="PltOps", metadata='{"run":"7"}', priority=0),
            column_row("fleet-oza", status="blocked", timeout_ns=5_000_000_000, waiters='["a","b"]'),
            column_row("fleet-ajb", description="Text <here>", notes="GitHub issue: https://example.org/35"),
        ],
        "dependencies": [
            {
                "created_at": "2026-03-05T11:11:06Z",
                "created_by": "Coder",
                "depends_on_id": "fleet-oza",
                "issue_id": "fleet-ajb",
                "type": "blocks",
            }
        ],
        "labels": [{"issue_id": "fleet-ajb", "label": "research"}],
        "comments": [
            {"author": "Coder", "created_at": "2026-03-06T13:16:18Z", "id": 1, "issue_id": "fleet-ajb", "text": "token expired"}
        ],
        "config": [{"key": "issue_prefix", "value": "fleet"}, {"key": "types.custom", "value": "molecule,gate"}],
        "events": [
            {"id": 1, "issue_id": "fleet-0i9", "event_type": "created", "actor": "Human", "created_at": "2026-03-01T11:00:00Z"},
            {"id": 2, "issue_id": "fleet-0i9", "event_type": "closed", "actor": "Coder", "created_at": "2026-03-02T11:00:00Z"},
            {"id": 3, "issue_id": "fleet-16h", "event_type": "closed", "actor": "Coder", "created_at": "2026-03-02T11:00:00Z"},
        ],
    }
    for name, rows in tables.items():
        write_jsonl(folder / f"{name}.jsonl", rows)
    return folder
