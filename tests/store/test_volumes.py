"""Volumes of the archive: what is put in comes out byte for byte, whatever a person does to one is seen bead by bead."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bd.core.schema import is_volume, volume_of
from bd.store import bead_locations as archived_files
from bd.store.archive import volumes
from bd.store.archive.volumes import compose, parse
from bd.store.bead_locations import Archived
from bd.store.hub_location import locate
from tests.hub.hooks import offline
from tests.runtime import open_clone
from tests.store.test_moves import VOLUME, assert_cache_is_as_cold, seed_done
from tests.truth import bead_files, commit_file, commits, git, tip, tip_file

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.running import Clone

    Clones = Callable[[str], Clone]

pytestmark = pytest.mark.one_in(6)

IDS = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_-]{0,9}(\.[a-z0-9]{1,4})?", fullmatch=True)
# What could be taken for the beginning of another document, and what has no line end.
PIECES = st.sampled_from(
    [b"--- # hub-a\n", b"--- # hub-a, 3 bytes\n", b"---\n", b"\n", b"id: x\n", b"x", b"\r\n", b"\xff", b"...\n"]
)
DOCUMENTS = st.lists(PIECES, max_size=6).map(b"".join)


@given(st.dictionaries(IDS, DOCUMENTS, max_size=6))
@example({"hub-a": b"", "hub-b": b""})
@example({"hub-a": b"x", "hub-b": b"--- # hub-a, 1 bytes\nx"})
def test_what_is_put_in_comes_out(documents: dict[str, bytes]) -> None:
    volume = parse(compose(documents))
    assert (volume.documents, volume.fault) == (documents, None)


@given(st.dictionaries(IDS, DOCUMENTS, max_size=4))
def test_the_bytes_are_the_same_whatever_the_order(documents: dict[str, bytes]) -> None:
    assert compose(documents) == compose(dict(reversed(documents.items())))


@given(st.binary(max_size=200) | DOCUMENTS)
def test_nothing_of_any_text_is_taken_for_two_documents_or_lost_without_a_fault(data: bytes) -> None:
    volume = parse(data)
    size = sum(map(len, volume.documents.values()))
    assert size <= len(data)
    if data and volume.fault is None:
        assert volume.documents


def test_a_document_that_was_edited_ends_where_the_next_one_begins() -> None:
    data = compose({"hub-a": b"id: hub-a\n", "hub-b": b"id: hub-b\n"})
    longer = data.replace(b"id: hub-a\n", b"id: hub-a\nnotes: by hand\n")
    assert parse(longer).documents == {"hub-a": b"id: hub-a\nnotes: by hand\n", "hub-b": b"id: hub-b\n"}
    shorter = data.replace(b"id: hub-a\n", b"")
    assert parse(shorter).documents == {"hub-a": b"", "hub-b": b"id: hub-b\n"}
    miscounted = data.replace(b"hub-a, 10 bytes", b"hub-a, 123456789012 bytes")
    assert miscounted != data
    assert parse(miscounted).documents == parse(data).documents
    typed = b"--- # hub-z\nid: hub-z\n" + data
    assert list(parse(typed).documents) == ["hub-z", "hub-a", "hub-b"], "a person need not count"


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (b"id: hub-a\n", "has no line"),
        (b"# words\n--- # hub-a\n", "has no line"),
        (compose({"hub-a": b"x\n"}) * 2, "holds hub-a twice"),
        (b"--- # hub-a\n" + b"x" * 100, "larger than"),
    ],
)
def test_what_is_wrong_with_a_volume(data: bytes, fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(volumes, "LIMIT", 100)
    assert fault in (parse(data).fault or "")


@pytest.mark.parametrize(
    ("path", "is_one", "inside"),
    [
        ("beads/archive/2026-01-001.yaml", True, None),
        ("beads/archive/2026-01-001.yaml/hub-a.yaml", False, "beads/archive/2026-01-001.yaml"),
        ("beads/archive/2026-01/hub-a.yaml", False, None),
        ("beads/hub-a.yaml", False, None),
        ("beads/archive/README.md", False, None),
    ],
)
def test_which_paths_are_volumes(path: str, is_one: bool, inside: str | None) -> None:
    assert (is_volume(path), volume_of(path)) == (is_one, inside)


# --- by hand, on real git ---------------------------------------------------------------------


@pytest.fixture
def archived(clone: Clones) -> Clone:
    """A clone of a hub with three archived beads."""
    alice = clone("alice")
    seed_done(alice, "hub-a", "hub-b", "hub-c")
    alice.here("archive")
    return alice


def test_what_a_person_does_in_a_volume_is_done_to_its_beads(archived: Clone, hub: Path) -> None:
    file = archived.path / VOLUME
    documents = parse(file.read_bytes()).documents
    documents["hub-a"] += b"notes: 'late   words'  # mine\n"
    documents["hub-b"] = documents["hub-b"].replace(b"status: closed", b"status: open")
    del documents["hub-c"]
    file.write_bytes(b"".join(b"--- # %s\n%s" % (name.encode(), text) for name, text in documents.items()))
    assert archived.here("sync", "--json").json["refused"] == []
    assert [*bead_files(hub)] == [f"{VOLUME}/hub-a.yaml", "beads/hub-b.yaml"]
    assert b"notes: 'late   words'  # mine\n" in bead_files(hub)[f"{VOLUME}/hub-a.yaml"]
    assert git(archived.path, "status", "--porcelain") == ""
    assert archived.here("audit", "--json").json["violations"] == []


def test_two_people_in_one_volume_take_nothing_from_each_other(archived: Clone, clone: Clones, hub: Path) -> None:
    bob = clone("bob")
    bob.here("comment", "hub-a", "from bob")
    bob.here("reopen", "hub-b")
    file = archived.path / VOLUME
    file.write_bytes(file.read_bytes().replace(b"title: Do hub-c", b"title: Done hub-c"))
    assert archived.here("sync", "--json").json["refused"] == []
    found = bead_files(hub)
    assert b"from bob" in found[f"{VOLUME}/hub-a.yaml"]
    assert b"title: Done hub-c" in found[f"{VOLUME}/hub-c.yaml"]
    assert "beads/hub-b.yaml" in found


@pytest.mark.parametrize(
    ("broken", "kept"),
    [
        (lambda data: b"words of mine\n" + data, []),
        (lambda data: data + parse(data).documents["hub-a"].join([b"--- # hub-a\n", b""]), ["hub-a", "hub-b", "hub-c"]),
    ],
)
def test_a_broken_volume_is_named_left_alone_and_mended(
    broken: Callable[[bytes], bytes], kept: list[str], archived: Clone, clone: Clones, hub: Path
) -> None:
    whole = (archived.path / VOLUME).read_bytes()
    (archived.path / VOLUME).write_bytes(broken(whole))
    assert VOLUME in archived.here("sync", check=False).err
    assert tip_file(hub, VOLUME) == whole, "what can't be read is not published"
    commit_file(archived.path, VOLUME, broken(whole), "with plain git")
    git(archived.path, "push", "--quiet", "origin", "HEAD:main")
    bob = clone("bob")
    assert [one["where"] for one in bob.here("doctor", "--json", "--offline", check=False).json["findings"]] == [VOLUME]
    assert [bead["id"] for bead in bob.here("list", "--all", "--json").json] == kept
    if kept:
        for command in (["comment", "hub-a", "words"], ["reopen", "hub-a"], ["delete", "hub-a", "--force"]):
            assert VOLUME in bob.here(*command, code=7).err
    seed_done(bob, "hub-d")
    bob.here("archive")
    assert "beads/archive/2026-01-002.yaml/hub-d.yaml" in bead_files(hub), "nothing goes into a broken one"
    assert tip_file(hub, VOLUME) == broken(whole)
    commit_file(bob.path, VOLUME, whole, "mended")
    bob.here("sync")
    assert bob.here("doctor", "--json", "--offline").json["findings"] == []
    assert [bead["id"] for bead in bob.here("list", "--all", "--json").json] == ["hub-a", "hub-b", "hub-c", "hub-d"]
    assert_cache_is_as_cold(bob)


def test_a_bead_in_a_volume_that_can_not_be_read_is_named_and_the_others_are_read(archived: Clone, hub: Path) -> None:
    whole = (archived.path / VOLUME).read_bytes()
    bad = whole.replace(b"title: Do hub-b", b"title: [Do hub-b")
    (archived.path / VOLUME).write_bytes(bad)
    assert "holds hub-b, which is not YAML" in archived.here("sync", check=False).err
    commit_file(archived.path, VOLUME, bad, "with plain git")
    git(archived.path, "push", "--quiet", "origin", "HEAD:main")
    archived.here("sync", check=False)
    found = archived.here("doctor", "--json", "--offline", check=False).json["findings"]
    assert [one["where"] for one in found] == [f"{VOLUME}/hub-b.yaml"]
    assert [bead["id"] for bead in archived.here("list", "--all", "--json").json] == ["hub-a", "hub-c"]
    archived.here("comment", "hub-a", "words")
    assert b"title: [Do hub-b" in (tip_file(hub, VOLUME) or b""), "its neighbours are written around it"
    assert_cache_is_as_cold(archived)


def test_a_folder_with_a_volumes_name_is_damage_and_nothing_of_it_is_lost(local_hub: Clone) -> None:
    seed_done(local_hub, "hub-a")
    text = "id: hub-x\ntitle: x\nstatus: closed\nclosed_at: 2026-01-05T10:00:00Z\n"
    commit_file(local_hub.path, "beads/archive/2026-01-001.yaml/hub-x.yaml", text, "odd")
    assert local_hub.here("show", "hub-x", check=False).code
    local_hub.here("archive")
    assert tip_file(local_hub.path, "beads/archive/2026-01-001.yaml/hub-x.yaml") == text.encode()


def test_a_document_that_can_not_be_read_is_mended_by_taking_it_out(archived: Clone, hub: Path) -> None:
    whole = (archived.path / VOLUME).read_bytes()
    commit_file(archived.path, VOLUME, whole.replace(b"title: Do hub-b", b"title: [Do hub-b"))
    commit_file(archived.path, "beads/hub-q.yaml", "id: [hub-q\n")
    git(archived.path, "push", "--quiet", "origin", "HEAD:main")
    archived.here("sync", check=False)
    documents = parse(whole).documents
    del documents["hub-b"]
    (archived.path / VOLUME).write_bytes(compose(documents))
    (archived.path / "beads/hub-q.yaml").unlink()
    assert archived.here("sync", "--json").json["refused"] == []
    assert [*bead_files(hub)] == [f"{VOLUME}/hub-a.yaml", f"{VOLUME}/hub-c.yaml"]
    assert archived.here("doctor", "--json", "--offline").json["findings"] == []


@pytest.mark.parametrize("status", [b"closed", b"open"])
@pytest.mark.parametrize("is_broken_before", [True, False])
def test_what_leaves_a_volume_that_can_not_be_read_is_not_lost_with_it(
    is_broken_before: bool, status: bytes, archived: Clone, hub: Path
) -> None:
    documents = parse((archived.path / VOLUME).read_bytes()).documents
    broken = compose(documents) + b"--- # hub-b\n" + documents["hub-b"]
    if is_broken_before:
        commit_file(archived.path, VOLUME, broken)
        git(archived.path, "push", "--quiet", "origin", "HEAD:main")
    moved = documents.pop("hub-b")
    (archived.path / VOLUME).write_bytes(compose(documents) if is_broken_before else compose(documents) * 2)
    commit_file(archived.path, "beads/hub-b.yaml", moved.replace(b"status: closed", b"status: " + status))
    git(archived.path, "commit", "--quiet", "--all", "--amend", "--no-edit")
    assert archived.here("sync", "--json").json["refused"] == []
    assert b"status: " + status in (tip_file(hub, "beads/hub-b.yaml") or b"")
    assert [bead["id"] for bead in archived.here("list", "--all", "--json").json] == ["hub-a", "hub-b", "hub-c"]
    assert git(archived.path, "status", "--porcelain") == ""


def test_what_was_moved_into_a_volume_that_is_refused_stays_where_it_was(archived: Clone, clone: Clones, hub: Path) -> None:
    archived.here("reopen", "hub-c")
    archived.here("close", "hub-c", "--force", "--reason", "done again")
    bob = clone("bob")
    documents = parse((archived.path / VOLUME).read_bytes()).documents
    moved = archived.path / "beads/hub-c.yaml"
    documents["hub-c"] = moved.read_bytes()
    moved.unlink()
    (archived.path / VOLUME).write_bytes(compose(documents) + b"--- # hub-a\n")
    git(archived.path, "commit", "--quiet", "--all", "-m", "moved, and broken")
    bob.here("comment", "hub-a", "meanwhile")
    assert len(archived.here("sync", "--json", check=False).json["refused"]) == 1
    assert [*bead_files(hub)] == [f"{VOLUME}/hub-a.yaml", f"{VOLUME}/hub-b.yaml", "beads/hub-c.yaml"]


def test_many_beads_are_moved_back_and_forth_without_taking_a_volume_apart_for_each(
    clone: Clones, monkeypatch: pytest.MonkeyPatch
) -> None:
    alice = clone("alice")
    seed_done(alice, *(f"hub-{number}" for number in range(30)))
    taken: list[int] = []
    monkeypatch.setattr(volumes, "parse", lambda data: taken.append(len(data)) or parse(data))
    alice.here("archive")
    alice.here("undo")
    assert len(bead_files(alice.path)) == 30
    monkeypatch.setattr("bd.store.git.commit_message._FORM_LIMIT", 10)
    with offline(alice):
        alice.here("archive")
    alice.here("sync")
    assert next(iter(bead_files(alice.path))).startswith(VOLUME)
    assert len(taken) < 30


@pytest.mark.parametrize("becomes", ["a link", "a folder", "nothing"])
def test_a_volume_that_becomes_something_else_and_is_one_again(becomes: str, local_hub: Clone) -> None:
    seed_done(local_hub, "hub-a", "hub-b")
    local_hub.here("archive")
    file = local_hub.path / VOLUME
    whole = file.read_bytes()
    file.unlink()
    if becomes == "a link":
        file.symlink_to(local_hub.path / "elsewhere")
    elif becomes == "a folder":
        file.mkdir()
        (file / "hub-a.yaml").write_bytes(parse(whole).documents["hub-a"])
    git(local_hub.path, "add", "--all")
    git(local_hub.path, "commit", "--quiet", "-m", "odd")
    assert local_hub.here("list", "--all", "--json").json == []
    assert_cache_is_as_cold(local_hub)
    assert len(local_hub.here("doctor", "--json", check=False).json["findings"]) == (becomes != "nothing")
    git(local_hub.path, "revert", "--no-edit", "HEAD")
    assert [bead["id"] for bead in local_hub.here("list", "--all", "--json").json] == ["hub-a", "hub-b"]
    assert_cache_is_as_cold(local_hub)


def test_where_archived_beads_lie_is_followed_as_it_would_be_listed(local_hub: Clone, monkeypatch: pytest.MonkeyPatch) -> None:
    seed_done(local_hub, "hub-a", "hub-b", "hub-c")
    for command in (["archive"], ["reopen", "hub-a"], ["comment", "hub-b", "words"], ["delete", "hub-c", "--force"]):
        local_hub.here(*command)
    file = local_hub.path / VOLUME
    apart = local_hub.path / "beads/archive/2026-01"
    apart.mkdir()
    (apart / "hub-b.yaml").write_bytes(parse(file.read_bytes()).documents["hub-b"])
    commit_file(local_hub.path, "beads/archive/2026-01/hub-b", "no bead")
    git(local_hub.path, "add", "--all")
    git(local_hub.path, "commit", "--quiet", "-m", "doubled")
    file.unlink()
    file.symlink_to("elsewhere")
    git(local_hub.path, "commit", "--quiet", "--all", "-m", "a link")
    repo = open_clone(locate(str(local_hub.path))).repo
    history = commits(local_hub.path)
    ids = ["hub-a", "hub-b", "hub-c"]

    def listed(archived: Archived, commit: str) -> list[list[tuple[str, str | None]]]:
        return [[(entry.path, entry.oid) for entry in archived.all_of(bead_id, commit)] for bead_id in ids]

    expected = {commit: listed(Archived(repo), commit) for commit in history}
    assert [len(files) for files in expected[history[-2]]] == [1, 2, 0]
    followed = Archived(repo)
    for commit in [*history, *reversed(history)]:
        assert listed(followed, commit) == expected[commit]
    monkeypatch.setattr(archived_files, "entries_of", None)
    assert listed(followed, history[0]) == expected[history[0]], "it is not listed twice"


# --- clones that lack history -------------------------------------------------------------------


def test_a_shallow_clone_reads_what_only_a_volume_holds(archived: Clone, hub: Path, tmp_path: Path) -> None:
    archived.here("create", "One more", "--id", "hub-z")
    git(tmp_path, "clone", "--quiet", "--depth", "1", f"file://{hub}", "short")
    repo = open_clone(locate(str(tmp_path / "short"))).repo
    assert repo.objects.read(git(hub, "rev-parse", "main~2:beads/hub-a.yaml")) is None, "the file is not there"
    from tests.running import Clone as Made

    short = Made(tmp_path / "short")
    assert [bead["id"] for bead in short.here("list", "--all", "--json").json] == ["hub-a", "hub-b", "hub-c", "hub-z"]
    assert short.here("show", "hub-b", "--json").json[0]["status"] == "closed"
    short.here("reopen", "hub-b")
    assert "beads/hub-b.yaml" in bead_files(hub)
    assert tip(short.path) == tip(hub)


def lose(clone: Clone, hub: Path, path: str) -> None:
    """Take a file's object out of a clone that has other files checked out, as a broken disk does or a partial clone cut off."""
    git(clone.path, "checkout", "--quiet", "--orphan", "other")
    git(clone.path, "rm", "-r", "--quiet", "--force", ".")
    oid = git(hub, "rev-parse", f"main:{path}")
    (clone.path / ".git" / "objects" / oid[:2] / oid[2:]).unlink()


def test_a_volume_that_a_clone_lacks_is_not_written_anew(archived: Clone, hub: Path) -> None:
    seed_done(archived, "hub-z")
    lose(archived, hub, VOLUME)
    refused = archived.here("archive", code=7)
    assert "lacks the object" in refused.err
    assert [*bead_files(hub)] == [*(f"{VOLUME}/hub-{name}.yaml" for name in "abc"), "beads/hub-z.yaml"]


def test_a_volume_that_a_clone_lacks_is_not_taken_for_an_empty_one(archived: Clone, hub: Path) -> None:
    lose(archived, hub, VOLUME)
    for path in (archived.path / ".git" / "bd").glob("cache-*.db*"):
        path.unlink()
    assert "lacks the object" in archived.here("list", "--all", code=7).err
    assert "lacks the object" in archived.here("create", "Another", "--id", "hub-a", code=7).err


def test_a_bead_that_a_clone_lacks_is_not_written_anew(archived: Clone, hub: Path) -> None:
    archived.here("create", "One more", "--id", "hub-z", "--description", "A long story.")
    lose(archived, hub, "beads/hub-z.yaml")
    assert "lacks the object" in archived.here("update", "hub-z", "--title", "Another", code=7).err
    assert b"A long story." in bead_files(hub)["beads/hub-z.yaml"]


def test_many_beads_in_volumes_are_read_by_several_processes(local_hub: Clone, monkeypatch: pytest.MonkeyPatch) -> None:
    from bd.store.cache import load

    monkeypatch.setattr(load, "WORTH_A_PROCESS", 4)
    monkeypatch.setattr(load, "PIECE", 2)
    seed_done(local_hub, *(f"hub-{number}" for number in range(9)))
    local_hub.here("archive")
    for path in (local_hub.path / ".git" / "bd").glob("cache-*.db*"):
        path.unlink()
    assert [bead["id"] for bead in local_hub.here("list", "--all", "--json").json] == [f"hub-{number}" for number in range(9)]


def test_history_of_a_bead_tells_nothing_of_its_neighbours(archived: Clone) -> None:
    archived.here("reopen", "hub-b")
    archived.here("comment", "hub-c", "words")
    events = archived.here("history", "hub-a", "--json").json
    assert [event["verb"] for event in events] == ["by hand", "archive"]
    archived.here("reopen", "hub-a")
    assert archived.here("history", "hub-a", "--json").json[-1]["changes"]["file"] == {
        "old": f"{VOLUME}/hub-a.yaml",
        "new": "beads/hub-a.yaml",
    }
