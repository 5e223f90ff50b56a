"""The JSON of each command, exactly where clients depend on it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.conftest import IDS, READY, assert_issue

if TYPE_CHECKING:
    from tests.clocks import FakeClock
    from tests.running import Clone

pytestmark = pytest.mark.one_in(5)


def ids(answer: list[dict[str, Any]]) -> list[str]:
    return [entry["id"] for entry in answer]


def test_lists_carry_raw_edges_and_counts(board: Clone) -> None:
    for args in (("list", "--all"), ("ready",), ("search", "the", "--status", "all"), ("children", "hub-epic")):
        for bead in board.here(*args, "--json").json:
            for key in ("dependency_count", "dependent_count", "comment_count"):
                assert type(bead[key]) is int
    wire = next(bead for bead in board.here("list", "--json").json if bead["id"] == "hub-kid2")
    made = {"issue_id": "hub-kid2", "created_at": "2026-02-21T15:02:00.000000Z"}
    assert wire["dependencies"] == [
        {**made, "depends_on_id": "hub-kid1", "type": "blocks"},
        {**made, "depends_on_id": "hub-epic", "type": "parent-child"},
    ]
    assert (wire["dependency_count"], wire["dependent_count"], wire["parent"]) == (1, 0, "hub-epic")
    draw = next(bead for bead in board.here("ready", "--json").json if bead["id"] == "hub-kid1")
    assert (draw["dependent_count"], draw["parent"]) == (1, "hub-epic")


def test_lists_are_in_the_order_of_work(board: Clone) -> None:
    assert tuple(ids(board.here("ready", "--json").json)) == READY
    assert sorted(ids(board.here("list", "--all", "--json").json)) == sorted(IDS)
    assert sorted(ids(board.here("list", "--json").json)) == sorted({*IDS} - {"hub-done", "hub-off"})


def test_show_carries_whole_objects_both_ways(board: Clone) -> None:
    shown = board.here("show", "hub-bug", "--json").json
    assert isinstance(shown, list)
    bead = shown[0]
    assert [(entry["id"], entry["dependency_type"]) for entry in bead["dependents"]] == [("hub-res", "discovered-from")]
    assert_issue(bead["dependents"][0])
    assert bead["comments"] == [
        {
            "id": bead["comments"][0]["id"],
            "issue_id": "hub-bug",
            "author": "Ada",
            "text": "the cause is the proxy",
            "created_at": "2026-02-21T15:05:00Z",
        }
    ]
    assert isinstance(bead["comments"][0]["id"], str)
    assert (bead["description"], bead["external_ref"], bead["metadata"]) == ("It fails.", "gh-9", {"team": "core"})
    wire = board.here("show", "hub-kid2", "--json").json[0]
    assert [(entry["id"], entry["dependency_type"]) for entry in wire["dependencies"]] == [
        ("hub-kid1", "blocks"),
        ("hub-epic", "parent-child"),
    ]
    assert (wire["dependency_count"], wire["parent"]) == (2, "hub-epic")
    epic = board.here("show", "hub-epic", "--json").json[0]
    assert ids(epic["dependents"]) == ["hub-kid1", "hub-kid2"]
    assert (epic["epic_total_children"], epic["epic_closed_children"], epic["epic_closeable"]) == (2, 0, False)


@pytest.mark.parametrize(
    "args",
    [
        ("create", "New", "--deps", "hub-bug", "--parent", "hub-epic"),
        ("update", "hub-kid2", "--priority", "3"),
        ("close", "hub-res"),
        ("reopen", "hub-done"),
        ("blocked",),
        ("claim", "hub-kid1", "--agent", "bob"),
        ("note", "hub-kid2", "more"),
        ("defer", "hub-kid2"),
    ],
    ids=" ".join,
)
def test_writes_and_blocked_carry_no_edges(board: Clone, args: tuple[str, ...]) -> None:
    answer = board.here(*args, "--json").json
    for bead in answer if isinstance(answer, list) else [answer]:
        assert_issue(bead)
        assert "dependencies" not in bead
        assert "dependents" not in bead


def test_writes_say_whether_they_are_published(board: Clone) -> None:
    assert board.here("create", "New", "--json").json["published"] is True
    assert [bead["published"] for bead in board.here("update", "hub-bug", "hub-res", "-p", "3", "--json").json] == [True, True]
    assert board.here("comment", "hub-bug", "hello", "--json").json["published"] is True


def test_a_claim_hands_over_its_token(board: Clone, clock: FakeClock) -> None:
    bead = board.here("claim", "hub-bug", "--agent", "bob", "--json").json[0]
    claim = bead["claim"]
    assert (claim["agent"], claim["attempt"], claim["claimed_at"]) == ("bob", 1, clock.text())
    assert len(claim["token"]) == 26
    assert (bead["owner"], bead["assignee"], bead["status"], bead["phase"]) == ("bob@hub", "bob", "in_progress", "running")
    assert bead["started_at"] == clock.text()
    reserved = board.here("claim", "hub-kid1", "--agent", "bob", "--reserve", "--json").json[0]
    assert reserved["phase"] == "claimed"
    assert reserved["claim"]["expires_at"] == clock.text(minutes=15)
    assert "started_at" not in reserved


def test_create_answers_with_the_bead(board: Clone) -> None:
    bead = board.here(
        "create", "All of it", "-t", "bug", "-p", "P1", "-d", "why", "--design", "how", "--acceptance", "when", "--notes", "and",
        "-a", "bob", "-l", "z,a", "--label", "m", "--external-ref", "gh-1", "--estimate", "30", "--due", "2026-03-01",
        "--metadata", '{"n": 1}', "--json",
    ).json  # fmt: skip
    assert bead["schema_version"] == 1
    wanted = {
        "title": "All of it",
        "issue_type": "bug",
        "priority": 1,
        "description": "why",
        "design": "how",
        "acceptance_criteria": "when",
        "notes": "and",
        "assignee": "bob",
        "labels": ["a", "m", "z"],
        "external_ref": "gh-1",
        "estimated_minutes": 30,
        "due_at": "2026-03-01T00:00:00Z",
        "metadata": {"n": 1},
        "status": "open",
        "created_by": "human:Test Person",
    }
    assert {key: bead[key] for key in wanted} == wanted
    assert board.here("show", bead["id"], "--json").json[0]["notes"] == "and"


def test_blocked_names_what_blocks(board: Clone) -> None:
    answer = board.here("blocked", "--json").json
    assert [(bead["id"], bead["blocked_by_count"], bead["blocked_by"]) for bead in answer] == [("hub-kid2", 1, ["hub-kid1"])]


def test_stats(board: Clone) -> None:
    summary = board.here("stats", "--json").json["summary"]
    assert summary == {
        "total_issues": 9,
        "open_issues": 5,
        "in_progress_issues": 1,
        "closed_issues": 1,
        "blocked_issues": 1,
        "deferred_issues": 1,
        "ready_issues": 4,
        "pinned_issues": 0,
        "epics_eligible_for_closure": 0,
        "average_lead_time_hours": 0.017,
    }
    assert board.here("status", "--json").json == board.here("stats", "--json").json


def test_stats_of_an_empty_hub(local_hub: Clone) -> None:
    summary = local_hub.here("stats", "--json").json["summary"]
    assert set(summary.values()) == {0}


def test_count(board: Clone) -> None:
    assert board.here("count", "--json").json == {"count": 9, "schema_version": 1}
    assert board.here("count", "--status", "open", "--json").json["count"] == 5
    by_status = board.here("count", "--by-status", "--json").json
    assert by_status["total"] == 9
    assert {entry["group"]: entry["count"] for entry in by_status["groups"]} == {
        "open": 5,
        "in_progress": 1,
        "closed": 1,
        "cancelled": 1,
        "deferred": 1,
    }
    by_assignee = board.here("count", "--by-assignee", "--json").json["groups"]
    assert {entry["group"]: entry["count"] for entry in by_assignee} == {"(none)": 7, "axiom": 1, "codemonkey": 1}
    assert board.here("count", "--ready", "--json").json["count"] == 4
    assert (
        board.here("count", "--ready", "--agent", "axiom", "--json").json["count"] == 3
    )  # without hub-epic, which only holds others together
    assert board.here("count", "--ready", "--label", "merge", "--json").json["count"] == 1
    assert board.here("count", "--label", "merge", "--json").json["count"] == 2


def test_why(board: Clone) -> None:
    waiting = board.here("why", "hub-kid2", "--json").json
    assert (waiting["bucket"], waiting["ready"]) == ("pending", False)
    assert waiting["reasons"] == [{"code": "waits_on", "text": "waits on hub-kid1 (open)", "by": "hub-kid1"}]
    free = board.here("why", "hub-bug", "--json").json
    assert (free["bucket"], free["ready"], free["reasons"]) == ("ready", True, [])
    routed = board.here("why", "hub-res", "--agent", "bob", "--json").json
    assert (routed["ready"], routed["fits"]) == (True, False)
    assert "axiom" in routed["reasons"][0]["text"]
    assert board.here("why", "hub-res", "--agent", "axiom", "--json").json["fits"] is True


def test_comment_answers_with_the_comment(board: Clone) -> None:
    answer = board.here("comment", "hub-bug", "so", "it", "is", "--author", "Bob", "--json").json
    assert (answer["issue_id"], answer["author"], answer["text"]) == ("hub-bug", "Bob", "so it is")
    every = board.here("comments", "hub-bug", "--json").json
    assert [entry["text"] for entry in every] == ["the cause is the proxy", "so it is"]
    assert every[1]["id"] == answer["id"]


def test_delete_counts_what_it_took_along(board: Clone) -> None:
    answer = board.here("delete", "hub-bug", "--force", "--json").json
    assert (answer["deleted"], answer["dependencies_removed"], answer["references_updated"]) == ("hub-bug", 1, 1)
    many = board.here("delete", "hub-kid1", "hub-kid2", "--force", "--json").json
    assert (many["deleted"], many["deleted_count"]) == (["hub-kid1", "hub-kid2"], 2)
    assert "hub-bug" not in json.dumps(board.here("show", "hub-res", "--json").json[0].get("dependencies", []))


def test_epic_status(board: Clone) -> None:
    entry = board.here("epic", "status", "--json").json[0]
    assert_issue(entry["epic"])
    assert (entry["total_children"], entry["closed_children"], entry["eligible_for_close"]) == (2, 0, False)
    board.here("close", "hub-kid1")
    board.here("close", "hub-kid2")
    entry = board.here("epic", "status", "--json").json[0]
    assert (entry["closed_children"], entry["eligible_for_close"]) == (2, True)
    assert board.here("stats", "--json").json["summary"]["epics_eligible_for_closure"] == 1
    assert len(board.here("epic", "status", "--eligible-only", "--json").json) == 1
    board.here("close", "hub-epic")
    assert board.here("epic", "status", "--json").json == []


def test_dep_answers(board: Clone) -> None:
    added = board.here("dep", "add", "hub-bug", "hub-kid1", "--json").json
    assert (added["status"], added["issue_id"], added["depends_on_id"], added["type"]) == (
        "added",
        "hub-bug",
        "hub-kid1",
        "blocks",
    )
    assert board.here("dep", "add", "hub-bug", "hub-kid1", "--json").json["status"] == "added"
    several = board.here("dep", "list", "hub-bug", "hub-kid2", "--json").json
    assert {(edge["issue_id"], edge["depends_on_id"], edge["type"]) for edge in several} == {
        ("hub-bug", "hub-kid1", "blocks"),
        ("hub-kid2", "hub-kid1", "blocks"),
        ("hub-kid2", "hub-epic", "parent-child"),
    }
    up = board.here("dep", "list", "hub-kid1", "--direction=up", "--json").json
    assert [(entry["id"], entry["dependency_type"]) for entry in up] == [("hub-bug", "blocks"), ("hub-kid2", "blocks")]
    assert ids(board.here("dep", "list", "hub-kid2", "--type", "parent-child", "--json").json) == ["hub-epic"]
    tree = board.here("dep", "tree", "hub-kid2", "--json").json
    assert [(node["id"], node["depth"], node["truncated"]) for node in tree] == [("hub-kid2", 0, False), ("hub-kid1", 1, False)]
    removed = board.here("dep", "remove", "hub-bug", "hub-kid1", "--json").json
    assert (removed["status"], removed["issue_id"], removed["depends_on_id"]) == ("removed", "hub-bug", "hub-kid1")
    assert board.here("dep", "remove", "hub-bug", "hub-kid1", "--json").json["status"] == "removed"


def test_sync_and_whoami_and_version(board: Clone) -> None:
    sync = board.here("sync", "--json").json
    assert {"published", "received", "replayed", "refused", "tip"} <= set(sync)
    who = board.here("whoami", "--agent", "bob", "--json").json
    assert (who["agent"], who["source"], who["owner"]) == ("bob", "--agent", "bob@hub")
    version = board.here("version", "--json").json
    assert {"version", "build", "schema_version"} <= set(version)
    assert board.here("--version").out == board.here("version").out == f"bd version {version['version']}\n"
    assert board.here("-V").out == board.here("version").out


def test_reopened_beads_forget_their_end(board: Clone) -> None:
    bead = board.here("reopen", "hub-done", "--reason", "again", "--json").json[0]
    assert bead["status"] == "open"
    assert not {"closed_at", "close_reason", "closed_by"} & set(bead)
    assert board.here("comments", "hub-done", "--json").json[-1]["text"] == "again"
    assert ids(board.here("reopen", "hub-done", "--json").json) == ["hub-done"]


def test_every_visible_change_moves_updated_at(board: Clone) -> None:
    """A client that polls compares this one stamp."""
    seen = {board.here("show", "hub-bug", "--json").json[0]["updated_at"]}
    for args in (
        ("label", "add", "hub-bug", "x"),
        ("label", "remove", "hub-bug", "x"),
        ("dep", "add", "hub-bug", "hub-kid1"),
        ("dep", "remove", "hub-bug", "hub-kid1"),
        ("comment", "hub-bug", "more"),
        ("update", "hub-bug", "--parent", "hub-epic"),
        ("update", "hub-bug", "--priority", "2"),
        ("assign", "hub-bug", "bob"),
    ):
        board.here(*args)
        bead = board.here("show", "hub-bug", "--json").json[0]
        assert bead["updated_at"] not in seen, args
        assert "." in bead["updated_at"]
        seen.add(bead["updated_at"])


def test_limits_are_said_and_json_has_none(local_hub: Clone, tmp_path: Any) -> None:
    plan = tmp_path / "many.jsonl"
    plan.write_text("".join(json.dumps({"title": f"Bead {number}"}) + "\n" for number in range(60)))
    local_hub.here("create", "--file", str(plan), "--silent")
    assert len(local_hub.here("list", "--json").json) == 60
    assert len(local_hub.here("ready", "--json").json) == 60
    text = local_hub.here("list")
    assert len(text.lines) == 50
    assert text.err == "showing 50 of 60; --limit 0 shows all\n"
    assert len(local_hub.here("list", "--limit", "0").lines) == 60
    assert len(local_hub.here("list", "-n", "3", "--json").json) == 3
    assert local_hub.here("list", "-n", "3", "--json").err == "showing 3 of 60; --limit 0 shows all\n"


def test_the_envelope(board: Clone) -> None:
    envelope = {"BD_JSON_ENVELOPE": "1"}
    for args in (("list",), ("show", "hub-bug"), ("stats",), ("create", "New"), ("ready",), ("version",)):
        bare = board.here(*args, "--json").json if args[0] != "create" else None
        wrapped = board.here(*args, "--json", env=envelope).json
        assert set(wrapped) == {"schema_version", "data"}
        if isinstance(bare, dict):
            bare.pop("schema_version")
        if bare is not None:
            assert wrapped["data"] == bare
