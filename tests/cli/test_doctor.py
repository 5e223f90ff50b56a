"""The doctor: every kind of damage is named and ends with 7, and nothing is changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.running import Clone
from tests.truth import commit_file, git, tip, tip_file

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.one_in(6)

GOOD = "id: hub-x\ntitle: Fine\ntype: task\nstatus: open\npriority: 2\ncreated_at: 2026-02-21T15:00:00Z\n"

# What is wrong -> the files that make it so, the finding's code, and where it points to.
DAMAGE: dict[str, tuple[dict[str, str], str, str]] = {
    "bad YAML": ({"beads/hub-x.yaml": "title: [\n"}, "unreadable", "beads/hub-x.yaml"),
    "conflict markers": (
        {"beads/hub-x.yaml": "id: hub-x\n<<<<<<< ours\ntitle: a\n=======\ntitle: b\n>>>>>>> theirs\n"},
        "unreadable",
        "beads/hub-x.yaml",
    ),
    "duplicate keys": ({"beads/hub-x.yaml": GOOD + "title: Again\n"}, "unreadable", "beads/hub-x.yaml"),
    "a wrong type": ({"beads/hub-x.yaml": GOOD.replace("priority: 2", "priority: [1]")}, "unreadable", "beads/hub-x.yaml"),
    "a list": ({"beads/hub-x.yaml": "- one\n- two\n"}, "unreadable", "beads/hub-x.yaml"),
    "an id that is not the file's": ({"beads/hub-x.yaml": GOOD.replace("hub-x", "hub-y")}, "unreadable", "beads/hub-x.yaml"),
    "a file that is too large": (
        {"beads/hub-x.yaml": GOOD + "notes: " + "x" * 5_000_000 + "\n"},
        "unreadable",
        "beads/hub-x.yaml",
    ),
    "an unreadable agent": ({".beads/agents/bob.yaml": "name: [\n"}, "unreadable", ".beads/agents/bob.yaml"),
    "an id twice": (
        {"beads/hub-x.yaml": GOOD, "beads/archive/2026-02/hub-x.yaml": GOOD},
        "double_id",
        "beads/archive/2026-02/hub-x.yaml and beads/hub-x.yaml",
    ),
    "a dependency on nothing": ({"beads/hub-x.yaml": GOOD + "depends_on: [hub-nope]\n"}, "unknown_dependency", "hub-x"),
    "a parent that is not there": ({"beads/hub-x.yaml": GOOD + "parent: hub-nope\n"}, "unknown_parent", "hub-x"),
    "a circle": (
        {
            "beads/hub-x.yaml": GOOD + "depends_on: [hub-y]\n",
            "beads/hub-y.yaml": GOOD.replace("hub-x", "hub-y") + "depends_on: [hub-x]\n",
        },
        "cycle",
        "hub-x",
    ),
    "its own parent": ({"beads/hub-x.yaml": GOOD + "parent: hub-x\n"}, "cycle", "hub-x"),
    "a claim on an open bead": (
        {"beads/hub-x.yaml": GOOD + "claim: {agent: bob, token: T, attempt: 1, claimed_at: 2026-02-21T15:00:00Z}\n"},
        "claim_without_work",
        "hub-x",
    ),
    "more forgiven than made": ({"beads/hub-x.yaml": GOOD + "attempts_forgiven: 2\n"}, "attempts", "hub-x"),
}


@pytest.mark.parametrize("what", DAMAGE)
def test_damage(local_hub: Clone, what: str) -> None:
    files, code, where = DAMAGE[what]
    local_hub.here("create", "Fine", "--id", "hub-fine")
    for path, text in files.items():
        commit_file(local_hub.path, path, text)
    before = tip(local_hub.path), git(local_hub.path, "status", "--porcelain"), git(local_hub.path, "for-each-ref")
    result = local_hub.here("doctor", "--json", code=7)
    assert result.json["healthy"] is False
    found = [(finding["code"], finding["where"]) for finding in result.json["findings"] if finding["level"] == "damage"]
    assert found == [(code, where)]
    told = local_hub.here("doctor", code=7)
    assert told.lines[0].startswith(f"damage: {where}: ")
    assert told.lines[-1].endswith("1 damaged, 0 warnings")
    assert (tip(local_hub.path), git(local_hub.path, "status", "--porcelain"), git(local_hub.path, "for-each-ref")) == before
    for path, content in files.items():
        assert tip_file(local_hub.path, path) == content.encode()
    assert "hub-fine" in {bead["id"] for bead in local_hub.here("list", "--json").json}, "the others are read all the same"


def test_a_symbolic_link_is_damage(local_hub: Clone) -> None:
    (local_hub.path / "beads").mkdir(exist_ok=True)
    (local_hub.path / "beads" / "hub-x.yaml").symlink_to("/etc/hostname")
    git(local_hub.path, "add", "beads/hub-x.yaml")
    git(local_hub.path, "commit", "--quiet", "-m", "by hand")
    result = local_hub.here("doctor", "--json", code=7)
    assert [(finding["code"], finding["where"]) for finding in result.json["findings"]] == [("unreadable", "beads/hub-x.yaml")]
    assert "is not a plain file" in result.json["findings"][0]["text"]


def test_a_healthy_hub(board: Clone) -> None:
    result = board.here("doctor", "--json").json
    assert (result["healthy"], result["beads"], result["findings"]) == (True, 9, [])
    assert board.here("doctor").lines == [f"9 beads read at {tip(board.path)[:7]}: 0 damaged, 0 warnings"]


def test_what_is_only_a_warning_ends_with_0(clone: Callable[[str], Clone], hub: Path) -> None:
    alice = clone("alice")
    alice.here("q", "Published")
    away = hub.rename(hub.with_name("away.git"))
    alice.here("create", "Kept")
    result = alice.here("doctor", "--json").json
    assert {(finding["level"], finding["code"]) for finding in result["findings"]} == {
        ("warning", "unpublished"),
        ("warning", "remote_unreachable"),
    }
    assert result["healthy"] is True
    assert [finding["code"] for finding in alice.here("doctor", "--offline", "--json").json["findings"]] == ["unpublished"]
    away.rename(hub)
    alice.here("sync")
    assert alice.here("doctor", "--json").json["findings"] == []


def test_a_shallow_clone_is_noted(hub: Path, tmp_path: Path, clone: Callable[[str], Clone]) -> None:
    clone("bob").here("q", "A second commit")
    git(tmp_path, "clone", "--quiet", "--depth", "1", hub.as_uri(), "shallow")
    findings = Clone(tmp_path / "shallow").here("doctor", "--json").json["findings"]
    assert [(finding["level"], finding["code"]) for finding in findings] == [("note", "shallow")]


def test_a_lock_that_was_left_is_named_and_stays(board: Clone) -> None:
    lock = board.path / ".git" / "index.lock"
    lock.touch()
    result = board.here("doctor", "--json").json
    assert [(finding["code"], finding["where"]) for finding in result["findings"]] == [("git_lock", str(lock))]
    assert lock.exists()


def test_a_rewritten_hub_is_damage(clone: Callable[[str], Clone], hub: Path) -> None:
    alice = clone("alice")
    alice.here("q", "One")
    alice.here("q", "Two")
    squashed = git(hub, "commit-tree", f"{tip(hub)}^{{tree}}", "-m", "squashed")
    git(hub, "update-ref", "refs/heads/main", squashed)
    result = alice.here("doctor", "--json", code=7)
    assert [(finding["level"], finding["code"]) for finding in result.json["findings"]] == [("damage", "hub_rewritten")]


def test_fix_shows_its_difference_and_asks(board: Clone) -> None:
    path = board.path / ".agent-status" / "codemonkey.yaml"
    commit_file(board.path, ".agent-status/codemonkey.yaml", path.read_text().replace("current_tasks: 1", "current_tasks: 5"))
    before = tip(board.path)
    assert board.here("doctor", "--json").json["findings"][0]["code"] == "capacity"
    assert tip(board.path) == before
    fixed = board.here("doctor", "--fix", "--yes", "--json")
    assert fixed.json["mended"] == [".agent-status/codemonkey.yaml"]
    assert "- " in fixed.err
    assert "+ " in fixed.err
    assert tip(board.path) != before
    assert board.here("doctor", "--json").json["findings"] == []


def test_an_agent_that_holds_nothing(board: Clone) -> None:
    board.here("close", "hub-work", "--agent", "codemonkey")
    assert board.here("doctor", "--json").json["findings"] == []
    path = board.path / ".agent-status" / "codemonkey.yaml"
    commit_file(board.path, ".agent-status/codemonkey.yaml", path.read_text() + "beads: [hub-work]\n")
    assert "nothing held" in board.here("doctor").out
    board.here("doctor", "--fix", "--yes")
    assert board.here("doctor", "--json").json["findings"] == []
    assert b"beads" not in (tip_file(board.path, ".agent-status/codemonkey.yaml") or b"beads")


def test_fix_without_an_answer_changes_nothing(board: Clone) -> None:
    path = board.path / ".agent-status" / "codemonkey.yaml"
    commit_file(board.path, ".agent-status/codemonkey.yaml", path.read_text().replace("current_tasks: 1", "current_tasks: 5"))
    before = tip(board.path)
    board.here("doctor", "--fix", input="n\n")
    assert tip(board.path) == before


def test_damaged_beads_and_other_commands(local_hub: Clone) -> None:
    local_hub.here("create", "Fine", "--id", "hub-fine")
    commit_file(local_hub.path, "beads/hub-bad.yaml", "title: [\n")
    before = tip_file(local_hub.path, "beads/hub-bad.yaml")
    for args in (
        ("show", "hub-bad"),
        ("update", "hub-bad", "-p", "1"),
        ("close", "hub-bad"),
        ("claim", "hub-bad", "--agent", "bob"),
        ("why", "hub-bad"),
    ):
        refused = local_hub.here(*args, "--json", code=7)
        assert refused.json["code"] == "damaged"
        assert "beads/hub-bad.yaml" in refused.err
    assert local_hub.here("list").err.startswith("warning: beads/hub-bad.yaml ")
    local_hub.here("close", "hub-fine")
    assert tip_file(local_hub.path, "beads/hub-bad.yaml") == before


def test_no_write_ever_replaces_a_damaged_file(local_hub: Clone) -> None:
    local_hub.here("create", "Fine", "--id", "hub-fine")
    files = {"beads/hub-bad.yaml": "title: [\n", ".agent-status/bob.yaml": "agent: [\n", ".beads/agents/bob.yaml": "name: [\n"}
    for path, text in files.items():
        commit_file(local_hub.path, path, text)
    assert local_hub.here("create", "X", "--id", "hub-bad", check=False).code in (5, 7)
    local_hub.here("claim", "hub-fine", "--agent", "bob")
    local_hub.here("close", "hub-fine", "--agent", "bob")
    for path, text in files.items():
        assert tip_file(local_hub.path, path) == text.encode()
