"""History that is not what it was: a rewritten hub stops every write until somebody accepts it; what only looks so does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.hub.hooks import offline
from tests.race.history import subjects
from tests.race.seeds import put, seed
from tests.truth import commit_file, commits, git, log, tip, tip_bead, tip_paths

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.race.interleaving import Interleaving
    from tests.running import Clone

    Clones = Callable[[str], Clone]

pytestmark = pytest.mark.one_in(27)


@pytest.fixture(autouse=True)
def sound_history() -> None:
    """These tests rewrite history on purpose: nobody watches that it is only added to."""


def squash(hub: Path) -> str:
    """Rewrite the hub branch to one commit with the same files; that commit."""
    tree = git(hub, "rev-parse", "main^{tree}")
    environment = ["-c", "user.name=Somebody", "-c", "user.email=s@example.org"]
    commit = git(hub, *environment, "commit-tree", tree, "-m", "squashed")
    git(hub, "update-ref", "refs/heads/main", commit)
    return commit


WRITES = [
    ["create", "Something"],
    ["claim", "hub-a", "--agent", "coder"],
    ["comment", "hub-a", "seen"],
    ["close", "hub-a", "--reason", "done"],
    ["sync"],
]


@pytest.mark.parametrize("args", WRITES, ids=lambda args: args[0])
def test_a_rewritten_hub_stops_every_write(args: list[str], clone: Clones, hub: Path) -> None:
    alice = clone("alice")
    seed(alice, "hub-a")
    alice.here("list", "--fetch")
    squashed = squash(hub)
    result = alice.here(*args, "--json", code=7)
    assert result.json["code"] == "hub_rewritten"
    assert "bd sync --accept-rewrite" in result.json["hint"]
    assert tip(hub) == squashed
    # Reads go on from what this clone has.
    assert [bead["id"] for bead in alice.here("list", "--json").json] == ["hub-a"]
    assert alice.here("doctor", code=7).code == 7


def test_a_rewrite_that_was_accepted_is_the_hub_from_then_on(clone: Clones, hub: Path) -> None:
    alice = clone("alice")
    seed(alice, "hub-a")
    alice.here("comment", "hub-a", "before")
    squashed = squash(hub)
    accepted = alice.here("sync", "--accept-rewrite", "--json").json
    assert (accepted["tip"], accepted["kept"]) == (squashed, [])
    assert git(alice.path, "rev-parse", "HEAD") == squashed
    assert git(alice.path, "status", "--porcelain") == ""
    alice.here("claim", "hub-a", "--agent", "coder")
    assert len(commits(hub)) == 2
    assert alice.here("doctor").code == 0


def test_a_commit_of_which_only_half_has_arrived_is_fetched_whole(clone: Clones, hub: Path) -> None:
    """An earlier fetch has broken off on a full disk."""
    alice = clone("alice")
    seed(alice, "hub-a")
    git(hub, "update-ref", "refs/heads/side", tip(hub))
    bead = git(hub, "cat-file", "blob", "main:beads/hub-a.yaml").replace("Do hub-a", "Do it")
    commit_file(clone("bob").path, "beads/hub-a.yaml", bead + "\n")
    git(hub.parent / "bob", "push", "--quiet", "origin", "HEAD:side")
    git(hub, "update-ref", "refs/heads/main", "refs/heads/side")
    squashed = squash(hub)
    git(
        alice.path, "hash-object", "-w", "-t", "commit", "--stdin", data=git(hub, "cat-file", "commit", squashed).encode() + b"\n"
    )
    assert alice.here("sync", "--accept-rewrite", "--json").json["tip"] == squashed
    assert alice.here("list", "--json").json[0]["title"] == "Do it"


def test_what_was_not_published_before_a_rewrite_is_kept(clone: Clones, hub: Path) -> None:
    alice = clone("alice")
    seed(alice, "hub-a")
    alice.here("comment", "hub-a", "published")
    with offline(alice):
        alice.here("comment", "hub-a", "not yet")
        made = alice.here("create", "Mine", "--json").json["id"]
    squash(hub)
    alice.here("create", "Another", code=7)
    lost = alice.here("sync", "--accept-rewrite", "--json").json["kept"]
    assert len(lost) == 2
    kept = alice.here("sync", "--kept", "--json").json
    assert sorted(item["commit"] for item in kept) == sorted(lost)
    assert all("rewritten" in item["error"] for item in kept)
    assert f"beads/{made}.yaml" in git(alice.path, "show", "--name-only", "--format=", *lost)
    git(alice.path, "gc", "--quiet", "--prune=now")
    assert "not yet" in git(alice.path, "show", *lost)
    # And the clone writes again.
    alice.here("comment", "hub-a", "after")
    bead = tip_bead(hub, "hub-a")
    assert bead is not None
    assert [comment["text"] for comment in bead.comments] == ["published", "after"]


def test_a_rewrite_does_not_touch_a_checkout_with_edits_in_the_way(clone: Clones, hub: Path) -> None:
    alice = clone("alice")
    seed(alice, "hub-a")
    alice.here("list", "--fetch")
    git(hub, "-c", "user.name=S", "-c", "user.email=s@x", "commit-tree", "main^{tree}", "-m", "x")
    squash(hub)
    other = clone("other")
    other.here("update", "hub-a", "--priority", "0")
    (alice.path / "beads" / "hub-a.yaml").write_text("being edited\n")
    result = alice.here("sync", "--accept-rewrite", "--json", code=6)
    assert "hub-a.yaml" in result.json["error"]
    assert (alice.path / "beads" / "hub-a.yaml").read_text() == "being edited\n"
    alice.here("create", "Something", code=7)


@pytest.mark.parametrize("own_commit", [True, False])
def test_old_history_in_a_checkout_is_not_published_again(own_commit: bool, clone: Clones, hub: Path) -> None:
    """A checkout that could not follow still has the old commits; only a person's own commit on top of them is new."""
    alice, bob = clone("alice"), clone("bob")
    seed(alice, "hub-a", "hub-b")
    alice.here("note", "hub-a", "once")
    alice.here("update", "hub-a", "--priority", "0")
    file = alice.path / "beads" / "hub-b.yaml"
    file.write_text(file.read_text() + "notes: by hand\n")
    if own_commit:
        git(alice.path, "commit", "--quiet", "-am", "mine")
    squash(hub)
    bob.here("sync", "--accept-rewrite")
    bob.here("update", "hub-a", "--priority", "4")
    alice.here("sync", "--accept-rewrite")
    assert alice.here("sync", "--json").json["refused"] == []
    first, second = tip_bead(hub, "hub-a"), tip_bead(hub, "hub-b")
    assert first is not None
    assert second is not None
    assert (first.priority, first.get("notes"), second.get("notes")) == (4, "once", "by hand")
    assert len(commits(hub)) == 3
    assert git(alice.path, "rev-parse", "HEAD") == tip(hub)
    assert git(alice.path, "status", "--porcelain") == ""


def test_a_hub_rewritten_while_bd_writes(clone: Clones, hub: Path, steps: Interleaving) -> None:
    alice = clone("alice")
    seed(alice, "hub-a")
    alice.here("list", "--fetch")
    steps.at("push", lambda: squash(hub))
    assert alice.here("claim", "hub-a", "--agent", "coder", "--json", code=7).json["code"] == "hub_rewritten"
    assert log(hub) == ["squashed"]


# --- a copy that is behind ----------------------------------------------------------------------


@pytest.fixture
def behind(clone: Clones, hub: Path) -> tuple[Clone, Path]:
    """A clone that pushes to the hub, reads from a copy of it, and has just published a comment; and the copy, which has not got that."""
    alice = clone("alice")
    seed(alice, "hub-a")
    copy = hub.with_name("copy.git")
    git(hub.parent, "clone", "--quiet", "--mirror", str(hub), str(copy))
    git(alice.path, "remote", "set-url", "origin", str(copy))
    git(alice.path, "config", f"url.{hub}.pushInsteadOf", str(copy))
    alice.here("comment", "hub-a", "the copy has not heard of it")
    return alice, copy


@pytest.mark.parametrize("args", WRITES, ids=lambda args: args[0])
def test_a_copy_that_stays_behind_is_no_rewritten_hub(args: list[str], behind: tuple[Clone, Path], hub: Path) -> None:
    alice, _ = behind
    before = tip(hub)
    result = alice.here(*args, "--json", code=6, env={"BD_RETRY_TIME": "0.1s", "BD_FRESH_TIME": "0s"})
    assert (result.json["code"], result.json["written"]) == ("remote_lags", "no")
    assert "rewrit" not in result.out + result.err
    assert tip(hub) == before


def test_a_write_waits_for_a_copy_that_is_behind(behind: tuple[Clone, Path], hub: Path, steps: Interleaving) -> None:
    alice, copy = behind
    steps.at("look", lambda: steps.at("look", lambda: git(copy, "fetch", "--quiet", str(hub), "main:main")))
    alice.here("claim", "hub-a", "--agent", "coder", env={"BD_FRESH_TIME": "0s"})
    assert [bead.claim.agent for bead in [tip_bead(hub, "hub-a")] if bead and bead.claim] == ["coder"]
    assert len(subjects(hub, "comment")) == 1


def test_a_read_that_fetches_from_a_copy_that_is_behind_answers_from_the_clone(behind: tuple[Clone, Path]) -> None:
    alice, _ = behind
    for args in (["comments", "hub-a", "--fetch"], ["stalled"], ["attention"], ["doctor"]):
        assert "an older state of the hub than this clone has" in alice.here(*args).err
    assert "the copy has not heard of it" in alice.here("comments", "hub-a", "--fetch").out


# --- the branch is gone -------------------------------------------------------------------------


@pytest.mark.parametrize("args", WRITES, ids=lambda args: args[0])
def test_a_branch_that_is_gone_is_not_made_again_by_a_write(args: list[str], clone: Clones, hub: Path) -> None:
    alice = clone("alice")
    seed(alice, "hub-a")
    alice.here("list", "--fetch")
    git(hub, "update-ref", "-d", "refs/heads/main")
    result = alice.here(*args, "--json", code=7)
    assert "is gone from origin" in result.json["error"]
    assert git(hub, "for-each-ref", "refs/heads") == ""


def test_a_branch_that_is_gone_comes_back_with_a_plain_push(clone: Clones, hub: Path) -> None:
    alice, bob = clone("alice"), clone("bob")
    seed(alice, "hub-a")
    for each in (alice, bob):
        each.here("list", "--fetch")
    git(hub, "update-ref", "-d", "refs/heads/main")
    result = alice.here("create", "Something", "--json", code=7)
    assert "git push origin refs/bd/published:refs/heads/main" in result.json["hint"]
    git(alice.path, "push", "--quiet", "origin", "refs/bd/published:refs/heads/main")
    bob.here("claim", "hub-a", "--agent", "coder")
    assert len(subjects(hub, "claim")) == 1


def test_a_branch_that_is_gone_for_good_is_accepted_and_made_anew_only_by_init(clone: Clones, hub: Path) -> None:
    alice = clone("alice")
    seed(alice, "hub-a")
    alice.here("list", "--fetch")
    with offline(alice):
        alice.here("comment", "hub-a", "not yet")
    git(hub, "update-ref", "-d", "refs/heads/main")
    result = alice.here("sync", "--accept-rewrite", "--json", code=4)
    assert "is gone from origin" in result.json["error"]
    assert len(alice.here("sync", "--kept", "--json").json) == 1
    assert git(hub, "for-each-ref", "refs/heads") == ""
    alice.here("create", "Something", code=4)
    assert git(hub, "for-each-ref", "refs/heads") == ""


# --- what only looks like a rewrite -----------------------------------------------------------------


def test_a_fetch_that_cuts_history_between_push_and_look_is_no_rewrite(
    clone: Clones, hub: Path, steps: Interleaving, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """`git fetch --depth=1` beside a bd whose push was accepted without an answer: one note, no alarm."""
    from tests.hub.hooks import git_wrapper

    alice, bob = clone("alice"), clone("bob")
    seed(alice, "hub-a")
    alice.here("list", "--fetch")
    script = (
        f'if [ "$verb" = push ] && [ -e {tmp_path}/mute ]; then rm {tmp_path}/mute; "$real" "$@" > /dev/null 2>&1; exit 128; fi'
    )
    monkeypatch.setenv("PATH", git_wrapper(tmp_path / "bin", script)["PATH"])
    (tmp_path / "mute").touch()

    def meanwhile() -> None:
        bob.bd("comment", "hub-a", "by bob")
        git(alice.path, "fetch", "--quiet", "--depth=1", "origin", "main")

    steps.at("look-after-push", meanwhile)
    alice.here("note", "hub-a", "once")
    bead = tip_bead(hub, "hub-a")
    assert bead is not None
    assert (bead.get("notes"), len(bead.comments)) == ("once", 1)
    assert len(subjects(hub, "note")) == 1


def test_a_clone_made_shallow_goes_on(clone: Clones, hub: Path) -> None:
    alice, bob = clone("alice"), clone("bob")
    seed(alice, "hub-a")
    alice.here("list", "--fetch")
    for number in range(3):
        bob.here("comment", "hub-a", f"{number}")
    git(alice.path, "fetch", "--quiet", "--depth=1", "origin", "main")
    alice.here("claim", "hub-a", "--agent", "coder")
    with offline(alice):
        alice.here("comment", "hub-a", "offline")
    bob.here("comment", "hub-a", "more")
    git(alice.path, "fetch", "--quiet", "--depth=1", "origin", "main")
    assert alice.here("sync", "--json").json["refused"] == []
    bead = tip_bead(hub, "hub-a")
    assert bead is not None
    assert [comment["text"] for comment in bead.comments] == ["0", "1", "2", "more", "offline"]


# --- people with plain git between bd's commands -----------------------------------------------------


def test_a_person_pulls_and_pushes_between_bds_commands(clone: Clones, hub: Path) -> None:
    alice, bob = clone("alice"), clone("bob")
    seed(alice, "hub-a")
    alice.here("comment", "hub-a", "one")
    bob.here("comment", "hub-a", "two")
    git(alice.path, "pull", "--quiet")
    assert [entry["text"] for entry in alice.here("comments", "hub-a", "--json").json] == ["one", "two"]
    commit_file(alice.path, "readme.txt", "by hand\n")
    git(alice.path, "push", "--quiet")
    alice.here("comment", "hub-a", "three")
    git(alice.path, "pull", "--quiet")
    bob.here("comment", "hub-a", "four")
    assert [entry["text"] for entry in bob.here("comments", "hub-a", "--json").json] == ["one", "two", "three", "four"]
    assert "readme.txt" in tip_paths(hub)
    for each in (alice, bob):
        each.here("sync")
        assert git(each.path, "rev-parse", "HEAD") == tip(hub)
        assert git(each.path, "status", "--porcelain") == ""


@pytest.mark.parametrize("who_publishes", ["sync", "push"])
def test_a_merge_that_a_person_pulled(who_publishes: str, clone: Clones, hub: Path) -> None:
    """A commit by hand, a `git pull` that merges, and then bd: nothing is lost and nothing doubled."""
    alice, bob = clone("alice"), clone("bob")
    seed(alice, "hub-a", "hub-b")
    file = alice.path / "beads" / "hub-b.yaml"
    file.write_text(file.read_text() + "notes: by hand\n")
    put_local(alice, "beads", "by hand")
    bob.here("comment", "hub-a", "by bob")
    git(alice.path, "pull", "--quiet", "--no-rebase", "--no-edit")
    assert len(git(alice.path, "rev-list", "--merges", "HEAD").split()) == 1
    if who_publishes == "push":
        git(alice.path, "push", "--quiet")
    bob.here("comment", "hub-a", "again by bob")
    alice.here("sync")
    alice.here("claim", "hub-a", "--agent", "coder")
    first, second = tip_bead(hub, "hub-a"), tip_bead(hub, "hub-b")
    assert first is not None
    assert second is not None
    assert [comment["text"] for comment in first.comments] == ["by bob", "again by bob"]
    assert second.get("notes") == "by hand"
    assert log(hub).count("by hand") == 1
    assert git(alice.path, "rev-parse", "HEAD") == tip(hub)
    assert git(alice.path, "status", "--porcelain") == ""


def test_a_merge_in_which_a_person_decided_something(clone: Clones, hub: Path) -> None:
    """What the merge itself changed is published like any other edit."""
    alice, bob = clone("alice"), clone("bob")
    seed(alice, "hub-a", "hub-b")
    commit_file(alice.path, "notes.txt", "by alice\n")
    bob.here("comment", "hub-a", "by bob")
    git(alice.path, "fetch", "--quiet")
    git(alice.path, "merge", "--quiet", "--no-commit", "origin/main")
    file = alice.path / "beads" / "hub-b.yaml"
    file.write_text(file.read_text() + "notes: decided in the merge\n")
    git(alice.path, "commit", "--quiet", "-am", "merged, and more")
    assert alice.here("sync", "--json").json["refused"] == []
    bead = tip_bead(hub, "hub-b")
    assert bead is not None
    assert bead.get("notes") == "decided in the merge"
    assert "notes.txt" in tip_paths(hub)
    assert git(alice.path, "rev-parse", "HEAD") == tip(hub)


def put_local(clone: Clone, path: str, message: str) -> None:
    git(clone.path, "add", "--", path)
    git(clone.path, "commit", "--quiet", "-m", message)


def test_a_person_rebases_commits_that_bd_has_not_published(clone: Clones, hub: Path) -> None:
    alice, bob = clone("alice"), clone("bob")
    seed(alice, "hub-a")
    commit_file(alice.path, "notes.txt", "by alice\n", "my notes")
    bob.here("comment", "hub-a", "by bob")
    git(alice.path, "pull", "--quiet", "--rebase")
    alice.here("sync")
    alice.here("comment", "hub-a", "by alice")
    assert log(hub).count("my notes") == 1
    assert git(alice.path, "rev-parse", "HEAD") == tip(hub)


def test_a_person_pushes_while_bd_writes(clone: Clones, hub: Path, steps: Interleaving) -> None:
    alice, bob = clone("alice"), clone("bob")
    seed(alice, "hub-a")
    git(bob.path, "pull", "--quiet")
    (bob.path / "readme.txt").write_text("by bob\n")
    steps.at("push", lambda: put(bob, "readme.txt", "readme"))
    alice.here("claim", "hub-a", "--agent", "coder")
    assert log(hub)[:2] == ["claim: hub-a by coder", "readme"]
    assert (alice.path / "readme.txt").exists()


def test_a_person_throws_away_what_was_not_published(clone: Clones, hub: Path) -> None:
    """`git reset --hard` in the checkout does not reach what bd keeps."""
    alice = clone("alice")
    seed(alice, "hub-a")
    with offline(alice):
        alice.here("comment", "hub-a", "kept by bd")
    git(alice.path, "reset", "--quiet", "--hard", "HEAD~1")
    alice.here("sync")
    bead = tip_bead(hub, "hub-a")
    assert bead is not None
    assert [comment["text"] for comment in bead.comments] == ["kept by bd"]
    assert git(alice.path, "rev-parse", "HEAD") == tip(hub)
    assert git(alice.path, "status", "--porcelain") == ""
