"""Writes made while the remote was away: kept in the clone, decided again on the newer hub, published once or kept aside."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from bd.store.contract import VIEW
from bd.store.local.lock import CloneLock
from tests.hub.hooks import hook, offline
from tests.race.history import subjects
from tests.race.seeds import limit, seed, write_field
from tests.runtime import RUNTIME
from tests.truth import commits, git, tip, tip_bead, tip_paths

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from bd.core.model import Bead
    from tests.race.interleaving import Interleaving
    from tests.running import Clone

    Clones = Callable[[str], Clone]

pytestmark = pytest.mark.one_in(54)


def bead_of(hub: Path, bead_id: str) -> Bead:
    found = tip_bead(hub, bead_id)
    assert found is not None, f"there is no {bead_id}"
    return found


# --- what is kept and what is not -----------------------------------------------------------


@pytest.mark.parametrize("args", [["claim", "hub-a"], ["claim", "--next"], ["update", "hub-a", "--claim"]])
def test_a_claim_without_the_remote_is_no_claim(args: list[str], clone: Clones, hub: Path) -> None:
    alice = clone("alice")
    seed(alice, "hub-a")
    with offline(alice):
        result = alice.here(*args, "--agent", "coder", "--json", code=6)
    assert result.json["written"] == "no"
    assert alice.here("show", "hub-a", "--json").json[0]["status"] == "open"
    alice.here("sync")
    assert subjects(hub, "claim") == []


def test_a_close_that_also_claims_is_not_kept(clone: Clones, hub: Path) -> None:
    alice = clone("alice")
    seed(alice, "hub-a", "hub-b")
    alice.here("claim", "hub-a", "--agent", "coder")
    with offline(alice):
        result = alice.here("close", "hub-a", "--reason", "done", "--next", "--agent", "coder", "--json", code=6)
    assert result.json["written"] == "no"
    alice.here("sync")
    assert bead_of(hub, "hub-a").status == "in_progress"


@pytest.mark.parametrize("args", [["close", "hub-a", "--reason", "done"], ["release", "hub-a", "--reason", "not now"]])
def test_a_write_that_names_a_token_is_kept_and_says_that_it_is_not_out_yet(args: list[str], clone: Clones, hub: Path) -> None:
    alice = clone("alice")
    seed(alice, "hub-a")
    alice.here("claim", "hub-a", "--agent", "coder")
    with offline(alice):
        result = alice.here(*args, "--agent", "coder", "--json", code=6)
    assert result.json["written"] == "local"
    expected = {"close": "closed", "release": "open"}[args[0]]
    assert alice.here("show", "hub-a", "--json").json[0]["status"] == expected
    assert bead_of(hub, "hub-a").status == "in_progress"
    assert alice.here("sync", "--json").json["replayed"] == 1
    assert bead_of(hub, "hub-a").status == expected
    assert alice.here("sync", "--json").json["replayed"] == 0
    assert len(subjects(hub, args[0])) == 1


def test_other_writes_are_kept_and_succeed(clone: Clones, hub: Path) -> None:
    alice = clone("alice")
    seed(alice, "hub-a")
    before = tip(hub)
    with offline(alice):
        made = alice.here("create", "Something", "--json")
        assert made.json["published"] is False
        assert "`bd sync` publishes it" in made.err
        assert alice.here("update", "hub-a", "--priority", "0", "--json").json[0]["published"] is False
        assert alice.here("comment", "hub-a", "seen", "--json").json["published"] is False
        assert alice.here("show", "hub-a", "--json").json[0]["priority"] == 0
        assert {bead["id"] for bead in alice.here("list", "--json").json} == {"hub-a", made.json["id"]}
    assert tip(hub) == before
    assert git(alice.path, "rev-parse", "HEAD") == before


def test_several_writes_are_published_in_one_push(clone: Clones, hub: Path, tmp_path: Path) -> None:
    alice, bob = clone("alice"), clone("bob")
    seed(alice, "hub-a")
    with offline(alice):
        made = alice.here("create", "Something", "--json").json["id"]
        alice.here("comment", made, "it is mine")
        alice.here("update", made, "--add-label", "x")
        alice.here("note", "hub-a", "one")
        alice.here("note", "hub-a", "two")
    bob.here("comment", "hub-a", "in between")
    hook(hub, "post-receive", f"echo push >> {tmp_path}/pushes")
    before = len(commits(hub))
    result = alice.here("sync", "--json").json
    assert (result["replayed"], result["received"], result["refused"]) == (5, 1, [])
    assert len((tmp_path / "pushes").read_text().splitlines()) == 1
    assert len(commits(hub)) == before + 5
    bead = bead_of(hub, made)
    assert [comment["text"] for comment in bead.comments] == ["it is mine"]
    assert bead.labels == ["x"]
    assert bead_of(hub, "hub-a").get("notes") == "one\ntwo"
    assert git(alice.path, "rev-parse", "refs/bd/view", "refs/bd/published", "HEAD").split() == [tip(hub)] * 3


def test_the_next_write_takes_what_waits_along(clone: Clones, hub: Path) -> None:
    alice = clone("alice")
    seed(alice, "hub-a")
    with offline(alice):
        made = alice.here("create", "Something", "-p", "0", "--json").json["id"]
    result = alice.here("claim", made, "--agent", "coder", "--json")
    assert result.json[0]["id"] == made
    assert "published 1 earlier write" in result.err
    assert bead_of(hub, made).claim is not None


def test_what_waits_is_published_although_the_next_write_is_refused(clone: Clones, hub: Path) -> None:
    """An agent whose close was kept and who finds no more work must not sit on that close for ever."""
    alice = clone("alice")
    seed(alice, "hub-a")
    alice.here("claim", "hub-a", "--agent", "coder")
    with offline(alice):
        alice.here("close", "hub-a", "--reason", "done", "--agent", "coder", code=6)
    alice.here("claim", "--next", "--agent", "coder", code=3)
    assert bead_of(hub, "hub-a").status == "closed"
    assert alice.here("sync", "--json").json["replayed"] == 0


def test_a_refused_command_shows_this_clone_what_refused_it(clone: Clones) -> None:
    alice, bob = clone("alice"), clone("bob")
    seed(alice, "hub-a")
    alice.here("claim", "hub-a", "--agent", "coder")
    bob.here("claim", "hub-a", "--agent", "other", code=5)
    shown = bob.here("show", "hub-a", "--json").json[0]
    assert (shown["status"], shown["assignee"]) == ("in_progress", "coder")


def test_a_write_killed_before_it_could_tell_is_not_published_twice(clone: Clones, hub: Path) -> None:
    """The push of what waited landed, and bd died before it noted that."""
    alice = clone("alice")
    seed(alice, "hub-a")
    with offline(alice):
        alice.here("note", "hub-a", "once")
        alice.here("create", "Something")
    alice.bd("sync", env={"BD_TEST_STOP_AT": "pushed"}, code=137)
    assert alice.here("sync", "--json").json["replayed"] == 0
    assert bead_of(hub, "hub-a").get("notes") == "once"
    assert len(subjects(hub, "create")) == 1


def test_writes_kept_in_a_clone_survive_a_plain_git_fetch_and_pull(clone: Clones, hub: Path) -> None:
    alice, bob = clone("alice"), clone("bob")
    seed(alice, "hub-a")
    with offline(alice):
        alice.here("note", "hub-a", "mine")
    bob.here("comment", "hub-a", "theirs")
    git(alice.path, "pull", "--quiet")
    assert alice.here("show", "hub-a", "--json").json[0]["notes"] == "mine"
    alice.here("sync")
    bead = bead_of(hub, "hub-a")
    assert (bead.get("notes"), [comment["text"] for comment in bead.comments]) == ("mine", ["theirs"])


# --- the hub has moved on -------------------------------------------------------------------


def test_edits_of_different_fields_both_survive(clone: Clones, hub: Path) -> None:
    alice, bob = clone("alice"), clone("bob")
    seed(alice, "hub-a", labels="[one, two]")
    with offline(alice):
        alice.here("update", "hub-a", "--title", "A better title", "--add-label", "three")
    bob.here("update", "hub-a", "--priority", "0", "--remove-label", "one")
    alice.here("sync")
    bead = bead_of(hub, "hub-a")
    assert (bead.title, bead.priority, bead.labels) == ("A better title", 0, ["three", "two"])


def test_what_the_newer_hub_refuses_is_kept_and_listed_until_it_is_dismissed(clone: Clones, hub: Path) -> None:
    alice, bob = clone("alice"), clone("bob")
    seed(alice, "hub-a", "hub-b")
    alice.here("claim", "hub-a", "--agent", "coder")
    with offline(alice):
        alice.here("close", "hub-a", "--reason", "done", "--agent", "coder", code=6)
        alice.here("comment", "hub-b", "goes through")
    bob.here("release", "hub-a", "--reason", "gone quiet", "--force", "--agent", "overseer")
    bob.here("claim", "hub-a", "--agent", "other")
    result = alice.here("sync", "--json", code=5)
    [refused] = result.json["refused"]
    assert refused["code"] == "stale_token"
    assert bead_of(hub, "hub-a").claim.agent == "other"
    assert [comment["text"] for comment in bead_of(hub, "hub-b").comments] == ["goes through"]
    assert alice.here("show", "hub-a", "--json").json[0]["status"] == "in_progress"

    [kept] = alice.here("sync", "--kept", "--json").json
    assert kept["uid"] == refused["uid"]
    assert "newer token" in kept["error"]
    assert git(alice.path, "rev-parse", f"refs/bd/kept/{kept['uid']}") == kept["commit"]
    assert "close_reason: done" in git(alice.path, "show", kept["commit"])
    assert kept["uid"] in alice.here("doctor").out
    assert alice.here("sync", "--json").json["refused"] == []
    assert len(alice.here("sync", "--kept", "--json").json) == 1

    assert alice.here("sync", "--dismiss", kept["uid"], "--json").json == []
    assert git(alice.path, "for-each-ref", "refs/bd/kept") == ""
    alice.here("sync", "--dismiss", kept["uid"], code=4)


def test_of_two_closes_the_first_on_the_hub_is_kept(clone: Clones, hub: Path) -> None:
    alice, bob = clone("alice"), clone("bob")
    seed(alice, "hub-a")
    with offline(alice):
        alice.here("close", "hub-a", "--reason", "by alice")
    bob.here("close", "hub-a", "--reason", "by bob")
    assert alice.here("sync", "--json").json["refused"] == []
    assert bead_of(hub, "hub-a").get("close_reason") == "by bob"
    assert alice.here("sync", "--kept", "--json").json == []


def test_of_a_write_on_two_beads_the_refused_half_is_told(clone: Clones, hub: Path) -> None:
    alice, bob = clone("alice"), clone("bob")
    seed(alice, "hub-a", "hub-b")
    with offline(alice):
        alice.here("close", "hub-a", "hub-b", "--reason", "both done")
    bob.here("claim", "hub-a", "--agent", "coder")
    result = alice.here("sync", "--json", code=5)
    [refused] = result.json["refused"]
    assert refused["code"] == "stale_token"
    assert refused["error"].startswith("hub-a: ")
    assert bead_of(hub, "hub-a").status == "in_progress"
    assert bead_of(hub, "hub-b").status == "closed"
    assert len(alice.here("sync", "--kept", "--json").json) == 1


def test_a_beginning_that_was_typed_means_the_bead_it_meant_then(clone: Clones, hub: Path) -> None:
    """`hub-ab` was one bead's beginning in this clone; on the hub it has become another bead's id."""
    alice, bob = clone("alice"), clone("bob")
    seed(alice, "hub-abcd")
    with offline(alice):
        alice.here("create", "Waits", "--id", "hub-w", "--deps", "hub-ab")
        alice.here("create", "Child", "--id", "hub-c", "--parent", "abc")
        alice.here("create", "Moves", "--id", "hub-m")
        alice.here("update", "hub-m", "--parent", "hub-ab")
        alice.here("comment", "hub-ab", "to the old one")
    bob.here("create", "Another", "--id", "hub-ab")
    bob.here("create", "And another", "--id", "hub-abc")
    assert alice.here("sync", "--json").json["refused"] == []
    assert bead_of(hub, "hub-w").depends_on == ["hub-abcd"]
    assert bead_of(hub, "hub-m").parent == "hub-abcd"
    assert bead_of(hub, "hub-c").parent == "hub-abcd"
    assert bead_of(hub, "hub-ab").comments == []


def test_a_write_on_a_bead_that_was_deleted_is_kept(clone: Clones, hub: Path) -> None:
    alice, bob = clone("alice"), clone("bob")
    seed(alice, "hub-a")
    with offline(alice):
        alice.here("comment", "hub-a", "too late")
    bob.here("delete", "hub-a", "--force")
    result = alice.here("sync", "--json", code=5)
    assert [item["code"] for item in result.json["refused"]] == ["no_such_bead"]
    assert "beads/hub-a.yaml" not in tip_paths(hub)
    assert len(alice.here("sync", "--kept", "--json").json) == 1


@pytest.mark.parametrize("meanwhile", ["deleted", "deleted, and another made of its id"])
def test_what_names_a_deleted_bead_is_kept_and_means_no_other(meanwhile: str, clone: Clones, hub: Path) -> None:
    """Its only child's id begins like its own."""
    alice, bob = clone("alice"), clone("bob")
    bob.here("create", "Parent", "--id", "hub-p")
    bob.here("create", "Child", "--id", "hub-p.kid", "--parent", "hub-p")
    seed(bob, "hub-o", "hub-o2")
    alice.here("sync")
    with offline(alice):
        alice.here("create", "New", "--id", "hub-new", "--parent", "hub-p")
        alice.here("create", "Waits", "--id", "hub-w", "--deps", "hub-p")
        alice.here("create", "Related", "--id", "hub-r", "--deps", "related:hub-p")
        alice.here("update", "hub-o", "--parent", "hub-p")
        alice.here("dep", "add", "hub-o2", "hub-p")
        alice.here("schedule", "add", "daily", "--cron", "0 9 * * *", "--title", "Look", "--parent", "hub-p")
        alice.here("create", "Fine", "--id", "hub-fine")
    bob.here("delete", "hub-p", "--force")
    if meanwhile != "deleted":
        bob.here("create", "Another", "--id", "hub-p")
    refused = alice.here("sync", "--json", code=5).json["refused"]
    assert [item["code"] for item in refused] == ["no_such_bead"] * 6
    assert len(alice.here("sync", "--kept", "--json").json) == 6
    assert {"beads/hub-new.yaml", "beads/hub-w.yaml", "beads/hub-r.yaml"} & {*tip_paths(hub)} == set()
    assert bead_of(hub, "hub-fine").title == "Fine"
    assert (bead_of(hub, "hub-o").parent, bead_of(hub, "hub-o2").depends_on) == (None, [])


def test_a_hand_edit_that_names_a_deleted_bead_is_kept(clone: Clones, hub: Path) -> None:
    alice, bob = clone("alice"), clone("bob")
    for bead_id in ("hub-o", "hub-p", "hub-q"):
        seed(bob, bead_id)
    alice.here("sync")
    file = alice.path / "beads" / "hub-o.yaml"
    file.write_text(file.read_text() + "depends_on: [hub-p]\n")
    other = alice.path / "beads" / "hub-q.yaml"
    other.write_text(other.read_text() + "depends_on: [hub-o]\n")
    bob.here("delete", "hub-p", "--force")
    bob.here("create", "Another", "--id", "hub-p")
    refused = alice.here("sync", "--json", code=5).json["refused"]
    assert [item["code"] for item in refused] == ["no_such_bead"]
    assert bead_of(hub, "hub-o").depends_on == []
    assert bead_of(hub, "hub-q").depends_on == ["hub-o"]


def test_what_a_bead_of_an_id_that_was_taken_was_meant_by_is_refused_with_it(clone: Clones, hub: Path) -> None:
    alice, bob = clone("alice"), clone("bob")
    with offline(bob):
        bob.here("create", "Of Bob", "--id", "hub-same")
        bob.here("create", "Waits", "--id", "hub-w", "--deps", "hub-same")
    alice.here("create", "Of Alice", "--id", "hub-same")
    refused = bob.here("sync", "--json", code=5).json["refused"]
    assert [item["code"] for item in refused] == ["id_taken", "no_such_bead"]
    assert "beads/hub-w.yaml" not in tip_paths(hub)


def test_a_deletion_of_a_bead_that_somebody_works_on_is_refused(clone: Clones, hub: Path) -> None:
    alice, bob = clone("alice"), clone("bob")
    seed(alice, "hub-a")
    with offline(alice):
        alice.here("delete", "hub-a", "--force")
    bob.here("claim", "hub-a", "--agent", "coder")
    alice.here("sync", code=5)
    assert bead_of(hub, "hub-a").claim is not None


def test_edges_that_would_make_a_circle_with_what_others_did_are_refused(clone: Clones, hub: Path) -> None:
    alice, bob = clone("alice"), clone("bob")
    seed(alice, "hub-a", "hub-b")
    with offline(alice):
        alice.here("dep", "add", "hub-a", "hub-b")
    bob.here("dep", "add", "hub-b", "hub-a")
    result = alice.here("sync", "--json", code=5)
    assert [item["code"] for item in result.json["refused"]] == ["would_cycle"]
    assert bead_of(hub, "hub-a").depends_on == []


def test_a_second_create_with_the_same_key_is_the_first_bead(clone: Clones, hub: Path) -> None:
    alice, bob = clone("alice"), clone("bob")
    with offline(alice):
        alice.here("create", "Something", "--idempotency-key", "k1")
    bob.here("create", "Something", "--idempotency-key", "k1")
    assert alice.here("sync", "--json").json["refused"] == []
    assert len([path for path in tip_paths(hub) if path.startswith("beads/")]) == 1


# --- ids that were taken meanwhile ------------------------------------------------------------


@pytest.fixture
def same_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every ULID minted from now on has the same four characters where a bead's id is cut from; each is another one."""
    number = 0
    real = RUNTIME.new_id

    def mint() -> str:
        nonlocal number
        number += 1
        uid = real()
        return uid[:10] + "7K3Q" + f"{number:04d}" + uid[18:]

    monkeypatch.setattr(RUNTIME, "new_id", mint)


def test_an_id_taken_meanwhile_is_minted_anew_and_told(clone: Clones, hub: Path, same_ids: None) -> None:
    alice, bob = clone("alice"), clone("bob")
    with offline(alice):
        old = alice.here("create", "Mine", "--json").json["id"]
    taken = bob.here("create", "Theirs", "--json").json["id"]
    assert old == taken == "hub-7k3q"
    result = alice.here("sync", "--json")
    assert bead_of(hub, taken).title == "Theirs"
    [new] = {path for path in tip_paths(hub) if path.startswith("beads/")} - {f"beads/{taken}.yaml"}
    new_id = new.removeprefix("beads/").removesuffix(".yaml")
    assert bead_of(hub, new_id).title == "Mine"
    assert f"{old} was taken meanwhile: the bead is now {new_id}" in result.err
    assert alice.here("sync", "--json").json["replayed"] == 0


def test_what_names_a_bead_that_was_minted_anew_follows(clone: Clones, hub: Path, same_ids: None) -> None:
    alice, bob = clone("alice"), clone("bob")
    seed(alice, "hub-old")
    with offline(alice):
        mine = alice.here("create", "Mine", "--json").json["id"]
        waiting = alice.here("create", "Waits for it", "--id", "hub-waiting", "--deps", mine, "--json").json["id"]
        child = alice.here("create", "Below it", "--parent", mine, "--json").json["id"]
        alice.here("create", "Linked", "--id", "hub-linked", "--deps", f"related:{mine}")
        alice.here("create", "Comes first", "--id", "hub-first", "--deps", f"blocks:{mine}")
        alice.here("update", mine, "--priority", "0")
        alice.here("comment", mine, "it is mine")
        alice.here("dep", "add", "hub-old", mine)
        alice.here("update", "hub-linked", "--parent", mine)
    theirs = bob.here("create", "Theirs", "--json").json["id"]
    assert mine == theirs
    assert alice.here("sync", "--json").json["refused"] == []
    beads = {path[6:-5]: bead_of(hub, path[6:-5]) for path in tip_paths(hub) if path.startswith("beads/")}
    [new] = [bead_id for bead_id, bead in beads.items() if bead.title == "Mine"]
    assert new != mine
    assert (beads[new].priority, [comment["text"] for comment in beads[new].comments]) == (0, ["it is mine"])
    assert beads[waiting].depends_on == [new]
    assert beads["hub-linked"].parent == new
    [below] = [bead for bead in beads.values() if bead.title == "Below it"]
    assert below.parent == new
    assert below.id == child.replace(mine, new, 1)
    assert [link.id for link in beads["hub-linked"].links] == [new]
    assert "hub-first" in beads[new].depends_on
    assert beads["hub-old"].depends_on == [new]
    assert (beads[mine].title, beads[mine].priority, beads[mine].comments) == ("Theirs", 2, [])


def test_the_clone_keeps_which_id_became_which(clone: Clones, hub: Path, same_ids: None) -> None:
    alice, bob = clone("alice"), clone("bob")
    with offline(alice):
        old = alice.here("create", "Mine", "--json").json["id"]
    bob.here("create", "Theirs")
    alice.here("sync")
    noted = json.loads((alice.path / ".git" / "bd" / "renamed.json").read_text())
    assert list(noted) == [old]
    assert bead_of(hub, noted[old]).title == "Mine"


def test_a_command_that_names_the_old_id_while_it_is_minted_anew_means_its_own_bead(
    clone: Clones, hub: Path, same_ids: None
) -> None:
    """When it was typed, this clone showed its own bead under that id."""
    alice, bob = clone("alice"), clone("bob")
    with offline(alice):
        old = alice.here("create", "Mine", "--json").json["id"]
    bob.here("create", "Theirs")
    shown = alice.here("update", old, "--priority", "0", "--json").json[0]
    assert shown["title"] == "Mine"
    assert bead_of(hub, old).priority == 2
    assert bead_of(hub, shown["id"]).priority == 0


# Declines the first push of several commits, and follows the first push of one with a commit of its own.
DECLINE_ONCE = """
[ -e {marks}/declined ] && exit 0
while read old new ref; do
  if [ "$(git rev-list --count $old..$new)" -gt 1 ]; then touch {marks}/declined; echo "one at a time"; exit 1; fi
done
"""
OVERTAKE_ONCE = """
[ -e {marks}/overtaken ] && exit 0
touch {marks}/overtaken
git update-ref refs/heads/main "$(git commit-tree 'main^{{tree}}' -p main -m 'other: a commit')"
"""


@pytest.mark.parametrize("is_kept", [True, False], ids=["kept in the clone", "the command itself"])
def test_what_names_a_bead_follows_also_where_the_bead_came_to_the_hub_one_push_earlier(
    is_kept: bool, clone: Clones, hub: Path, tmp_path: Path, same_ids: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pair is declined, the new bead lands alone, and then somebody is faster."""
    for name, value in {"NAME": "Server", "EMAIL": "server@example.org"}.items():
        for role in ("AUTHOR", "COMMITTER"):
            monkeypatch.setenv(f"GIT_{role}_{name}", value)
    alice, bob = clone("alice"), clone("bob")
    with offline(alice):
        old = alice.here("create", "Mine", "--json").json["id"]
        following = ["create", "Waits for it", "--id", "hub-waiting", "--deps", old]
        if is_kept:
            alice.here(*following)
    bob.here("create", "Theirs")
    hook(hub, "pre-receive", DECLINE_ONCE.format(marks=tmp_path))
    hook(hub, "post-receive", OVERTAKE_ONCE.format(marks=tmp_path))
    alice.here(*(["sync"] if is_kept else following))
    assert (tmp_path / "declined").exists()
    assert subjects(hub, "other") == ["other: a commit"]
    [mine] = {path[6:-5] for path in tip_paths(hub) if path.startswith("beads/")} - {old, "hub-waiting"}
    assert bead_of(hub, mine).title == "Mine"
    assert bead_of(hub, "hub-waiting").depends_on == [mine]


def test_an_id_that_was_chosen_is_not_changed_behind_its_choosers_back(clone: Clones, hub: Path) -> None:
    alice, bob = clone("alice"), clone("bob")
    with offline(alice):
        alice.here("create", "Mine", "--id", "hub-x")
        alice.here("comment", "hub-x", "it is mine")
    bob.here("create", "Theirs", "--id", "hub-x")
    result = alice.here("sync", "--json", code=5)
    assert [item["code"] for item in result.json["refused"]] == ["id_taken", "no_such_bead"]
    bead = bead_of(hub, "hub-x")
    assert (bead.title, bead.comments) == ("Theirs", [])
    assert len(alice.here("sync", "--kept", "--json").json) == 2


def test_a_race_for_an_id_is_decided_by_the_hub(clone: Clones, hub: Path, same_ids: None, steps: Interleaving) -> None:
    """Both online: the id is taken between the decision and the push."""
    alice, bob = clone("alice"), clone("bob")
    steps.at("push", lambda: bob.here("create", "Theirs"))
    made = alice.here("create", "Mine", "--json").json["id"]
    assert bead_of(hub, made).title == "Mine"
    assert bead_of(hub, "hub-7k3q").title == "Theirs"


# --- commits made by hand ---------------------------------------------------------------------


def test_hand_commits_and_bds_own_are_published_together(clone: Clones, hub: Path) -> None:
    alice, bob = clone("alice"), clone("bob")
    seed(alice, "hub-a")
    with offline(alice):
        alice.here("comment", "hub-a", "by bd")
    write_field(alice, "hub-a", "notes: by hand")
    git(alice.path, "commit", "--quiet", "-am", "what I found out")
    bob.here("update", "hub-a", "--priority", "1")
    result = alice.here("sync", "--json").json
    assert result["refused"] == []
    bead = bead_of(hub, "hub-a")
    assert (bead.priority, bead.get("notes"), [comment["text"] for comment in bead.comments]) == (1, "by hand", ["by bd"])
    assert "what I found out" in git(hub, "log", "--format=%s", "main").splitlines()
    assert git(alice.path, "rev-parse", "HEAD") == tip(hub)
    assert git(alice.path, "status", "--porcelain") == ""


def test_a_hand_commit_that_was_published_is_not_decided_again(clone: Clones, hub: Path) -> None:
    """The branch could not follow the sync and still holds the commit; what others did since then stays."""
    alice, bob = clone("alice"), clone("bob")
    seed(alice, "hub-a", "hub-b", labels="[one]")
    write_field(alice, "hub-a", "needs: [git]")
    git(alice.path, "commit", "--quiet", "-am", "it needs git")
    in_the_way = alice.path / "beads" / "hub-a.yaml"
    in_the_way.write_text(in_the_way.read_text() + "notes: [unfinished\n")
    alice.here("sync", code=7)
    assert bead_of(hub, "hub-a").get("needs") == ["git"]
    bob.here("sync")
    file = bob.path / "beads" / "hub-a.yaml"
    file.write_text(file.read_text().replace("needs: [git]\n", ""))
    bob.here("sync")
    assert bead_of(hub, "hub-a").get("needs") is None
    git(alice.path, "checkout", "--quiet", "beads/hub-a.yaml")
    alice.here("list", "--fetch")
    with offline(alice):
        alice.here("comment", "hub-b", "offline")
    assert alice.here("sync", "--json").json["refused"] == []
    assert bead_of(hub, "hub-a").get("needs") is None
    assert len(bead_of(hub, "hub-b").comments) == 1
    assert git(alice.path, "rev-parse", "HEAD") == tip(hub)


def test_two_changes_of_one_text_are_a_refused_replay(clone: Clones, hub: Path) -> None:
    alice, bob = clone("alice"), clone("bob")
    seed(alice, "hub-a")
    write_field(alice, "hub-a", "notes: by alice")
    git(alice.path, "commit", "--quiet", "-am", "mine")
    mine = git(alice.path, "rev-parse", "HEAD")
    bob.here("update", "hub-a", "--notes", "by bob")
    result = alice.here("sync", "--json", code=5)
    assert "notes was changed here and on the hub" in result.json["refused"][0]["error"]
    assert bead_of(hub, "hub-a").get("notes") == "by bob"
    assert alice.here("sync", "--kept", "--json").json[0]["commit"] == mine


@pytest.mark.parametrize("change", ["status: closed", "status: in_progress", "assignee: me", "owner: me@hub", "attempts: 0"])
def test_a_hand_edit_does_not_break_into_a_claim(change: str, clone: Clones, hub: Path) -> None:
    alice, bob = clone("alice"), clone("bob")
    seed(alice, "hub-a")
    bob.here("claim", "hub-a", "--agent", "coder")
    file = alice.path / "beads" / "hub-a.yaml"
    key = change.partition(":")[0]
    kept = [line for line in file.read_text().splitlines() if not line.startswith(f"{key}:")]
    file.write_text("\n".join([*kept, change]) + "\n")
    git(alice.path, "commit", "--quiet", "-am", "by hand")
    before = bead_of(hub, "hub-a")
    alice.here("sync", code=5 if change != "status: in_progress" else 0)
    assert bead_of(hub, "hub-a") == before


def test_a_new_bead_by_hand_gets_what_a_bead_needs(clone: Clones, hub: Path) -> None:
    alice = clone("alice")
    limit(alice, "coder", 1)
    file = alice.path / "beads" / "hub-mine.yaml"
    file.parent.mkdir(exist_ok=True)
    file.write_text("id: hub-mine\ntitle: By hand\n")
    git(alice.path, "add", ".")
    git(alice.path, "commit", "--quiet", "-m", "a bead of my own")
    alice.here("sync")
    bead = bead_of(hub, "hub-mine")
    assert bead.title == "By hand"
    assert bead.uid
    assert alice.here("claim", "--next", "--agent", "coder", "--json").json[0]["id"] == "hub-mine"


def test_an_edit_put_into_bds_own_published_commit_is_published(clone: Clones, hub: Path) -> None:
    """`git commit --amend` keeps the trailers of the operation that is on the hub already."""
    alice, bob = clone("alice"), clone("bob")
    seed(alice, "hub-a", "hub-b")
    alice.here("claim", "hub-a", "--agent", "coder")
    write_field(alice, "hub-a", "notes: by hand")
    git(alice.path, "commit", "--quiet", "--amend", "--no-edit", "-a")
    bob.here("update", "hub-a", "--priority", "1")
    assert alice.here("sync", "--json").json["refused"] == []
    bead = bead_of(hub, "hub-a")
    assert (bead.get("notes"), bead.priority, bead.claim is not None) == ("by hand", 1, True)
    assert git(alice.path, "rev-parse", "HEAD") == tip(hub)
    before = tip(hub)
    assert alice.here("sync", "--json").json["replayed"] == 0
    assert tip(hub) == before


def test_bds_published_commits_with_other_words_are_nothing_new(clone: Clones, hub: Path) -> None:
    """The older commit is reworded, the newer one is rebased onto it: neither changes a file."""
    alice = clone("alice")
    seed(alice, "hub-a")
    alice.here("note", "hub-a", "one")
    alice.here("note", "hub-a", "two")
    words = git(alice.path, "log", "-1", "--format=%B", "HEAD~1")
    newest = git(alice.path, "rev-parse", "HEAD")
    git(alice.path, "reset", "--quiet", "--hard", "HEAD~1")
    git(alice.path, "commit", "--quiet", "--amend", "-m", f"Reworded\n\n{words}")
    git(alice.path, "cherry-pick", newest)
    before = tip(hub)
    assert alice.here("sync", "--json").json["replayed"] == 0
    assert tip(hub) == before
    assert bead_of(hub, "hub-a").get("notes") == "one\ntwo"


def test_an_offline_setting_and_a_hand_commit_of_the_configuration_both_survive(clone: Clones, hub: Path) -> None:
    alice, bob = clone("alice"), clone("bob")
    seed(alice, "hub-a")
    config = alice.path / ".beads" / "config.yaml"
    with offline(alice):
        alice.here("config", "set", "max_attempts", "7")
    config.write_text(config.read_text() + "types: [task, spike]  # what we do\n")
    git(alice.path, "commit", "--quiet", "-am", "spikes")
    bob.here("config", "set", "claim_ttl", "2h")
    assert alice.here("sync", "--json").json["refused"] == []
    text = git(hub, "show", "main:.beads/config.yaml").replace('"', "")
    assert "max_attempts: 7" in text
    assert "claim_ttl: 2h" in text
    assert "types: [task, spike]" in text


def test_a_comment_in_the_configuration_is_published_as_it_was_typed(clone: Clones, hub: Path) -> None:
    alice = clone("alice")
    config = alice.path / ".beads" / "config.yaml"
    config.write_text(config.read_text() + "# ask before you change this\n")
    git(alice.path, "commit", "--quiet", "-am", "a word of warning")
    alice.here("sync")
    assert git(hub, "show", "main:.beads/config.yaml").strip() == config.read_text().strip()


def test_two_hand_commits_of_one_other_file_are_both_published(clone: Clones, hub: Path) -> None:
    alice = clone("alice")
    seed(alice, "hub-a")
    for text in ("a", "ab"):
        (alice.path / "R.md").write_text(text)
        git(alice.path, "add", "R.md")
        git(alice.path, "commit", "--quiet", "-m", f"say {text}")
    assert alice.here("sync", "--json").json["refused"] == []
    assert git(hub, "show", "main:R.md") == "ab"
    assert git(hub, "show", "main~1:R.md") == "a"


def test_untracked_files_that_are_none_of_bds_stay_here_and_are_named(clone: Clones, hub: Path) -> None:
    alice = clone("alice")
    seed(alice, "hub-a")
    for path in (".beads/secrets.env", "artifacts/.env", "beads/notes.txt", "artifacts/report.txt"):
        (alice.path / path).parent.mkdir(exist_ok=True)
        (alice.path / path).write_text("hush\n")
    git(alice.path, "add", "artifacts/report.txt")
    (alice.path / "beads" / "hub-mine.yaml").write_text("id: hub-mine\ntitle: By hand\n")
    result = alice.here("sync")
    paths = tip_paths(hub)
    assert {"beads/hub-mine.yaml", "artifacts/report.txt"} <= {*paths}
    assert not {".beads/secrets.env", "artifacts/.env", "beads/notes.txt"} & {*paths}
    for path in (".beads/secrets.env", "artifacts/.env", "beads/notes.txt"):
        assert path in result.err
        assert (alice.path / path).exists()


@pytest.mark.parametrize("more", [0, 50])
def test_programs_links_and_submodules_of_a_hand_commit_stay_what_they_are(more: int, clone: Clones, hub: Path) -> None:
    """Few files and many go different ways to git."""
    alice = clone("alice")
    seed(alice, "hub-a")
    (alice.path / "run.sh").write_text("#!/bin/sh\n")
    (alice.path / "run.sh").chmod(0o755)
    (alice.path / "link").symlink_to("run.sh")
    for number in range(more):
        (alice.path / f"plain{number}.txt").write_text("x\n")
    head = git(alice.path, "rev-parse", "HEAD")
    git(alice.path, "add", ".")
    git(alice.path, "update-index", "--add", "--cacheinfo", f"160000,{head},module")
    git(alice.path, "commit", "--quiet", "-m", "other files")
    wanted = git(alice.path, "ls-tree", "-r", "HEAD")
    assert alice.here("sync", "--json").json["refused"] == []
    assert git(hub, "ls-tree", "-r", "main") == wanted

    git(alice.path, "update-index", "--chmod=-x", "run.sh")
    git(alice.path, "commit", "--quiet", "-m", "no program after all")
    (alice.path / "run.sh").chmod(0o644)
    assert alice.here("sync", "--json").json["refused"] == []
    assert git(hub, "ls-tree", "main", "run.sh").startswith("100644")


# --- what is kept for long ------------------------------------------------------------------


def test_what_waits_for_more_than_an_hour_is_named_by_every_write(clone: Clones, hub: Path) -> None:
    """And by `attention`: the note of the day it was kept has long scrolled away."""
    alice = clone("alice")
    seed(alice, "hub-a", "hub-b")
    later = {"BD_TEST_CLOCK_OFFSET_S": "7300"}
    with offline(alice):
        first = alice.bd("create", "Kept", "--id", "hub-kept")
        alice.bd("comment", "hub-a", "soon")
        assert "writes have been" not in first.err
        assert alice.bd("attention", "--json", "--no-fetch").json["unpublished"] == []
        for words in ("comment hub-a later", "claim hub-b --agent coder", "sync"):
            told = alice.bd(*words.split(), env=later, check=False)
            assert (
                "writes have been unpublished for 2h: create: hub-kept by Test Person, comment: hub-a by Test Person" in told.err
            ), words
        listed = alice.bd("attention", "--json", "--no-fetch", env=later).json["unpublished"]
        assert [entry["subject"] for entry in listed] == ["create: hub-kept by Test Person", "comment: hub-a by Test Person"]
        assert "Not published for more than an hour" in alice.bd("attention", "--no-fetch", env=later).out
    told = alice.bd("comment", "hub-a", "now", env=later)
    assert "unpublished for" not in told.err
    assert alice.bd("attention", "--json", env=later).json["unpublished"] == []


def test_what_was_refused_is_named_until_it_is_dismissed(clone: Clones, hub: Path) -> None:
    alice = clone("alice")
    seed(alice, "hub-a")
    declining = hook(hub, "pre-receive", "echo no; exit 1")
    uid = alice.bd("comment", "hub-a", "words", "--json", code=5).json["kept"]
    declining.unlink()
    later = {"BD_TEST_CLOCK_OFFSET_S": "7300"}
    assert "refused by the hub" not in alice.bd("comment", "hub-a", "soon").err
    told = alice.bd("comment", "hub-a", "later", env=later)
    assert "1 write has been refused by the hub and kept here for 2h: comment: hub-a by Test Person" in told.err
    worked = alice.bd("work", "--agent", "coder", "--max-tasks", "1", "--", "true", env=later)
    assert worked.err.count("refused by the hub and kept here for 2h") == 1
    alice.bd("sync", "--dismiss", uid)
    assert "refused by the hub" not in alice.bd("comment", "hub-a", "again", env=later).err


def test_a_read_after_a_plain_fetch_leaves_the_refs_to_the_process_that_writes(clone: Clones, hub: Path) -> None:
    """That process has them locked, and its lock is no leftover of a dead one."""
    alice, bob = clone("alice"), clone("bob")
    alice.here("create", "By Alice", "--id", "hub-a")
    bob.here("create", "By Bob", "--id", "hub-b")
    git(alice.path, "fetch", "--quiet")
    before = git(alice.path, "rev-parse", VIEW)
    locked = alice.path / ".git" / f"{VIEW}.lock"
    with CloneLock(str(alice.path / ".git" / "bd" / "lock"), 0, RUNTIME):
        locked.touch()
        assert "hub-b" not in alice.here("list").out
        assert locked.exists()
        assert git(alice.path, "rev-parse", VIEW) == before
    assert "hub-b" in alice.here("list").out, "now it is a leftover"
    assert not locked.exists()
    assert git(alice.path, "rev-parse", VIEW) == tip(hub)
