"""Labels, dependencies, parents, deferral, cancelling and deleting, as they are typed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.truth import tip, tip_bead

if TYPE_CHECKING:
    from tests.running import Clone

pytestmark = pytest.mark.one_in(2)


def labels(board: Clone, bead_id: str) -> list[str]:
    bead = tip_bead(board.path, bead_id)
    assert bead is not None
    return bead.labels


def test_labels(board: Clone) -> None:
    answer = board.here("label", "add", "hub-bug", "hub-res", "urgent", "--json").json
    assert [(entry["status"], entry["issue_id"], entry["label"]) for entry in answer] == [
        ("added", "hub-bug", "urgent"),
        ("added", "hub-res", "urgent"),
    ]
    assert labels(board, "hub-bug") == ["infra/auth", "urgent"]
    before = tip(board.path)
    board.here("label", "add", "hub-bug", "urgent")
    assert tip(board.path) == before, "a label that is there changes nothing"
    assert board.here("label", "remove", "hub-bug", "urgent", "--json").json[0]["status"] == "removed"
    board.here("update", "hub-bug", "--add-label", "a,b", "--remove-label", "infra/auth")
    assert board.here("label", "list", "hub-bug", "--json").json == ["a", "b"]
    board.here("update", "hub-bug", "--set-labels", "only")
    assert labels(board, "hub-bug") == ["only"]
    counts = {entry["label"]: entry["count"] for entry in board.here("label", "list-all", "--json").json}
    assert counts == {"merge": 2, "only": 1, "urgent": 1, "web": 3}


def test_children_inherit_labels_unless_told(board: Clone) -> None:
    kid = board.here("create", "Kid", "--parent", "hub-epic", "-l", "own", "--silent").out.strip()
    assert labels(board, kid) == ["own", "web"]
    assert kid.startswith("hub-epic.")
    other = board.here("create", "Kid", "--parent", "hub-epic", "--no-inherit-labels", "--silent").out.strip()
    assert labels(board, other) == []


def test_deps_of_every_spelling(board: Clone) -> None:
    board.here("create", "One", "--id", "hub-one", "--deps", "hub-bug,blocked-by:hub-res", "--deps", "depends-on:hub-kid1")
    assert tip_bead(board.path, "hub-one").depends_on == ["hub-bug", "hub-res", "hub-kid1"]
    board.here("create", "Two", "--id", "hub-two", "--deps", "blocks:hub-bug")
    assert tip_bead(board.path, "hub-bug").depends_on == ["hub-two"]
    board.here("create", "Three", "--id", "hub-three", "--deps", "related:hub-bug,parent:hub-epic")
    three = tip_bead(board.path, "hub-three")
    assert three is not None
    assert ([(link.type, link.id) for link in three.links], three.parent) == ([("related", "hub-bug")], "hub-epic")
    board.here("dep", "add", "hub-res", "--blocked-by", "hub-kid1")
    board.here("dep", "add", "hub-res", "--depends-on", "hub-kid2")
    assert tip_bead(board.path, "hub-res").depends_on == ["hub-kid1", "hub-kid2"]


def test_circles_are_refused_wherever_they_would_close(board: Clone) -> None:
    before = tip(board.path)
    for args in (
        ("dep", "add", "hub-kid1", "hub-kid2"),
        ("create", "X", "--id", "hub-x", "--deps", "hub-kid2,blocks:hub-kid1"),
        ("update", "hub-epic", "--parent", "hub-kid1"),
        ("dep", "add", "hub-kid1", "hub-kid1"),
    ):
        refused = board.here(*args, "--json", code=5)
        assert refused.json["code"] == "would_cycle", refused
    assert tip(board.path) == before
    assert board.here("dep", "cycles", "--json").json == []


def test_re_parenting(board: Clone) -> None:
    board.here("update", "hub-bug", "--parent", "hub-epic")
    assert [bead["id"] for bead in board.here("children", "hub-epic", "--json").json] == ["hub-kid1", "hub-kid2", "hub-bug"]
    board.here("update", "hub-bug", "--parent", "")
    assert "parent" not in board.here("show", "hub-bug", "--json").json[0]


def test_a_closed_dependency_frees_and_is_told(board: Clone) -> None:
    result = board.here("close", "hub-kid1", "--reason", "drawn")
    assert result.err == "now ready: hub-kid2\n"
    assert board.here("blocked", "--json").json == []
    board.here("reopen", "hub-kid1")
    assert [bead["id"] for bead in board.here("blocked", "--json").json] == ["hub-kid2"]


def test_cancelling_keeps_what_waits_waiting_unless_told(board: Clone) -> None:
    result = board.here("cancel", "hub-kid1", "--reason", "no form")
    assert "still waiting for cancelled beads: hub-kid2" in result.err
    assert "--cascade" in result.err
    assert "hub-kid1, which was cancelled" in board.here("why", "hub-kid2").out
    board.here("reopen", "hub-kid1")
    board.here("cancel", "hub-kid1", "--unblock")
    assert tip_bead(board.path, "hub-kid2").depends_on == []
    answer = board.here("cancel", "hub-epic", "--cascade", "--json").json
    assert {bead["id"] for bead in answer} == {"hub-epic", "hub-kid2"}


def test_deferring(board: Clone) -> None:
    for until, stored in (
        ("2d", "2026-02-23T16:14:00Z"),
        ("tomorrow", "2026-02-22T00:00:00Z"),
        ("2026-03-01", "2026-03-01T00:00:00Z"),
    ):
        bead = board.here("defer", "hub-bug", "--until", until, "--json").json[0]
        assert (bead["status"], bead["defer_until"]) == ("deferred", stored)
    bead = board.here("undefer", "hub-bug", "--json").json[0]
    assert bead["status"] == "open"
    assert "defer_until" not in bead
    assert board.here("defer", "hub-bug", "--json").json[0]["status"] == "deferred"
    board.here("update", "hub-res", "--status", "deferred", "--defer", "3h")
    assert board.here("why", "hub-res").out == "hub-res is deferred until 2026-02-21T19:14:00Z.\n"


def test_delete_only_says_what_would_go(board: Clone) -> None:
    before = tip(board.path)
    preview = board.here("delete", "hub-kid1", "hub-bug")
    assert preview.lines == ["Would delete hub-kid1; 1 bead names it.", "Would delete hub-bug; 1 bead names it."]
    assert preview.err == "--force deletes\n"
    assert board.here("delete", "hub-kid1", "--json").json["would_delete"] == ["hub-kid1"]
    assert board.here("delete", "hub-kid1", "--force", "--dry-run", "--json").json["dry_run"] is True
    assert tip(board.path) == before
    board.here("delete", "hub-kid1", "--force")
    assert tip_bead(board.path, "hub-kid1") is None
    assert tip_bead(board.path, "hub-kid2").depends_on == []
    board.here("show", "hub-kid1", code=4)


def test_update_without_an_id_means_the_last_one_touched(board: Clone) -> None:
    board.here("create", "New", "--id", "hub-new")
    assert board.here("update", "--priority", "0", "--json").json[0]["id"] == "hub-new"


def test_metadata(board: Clone) -> None:
    board.here("update", "hub-bug", "--metadata", '{"n": 1, "deep": {"a": [true, "x"]}}', "--set-metadata", "empty=")
    bead = board.here("show", "hub-bug", "--json").json[0]
    assert bead["metadata"] == {"team": "core", "n": 1, "deep": {"a": [True, "x"]}, "empty": ""}
    board.here("update", "hub-bug", "--unset-metadata", "team", "--unset-metadata", "deep")
    assert board.here("show", "hub-bug", "--json").json[0]["metadata"] == {"n": 1, "empty": ""}
    assert "metadata: n=1" in board.here("show", "hub-bug").out


def test_notes_and_statuses(board: Clone) -> None:
    board.here("note", "hub-bug", "one")
    board.here("note", "hub-bug", "two", "words")
    board.here("update", "hub-bug", "--append-notes", "three")
    assert board.here("show", "hub-bug", "--json").json[0]["notes"] == "one\ntwo words\nthree"
    for status in ("blocked", "open", "deferred", "open", "closed"):
        assert board.here("update", "hub-bug", "--status", status, "--json").json[0]["status"] == status
    assert board.here("show", "hub-bug", "--json").json[0]["closed_at"] == "2026-02-21T16:14:00Z"
    assert board.here("update", "hub-bug", "--status", "open", "--json").json[0].get("closed_at") is None


def test_priorities_and_types_of_every_spelling(board: Clone) -> None:
    for typed, stored in (("0", 0), ("P1", 1), ("p4", 4)):
        assert board.here("create", "X", "-p", typed, "--json").json["priority"] == stored
    for typed, stored_type in (("feat", "feature"), ("adr", "decision"), ("user-story", "story"), ("BUG", "bug")):
        assert board.here("create", "X", "-t", typed, "--json").json["issue_type"] == stored_type


def test_an_idempotent_create(board: Clone) -> None:
    first = board.here("create", "Once", "--idempotency-key", "mail-7", "--json").json
    before = tip(board.path)
    second = board.here("create", "Once more", "--idempotency-key", "mail-7", "--json").json
    assert (second["id"], second["title"]) == (first["id"], "Once")
    assert tip(board.path) == before


def test_show_tells_what_was_handed_over(board: Clone) -> None:
    board.here(
        "handoff", "hub-kid1", "--to", "hub-kid2", "--artifact", "form=https://x.org/f", "--artifact", ".beads/config.yaml"
    )
    first, second = board.here("show", "hub-kid1").out, board.here("show", "hub-kid2").out
    assert "\nartifacts\n  form  https://x.org/f\n  config.yaml  .beads/config.yaml\n" in first
    assert "\ncontext\n  form=https://x.org/f\n  .beads/config.yaml\n" in second
    assert "From hub-kid1: Handed over: form, config.yaml" in second
    shown = board.here("show", "hub-kid1", "hub-kid2", "--json").json
    assert shown[0]["output"]["artifacts"][0] == {"name": "form", "ref": "https://x.org/f"}
    assert shown[1]["spec"]["context_refs"] == ["form=https://x.org/f", ".beads/config.yaml"]


@pytest.mark.parametrize(
    "words",
    [
        "hub-a --blocks hub-b",
        "hub-a --blocks=hub-b",
        "hub-a -b hub-b",
        "--blocks hub-b hub-a",
        "hub-b --blocked-by hub-a",
        "hub-b --depends-on=hub-a",
        "add hub-b hub-a",
        "add hub-b --blocked-by hub-a",
    ],
)
def test_every_way_to_say_which_bead_waits(local_hub: Clone, words: str) -> None:
    for name in ("a", "b"):
        local_hub.here("create", name, "--id", f"hub-{name}")
    answer = local_hub.here("dep", *words.split(), "--json").json
    assert (answer["issue_id"], answer["depends_on_id"], answer["type"]) == ("hub-b", "hub-a", "blocks")


def test_a_flag_without_a_bead_is_a_mistake(local_hub: Clone) -> None:
    for words in ("dep hub-a --blocks", "dep --blocks hub-a", "dep list --blocks hub-a"):
        local_hub.here(*words.split(), code=2)
