"""`bd import` on real hubs: JSONL and table dumps come in whole, once, and over nothing newer."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.compat.foreign import CHANGED, MADE, edge, issue, tracker, write_dump, write_jsonl
from tests.truth import commit_file, commits, git, log, tip_bead, tip_file, tip_paths

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.running import Clone

pytestmark = pytest.mark.one_in(12)

REAL_DATA = Path(__file__).parents[3] / "shared" / "data"


def test_a_tracker_comes_in_whole_in_one_commit(hub: Path, clone: Callable[[str], Clone], tmp_path: Path) -> None:
    alice = clone("alice")
    before = len(commits(hub))
    answer = alice.here("import", str(write_jsonl(tmp_path / "t.jsonl", tracker())), "--json").json
    assert len(commits(hub)) == before + 1
    assert log(hub)[0].startswith("import: 6 beads by ")
    assert answer["created"] == 6
    assert answer["published"] is True
    assert answer["skipped_reasons"] == [{"id": "web-4", "reason": "was deleted there (a tombstone)"}]
    assert sorted(answer["ids"]) == ["web-1", "web-2", "web-3", "web-5", "web-6", "web-9"]
    assert [path for path in tip_paths(hub) if path.startswith("beads/")] == [
        f"beads/web-{number}.yaml" for number in (1, 2, 3, 5, 6, 9)
    ]


def test_every_field_of_a_row_lies_in_the_bead(hub: Path, clone: Callable[[str], Clone], tmp_path: Path) -> None:
    clone("alice").here("import", str(write_jsonl(tmp_path / "t.jsonl", tracker())))
    bug = tip_bead(hub, "web-2")
    assert bug is not None
    assert (bug.title, bug.type, bug.priority) == ("Use <b> & 'quotes'", "bug", 0)
    assert bug.labels == ["a11y", "ui"]
    assert (bug.created_at, bug.updated_at) == (MADE, CHANGED)
    assert bug.depends_on == ["web-9"]  # stands behind it in the file
    assert bug.parent == "web-1"
    assert bug.comments[0] == {"id": "7", "author": "ada", "at": "2026-01-16T10:00:00Z", "text": "first\nsecond"}
    assert bug.get("estimated_minutes") == 30
    assert not {"compaction_level", "original_size", "compacted_at_commit"} & set(bug.fields)
    epic = tip_bead(hub, "web-1")
    assert epic is not None
    assert epic.get("description") == "One.\n\n  \nTwo.\n"
    assert (epic.get("pinned"), epic.get("deadline")) == (True, "2026-02-28T23:00:00Z")
    working = tip_bead(hub, "web-3")
    assert working is not None
    assert (working.status, working.claim, working.owner) == ("in_progress", None, "person@example.org")
    assert working.get("links")[0] == {
        "type": "discovered-from",
        "id": "web-2",
        "created_at": "2026-01-16T08:00:00.5Z",
        "created_by": "ada",
    }
    hooked = tip_bead(hub, "web-5")
    assert hooked is not None
    assert (hooked.status, hooked.get("hook_slot"), hooked.get("team_score")) == ("hooked", {"rig": "a", "depth": [1, 2]}, 0.5)
    closed = tip_bead(hub, "web-6")
    assert closed is not None
    assert closed.get("metadata") == {"k": "", "n": 3, "deep": {"x": None}}
    texts = tip_bead(hub, "web-9")
    assert texts is not None
    assert [texts.get(key) for key in ("title", "design", "notes", "acceptance_criteria")] == ["2026-01-01", "0123", "no", "1e3"]


def test_the_second_import_changes_nothing(hub: Path, clone: Callable[[str], Clone], tmp_path: Path) -> None:
    alice = clone("alice")
    source = str(write_jsonl(tmp_path / "t.jsonl", tracker()))
    alice.here("import", source)
    before = commits(hub)
    answer = alice.here("import", source, "--json").json
    assert commits(hub) == before
    assert (answer["created"], answer["updated"], answer["unchanged"]) == (0, 0, 6)
    assert "0 created, 6 unchanged, 1 skipped" in clone("bob").here("import", source).out
    assert commits(hub) == before


def test_export_then_import_elsewhere_gives_the_same_export(
    clone: Callable[[str], Clone], local_hub: Clone, tmp_path: Path
) -> None:
    alice = clone("alice")
    alice.here("import", str(write_jsonl(tmp_path / "t.jsonl", tracker())))
    alice.here("create", "Ours", "--id", "hub-own", "--deps", "web-2", "--needs", "gpu", "--json")
    alice.here("claim", "hub-own", "--agent", "coder", "--force", check=False)
    alice.here("claim", "web-9", "--agent", "coder")
    alice.here("comment", "web-9", "on it")
    first = alice.here("export").out
    assert '"claim":{' in first
    (tmp_path / "export.jsonl").write_text(first, encoding="utf-8")
    local_hub.here("import", str(tmp_path / "export.jsonl"))
    assert local_hub.here("export").out == first
    assert alice.here("import", str(tmp_path / "export.jsonl"), "--json").json["unchanged"] == 7


def test_a_table_dump_comes_in_with_its_other_tables(hub: Path, clone: Callable[[str], Clone], tmp_path: Path) -> None:
    alice = clone("alice")
    folder = write_dump(tmp_path / "old" / ".beads" / "backup")
    ended = alice.here("import", str(tmp_path / "old"), "--json")
    answer = ended.json
    assert (answer["created"], answer["skipped"], answer["unreadable"]) == (4, 0, [])
    assert any("`bd config set prefix fleet`" in note for note in answer["notes"])
    done = tip_bead(hub, "fleet-0i9")
    assert done is not None
    assert (done.status, done.owner, done.assignee, done.get("closed_by")) == ("closed", "human@example.org", None, "Coder")
    assert (done.get("pinned"), done.get("closed_at")) == (True, "2026-03-02T10:00:00Z")
    working = tip_bead(hub, "fleet-16h")
    assert working is not None
    assert (working.priority, working.get("metadata"), working.assignee) == (0, {"run": "7"}, "PltOps")
    assert working.get("closed_by") is None  # an event says closed, the issue does not
    waiting = tip_bead(hub, "fleet-oza")
    assert waiting is not None
    assert (waiting.get("timeout"), waiting.get("waiters")) == (5_000_000_000, ["a", "b"])
    last = tip_bead(hub, "fleet-ajb")
    assert last is not None
    assert (last.depends_on, last.labels, last.comments[0]["id"]) == (["fleet-oza"], ["research"], "1")
    known = {"id", "uid", "title", "type", "status", "priority", "owner", "description", "notes", "created_at", "created_by"}
    assert set(last.fields) == known | {"updated_at", "depends_on", "labels", "comments", "edge_details"}
    before = commits(hub)
    assert alice.here("import", str(folder), "--json").json["unchanged"] == 4
    assert commits(hub) == before


def test_rows_of_a_dump_that_belong_nowhere_are_named(clone: Callable[[str], Clone], tmp_path: Path) -> None:
    folder = write_dump(tmp_path / "dump")
    (folder / "labels.jsonl").write_text('{"issue_id":"fleet-gone","label":"x"}\nnot json\n7\n', encoding="utf-8")
    write_jsonl(folder / "dependencies.jsonl", [edge("fleet-gone", "fleet-ajb"), edge("fleet-ajb", "fleet-gone")])
    answer = clone("alice").here("import", str(folder), "--json", code=7).json
    assert answer["created"] == 4
    assert [entry["where"] for entry in answer["unreadable"]] == ["labels.jsonl line 2", "labels.jsonl line 3"]
    assert "labels.jsonl: one for 'fleet-gone', which is not in the dump" in answer["notes"]
    assert answer["skipped_dependencies"] == [
        "fleet-gone -> fleet-ajb (blocks): no such bead",
    ]
    assert answer["dangling_dependencies"] == ["fleet-ajb -> fleet-gone (blocks)"]


def test_a_folder_without_tables_and_a_file_that_is_not_there(clone: Callable[[str], Clone], tmp_path: Path) -> None:
    alice = clone("alice")
    (tmp_path / "empty").mkdir()
    assert "has no issues.jsonl" in alice.here("import", str(tmp_path / "empty"), code=4).err
    assert "there is no" in alice.here("import", "-i", str(tmp_path / "missing.jsonl"), code=4).err


def test_one_table_of_a_dump_alone_says_that_there_is_more(clone: Callable[[str], Clone], tmp_path: Path) -> None:
    folder = write_dump(tmp_path / "dump")
    ended = clone("alice").here("import", str(folder / "issues.jsonl"))
    assert "import its folder" in ended.err


def test_a_newer_or_claimed_bead_here_is_left_alone(hub: Path, clone: Callable[[str], Clone], tmp_path: Path) -> None:
    alice = clone("alice")
    rows = [issue("web-1"), issue("web-2")]
    source = str(write_jsonl(tmp_path / "t.jsonl", rows))
    alice.here("import", source)
    alice.here("update", "web-1", "--title", "Ours is newer")
    alice.here("claim", "web-2", "--agent", "coder")
    here = {name: tip_file(hub, f"beads/{name}.yaml") for name in ("web-1", "web-2")}
    rows[0]["title"] = "Theirs is older"
    rows[1].update(title="Theirs is newer", updated_at="2036-01-01T00:00:00Z")
    write_jsonl(tmp_path / "t.jsonl", [*rows, issue("web-3")])
    answer = alice.here("import", source, "--json").json
    assert {name: tip_file(hub, f"beads/{name}.yaml") for name in here} == here
    assert answer["ids"] == ["web-3"]
    assert answer["stale_skipped_ids"] == ["web-1"]
    reasons = {entry["id"]: entry["reason"] for entry in answer["skipped_reasons"]}
    assert reasons["web-1"].startswith("is newer here")
    assert reasons["web-2"] == "is claimed here by coder"


def test_a_newer_record_replaces_an_older_bead(hub: Path, clone: Callable[[str], Clone], tmp_path: Path) -> None:
    alice = clone("alice")
    row = issue("web-1", description="old", labels=["a"])
    source = str(write_jsonl(tmp_path / "t.jsonl", [row]))
    alice.here("import", source)
    del row["description"]
    row.update(updated_at="2036-01-01T00:00:00Z", title="New", labels=["b"])
    write_jsonl(tmp_path / "t.jsonl", [row])
    assert alice.here("import", source, "--json").json["updated"] == 1
    bead = tip_bead(hub, "web-1")
    assert bead is not None
    assert (bead.title, bead.get("description"), bead.labels) == ("New", None, ["b"])
    assert alice.here("import", source, "--json").json["unchanged"] == 1


def test_skip_and_fail_leave_what_is_here(hub: Path, clone: Callable[[str], Clone], tmp_path: Path) -> None:
    alice = clone("alice")
    source = str(write_jsonl(tmp_path / "t.jsonl", [issue("web-1")]))
    alice.here("import", source)
    write_jsonl(tmp_path / "t.jsonl", [issue("web-1", title="New", updated_at="2036-01-01T00:00:00Z"), issue("web-2")])
    before = commits(hub)
    refused = alice.here("import", source, "--on-conflict", "fail", "--json", code=5)
    assert refused.json["ids"] == ["web-1"]
    assert commits(hub) == before
    answer = alice.here("import", source, "--on-conflict", "skip", "--json").json
    assert (answer["ids"], answer["skipped_reasons"]) == (["web-2"], [{"id": "web-1", "reason": "exists already"}])


def test_lines_that_cannot_be_read_are_named_and_the_rest_comes_in(clone: Callable[[str], Clone], tmp_path: Path) -> None:
    source = tmp_path / "t.jsonl"
    good = [json.dumps(issue(f"web-{number}")) for number in (1, 2)]
    lines = [
        good[0],
        "<<<<<<< HEAD",
        json.dumps(issue("web-3", title=None)),
        json.dumps(issue("web-4", priority=9)),
        json.dumps(issue("web-5", dependencies=[{"issue_id": "web-5", "type": "blocks"}])),
        '["no object"]',
        '{"id": "web-6", "title": "\xff"}',
        "",
        good[1],
    ]
    source.write_bytes("\n".join(lines).encode("latin-1"))
    ended = clone("alice").here("import", str(source), "--json", code=7)
    answer = ended.json
    assert answer["ids"] == ["web-1", "web-2"]
    named = {entry["where"]: entry["error"] for entry in answer["unreadable"]}
    assert list(named) == ["line 2", "line 7", "line 3", "line 4", "line 5", "line 6"]
    assert named["line 3"] == "web-3: has no title"
    assert named["line 4"] == "web-4: priority: '9' is not 0 to 4"
    assert named["line 5"].endswith("an edge without depends_on_id")
    assert f"can't be read: {source}, line 2: is not JSON" in ended.err


def test_a_plan_file_is_no_import(clone: Callable[[str], Clone], tmp_path: Path) -> None:
    plan = tmp_path / "page.yaml"
    plan.write_text("title: Build the page\n")
    ended = clone("alice").here("import", str(plan), code=2)
    assert ended.out == ""
    assert "a plan is for `bd plan apply`" in ended.err


def test_what_is_no_bead_is_skipped(clone: Callable[[str], Clone], tmp_path: Path) -> None:
    rows = [
        {"_schema": "beads-jsonl/1", "tool": "x"},
        {"_type": "memory", "key": "k", "value": "v"},
        {"_type": "issue", **issue("web-1")},
    ]
    rows += [issue("../etc/passwd"), issue("con"), {"_type": "wisp", "id": "w"}]
    answer = clone("alice").here("import", str(write_jsonl(tmp_path / "t.jsonl", rows)), "--json").json
    assert (answer["ids"], answer["memories"], answer["skipped"]) == (["web-1"], 1, 2)
    assert [entry["id"] for entry in answer["skipped_reasons"]] == ["../etc/passwd", "con"]
    assert answer["notes"] == ["line 6: a wisp, not a bead"]


def test_edges_to_missing_beads_stay_and_are_listed(hub: Path, clone: Callable[[str], Clone], tmp_path: Path) -> None:
    alice = clone("alice")
    alice.here("create", "Already here", "--id", "hub-here")
    edges = [edge("web-1", target, kind) for target, kind in (("web-0", "blocks"), ("hub-here", "blocks"), ("web-8", "related"))]
    gone = [edge("web-1", "web-6"), edge("web-1", "web-6", "relates-to")]
    rows = [
        issue("web-1", dependencies=[*edges, *gone, edge("web-1", "web-7", "parent-child")]),
        issue("web-6", status="tombstone"),
    ]
    answer = alice.here("import", str(write_jsonl(tmp_path / "t.jsonl", rows)), "--json").json
    assert answer["dangling_dependencies"] == [
        "web-1 -> web-0 (blocks)",
        "web-1 -> web-7 (parent-child)",
        "web-1 -> web-8 (related)",
    ]
    assert answer["skipped_dependencies"] == [
        "web-1 -> web-6 (blocks): was deleted there",
        "web-1 -> web-6 (relates-to): was deleted there",
    ]
    bead = tip_bead(hub, "web-1")
    assert bead is not None
    assert (bead.depends_on, bead.parent, [link.id for link in bead.links]) == (["web-0", "hub-here"], "web-7", ["web-8"])
    assert set(bead.get("edge_details")) == {"web-0", "hub-here", "web-7"}


@pytest.mark.parametrize("kind", ["blocks", "parent-child", "waits-for", "related"])
def test_two_files_come_in_as_one_does_in_either_order(
    clone: Callable[[str], Clone], local_hub: Clone, tmp_path: Path, kind: str
) -> None:
    rows = [issue("web-1", dependencies=[edge("web-1", "web-2", kind)]), issue("web-2")]
    parts = [str(write_jsonl(tmp_path / f"{row['id']}.jsonl", [row])) for row in rows]
    alice = clone("alice")
    alice.here("import", parts[0])
    is_ready = "web-1" in [bead["id"] for bead in alice.here("ready", "--json").json]
    assert is_ready == (kind in ("parent-child", "related"))
    alice.here("import", parts[1])
    local_hub.here("import", str(write_jsonl(tmp_path / "both.jsonl", reversed(rows))))
    assert alice.here("export").out == local_hub.here("export").out
    assert alice.here("doctor").code == 0


def test_a_bead_left_out_for_its_title_is_waited_for_by_its_twin(
    hub: Path, clone: Callable[[str], Clone], tmp_path: Path
) -> None:
    alice = clone("alice")
    alice.here("create", "Do web-2", "--id", "hub-twin")
    rows = [issue("web-1", dependencies=[edge("web-1", "web-2")]), issue("web-2")]
    source = str(write_jsonl(tmp_path / "t.jsonl", rows))
    assert alice.here("import", source, "--dedup", "--json").json["created"] == 1
    bead = tip_bead(hub, "web-1")
    assert bead is not None
    assert (bead.depends_on, list(bead.get("edge_details"))) == (["hub-twin"], ["hub-twin"])


def test_circles_in_the_data_lose_no_edge_and_block_nobody(
    clone: Callable[[str], Clone], local_hub: Clone, tmp_path: Path
) -> None:
    alice = clone("alice")
    rows = [
        issue("web-1", dependencies=[edge("web-1", "web-2"), edge("web-1", "web-3", "waits-for")]),
        issue("web-2", dependencies=[edge("web-2", "web-1")], created_at="2026-01-16T07:30:00Z"),
        issue("web-3", dependencies=[edge("web-3", "web-1")], created_at="2026-01-15T07:30:00Z"),
        issue("web-4", dependencies=[edge("web-4", "web-5", "parent-child"), edge("web-4", "web-1", "parent-child")]),
        issue("web-5", dependencies=[edge("web-5", "web-4", "parent-child")]),
        issue("web-6", dependencies=[edge("web-6", "web-6")]),
    ]
    source = str(write_jsonl(tmp_path / "t.jsonl", rows))
    answer = alice.here("import", source, "--json").json
    assert answer["created"] == 6
    assert len(answer["kept_as_links"]) == 4
    assert alice.here("doctor", "--json").code == 0
    assert alice.here("import", source, "--json").json["unchanged"] == 6
    exported = [json.loads(line) for line in alice.here("export").lines]
    wanted = {(e["issue_id"], e["depends_on_id"], e["type"], e["created_by"]) for row in rows for e in row["dependencies"]}
    assert {
        (e["issue_id"], e["depends_on_id"], e["type"], e["created_by"]) for row in exported for e in row["dependencies"]
    } == wanted
    text = alice.here("export").out
    (tmp_path / "export.jsonl").write_text(text, encoding="utf-8")
    local_hub.here("import", str(tmp_path / "export.jsonl"))
    assert local_hub.here("export").out == text


def test_a_file_here_that_cannot_be_read_is_not_overwritten(hub: Path, clone: Callable[[str], Clone], tmp_path: Path) -> None:
    alice = clone("alice")
    commit_file(alice.path, "beads/web-1.yaml", "id: web-1\ntitle: [\n")
    git(alice.path, "push", "--quiet", "origin", "HEAD:main")
    damaged = tip_file(hub, "beads/web-1.yaml")
    answer = alice.here("import", str(write_jsonl(tmp_path / "t.jsonl", [issue("web-1"), issue("web-2")])), "--json").json
    assert answer["ids"] == ["web-2"]
    assert answer["skipped_reasons"][0]["reason"].startswith("has a file here that can't be read")
    assert tip_file(hub, "beads/web-1.yaml") == damaged


def test_rows_without_ids_get_one_and_keep_it(hub: Path, clone: Callable[[str], Clone], tmp_path: Path) -> None:
    alice = clone("alice")
    source = str(write_jsonl(tmp_path / "t.jsonl", [{"title": "Only a title"}, {"title": "Another"}]))
    first = alice.here("import", source, "--json").json
    assert first["created"] == 2
    assert all(bead_id.startswith("hub-") for bead_id in first["ids"])
    bead = tip_bead(hub, first["ids"][0])
    assert bead is not None
    assert (bead.title, bead.type, bead.status, bead.priority) == ("Only a title", "task", "open", 2)
    before = commits(hub)
    assert alice.here("import", source, "--json").json["unchanged"] == 2
    assert commits(hub) == before


def test_dry_run_and_dedup(hub: Path, clone: Callable[[str], Clone], tmp_path: Path) -> None:
    alice = clone("alice")
    alice.here("create", "Same words")
    source = str(write_jsonl(tmp_path / "t.jsonl", [issue("web-1", title="Same words"), issue("web-2")]))
    before = commits(hub)
    tried = alice.here("import", source, "--dry-run", "--json").json
    assert (tried["dry_run"], tried["created"], tried["published"]) == (True, 2, False)
    assert commits(hub) == before
    answer = alice.here("import", source, "--dedup", "--json").json
    assert (answer["ids"], answer["dedup_skipped"]) == (["web-2"], 1)


def test_stdin_is_read_only_when_asked(clone: Callable[[str], Clone], tmp_path: Path) -> None:
    alice = clone("alice")
    text = json.dumps(issue("web-1")) + "\n"
    assert alice.here("import", input=text, code=4).err.startswith("Error: no file was given")
    write_jsonl(alice.path / ".beads" / "issues.jsonl", [issue("web-2")])
    assert alice.here("import", "--json", input=text).json["ids"] == ["web-2"]
    assert alice.bd("import", "-", "--json", input=text).json["ids"] == ["web-1"]


def test_a_json_array_is_taken_too(local_hub: Clone, tmp_path: Path, clone: Callable[[str], Clone]) -> None:
    alice = clone("alice")
    alice.here("create", "One", "--id", "hub-one")
    alice.here("create", "Two", "--id", "hub-two", "--deps", "hub-one", "--deps", "related:hub-one")
    listed = tmp_path / "list.json"
    listed.write_text(alice.here("list", "--all", "--json").out, encoding="utf-8")
    assert sorted(local_hub.here("import", str(listed), "--json").json["ids"]) == ["hub-one", "hub-two"]
    assert local_hub.here("export").out == alice.here("export").out
    shown = tmp_path / "show.json"
    shown.write_text(alice.here("show", "hub-two", "hub-one", "--json").out, encoding="utf-8")
    answer = local_hub.here("import", str(shown), "--json").json
    assert (answer["created"], answer["updated"], answer["unreadable"]) == (0, 0, [])


@pytest.mark.parametrize("count", [2, 120])
def test_an_import_made_offline_is_published_later(hub: Path, clone: Callable[[str], Clone], tmp_path: Path, count: int) -> None:
    """The small one is decided again from its arguments, the large one from its commit's difference."""
    alice, bob = clone("alice"), clone("bob")
    alice.here("list")
    rows = [
        issue(f"web-{number}", description="long " * 100, dependencies=[edge(f"web-{number}", "web-0")] if number else None)
        for number in range(count)
    ]
    source = str(write_jsonl(tmp_path / "t.jsonl", rows))
    away = hub.with_name("away")
    os.rename(hub, away)
    assert alice.bd("import", source, "--json").json["published"] is False
    os.rename(away, hub)
    bob.bd("create", "Meanwhile")
    alice.bd("sync")
    assert sum(path.startswith("beads/web-") for path in tip_paths(hub)) == count
    bead = tip_bead(hub, "web-1")
    assert bead is not None
    assert bead.depends_on == ["web-0"]
    assert alice.bd("import", source, "--json").json["unchanged"] == count


@pytest.mark.one_in(6)
@pytest.mark.skipif(not REAL_DATA.is_dir(), reason="the real trackers' data is not beside this repository")
@pytest.mark.parametrize(
    ("name", "beads", "edges", "comments", "skipped"),
    [("tracker-513.jsonl", 512, 464, 180, 1), ("tracker-208.jsonl", 208, 3, 1, 0), ("fleet-hub", 34, 1, 1, 0)],
)
def test_real_trackers_come_in_whole(
    hub: Path,
    clone: Callable[[str], Clone],
    local_hub: Clone,
    tmp_path: Path,
    name: str,
    beads: int,
    edges: int,
    comments: int,
    skipped: int,
) -> None:
    alice = clone("alice")
    answer = alice.here("import", str(REAL_DATA / name), "--json").json
    assert (answer["created"], answer["skipped"], answer["unreadable"]) == (beads, skipped, [])
    assert (answer["skipped_dependencies"], answer["kept_as_links"]) == ([], [])
    before = commits(hub)
    assert alice.here("import", str(REAL_DATA / name), "--json").json["unchanged"] == beads
    assert commits(hub) == before
    text = alice.here("export").out
    rows = [json.loads(line) for line in text.splitlines()]
    assert sum(len(row.get("dependencies", [])) for row in rows) == edges
    assert sum(len(row.get("comments", [])) for row in rows) == comments
    (tmp_path / "export.jsonl").write_text(text, encoding="utf-8")
    local_hub.here("import", str(tmp_path / "export.jsonl"))
    assert local_hub.here("export").out == text
