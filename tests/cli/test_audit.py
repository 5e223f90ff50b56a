"""`bd audit`: what it says, of which history, and how it ends. What it finds is tried in tests/report/test_audit.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.truth import commit_file, git, tip, tip_file

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.running import Clone


def edit(clone: Clone, bead_id: str, old: str, new: str) -> str:
    """Change a bead's file and commit it with plain git; the commit."""
    path = f"beads/{bead_id}.yaml"
    text = (clone.path / path).read_text(encoding="utf-8")
    assert old in text
    return commit_file(clone.path, path, text.replace(old, new), "typed")


@pytest.fixture
def guilty(board: Clone) -> str:
    """A commit by hand that ends codemonkey's claim in silence."""
    path = "beads/hub-work.yaml"
    lines = (board.path / path).read_text(encoding="utf-8").splitlines(keepends=True)
    kept = [line for line in lines if not line.startswith(("claim:", "  ", "owner:", "assignee:"))]
    return commit_file(board.path, path, "".join(kept).replace("status: in_progress", "status: open"), "tidy up")


def test_a_sound_history(board: Clone) -> None:
    told = board.here("audit")
    assert told.lines[0] == f"✓ 15 commits to {tip(board.path)[:7]}: every change kept the rules"
    assert told.lines[1:3] == ["  1 claim; no bead had two owners", "    codemonkey  1 claim"]
    assert told.lines[4] == "Notes, which only signatures could prove (1):"
    answer = board.here("audit", "--json").json
    assert [note["code"] for note in answer.pop("notes")] == ["backdated"], "the story is of another year than its hub"
    first = git(board.path, "rev-list", "--max-parents=0", "main")
    assert answer == {
        "commits": 15,
        "from": first,
        "to": tip(board.path),
        "complete": True,
        "claims": 1,
        "agents": [{"agent": "codemonkey", "claims": 1}],
        "hand_made": [],
        "violations": [],
        "verified": True,
        "schema_version": 1,
    }


def test_a_violation_is_told_in_words_and_ends_with_7(board: Clone, guilty: str) -> None:
    told = board.here("audit", code=7)
    assert told.lines[0] == f"16 commits to {guilty[:7]}: 1 violation"
    shown = told.out[told.out.index("Violations (1):") : told.out.index("\nNotes")].splitlines()
    assert shown[1].startswith(f"  {guilty[:7]}  ")
    assert shown[1].endswith("Z  Test Person, by hand")
    assert [line.split()[0] for line in shown[2:] if not line.startswith("      ")] == ["found", "rule", "next"]
    assert "hub-work: the claim of codemonkey ended" in shown[2]
    assert "`bd history hub-work` tells what came before and after" in told.out
    assert all(len(line) <= 80 for line in told.lines)
    [violation] = board.here("audit", "--json", code=7).json["violations"]
    assert (violation["code"], violation["commit"], violation["bead"]) == ("taken_away", guilty, "hub-work")
    assert (violation["by"], violation["by_hand"]) == ("Test Person", True)
    assert violation["todo"]


def test_what_was_made_by_hand_is_no_violation(board: Clone) -> None:
    commit = edit(board, "hub-bug", "status: open", "status: blocked")
    told = board.here("audit")
    assert told.lines[4:7] == [
        "Made by hand, with plain git (1):",
        f"  {commit[:7]}  {git(board.path, 'log', '-1', '--format=%ad', '--date=format-local:%Y-%m-%dT%H:%M:%SZ')}  Test Person",
        "      hub-bug: status open -> blocked",
    ]
    [made] = board.here("audit", "--json").json["hand_made"]
    assert (made["commit"], made["what"]) == (commit, ["hub-bug: status open -> blocked"])


def test_at_and_since_bound_it(board: Clone, guilty: str) -> None:
    assert board.here("audit", "--at", f"{guilty}^").lines[0].startswith("✓ 15 commits to ")
    board.here("update", "hub-bug", "--priority", "3")
    later = board.here("audit", "--since", guilty)
    assert later.lines[0] == f"✓ 1 commit since {guilty[:7]} to {tip(board.path)[:7]}: every change kept the rules"
    assert board.here("audit", "--since", guilty, "--json").json["complete"] is False
    assert board.here("audit", "--since", "2020-01-01", "--json", code=7).json["complete"], "before there was a hub"
    assert board.here("audit", "--since", "2026-02-21T15:10:30Z", code=7).lines[0].startswith("5 commits since ")
    assert "not a commit of the hub's history" in board.here("audit", "--at", f"{guilty}^", "--since", guilty, code=2).err


def test_quiet_names_only_the_commits(board: Clone, guilty: str) -> None:
    assert board.here("audit", "--quiet", code=7).lines == [guilty]


def test_only_what_is_published_is_the_hubs(clone: Callable[[str], Clone], hub: Path) -> None:
    alice = clone("alice")
    alice.here("create", "One", "--id", "hub-a")
    git(alice.path, "pull", "--quiet", "--rebase", check=False)
    edit(alice, "hub-a", "status: open", "status: stalled")
    assert alice.here("audit", "--json").json["to"] == tip(hub)
    git(alice.path, "push", "--quiet", "origin", "HEAD:main")
    answer = alice.here("audit", "--json", code=7).json
    assert (answer["to"], answer["violations"][0]["code"]) == (tip(hub), "illegal_status")


def test_what_the_hub_lost_is_told_by_who_saw_it(clone: Callable[[str], Clone], hub: Path) -> None:
    alice, bob = clone("alice"), clone("bob")
    alice.here("create", "One", "--id", "hub-a")
    bob.here("sync")
    git(bob.path, "fetch", "--quiet")
    lost = tip(hub)
    git(hub, "update-ref", "refs/heads/main", "main^")
    alice.here("sync", "--accept-rewrite")
    git(bob.path, "fetch", "--quiet", "--force", "origin", "+main:refs/remotes/origin/main")
    bob.here("sync", "--accept-rewrite")
    for seer in (alice, bob):
        [violation] = seer.here("audit", "--json", code=7).json["violations"]
        assert (violation["code"], violation["commit"]) == ("rewritten", lost)
        assert "--accept-rewrite" in violation["todo"]
    assert clone("carol").here("audit", "--json").json["verified"], "who never saw it can't know"


def test_a_bare_hub_is_audited_too(clone: Callable[[str], Clone], hub: Path) -> None:
    clone("alice").here("create", "One", "--id", "hub-a")
    from tests.running import run_here

    assert run_here("audit", "--json", cwd=hub).json["to"] == tip(hub)
    assert tip_file(hub, "beads/hub-a.yaml") is not None


def test_a_hand_edit_through_sync_is_the_operation_it_means(board: Clone) -> None:
    path = board.path / "beads/hub-bug.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace("status: open", "status: closed"), encoding="utf-8")
    board.here("sync")
    answer = board.here("audit", "--json").json
    assert (answer["verified"], answer["hand_made"]) == (True, [])
    assert board.here("history", "hub-bug", "--json").json[-1]["changes"]["closed_by"] == {"new": "human:Test Person"}


def test_what_is_held_is_changed_by_hand_only_by_force_and_with_a_reason(board: Clone) -> None:
    path = board.path / "beads/hub-work.yaml"
    typed = path.read_text(encoding="utf-8").replace("status: in_progress", "status: cancelled")
    for force, says in (((), "no token was given"), (("--force",), "--force needs --reason")):
        path.write_text(typed, encoding="utf-8")
        assert says in board.here("sync", *force, code=5).err
        git(board.path, "checkout", "--quiet", "--force", "main")
    path.write_text(typed, encoding="utf-8")
    board.here("sync", "--force", "--reason", "no longer wanted")
    assert board.here("show", "hub-work", "--json").json[0]["status"] == "cancelled"
    assert board.here("audit", "--json").json["verified"]
