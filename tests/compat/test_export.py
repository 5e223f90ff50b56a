"""`bd export`: JSONL that other readers take, whole or not at all."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from tests.compat.foreign import issue, write_jsonl
from tests.truth import commit_file, git

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.running import Clone


def test_lines_are_compact_sorted_and_closed_beads_are_among_them(clone: Callable[[str], Clone]) -> None:
    alice = clone("alice")
    for name in ("hub-c", "hub-a", "hub-b"):
        alice.here("create", f"Titel {name} ü", "--id", name)
    alice.here("close", "hub-a", "--reason", "done", "--force")
    alice.here("dep", "add", "hub-b", "hub-c")
    ended = alice.here("export")
    rows = [json.loads(line) for line in ended.lines]
    assert [row["id"] for row in rows] == ["hub-a", "hub-b", "hub-c"]
    assert ended.lines[0].startswith('{"_type":"issue","id":"hub-a","title":"Titel hub-a ü","status":"closed"')
    assert ended.err == "Exported 3 beads\n"
    assert rows[2]["dependent_count"] == 1
    assert {key: rows[1]["dependencies"][0][key] for key in ("issue_id", "depends_on_id", "type")} == {
        "issue_id": "hub-b",
        "depends_on_id": "hub-c",
        "type": "blocks",
    }


def test_a_file_is_written_in_place_of_the_old_one(clone: Callable[[str], Clone], tmp_path: Path) -> None:
    alice = clone("alice")
    alice.here("create", "One", "--id", "hub-a")
    target = tmp_path / "out" / "beads.jsonl"
    refused = alice.here("export", "-o", str(target), code=2)
    assert "can't write" in refused.err
    target.parent.mkdir()
    target.write_text("old")
    ended = alice.here("export", "-o", str(target))
    assert ended.out == ""
    assert ended.err == f"Exported 1 bead to {target}\n"
    assert json.loads(target.read_text(encoding="utf-8"))["id"] == "hub-a"
    assert os.listdir(target.parent) == ["beads.jsonl"]
    assert alice.here("export", "--output", str(target), "--json").json["exported"] == 1
    assert [row["id"] for row in alice.here("export", "--json").json] == ["hub-a"]


def test_infrastructure_templates_and_ephemeral_beads_are_left_out_and_counted(
    clone: Callable[[str], Clone], tmp_path: Path
) -> None:
    alice = clone("alice")
    rows = [issue("web-1"), issue("web-2", issue_type="agent"), issue("web-3", ephemeral=True), issue("web-4", is_template=1)]
    alice.here("import", str(write_jsonl(tmp_path / "t.jsonl", rows)))
    ended = alice.here("export")
    assert [json.loads(line)["id"] for line in ended.lines] == ["web-1"]
    assert "left out: 1 ephemeral, 1 infrastructure, 1 template" in ended.err
    assert len(alice.here("export", "--include-infra").lines) == 2
    assert len(alice.here("export", "--all", "--include-memories", "--scrub").lines) == 4


def test_an_empty_hub_and_a_damaged_file(clone: Callable[[str], Clone]) -> None:
    alice = clone("alice")
    assert alice.here("export").out == ""
    assert alice.here("export", "--json").json == []
    commit_file(alice.path, "beads/hub-a.yaml", "id: hub-a\ntitle: [\n")
    git(alice.path, "push", "--quiet", "origin", "HEAD:main")
    ended = alice.here("export", "--fetch")
    assert (ended.out, "beads/hub-a.yaml" in ended.err) == ("", True)
    assert alice.here("export", "--strict", code=7).out == ""
