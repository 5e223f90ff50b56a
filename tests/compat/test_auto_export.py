"""`.beads/issues.jsonl` for viewers: when it is written, and what a typed reader takes."""

from __future__ import annotations

import json
import os
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest

from tests.compat.foreign import tracker, write_jsonl
from tests.truth import git

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.running import Clone

pytestmark = pytest.mark.one_in(3)

TEXTS = (
    "id title description design acceptance_criteria notes status issue_type assignee external_ref compacted_at_commit".split()
)
NUMBERS = "priority estimated_minutes compaction_level original_size".split()
TIMES = "created_at updated_at closed_at compacted_at due_at defer_until started_at".split()
KNOWN_STATUSES = set("open in_progress blocked deferred closed pinned hooked tombstone draft review".split())


def instant(text: Any) -> datetime:
    """A time as a strict reader takes it: RFC 3339, never empty."""
    assert isinstance(text, str)
    assert "T" in text
    value = datetime.fromisoformat(text)
    assert value.tzinfo is not None
    return value


def assert_line(line: str) -> dict[str, Any]:
    """What the strictest viewer asks of a line: types that match, or the bead is not shown at all."""
    assert len(line.encode()) < 10_000_000
    row: dict[str, Any] = json.loads(line)
    assert line.startswith('{"_type":"issue","id":')
    for key in TEXTS:
        assert isinstance(row.get(key, ""), str), key
    for key in NUMBERS:
        assert type(row.get(key, 0)) is int, key
    for key in TIMES:
        if key in row:
            instant(row[key])
    assert row["id"]
    assert row["title"]
    assert row["issue_type"]
    assert row["status"] in KNOWN_STATUSES, row["status"]
    assert 0 <= row["priority"] <= 4
    assert instant(row["updated_at"]) >= instant(row["created_at"])
    assert all(isinstance(label, str) for label in row.get("labels", []))
    for edge in row.get("dependencies", []):
        assert edge["issue_id"] == row["id"]
        assert isinstance(edge["depends_on_id"], str)
        assert isinstance(edge["type"], str)
        instant(edge["created_at"])
        assert isinstance(edge.get("created_by", ""), str)
        assert isinstance(edge.get("metadata", ""), str)
    for comment in row.get("comments", []):
        assert type(comment["id"]) is int
        assert 0 <= comment["id"] < 2**63
        assert comment["issue_id"] == row["id"]
        assert isinstance(comment["author"], str)
        assert isinstance(comment["text"], str)
        instant(comment["created_at"])
    assert "schema_version" not in row
    assert "content_hash" not in row
    return row


def exported(hub: Path) -> list[dict[str, Any]]:
    return [assert_line(line) for line in (hub / ".beads" / "issues.jsonl").read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def viewed(clone: Callable[[str], Clone]) -> Clone:
    alice = clone("alice")
    alice.here("config", "set", "export.auto", "true")
    return alice


def test_nothing_is_written_unless_asked_for(clone: Callable[[str], Clone]) -> None:
    alice = clone("alice")
    alice.here("create", "One", "--id", "hub-a")
    assert not (alice.path / ".beads" / "issues.jsonl").exists()
    assert alice.here("config", "get", "export.auto", "--json").json["value"] == 0


def test_every_write_is_seen_by_a_typed_reader(viewed: Clone, tmp_path: Path) -> None:
    viewed.here("create", "One <&>", "--id", "hub-a", "-l", "b,a", "--due", "2027-01-01", "-e", "30", "--metadata", '{"k": 1}')
    assert [row["id"] for row in exported(viewed.path)] == ["hub-a"]
    viewed.here("create", "Two", "--id", "hub-b", "--deps", "hub-a")
    viewed.here("comment", "hub-b", "said")
    viewed.here("claim", "hub-a", "--agent", "coder")
    viewed.here("import", str(write_jsonl(tmp_path / "t.jsonl", tracker())))
    rows = {row["id"]: row for row in exported(viewed.path)}
    assert {"hub-a", "hub-b", "web-2", "web-6"} <= set(rows)
    assert rows["hub-a"]["status"] == "in_progress"
    assert [comment["id"] for comment in rows["web-2"]["comments"]] == [7, 8]
    viewed.here("create", "Given up", "--id", "hub-c")
    viewed.here("cancel", "hub-c", "--reason", "no need")
    assert {row["id"]: row["status"] for row in exported(viewed.path)}["hub-c"] == "closed"
    viewed.here("delete", "hub-b", "--force")
    assert "hub-b" not in {row["id"] for row in exported(viewed.path)}


def test_comments_keep_their_own_ids_on_the_way_back(viewed: Clone, clone: Callable[[str], Clone], tmp_path: Path) -> None:
    viewed.here("create", "One", "--id", "hub-a")
    viewed.here("comment", "hub-a", "said")
    before = viewed.here("comments", "hub-a", "--json").json
    again = viewed.here("import", str(viewed.path / ".beads" / "issues.jsonl"), "--json").json
    assert (again["created"], again["updated"], again["unchanged"]) == (0, 0, 1)
    viewed.here("delete", "hub-a", "--force")
    elsewhere = tmp_path / "kept.jsonl"
    viewed.here("undo")
    viewed.here("export", "-o", str(elsewhere))
    assert viewed.here("comments", "hub-a", "--json").json == before


def test_the_file_is_left_alone_by_reads_and_writes_that_change_nothing(viewed: Clone) -> None:
    viewed.here("create", "One", "--id", "hub-a")
    file = viewed.path / ".beads" / "issues.jsonl"
    first = file.stat()
    for args in (("list",), ("show", "hub-a", "--json"), ("ready", "--fetch"), ("sync",), ("update", "hub-a")):
        viewed.here(*args)
    last = file.stat()
    assert (first.st_mtime_ns, first.st_ino) == (last.st_mtime_ns, last.st_ino)
    assert [name for name in os.listdir(file.parent) if name.startswith("issues")] == ["issues.jsonl"]
    assert git(viewed.path, "status", "--porcelain") == ""


def test_what_others_wrote_is_there_after_a_sync(viewed: Clone, clone: Callable[[str], Clone]) -> None:
    bob = clone("bob")
    bob.here("create", "From bob", "--id", "hub-bob")
    viewed.here("sync")
    assert [row["id"] for row in exported(viewed.path)] == ["hub-bob"]


def test_one_clone_may_want_it_alone(clone: Callable[[str], Clone]) -> None:
    alice, bob = clone("alice"), clone("bob")
    alice.here("config", "set", "export.auto", "true", "--clone")
    alice.here("create", "One", "--id", "hub-a")
    bob.here("create", "Two", "--id", "hub-b")
    assert (alice.path / ".beads" / "issues.jsonl").exists()
    assert not (bob.path / ".beads" / "issues.jsonl").exists()


def test_it_is_never_written_through_a_link_nor_into_a_tracked_file(viewed: Clone, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    file = viewed.path / ".beads" / "issues.jsonl"
    file.unlink(missing_ok=True)
    file.symlink_to(victim)
    told = viewed.here("create", "One", "--id", "hub-a")
    assert "is a symbolic link" in told.err
    assert victim.read_text() == "mine"
    file.unlink()
    file.write_text("tracked\n")
    git(viewed.path, "add", "--force", ".beads/issues.jsonl")
    git(viewed.path, "commit", "--quiet", "-m", "As the Go tool had it")
    git(viewed.path, "push", "--quiet", "origin", "HEAD:main")
    told = viewed.here("create", "Two", "--id", "hub-b")
    assert "is tracked" in told.err
    assert file.read_text() == "tracked\n"
