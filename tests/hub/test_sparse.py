"""A clone of a hub with a large archive leaves the archive's files in git, and every command works as in any other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bd.store.worktree import sparse
from tests.race.seeds import seed
from tests.running import Clone
from tests.truth import bead_files, git, tip, tip_bead

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.running import Result

    Clones = Callable[[str], Clone]

pytestmark = pytest.mark.one_in(6)

IDS = ("hub-a", "hub-b", "hub-c", "hub-d")
ARCHIVED = IDS[1:]


@pytest.fixture
def old_hub(clone: Clones, hub: Path) -> Path:
    """A hub with three archived beads, each in a file of its own as they used to be, and one open one."""
    alice = clone("alice")
    seed(alice, *IDS)
    alice.here("close", *ARCHIVED, "--reason", "done", "--force")
    (alice.path / "beads/archive/2026-02").mkdir(parents=True)
    for name in ARCHIVED:
        git(alice.path, "mv", f"beads/{name}.yaml", f"beads/archive/2026-02/{name}.yaml")
    git(alice.path, "commit", "--quiet", "-m", "archived")
    alice.here("sync")
    assert len(archived_in(hub)) == len(ARCHIVED)
    return hub


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three archived beads are many."""
    monkeypatch.setattr(sparse, "LIMIT", 2)


def archived_in(hub: Path) -> list[str]:
    return git(hub, "ls-tree", "-r", "--name-only", "main", "beads/archive/").split()


def joined(bd: Callable[..., Result], hub: Path, folder: Path) -> tuple[Clone, Result]:
    said = bd("clone", str(hub), str(folder), cwd=hub.parent)
    return Clone(folder), said


@pytest.mark.usefixtures("few")
def test_a_large_archive_is_left_in_git(bd: Callable[..., Result], old_hub: Path, tmp_path: Path) -> None:
    joiner, said = joined(bd, old_hub, tmp_path / "joiner")
    assert "3 archived files are not checked out" in said.out
    assert (joiner.path / "beads" / "hub-a.yaml").exists()
    assert (joiner.path / ".beads" / "config.yaml").exists()
    assert not (joiner.path / "beads" / "archive").exists()
    assert git(joiner.path, "status", "--porcelain") == ""
    assert joiner.here("show", "hub-b", "--json").json[0]["status"] == "closed"
    assert len(joiner.here("list", "--all", "--json").json) == len(IDS)


@pytest.mark.usefixtures("few")
def test_writes_follow_in_such_a_clone(bd: Callable[..., Result], old_hub: Path, tmp_path: Path) -> None:
    joiner, _ = joined(bd, old_hub, tmp_path / "joiner")
    joiner.here("reopen", "hub-c", "--reason", "not done")
    assert (joiner.path / "beads" / "hub-c.yaml").exists()
    joiner.here("close", "hub-a", "--reason", "done", "--force")
    joiner.here("archive", "--older-than", "0s")
    assert not (joiner.path / "beads" / "hub-a.yaml").exists()
    assert sorted(path.rsplit("/", 1)[-1] for path in bead_files(old_hub)) == [
        "hub-a.yaml",
        "hub-b.yaml",
        "hub-c.yaml",
        "hub-d.yaml",
    ]
    assert len(archived_in(old_hub)) == 1, "gathered in a volume"
    assert git(joiner.path, "status", "--porcelain") == ""
    assert git(joiner.path, "rev-parse", "HEAD") == tip(old_hub)


@pytest.mark.usefixtures("few")
def test_a_write_moves_such_a_clone(bd: Callable[..., Result], old_hub: Path, tmp_path: Path) -> None:
    joiner, _ = joined(bd, old_hub, tmp_path / "joiner")
    joiner.here("create", "New", "--id", "hub-bb")
    joiner.here("update", "hub-a", "--title", "Another title")
    joiner.here("claim", "hub-a", "--agent", "coder")
    assert git(joiner.path, "status", "--porcelain") == ""
    assert git(joiner.path, "write-tree") == git(joiner.path, "rev-parse", "HEAD^{tree}")
    assert git(joiner.path, "ls-files", "--sparse", "beads/archive") == "beads/archive/"
    git(joiner.path, "fsck", "--strict")
    joiner.here("reopen", "hub-d", "--reason", "again")
    assert (joiner.path / "beads" / "hub-d.yaml").exists()
    assert git(joiner.path, "status", "--porcelain") == ""


@pytest.mark.usefixtures("few")
def test_an_edit_by_hand_takes_nothing_of_the_archive_away(bd: Callable[..., Result], old_hub: Path, tmp_path: Path) -> None:
    joiner, _ = joined(bd, old_hub, tmp_path / "joiner")
    file = joiner.path / "beads" / "hub-a.yaml"
    file.write_text(file.read_text() + "notes: by hand\n")
    joiner.here("sync")
    assert tip_bead(old_hub, "hub-a").get("notes") == "by hand"
    assert len(archived_in(old_hub)) == len(ARCHIVED)


@pytest.mark.usefixtures("few")
def test_git_writes_the_archive_out_when_asked(bd: Callable[..., Result], old_hub: Path, tmp_path: Path) -> None:
    joiner, _ = joined(bd, old_hub, tmp_path / "joiner")
    git(joiner.path, "sparse-checkout", "disable")
    assert len(list((joiner.path / "beads" / "archive").rglob("*.yaml"))) == len(ARCHIVED)
    joiner.here("update", "hub-a", "--title", "Another title")
    assert git(joiner.path, "status", "--porcelain") == ""


@pytest.mark.usefixtures("few")
def test_a_branch_that_holds_more_than_a_hub_is_written_out_whole(
    bd: Callable[..., Result], clone: Clones, old_hub: Path, tmp_path: Path
) -> None:
    alice = clone("owner")
    (alice.path / "src").mkdir()
    (alice.path / "src" / "main.c").write_text("int main;\n")
    git(alice.path, "add", "src")
    git(alice.path, "commit", "--quiet", "-m", "code")
    git(alice.path, "push", "--quiet", "origin", "HEAD:main")
    joiner, said = joined(bd, old_hub, tmp_path / "joiner")
    assert "not checked out" not in said.out
    assert (joiner.path / "src" / "main.c").exists()
    assert len(list((joiner.path / "beads" / "archive").rglob("*.yaml"))) == len(ARCHIVED)


def test_a_small_archive_is_written_out(bd: Callable[..., Result], old_hub: Path, tmp_path: Path) -> None:
    joiner, _ = joined(bd, old_hub, tmp_path / "joiner")
    assert len(list((joiner.path / "beads" / "archive").rglob("*.yaml"))) == len(ARCHIVED)
    assert git(joiner.path, "status", "--porcelain") == ""
