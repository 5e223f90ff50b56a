"""A hub branch that is checked out comes along after a write, whole or not at all; what people edit is never taken back."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from bd.store.worktree import checkout
from tests.race.history import assert_nothing_twice, assert_one_owner, subjects
from tests.race.seeds import seed, write_field
from tests.runtime import RUNTIME
from tests.truth import commits, git, tip, tip_bead, tip_file

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.race.interleaving import Interleaving
    from tests.running import Clone

    Clones = Callable[[str], Clone]

pytestmark = pytest.mark.one_in(27)


@pytest.fixture(params=["remote", "local"])
def person(request: pytest.FixtureRequest, clone: Clones, local_hub: Clone) -> Clone:
    """A checkout of the hub branch, of a hub with a remote and of one without."""
    chosen = clone("person") if request.param == "remote" else local_hub
    seed(chosen, "hub-a", "hub-b")
    return chosen


def hub_of(person: Clone) -> Path:
    """The repository whose branch is the hub."""
    return person.path.parent / "hub.git" if git(person.path, "remote") else person.path


def is_clean(clone: Clone) -> bool:
    return git(clone.path, "status", "--porcelain", "--untracked-files=no") == ""


# --- following --------------------------------------------------------------------------------


def test_files_index_and_branch_follow_a_write(person: Clone) -> None:
    person.here("update", "hub-a", "--title", "Another title")
    assert "title: Another title\n" in (person.path / "beads" / "hub-a.yaml").read_text()
    assert is_clean(person)
    assert git(person.path, "rev-parse", "HEAD") == tip(hub_of(person))


def test_a_deleted_bead_leaves_no_file(person: Clone) -> None:
    person.here("delete", "hub-a", "--force")
    assert not (person.path / "beads" / "hub-a.yaml").exists()
    assert is_clean(person)


def test_what_others_wrote_comes_along_with_the_next_write(clone: Clones) -> None:
    alice, bob = clone("alice"), clone("bob")
    seed(alice, "hub-a")
    bob.here("update", "hub-a", "--title", "By bob")
    alice.here("comment", "hub-a", "by alice")
    assert "title: By bob\n" in (alice.path / "beads" / "hub-a.yaml").read_text()
    assert is_clean(alice)


def test_it_follows_in_a_linked_worktree_and_from_a_subfolder(clone: Clones, hub: Path) -> None:
    alice = clone("alice")
    seed(alice, "hub-a")
    git(alice.path, "switch", "--quiet", "-c", "elsewhere")
    git(alice.path, "worktree", "add", "--quiet", "../linked", "main")
    linked = alice._replace(path=alice.path.parent / "linked" / "beads")
    linked.here("update", "hub-a", "--title", "From the worktree")
    assert "title: From the worktree\n" in (linked.path / "hub-a.yaml").read_text()
    assert git(linked.path, "status", "--porcelain") == ""
    assert git(linked.path, "rev-parse", "HEAD") == tip(hub)
    assert git(alice.path, "symbolic-ref", "HEAD") == "refs/heads/elsewhere"
    assert git(alice.path, "status", "--porcelain") == ""


def test_a_branch_that_is_not_checked_out_moves_nothing_in_the_checkout(clone: Clones, hub: Path) -> None:
    alice = clone("alice")
    seed(alice, "hub-a")
    git(alice.path, "switch", "--quiet", "-c", "work")
    (alice.path / "beads" / "hub-a.yaml").write_text("in the middle of something\n")
    head, index = git(alice.path, "rev-parse", "HEAD"), git(alice.path, "ls-files", "-s")
    alice.here("update", "hub-a", "--title", "Another title")
    assert (git(alice.path, "rev-parse", "HEAD"), git(alice.path, "ls-files", "-s")) == (head, index)
    assert (alice.path / "beads" / "hub-a.yaml").read_text() == "in the middle of something\n"
    bead = tip_bead(hub, "hub-a")
    assert bead is not None
    assert bead.title == "Another title"


def test_without_a_remote_the_branch_never_moves_under_another_worktrees_files(local_hub: Clone) -> None:
    """bd runs in a linked worktree, and the hub branch is checked out in the main one: its files come along."""
    seed(local_hub, "hub-a")
    local_hub.here("list")
    git(local_hub.path, "worktree", "add", "--quiet", "-b", "work", "../linked")
    linked = local_hub._replace(path=local_hub.path.parent / "linked")
    linked.here("update", "hub-a", "--title", "From the other worktree")
    assert "title: From the other worktree\n" in (local_hub.path / "beads" / "hub-a.yaml").read_text()
    assert is_clean(local_hub)
    assert git(linked.path, "status", "--porcelain") == ""
    write_field(local_hub, "hub-a", "notes: by hand")
    result = linked.here("update", "hub-a", "--priority", "0", code=6)
    assert "hub-a.yaml" in result.err
    git(local_hub.path, "commit", "--quiet", "-am", "my notes")
    linked.here("update", "hub-a", "--priority", "0")
    bead = tip_bead(local_hub.path, "hub-a")
    assert bead is not None
    assert (bead.title, bead.get("notes"), bead.priority) == ("From the other worktree", "by hand", 0)
    assert is_clean(local_hub)


# --- what is in the way -------------------------------------------------------------------------


def test_unrelated_files_stay_as_they_are_and_out_of_the_commits(person: Clone) -> None:
    (person.path / "readme.txt").write_text("as committed\n")
    git(person.path, "add", "readme.txt")
    git(person.path, "commit", "--quiet", "-m", "readme")
    if git(person.path, "remote"):
        git(person.path, "push", "--quiet")
    (person.path / "readme.txt").write_text("being edited\n")
    (person.path / "secret.env").write_text("PASSWORD=1\n")
    (person.path / "staged.txt").write_text("staged\n")
    git(person.path, "add", "staged.txt")
    before = len(commits(hub_of(person)))
    made = person.here("create", "Something", "--json").json["id"]
    person.here("claim", made, "--agent", "coder")
    person.here("close", made, "--reason", "done", "--agent", "coder")
    paths = set(
        git(hub_of(person), "log", "--format=", "--name-only", f"-{len(commits(hub_of(person))) - before}", "main").split()
    )
    assert paths == {f"beads/{made}.yaml", ".agent-status/coder.yaml"}
    assert (person.path / "readme.txt").read_text() == "being edited\n"
    assert (person.path / "secret.env").read_text() == "PASSWORD=1\n"
    assert git(person.path, "status", "--porcelain").splitlines() == ["M readme.txt", "A  staged.txt", "?? secret.env"]


def test_commit_a_after_a_write_that_could_not_come_along_reverts_nothing(clone: Clones, hub: Path) -> None:
    """A person edits a bead while bd writes it; both survive the person's `git commit -a`."""
    alice, bob = clone("alice"), clone("bob")
    seed(alice, "hub-a", "hub-b")
    write_field(alice, "hub-a", "notes: by hand")
    bob.here("update", "hub-a", "--priority", "0")
    bob.here("close", "hub-b", "--reason", "done by bob")
    result = alice.here("comment", "hub-a", "by bd")
    assert "the files here were not updated" in result.err
    assert "notes: by hand" in (alice.path / "beads" / "hub-a.yaml").read_text()
    git(alice.path, "commit", "--quiet", "-am", "my notes")
    assert alice.here("sync", "--json").json["refused"] == []
    first, second = tip_bead(hub, "hub-a"), tip_bead(hub, "hub-b")
    assert first is not None
    assert second is not None
    assert (first.get("notes"), first.priority, [comment["text"] for comment in first.comments]) == ("by hand", 0, ["by bd"])
    assert second.status == "closed"
    assert git(alice.path, "rev-parse", "HEAD") == tip(hub)
    assert git(alice.path, "status", "--porcelain") == ""


@pytest.mark.parametrize("step", ["pushed", "refs"])
def test_a_branch_does_not_pass_edited_files_by_after_a_kill(step: str, clone: Clones, hub: Path) -> None:
    """What a killed command had published counts as moved half way only where the index says so: or `commit -a` took it back."""
    alice, bob = clone("alice"), clone("bob")
    seed(alice, "hub-a", "hub-b", "hub-c")
    bob.here("comment", "hub-b", "by bob")
    write_field(alice, "hub-a", "notes: by hand")
    alice.bd("comment", "hub-a", "by the dead", env={"BD_TEST_STOP_AT": step}, code=137)
    alice.here("comment", "hub-c", "by the next command")
    git(alice.path, "commit", "--quiet", "-am", "my notes")
    assert alice.here("sync", "--json").json["refused"] == []
    first, second = tip_bead(hub, "hub-a"), tip_bead(hub, "hub-b")
    assert first is not None
    assert second is not None
    assert (first.get("notes"), [comment["text"] for comment in first.comments]) == ("by hand", ["by the dead"])
    assert [comment["text"] for comment in second.comments] == ["by bob"]
    assert git(alice.path, "rev-parse", "HEAD") == tip(hub)
    assert git(alice.path, "status", "--porcelain") == ""


def test_an_edit_in_the_way_is_published_by_sync_as_it_is(clone: Clones, hub: Path) -> None:
    alice, bob = clone("alice"), clone("bob")
    seed(alice, "hub-a")
    write_field(alice, "hub-a", "notes: by hand")
    bob.here("update", "hub-a", "--priority", "0")
    alice.here("comment", "hub-a", "by bd")
    assert alice.here("sync", "--json").json["refused"] == []
    bead = tip_bead(hub, "hub-a")
    assert bead is not None
    assert (bead.get("notes"), bead.priority, len(bead.comments)) == ("by hand", 0, 1)
    assert is_clean(alice)
    assert git(alice.path, "rev-parse", "HEAD") == tip(hub)


def test_without_a_remote_an_edited_bead_is_not_written_over(local_hub: Clone) -> None:
    seed(local_hub, "hub-a")
    before = tip(local_hub.path)
    write_field(local_hub, "hub-a", "notes: by hand")
    result = local_hub.here("update", "hub-a", "--priority", "0", "--json", code=6)
    assert result.json["written"] == "no"
    assert "hub-a.yaml" in result.json["error"]
    assert tip(local_hub.path) == before
    assert "notes: by hand" in (local_hub.path / "beads" / "hub-a.yaml").read_text()
    local_hub.here("sync")
    local_hub.here("update", "hub-a", "--priority", "0")
    bead = tip_bead(local_hub.path, "hub-a")
    assert bead is not None
    assert (bead.get("notes"), bead.priority) == ("by hand", 0)
    assert is_clean(local_hub)


def test_an_untracked_file_where_a_bead_has_to_be(clone: Clones, hub: Path) -> None:
    alice, bob = clone("alice"), clone("bob")
    seed(alice, "hub-a")
    bob.here("create", "Theirs", "--id", "hub-new")
    mine = alice.path / "beads" / "hub-new.yaml"
    mine.write_text("id: hub-new\ntitle: Mine\n")
    result = alice.here("comment", "hub-a", "seen")
    assert "the files here were not updated" in result.err
    assert mine.read_text() == "id: hub-new\ntitle: Mine\n"
    refused = alice.here("sync", "--json", code=5).json["refused"]
    assert [item["code"] for item in refused] == ["id_taken"]
    bead = tip_bead(hub, "hub-new")
    assert bead is not None
    assert bead.title == "Theirs"
    [kept] = alice.here("sync", "--kept", "--json").json
    assert "title: Mine" in git(alice.path, "show", kept["commit"])


@pytest.mark.parametrize(
    ("name", "words"), [("MERGE_HEAD", "a merge"), ("rebase-merge", "a rebase"), ("CHERRY_PICK_HEAD", "a cherry-pick")]
)
def test_nothing_moves_while_a_person_is_in_the_middle_of_something(name: str, words: str, person: Clone) -> None:
    marker = person.path / ".git" / name
    if name == "rebase-merge":
        marker.mkdir()
    else:
        marker.write_text(git(person.path, "rev-parse", "HEAD") + "\n")
    before = git(person.path, "rev-parse", "HEAD"), git(person.path, "ls-files", "-s")
    if hub_of(person) == person.path:
        result = person.here("claim", "hub-a", "--agent", "coder", "--json", code=6)
        assert f"{words} is under way" in result.json["error"]
    else:
        result = person.here("claim", "hub-a", "--agent", "coder")
        assert f"{words} is under way" in result.err
        assert len(subjects(hub_of(person), "claim")) == 1
    assert (git(person.path, "rev-parse", "HEAD"), git(person.path, "ls-files", "-s")) == before
    if marker.is_dir():
        marker.rmdir()
    else:
        marker.unlink()
    person.here("comment", "hub-b", "on we go")
    assert is_clean(person)
    assert git(person.path, "rev-parse", "HEAD") == tip(hub_of(person))


def test_a_real_merge_with_conflicts_is_left_to_the_person(clone: Clones, hub: Path) -> None:
    alice, bob = clone("alice"), clone("bob")
    seed(alice, "hub-a")
    write_field(alice, "hub-a", "notes: mine")
    git(alice.path, "commit", "--quiet", "-am", "mine")
    bob.here("update", "hub-a", "--notes", "theirs")
    git(alice.path, "pull", "--quiet", "--no-rebase", check=False)
    assert (alice.path / ".git" / "MERGE_HEAD").exists()
    status = git(alice.path, "status", "--porcelain")
    assert "your branch has commits of its own" in alice.here("claim", "hub-a", "--agent", "coder").err
    assert git(alice.path, "status", "--porcelain") == status
    (alice.path / "beads" / "hub-a.yaml").write_bytes(tip_file(hub, "beads/hub-a.yaml") or b"")
    git(alice.path, "add", "beads/hub-a.yaml")
    git(alice.path, "commit", "--quiet", "-m", "theirs it is")
    alice.here("sync", code=5)  # mine had changed the same text, and is kept
    assert is_clean(alice)
    assert git(alice.path, "rev-parse", "HEAD") == tip(hub)


# --- git's own locks ----------------------------------------------------------------------------


def test_a_stale_index_lock_is_named_and_left_alone(clone: Clones, hub: Path) -> None:
    alice = clone("alice")
    seed(alice, "hub-a")
    lock = alice.path / ".git" / "index.lock"
    lock.touch()
    before = git(alice.path, "rev-parse", "HEAD")
    result = alice.bd("claim", "hub-a", "--agent", "coder", "--json")
    assert result.json[0]["status"] == "in_progress"
    assert str(lock) in result.err
    assert lock.exists()
    assert git(alice.path, "rev-parse", "HEAD") == before
    lock.unlink()
    alice.here("comment", "hub-a", "on we go")
    assert is_clean(alice)
    assert git(alice.path, "rev-parse", "HEAD") == tip(hub)


def test_a_stale_index_lock_of_a_hub_without_remote_refuses_the_write(local_hub: Clone) -> None:
    seed(local_hub, "hub-a")
    lock = local_hub.path / ".git" / "index.lock"
    lock.touch()
    before = tip(local_hub.path)
    result = local_hub.bd("claim", "hub-a", "--agent", "coder", "--json", code=6)
    assert result.json["written"] == "no"
    assert str(lock) in result.json["error"]
    assert lock.exists()
    assert tip(local_hub.path) == before


def test_an_index_lock_that_goes_away_is_waited_for(person: Clone, monkeypatch: pytest.MonkeyPatch) -> None:
    lock = person.path / ".git" / "index.lock"
    lock.touch()
    pauses: list[float] = []

    def others_finish(seconds: float) -> None:
        """Whoever holds the lock is done while bd waits."""
        pauses.append(seconds)
        if len(pauses) == 3:
            lock.unlink()

    monkeypatch.setattr(RUNTIME, "sleep", others_finish)
    person.here("claim", "hub-a", "--agent", "coder")
    assert len(pauses) == 3
    assert is_clean(person)
    assert git(person.path, "rev-parse", "HEAD") == tip(hub_of(person))


@pytest.mark.parametrize("name", ["refs/heads/main.lock", "HEAD.lock"])
def test_a_lock_on_the_branch_keeps_the_whole_checkout_where_it_was(clone: Clones, hub: Path, name: str) -> None:
    """The claim is published; it is only this clone's branch that can't follow, so index and files don't either."""
    alice = clone("alice")
    seed(alice, "hub-a")
    lock = alice.path / ".git" / name
    lock.touch()
    before = git(alice.path, "rev-parse", "HEAD")
    result = alice.here("claim", "hub-a", "--agent", "coder", "--json")
    assert result.json[0]["published"] is True
    assert f"{name}': File exists; if no git command" in result.err
    assert "if no git command is running here, remove that file" in result.err
    assert len(subjects(hub, "claim")) == 1
    assert git(alice.path, "rev-parse", "HEAD") == before
    assert is_clean(alice)
    lock.unlink()
    alice.here("comment", "hub-a", "on we go")
    assert git(alice.path, "rev-parse", "HEAD") == tip(hub)
    assert is_clean(alice)


def test_a_lock_that_a_killed_bd_of_an_older_version_left_on_the_branch_is_removed(clone: Clones) -> None:
    person = clone("alice")
    person.here("create", "One", "--id", "hub-one")  # from here on there is the file that its own locks are links to
    folder = person.path / ".git"
    os.link(folder / "bd" / "index-owner", folder / "refs" / "heads" / "main.lock")
    result = person.here("create", "Two", "--id", "hub-two")
    assert result.err == ""
    assert git(person.path, "rev-parse", "HEAD") == git(person.path, "rev-parse", "refs/bd/published")
    assert not (folder / "refs" / "heads" / "main.lock").exists()


def test_a_lock_on_the_branch_of_a_hub_without_remote_changes_nothing(local_hub: Clone) -> None:
    seed(local_hub, "hub-a")
    lock = local_hub.path / ".git" / "refs" / "heads" / "main.lock"
    lock.touch()
    before = tip(local_hub.path)
    result = local_hub.here("claim", "hub-a", "--agent", "coder", "--json", code=6)
    assert "main.lock" in result.json["error"]
    assert tip(local_hub.path) == before
    assert is_clean(local_hub)
    assert "in_progress" not in (local_hub.path / "beads" / "hub-a.yaml").read_text()
    lock.unlink()
    local_hub.here("claim", "hub-a", "--agent", "coder")
    assert is_clean(local_hub)


def test_a_lock_on_the_branch_while_edits_are_synced(person: Clone) -> None:
    """The edits are there before and after, whether they could be published or not."""
    write_field(person, "hub-a", "notes: by hand")
    (person.path / "beads" / "hub-b.yaml").unlink()
    lock = person.path / ".git" / "refs" / "heads" / "main.lock"
    lock.touch()
    has_remote = hub_of(person) != person.path
    result = person.here("sync", code=0 if has_remote else 6)
    assert "main.lock" in result.err
    assert "notes: by hand" in (person.path / "beads" / "hub-a.yaml").read_text()
    assert not (person.path / "beads" / "hub-b.yaml").exists()
    lock.unlink()
    assert person.here("sync", "--json").json["refused"] == []
    bead = tip_bead(hub_of(person), "hub-a")
    assert bead is not None
    assert bead.get("notes") == "by hand"
    assert tip_bead(hub_of(person), "hub-b") is None
    assert len(subjects(hub_of(person), "edit")) == 1
    assert is_clean(person)
    assert git(person.path, "rev-parse", "HEAD") == tip(hub_of(person))


def test_files_that_a_person_staged_are_synced(person: Clone) -> None:
    """`git add` and `git rm` before `bd sync`, and files edited again after they were staged."""
    folder = person.path / "beads"
    write_field(person, "hub-a", "notes: staged")
    (folder / "hub-new.yaml").write_text("id: hub-new\ntitle: Staged\n")
    git(person.path, "add", "beads")
    git(person.path, "rm", "--quiet", "beads/hub-b.yaml")
    write_field(person, "hub-new", "notes: and more")
    assert person.here("sync", "--json").json["refused"] == []
    first, new = tip_bead(hub_of(person), "hub-a"), tip_bead(hub_of(person), "hub-new")
    assert first is not None
    assert new is not None
    assert (first.get("notes"), new.get("notes")) == ("staged", "and more")
    assert tip_bead(hub_of(person), "hub-b") is None
    assert is_clean(person)


def test_a_bead_deleted_by_hand_in_two_clones(clone: Clones, hub: Path) -> None:
    alice, bob = clone("alice"), clone("bob")
    seed(alice, "hub-a")
    git(bob.path, "pull", "--quiet")
    for each in (alice, bob):
        (each.path / "beads" / "hub-a.yaml").unlink()
    for each in (alice, bob):
        assert each.here("sync", "--json").json["refused"] == []
        assert is_clean(each)
    assert tip_bead(hub, "hub-a") is None


# --- a person commits at the worst moment ---------------------------------------------------------


@pytest.mark.parametrize("step", ["build", "push", "checked-out"])
@pytest.mark.parametrize("how", [["-a"], ["--only", "readme.txt"]])
def test_a_person_commits_while_bd_writes_without_a_remote(
    step: str, how: list[str], local_hub: Clone, steps: Interleaving, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed(local_hub, "hub-a")
    readme = local_hub.path / "readme.txt"
    readme.write_text("first\n")
    git(local_hub.path, "add", "readme.txt")
    git(local_hub.path, "commit", "--quiet", "-m", "readme")
    readme.write_text("second\n")
    moments = iter(range(60))
    start = RUNTIME.now()
    # Every look at the clock is a second later, so that no two tries make the same files.
    monkeypatch.setattr(RUNTIME, "now", lambda: start.replace(second=next(moments), microsecond=0))
    steps.at(step, lambda: git(local_hub.path, "commit", "--quiet", "-m", "my readme", *how))
    local_hub.here("claim", "hub-a", "--agent", "coder")
    bead = tip_bead(local_hub.path, "hub-a")
    assert bead is not None
    assert bead.claim is not None
    assert tip_file(local_hub.path, "readme.txt") == b"second\n"
    assert readme.read_text() == "second\n"
    assert "my readme" in git(local_hub.path, "log", "--format=%s").splitlines()
    assert git(local_hub.path, "status", "--porcelain") == ""
    assert_one_owner(local_hub.path)
    assert_nothing_twice(local_hub.path)


@pytest.mark.parametrize("step", ["build", "push", "pushed"])
def test_a_person_commits_while_bd_writes_with_a_remote(step: str, clone: Clones, hub: Path, steps: Interleaving) -> None:
    alice = clone("alice")
    seed(alice, "hub-a", "hub-b")
    write_field(alice, "hub-b", "notes: by hand")
    steps.at(step, lambda: git(alice.path, "commit", "--quiet", "-am", "my notes"))
    result = alice.here("claim", "hub-a", "--agent", "coder")
    assert "your branch has commits of its own" in result.err
    alice.here("sync")
    first, second = tip_bead(hub, "hub-a"), tip_bead(hub, "hub-b")
    assert first is not None
    assert second is not None
    assert first.claim is not None
    assert second.get("notes") == "by hand"
    assert git(alice.path, "rev-parse", "HEAD") == tip(hub)
    assert git(alice.path, "status", "--porcelain") == ""


def test_in_the_way_says_what_to_do() -> None:
    assert "bd sync" in checkout.InTheWay("something").hint


def test_files_with_only_a_newer_time_are_not_in_the_way(person: Clone) -> None:
    for file in (person.path / "beads").iterdir():
        os.utime(file, (1_700_000_000, 1_700_000_000))
    person.here("update", "hub-a", "--title", "Another title")
    assert is_clean(person)
    assert git(person.path, "rev-parse", "HEAD") == tip(hub_of(person))


# --- what only its reader sees --------------------------------------------------------------


SCHEMA = "# yaml-language-server: $schema=../.beads/bead.schema.json\n"


def test_a_comment_is_an_edit_and_survives_every_write(person: Clone) -> None:
    """The line by which an editor finds the schema: typed alone, it is published; bd's own writes leave it."""
    file = person.path / "beads" / "hub-a.yaml"
    file.write_text(SCHEMA + file.read_text())
    person.here("sync")
    for words in (
        ("update", "hub-a", "--title", "Another"),
        ("claim", "hub-a", "--agent", "coder"),
        ("comment", "hub-a", "seen"),
        ("close", "hub-a", "--reason", "done", "--agent", "coder"),
    ):
        person.here(*words)
        assert (tip_file(hub_of(person), "beads/hub-a.yaml") or b"").decode().startswith(SCHEMA), words
    assert file.read_bytes() == tip_file(hub_of(person), "beads/hub-a.yaml")
    before = tip(hub_of(person))
    person.here("sync")
    assert tip(hub_of(person)) == before


def test_a_comment_meets_a_write_of_somebody_else(clone: Clones) -> None:
    alice, bob = clone("alice"), clone("bob")
    seed(alice, "hub-a")
    bob.here("sync")
    file = bob.path / "beads" / "hub-a.yaml"
    file.write_text(SCHEMA + file.read_text())
    alice.here("update", "hub-a", "--title", "Another")
    bob.here("sync")
    kept = (tip_file(hub_of(bob), "beads/hub-a.yaml") or b"").decode()
    assert kept.startswith(SCHEMA)
    assert "title: Another\n" in kept
    assert file.read_text() == kept
