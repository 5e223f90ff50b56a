"""`bd migrate`: a workspace of the Go tool becomes a hub, whole, once."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.compat.foreign import issue, tracker, write_dump, write_jsonl
from tests.running import Clone
from tests.truth import commits, git, tip

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.one_in(2)

SETTINGS = '# The other tool\'s.\nissue-prefix: "web"\nsync-branch: beads\n'
METADATA = '{"database": "dolt", "backend": "dolt", "dolt_mode": "server"}\n'


def workspace(folder: Path, *, tracked: bool) -> Clone:
    """A repository with code in it and a workspace of the Go tool, in git or beside it."""
    git(folder, "init", "--quiet", "-b", "main", "code")
    code = folder / "code"
    (code / "README").write_text("code\n")
    git(code, "add", "README")
    git(code, "commit", "--quiet", "-m", "Code")
    beads = code / ".beads"
    beads.mkdir()
    (beads / "config.yaml").write_text(SETTINGS)
    (beads / "metadata.json").write_text(METADATA)
    (beads / ".gitignore").write_text("*.db\n")
    write_jsonl(beads / "issues.jsonl", tracker())
    if tracked:
        git(code, "add", ".beads")
        git(code, "commit", "--quiet", "-m", "Beads")
    return Clone(code)


def essence(row: dict[str, Any]) -> dict[str, Any]:
    """What has to come through: everything but what says the same in other words."""
    edges = sorted((edge["depends_on_id"], edge["type"].replace("_", "-")) for edge in row.get("dependencies", []))
    comments = [(comment["id"], comment["author"], comment["text"], comment["created_at"]) for comment in row.get("comments", [])]
    keys = (
        "id title description design acceptance_criteria notes status priority issue_type assignee owner closed_at close_reason"
    )
    plain = {
        key: row[key] for key in [*keys.split(), "created_at", "updated_at", "external_ref"] if row.get(key) not in (None, "")
    }
    return {**plain, "edges": edges, "comments": comments, "labels": sorted(row.get("labels", []))}


@pytest.mark.parametrize("tracked", [True, False], ids=["tracked", "beside git"])
def test_a_workspace_becomes_a_hub(tmp_path: Path, tracked: bool) -> None:
    code = workspace(tmp_path, tracked=tracked)
    before = tip(code.path)
    files = {path.name: path.read_bytes() for path in (code.path / ".beads").iterdir()}
    told = code.here("migrate", "--dry-run")
    assert "would make a hub: " in told.err
    assert "6 created, 1 skipped" in told.out
    assert tip(code.path) == before
    assert {path.name: path.read_bytes() for path in (code.path / ".beads").iterdir()} == files
    assert code.here("migrate", "--inspect", "--json").json["needed"] is True

    done = code.here("migrate", "--json").json
    assert (done["created"], done["published"]) == (6, True)
    assert git(code.path, "show", "HEAD:README") == "code"
    assert json.loads((code.path / ".beads" / "metadata.json").read_text())["backend"] == "git-yaml"
    assert code.here("config", "get", "prefix").out == "web\n"
    ignored = "*.db\n.stamp\nissues.jsonl\n" if tracked else ".stamp\nissues.jsonl\n"
    assert (code.path / ".beads" / ".gitignore").read_text() == ignored
    given = {row["id"]: essence(row) for row in tracker() if row["status"] != "tombstone"}
    exported = {row["id"]: essence(row) for row in code.here("export", "--all", "--json").json}
    assert exported.keys() == given.keys()
    for bead_id, row in given.items():
        row.update({"issue_type": exported[bead_id]["issue_type"]} if "issue_type" not in row else {})
        assert exported[bead_id] == row
    assert code.here("show", "web-5", "--json").json[0]["status"] == "hooked"

    after = tip(code.path)
    again = code.here("migrate", "--json").json
    assert (again["created"], again["updated"], again["unchanged"]) == (0, 0, 6)
    assert tip(code.path) == after
    assert code.here("create", "New", "--json").json["id"].startswith("web-")


def test_a_dump_folder_goes_into_the_hub_that_is_there(board_of_one: Clone, tmp_path: Path) -> None:
    folder = write_dump(tmp_path / "old" / ".beads" / "backup")
    done = board_of_one.here("migrate", str(tmp_path / "old"), "--json").json
    assert done["created"] == 4
    shown = board_of_one.here("show", "fleet-ajb", "--json").json[0]
    assert [entry["id"] for entry in shown["dependencies"]] == ["fleet-oza"]
    assert [(entry["id"], entry["text"]) for entry in shown["comments"]] == [("1", "token expired")]
    assert shown["labels"] == ["research"]
    closed = board_of_one.here("show", "fleet-0i9", "--json").json[0]
    assert (closed["closed_at"], closed["close_reason"]) == ("2026-03-02T10:00:00Z", "Published")
    again = board_of_one.here("migrate", str(folder), "--json").json
    assert (again["created"], again["updated"], again["unchanged"]) == (0, 0, 4)


@pytest.fixture
def board_of_one(tmp_path: Path) -> Clone:
    git(tmp_path, "init", "--quiet", "-b", "main", "hub")
    hub = Clone(tmp_path / "hub")
    hub.here("init", "--prefix", "hub")
    return hub


def test_of_an_export_and_a_dump_the_newer_one_is_taken(tmp_path: Path) -> None:
    code = workspace(tmp_path, tracked=False)
    write_dump(code.path / ".beads" / "backup")  # of March, the export is of January
    told = code.here("migrate")
    assert "4 created" in told.out
    assert "issues.jsonl is older, and is left out" in told.err
    assert code.here("config", "get", "prefix").out == "fleet\n"


def test_types_and_statuses_of_the_workspace_become_the_hubs(tmp_path: Path) -> None:
    code = workspace(tmp_path, tracked=False)
    rows = [issue("web-1", issue_type="convoy"), issue("web-2", status="reviewing")]
    write_jsonl(code.path / ".beads" / "issues.jsonl", rows)
    code.here("migrate")
    assert code.here("config", "get", "types").out == "convoy\n"
    code.here("create", "Another", "-t", "convoy")
    assert [bead["id"] for bead in code.here("list", "--status", "reviewing", "--json").json] == ["web-2"]


def test_a_hub_that_can_not_be_made_leaves_the_workspace_as_it_was(tmp_path: Path) -> None:
    code = workspace(tmp_path, tracked=False)
    code.here("migrate", "--remote", str(tmp_path / "nowhere.git"), check=False)
    assert (code.path / ".beads" / "config.yaml").read_text() == SETTINGS
    assert (code.path / ".beads" / "metadata.json").read_text() == METADATA
    assert len(commits(code.path)) == 1


def test_what_is_no_workspace(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet", "-b", "main", "code")
    code = Clone(tmp_path / "code")
    refused = code.here("migrate", code=4)
    assert "nothing to migrate in" in refused.err
    write_jsonl(code.path / "issues.jsonl", [{"id": "1", "title": "No prefix"}])
    assert "no common prefix" in code.here("migrate", code=2).err
    (code.path / "issues.jsonl").unlink()
    secret = tmp_path / "secret.jsonl"
    write_jsonl(secret, [issue("x-1")])
    (code.path / "issues.jsonl").symlink_to(secret)
    assert "nothing to migrate in" in code.here("migrate", code=4).err
