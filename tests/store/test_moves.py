"""Files that move between the active beads and the archive, on real git: bytes, cache, replays, hand edits, undo."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from bd.core.model import Change, Overlay, Snapshot
from bd.store.hub_location import locate
from tests.hub.hooks import offline
from tests.memory import make_bead
from tests.race.history import subjects
from tests.race.seeds import put, seed
from tests.runtime import RUNTIME, open_clone
from tests.store.test_cache import cache_path, cold, content
from tests.truth import bead_files, commits, git, tip, tip_file

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.running import Clone

    Clones = Callable[[str], Clone]

pytestmark = pytest.mark.one_in(6)

OLD = "2026-01-05T10:00:00Z"
VOLUME = "beads/archive/2026-01-001.yaml"
ARCHIVED = f"{VOLUME}/{{}}.yaml"
# A file of its own in the archive: a person's, or an earlier bd's.
APART = "beads/archive/2026-01/{}.yaml"


def seed_done(writer: Clone, *bead_ids: str, **fields: str) -> None:
    seed(writer, *bead_ids, status="closed", closed_at=OLD, **fields)


def beads_of(repository: Path) -> list[str]:
    return [*bead_files(repository)]


def assert_cache_is_as_cold(clone: Clone) -> None:
    """What the cache followed is what a cache built from nothing holds."""
    from bd.store.cache.cache import Cache

    hub = open_clone(locate(str(clone.path)))
    try:
        cached = Cache(str(cache_path(clone)), hub.repo, RUNTIME)
        assert cached.commit == hub.view(), "the cache followed the write"
        assert content(cached) == cold(hub, hub.view())
        cached.close()
    finally:
        hub.close()


def test_the_bytes_are_as_they_were_and_it_is_one_commit(local_hub: Clone) -> None:
    seed_done(local_hub, "hub-a", "hub-b")
    file = local_hub.path / "beads/hub-a.yaml"
    file.write_text("# by hand\n" + file.read_text() + "odd:   [ 1,  2 ]   # kept\n")
    put(local_hub, "beads", "by hand")
    before = {name: tip_file(local_hub.path, f"beads/{name}.yaml") for name in ("hub-a", "hub-b")}
    count = len(commits(local_hub.path))
    local_hub.here("archive")
    assert beads_of(local_hub.path) == [ARCHIVED.format("hub-a"), ARCHIVED.format("hub-b")]
    assert {name: bead_files(local_hub.path)[ARCHIVED.format(name)] for name in before} == before
    assert len(commits(local_hub.path)) == count + 1
    assert git(local_hub.path, "status", "--porcelain") == ""
    assert_cache_is_as_cold(local_hub)
    assert local_hub.here("archive", "--json").json["archived"] == []
    assert len(commits(local_hub.path)) == count + 1, "nothing to do is no commit"


def test_an_archived_bead_is_found_as_before(local_hub: Clone) -> None:
    seed_done(local_hub, "hub-a", description="needle")
    seed(local_hub, "hub-b", depends_on="[hub-a]")
    local_hub.here("archive")
    assert local_hub.here("show", "hub-a", "--json").json[0]["dependents"][0]["id"] == "hub-b"
    assert [bead["id"] for bead in local_hub.here("search", "needle", "--status", "all", "--json").json] == ["hub-a"]
    assert [bead["id"] for bead in local_hub.here("list", "--all", "--json").json] == ["hub-a", "hub-b"]
    assert [bead["id"] for bead in local_hub.here("ready", "--json").json] == ["hub-b"]
    assert local_hub.here("create", "x", "--id", "hub-a", code=5).err.startswith("Error: hub-a exists already")
    local_hub.here("comment", "hub-a", "a late word")
    assert beads_of(local_hub.path) == [ARCHIVED.format("hub-a"), "beads/hub-b.yaml"]
    assert local_hub.here("doctor", "--offline").out.strip().endswith("0 damaged, 0 warnings")


def test_reopened_it_lies_among_the_active_ones_with_its_comments_of_yaml(local_hub: Clone) -> None:
    seed_done(local_hub, "hub-a")
    file = local_hub.path / "beads/hub-a.yaml"
    file.write_text("# mine\n" + file.read_text())
    put(local_hub, "beads", "by hand")
    local_hub.here("archive")
    local_hub.here("reopen", "hub-a")
    assert beads_of(local_hub.path) == ["beads/hub-a.yaml"]
    assert file.read_text().startswith("# mine\nid: hub-a\n")
    assert_cache_is_as_cold(local_hub)
    assert local_hub.here("claim", "hub-a", "--agent", "coder").code == 0
    local_hub.here("close", "hub-a", "--agent", "coder")
    local_hub.here("archive", "--older-than", "0s")
    assert len(beads_of(local_hub.path)) == 1
    events = local_hub.here("history", "hub-a", "--json").json
    assert [event["verb"] for event in events] == ["by hand", "archive", "reopen", "claim", "close", "archive"]
    assert events[1]["changes"] == {"file": {"old": "beads/hub-a.yaml", "new": ARCHIVED.format("hub-a")}}


@pytest.mark.one_in(6)
@pytest.mark.parametrize("seed_number", range(4))
def test_whatever_is_done_the_cache_holds_what_git_holds(seed_number: int, local_hub: Clone) -> None:
    rng = random.Random(seed_number)
    names = [f"hub-{number}" for number in range(6)]
    seed_done(local_hub, *names[:4])
    seed(local_hub, *names[4:])
    local_hub.here("list")
    for _ in range(14):
        name = rng.choice(names)
        command = rng.choice(
            [
                ["archive", "--limit", str(rng.randrange(1, 4))],
                ["archive", "--older-than", "0s"],
                ["reopen", name],
                ["close", name, "--force", "--reason", "x"],
                ["comment", name, "words"],
                ["dep", "add", name, rng.choice(names)],
                ["update", name, "--priority", str(rng.randrange(5))],
                ["undo"],
            ]
        )
        local_hub.here(*command, check=False)
        assert_cache_is_as_cold(local_hub)
        paths = beads_of(local_hub.path)
        assert sorted(path.rpartition("/")[2] for path in paths) == [f"{name}.yaml" for name in names], command
        for path, data in bead_files(local_hub.path).items():
            assert path.startswith("beads/hub") or b"status: closed" in data, command
        assert git(local_hub.path, "status", "--porcelain") == ""


def test_what_comes_behind_another_write_finds_the_archive_without_reading_all_of_it(
    local_hub: Clone, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed_done(local_hub, "hub-a", "hub-b", "hub-c", "hub-d", "hub-e")
    local_hub.here("archive", "--limit", "3")
    hub = open_clone(locate(str(local_hub.path)))
    base = hub.snapshot()
    bead = {name: base.bead(name) for name in ("hub-a", "hub-b", "hub-d")}
    assert all(bead.values())
    changes: list[Change] = [
        Change({"hub-a": bead["hub-a"].evolve(status="open"), "hub-b": None}, ""),
        Change({"hub-a": bead["hub-a"].evolve(notes="x")}, "", moves={"hub-b": "beads/hub-b.yaml"}),
        Change({"hub-new": make_bead("hub-new", status="closed")}, "", moves={"hub-d": ARCHIVED.format("hub-d")}),
    ]
    for change in changes:
        after = Overlay(base, change)
        ended = sorted(bead.id for bead in Snapshot.ended(after))
        paths = {folder: sorted(Snapshot.bead_paths(after, folder)) for folder in ("beads/", "beads/archive/")}
        with monkeypatch.context() as patch:
            patch.setattr(type(base), "every", None)
            assert sorted(bead.id for bead in after.ended()) == ended
            assert {folder: sorted(after.bead_paths(folder)) for folder in paths} == paths
    hub.close()


# --- replays ---------------------------------------------------------------------------------


def test_an_archiving_kept_in_the_clone_is_published_without_what_was_reopened(clone: Clones, hub: Path) -> None:
    alice, bob = clone("alice"), clone("bob")
    seed_done(alice, "hub-a", "hub-b", "hub-c")
    with offline(alice):
        assert alice.here("archive", "--json").json["published"] is False
        alice.here("comment", "hub-b", "meanwhile")
        alice.here("reopen", "hub-c")
        assert_cache_is_as_cold(alice)
    bob.here("reopen", "hub-a")
    assert alice.here("sync", "--json").json["refused"] == []
    assert beads_of(hub) == [ARCHIVED.format("hub-b"), "beads/hub-a.yaml", "beads/hub-c.yaml"]
    assert b"meanwhile" in bead_files(hub)[ARCHIVED.format("hub-b")]
    assert_cache_is_as_cold(alice)
    assert git(alice.path, "status", "--porcelain") == ""
    assert len(subjects(hub, "archive")) == 1


def test_a_reopening_kept_in_the_clone_finds_the_bead_in_the_archive(clone: Clones, hub: Path) -> None:
    alice, bob = clone("alice"), clone("bob")
    seed_done(alice, "hub-a", "hub-b")
    with offline(alice):
        alice.here("reopen", "hub-a")
        alice.here("comment", "hub-b", "words")
    bob.here("archive")
    alice.here("sync")
    assert beads_of(hub) == [ARCHIVED.format("hub-b"), "beads/hub-a.yaml"]
    assert b"words" in bead_files(hub)[ARCHIVED.format("hub-b")]
    assert git(alice.path, "status", "--porcelain") == ""


def test_a_large_archiving_is_replayed_from_its_difference(clone: Clones, hub: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bd.store.git.commit_message._FORM_LIMIT", 10)
    alice, bob = clone("alice"), clone("bob")
    seed_done(alice, "hub-a", "hub-b", "hub-c")
    with offline(alice):
        alice.here("archive")
    bob.here("reopen", "hub-a")
    bob.here("comment", "hub-b", "words")
    assert alice.here("sync", "--json").json["refused"] == []
    assert beads_of(hub) == [ARCHIVED.format("hub-b"), ARCHIVED.format("hub-c"), "beads/hub-a.yaml"]
    assert b"words" in bead_files(hub)[ARCHIVED.format("hub-b")]
    assert subjects(hub, "archive") == ["archive: hub-a hub-b hub-c by Test Person"]


@pytest.mark.slow
def test_two_thousand_and_more_take_two_commits(local_hub: Clone) -> None:
    folder = local_hub.path / "beads"
    folder.mkdir()
    for number in range(2003):
        text = f"id: hub-{number}\ntitle: x\nstatus: closed\nclosed_at: {OLD}\ncreated_at: {OLD}\nupdated_at: {OLD}\n"
        (folder / f"hub-{number}.yaml").write_text(text)
    put(local_hub, "beads", "many")
    count = len(commits(local_hub.path))
    first = local_hub.here("archive", "--json").json
    assert (len(first["archived"]), first["left"]) == (2000, 3)
    assert local_hub.here("archive", "--json").json["left"] == 0
    assert len(commits(local_hub.path)) == count + 2
    assert all(path.startswith("beads/archive/") for path in beads_of(local_hub.path))
    assert_cache_is_as_cold(local_hub)


# --- by hand ---------------------------------------------------------------------------------


def test_a_hand_edit_of_an_archived_file_is_published_where_it_lies(clone: Clones, hub: Path) -> None:
    alice = clone("alice")
    seed_done(alice, "hub-a", "hub-b", "hub-c")
    (alice.path / "beads/archive/2026-01").mkdir(parents=True)
    for name in ("hub-a", "hub-b", "hub-c"):
        git(alice.path, "mv", f"beads/{name}.yaml", APART.format(name))
    git(alice.path, "commit", "--quiet", "-m", "tidy up")
    for name, words in (("hub-a", "notes: 'late   words'  # mine\n"), ("hub-b", "")):
        file = alice.path / APART.format(name)
        text = file.read_text()
        file.write_text(text + words if words else text.replace("status: closed", "status: open"))
    (alice.path / APART.format("hub-c")).unlink()
    assert alice.here("sync", "--json").json["refused"] == []
    assert beads_of(hub) == [APART.format("hub-a"), "beads/hub-b.yaml"], (
        "what was opened by hand came back, what was removed is gone"
    )
    assert b"notes: 'late   words'  # mine\n" in (tip_file(hub, APART.format("hub-a")) or b"")
    assert git(alice.path, "status", "--porcelain") == ""


def test_an_edit_of_a_file_that_was_archived_meanwhile_follows_it(clone: Clones, hub: Path) -> None:
    alice, bob = clone("alice"), clone("bob")
    seed_done(alice, "hub-a")
    file = alice.path / "beads/hub-a.yaml"
    file.write_text(file.read_text() + "notes: mine\n")
    bob.here("archive")
    assert alice.here("sync", "--json").json["refused"] == []
    assert beads_of(hub) == [ARCHIVED.format("hub-a")]
    assert b"notes: mine" in bead_files(hub)[ARCHIVED.format("hub-a")]
    assert not file.exists()
    assert git(alice.path, "status", "--porcelain") == ""


@pytest.mark.parametrize("committed", [True, False])
def test_a_file_moved_by_hand_is_moved_and_not_deleted(committed: bool, clone: Clones, hub: Path) -> None:
    alice, bob = clone("alice"), clone("bob")
    seed_done(alice, "hub-a")
    seed(alice, "hub-open")
    before = tip_file(hub, "beads/hub-a.yaml")
    folder = alice.path / "beads/archive/2024-07"
    folder.mkdir(parents=True)
    for name in ("hub-a", "hub-open"):
        git(alice.path, "mv", f"beads/{name}.yaml", f"beads/archive/2024-07/{name}.yaml")
    if committed:
        git(alice.path, "commit", "--quiet", "-m", "tidy up")
    bob.here("create", "Meanwhile", "--id", "hub-z")
    assert alice.here("sync", "--json").json["refused"] == []
    assert "beads/archive/2024-07/hub-a.yaml" in beads_of(hub)
    assert "beads/hub-open.yaml" in beads_of(hub)
    assert len(beads_of(hub)) == 3
    assert tip_file(hub, "beads/archive/2024-07/hub-a.yaml") == before
    alice.here("sync")
    assert git(alice.path, "status", "--porcelain") == ""
    assert git(alice.path, "rev-parse", "HEAD") == tip(hub)
    assert_cache_is_as_cold(alice)


# --- undo --------------------------------------------------------------------------------------


def test_undo_puts_everything_back_where_it_was(local_hub: Clone) -> None:
    seed_done(local_hub, "hub-a", "hub-b")
    before = git(local_hub.path, "rev-parse", "HEAD^{tree}")
    local_hub.here("archive")
    archived = git(local_hub.path, "rev-parse", "HEAD^{tree}")
    local_hub.here("undo")
    assert git(local_hub.path, "rev-parse", "HEAD^{tree}") == before
    local_hub.here("archive")
    assert git(local_hub.path, "rev-parse", "HEAD^{tree}") == archived
    local_hub.here("reopen", "hub-a")
    local_hub.here("undo")
    assert beads_of(local_hub.path) == [ARCHIVED.format("hub-a"), ARCHIVED.format("hub-b")]
    local_hub.here("delete", "hub-b", "--force")
    local_hub.here("undo")
    assert beads_of(local_hub.path) == [ARCHIVED.format("hub-a"), ARCHIVED.format("hub-b")]
    assert_cache_is_as_cold(local_hub)


def test_an_id_of_two_files_is_left_for_a_person(local_hub: Clone) -> None:
    seed_done(local_hub, "hub-a", "hub-b")
    folder = local_hub.path / "beads/archive/2026-01"
    folder.mkdir(parents=True)
    (folder / "hub-a.yaml").write_text((local_hub.path / "beads/hub-a.yaml").read_text().replace("Do hub-a", "Another"))
    put(local_hub, "beads", "a double")
    local_hub.here("archive")
    assert beads_of(local_hub.path) == [ARCHIVED.format("hub-b"), APART.format("hub-a"), "beads/hub-a.yaml"]


def test_doctor_tells_of_an_open_bead_in_the_archive(local_hub: Clone) -> None:
    seed(local_hub, "hub-a")
    (local_hub.path / "beads/archive/2026-01").mkdir(parents=True)
    git(local_hub.path, "mv", "beads/hub-a.yaml", APART.format("hub-a"))
    git(local_hub.path, "commit", "--quiet", "-m", "by hand")
    assert [(one["code"], one["where"]) for one in local_hub.here("doctor", "--json").json["findings"]] == [
        ("archived_open", "hub-a")
    ]
    local_hub.here("update", "hub-a", "--priority", "1")
    assert beads_of(local_hub.path) == ["beads/hub-a.yaml"]
    assert local_hub.here("doctor", "--json").json["findings"] == []
