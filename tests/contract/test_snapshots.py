"""One suite for every snapshot: the tests' own MemoryStore's, and the git store's, cold and brought forward."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from bd.core.model import Bead, Change, Overlay, Snapshot
from bd.core.schema import BEAD_FIELDS, CONFIG_PATH, LONG_FIELDS, agent_path, bead_path, capacity_path, fields_of_path
from bd.store.cache.shared import Commits, SharedCache
from bd.store.contract import Draft
from bd.store.hub_location import locate
from bd.store.memory.place import MemoryPlace
from bd.store.memory.server import MemoryServer
from bd.store.replica import Replica
from bd.store.snapshot import CachedSnapshot
from bd.store.yaml import editor
from tests.memory import MemorySnapshot, held, make_bead
from tests.runtime import open_clone
from tests.truth import commit_file, git

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from tests.running import Clone

UID_A, UID_B = "01ARZ3NDEKTSV4RRFFQ69G5FAV", "01BX5ZZKBKACTAV9WEVGEMMVRZ"

BEADS = [
    make_bead("hub-a1b2", uid=UID_A, description="Long\ntext.\n", notes="N", labels=["x"], comments=[{"id": "c", "text": "t"}]),
    make_bead("hub-a1b2.2x", uid=UID_B, parent="hub-a1b2", depends_on=["hub-gone", "hub-c3"]),
    make_bead("hub-c3", links=[{"type": "related", "id": "hub-a1b2"}, {"type": "waits-for", "id": "hub-done"}]),
    make_bead("hub-done", status="closed", closed_at="2026-02-20T10:00:00Z"),
    make_bead("hub-off", status="cancelled"),
    make_bead("hub-dead", status="dead_letter"),
    held("hub-held", "coder"),
    make_bead("hub-many", claim_mode="advisory", claims=[{"agent": "a", "token": "t"}]),
    make_bead("other-hub-z9", status="deferred"),
]
ARCHIVED = [make_bead("hub-old", status="closed", depends_on=["hub-c3"])]
RECORDS: dict[str, dict[str, Any]] = {
    CONFIG_PATH: {"format": 1, "prefix": "hub"},
    agent_path("coder"): {"name": "coder", "role": "coding", "skills": {"title_words": ["fix"]}},
    agent_path("reader"): {"name": "reader"},
    capacity_path("coder"): {"agent": "coder", "status": "available"},
}
ARCHIVE = "beads/archive/2026-02/"


def files_of(beads: Iterable[Bead], archived: Iterable[Bead], records: dict[str, dict[str, Any]]) -> dict[str, str]:
    """The files of a hub."""
    files = {bead_path(bead.id): editor.document(bead.fields, BEAD_FIELDS) for bead in beads}
    files.update({f"{ARCHIVE}{bead.id}.yaml": editor.document(bead.fields, BEAD_FIELDS) for bead in archived})
    files.update({path: editor.document(fields, fields_of_path(path)) for path, fields in records.items()})
    return files


def write_hub(folder: Path, files: dict[str, str]) -> None:
    """Make exactly these the hub's files, with plain git."""
    for old in [*folder.glob("beads/**/*.yaml"), *folder.glob(".beads/agents/*.yaml"), *folder.glob(".agent-status/*.yaml")]:
        old.unlink()
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    git(folder, "add", "--all", "beads", ".beads", *([".agent-status"] if (folder / ".agent-status").exists() else []))
    git(folder, "commit", "--quiet", "--allow-empty", "-m", "by hand")


def in_memory(local_hub: Clone) -> Snapshot:
    return MemorySnapshot([*BEADS, *ARCHIVED], RECORDS, archived=["hub-old"])


def overlaid(local_hub: Clone) -> Snapshot:
    """Half of it below, the other half as a change on top, and something below that the change takes away."""
    below = MemorySnapshot(
        [*BEADS[:4], *ARCHIVED, make_bead("hub-a9"), held("hub-x9")],
        {**RECORDS, agent_path("x"): {"name": "x"}},
        archived=["hub-old"],
    )
    changed = {bead.id: bead for bead in BEADS[2:]}
    return Overlay(below, Change({**changed, "hub-a9": None, "hub-x9": None}, "", records={agent_path("x"): None}))


def git_cold(local_hub: Clone) -> Snapshot:
    write_hub(local_hub.path, files_of(BEADS, ARCHIVED, RECORDS))
    return _opened(local_hub)


def git_warm(local_hub: Clone) -> Snapshot:
    """Read from the cache that another command has built."""
    git_cold(local_hub)
    return _opened(local_hub)


def git_forward(local_hub: Clone) -> Snapshot:
    """Brought forward from a hub in which nearly everything was different."""
    others = [
        make_bead("hub-a1b2", title="Other", parent="hub-none"),
        held("hub-c3"),
        make_bead("hub-gone"),
        make_bead("hub-old"),
    ]
    records = {**RECORDS, agent_path("gone"): {"name": "gone"}, capacity_path("coder"): {"agent": "coder", "status": "busy"}}
    files = {**files_of(others, [make_bead("hub-held")], records), bead_path("hub-done"): "<<<<<<< ours\n"}
    write_hub(local_hub.path, files)
    _opened(local_hub)
    return git_cold(local_hub)


def git_aside(local_hub: Clone) -> Snapshot:
    """Another commit than the view, in memory."""
    git_cold(local_hub)
    commit = git(local_hub.path, "rev-parse", "HEAD")
    write_hub(local_hub.path, files_of([make_bead("hub-new")], [], {CONFIG_PATH: RECORDS[CONFIG_PATH]}))
    hub = open_clone(locate(str(local_hub.path)))
    hub.snapshot()
    _OPEN.append(hub)
    return hub.snapshot_aside(commit)


def in_shared_memory(local_hub: Clone) -> Snapshot:
    """Two commits in memory, the second by a clone that shares with others what it has read."""
    place: Any = MemoryPlace(MemoryServer())
    commits = Commits()
    others = {
        **files_of(BEADS[:3], ARCHIVED, RECORDS),
        "beads/hub-gone2.yaml": "id: hub-gone2\n",
        agent_path("gone"): "name: gone\n",
    }
    real = files_of(BEADS, ARCHIVED, RECORDS)
    made: list[str] = []
    for files in (others, {**dict.fromkeys(others), **real}):
        content = {path: None if text is None else text.encode() for path, text in files.items()}
        draft = Draft("by hand", "Ada <ada@example.org>", 0, content)
        made += place.repo.write_commits(made[-1] if made else None, [draft])
        SharedCache(commits, place.repo).move_to(made[-1])
    cache: Any = SharedCache(commits, place.repo)
    cache.move_to(made[-1])
    return CachedSnapshot(cache, made[-1])


_OPEN: list[Replica] = []


def _opened(local_hub: Clone) -> Snapshot:
    hub = open_clone(locate(str(local_hub.path)))
    _OPEN.append(hub)
    return hub.snapshot()


@pytest.fixture(
    params=[in_memory, overlaid, git_cold, git_warm, git_forward, git_aside, in_shared_memory], ids=lambda make: make.__name__
)
def snapshot(request: pytest.FixtureRequest, local_hub: Clone) -> Iterator[Snapshot]:
    make: Callable[[Clone], Snapshot] = request.param
    yield make(local_hub)
    while _OPEN:
        _OPEN.pop().close()


def ids(beads: Iterable[Bead]) -> list[str]:
    found = [bead.id for bead in beads]
    assert len(set(found)) == len(found), "a bead comes twice"
    return sorted(found)


def test_everything_about_beads(snapshot: Snapshot) -> None:
    """One test for all, because making a hub costs more than asking it."""
    every = [*BEADS, *ARCHIVED]
    assert ids(snapshot.every()) == ids(every)
    assert ids(snapshot.live()) == ["hub-a1b2", "hub-a1b2.2x", "hub-c3", "hub-dead", "hub-held", "hub-many", "other-hub-z9"]
    assert ids(snapshot.live()) == ids(snapshot.live()), "it may be asked again"
    assert ids(snapshot.claimed()) == ["hub-held", "hub-many"]
    for bead in [*snapshot.claimed()]:
        for claim in bead.claims:
            assert bead.id in ids(snapshot.claimed(claim["agent"]))
            assert bead.id in ids(snapshot.claimed(claim["token"]))
    assert ids(snapshot.ended()) == ["hub-done", "hub-off"]
    for bead in every:
        assert snapshot.bead(bead.id) == bead, "whole, with every field"
        head = snapshot.head(bead.id)
        assert head is not None
        assert {key: value for key, value in head.fields.items() if key in BEAD_FIELDS and key not in LONG_FIELDS} == {
            key: value for key, value in bead.fields.items() if key not in LONG_FIELDS
        }
        assert snapshot.exists(bead.id)
        assert snapshot.path_of(bead.id) == (f"{ARCHIVE}{bead.id}.yaml" if bead in ARCHIVED else bead_path(bead.id))
    for iterated in [*snapshot.every(), *snapshot.live(), *snapshot.claimed()]:
        whole = snapshot.bead(iterated.id)
        assert whole is not None
        assert (iterated.status, iterated.title, iterated.depends_on) == (whole.status, whole.title, whole.depends_on)
    assert snapshot.damages == []


def test_what_is_not_there(snapshot: Snapshot) -> None:
    for bead_id in ("hub-gone", "hub-a9", "hub", "", "HUB-C3", "hub-new"):
        assert snapshot.bead(bead_id) is None
        assert snapshot.head(bead_id) is None
        assert not snapshot.exists(bead_id)
        assert snapshot.path_of(bead_id) == bead_path(bead_id)
    assert snapshot.by_uid("01ARZ3NDEKTSV4RRFFQ69G5FAX") is None
    assert snapshot.by_uid("") is None
    assert snapshot.agent("x") is None
    assert snapshot.capacity("reader") is None
    assert snapshot.record("beads/hub-c3.yaml") is None
    assert snapshot.records(".beads/nothing/") == {}


def test_by_uid_gives_the_whole_bead(snapshot: Snapshot) -> None:
    found = snapshot.by_uid(UID_A)
    assert found == BEADS[0]
    assert found is not None
    assert found.get("description") == "Long\ntext.\n"


def test_who_names_whom(snapshot: Snapshot) -> None:
    assert ids(snapshot.mentioning("hub-a1b2")) == ["hub-a1b2.2x", "hub-c3"]
    assert ids(snapshot.mentioning("hub-c3")) == ["hub-a1b2.2x", "hub-old"]
    assert ids(snapshot.mentioning("hub-gone")) == ["hub-a1b2.2x"]
    assert ids(snapshot.mentioning("hub-done")) == ["hub-c3"]
    assert ids(snapshot.mentioning("hub-none")) == []
    assert snapshot.naming(["hub-a1b2", "hub-gone", "hub-none"]) == {"hub-a1b2.2x", "hub-c3"}
    assert ids(snapshot.children_of("hub-a1b2")) == ["hub-a1b2.2x"]
    assert ids(snapshot.children_of("hub-c3")) == []
    for bead in (*BEADS, *ARCHIVED):
        assert snapshot.has_children(bead.id) == bool(snapshot.children_of(bead.id)), bead.id
    assert ids(snapshot.dependents_of("hub-c3")) == ["hub-a1b2.2x", "hub-old"]
    assert ids(snapshot.dependents_of("hub-a1b2")) == []


STARTING: dict[str, list[str]] = {
    "hub-a1": ["hub-a1b2", "hub-a1b2.2x"],
    "a1b2": ["hub-a1b2", "hub-a1b2.2x"],
    "a1b2.": ["hub-a1b2.2x"],
    "c3": ["hub-c3"],
    "hub-d": ["hub-dead", "hub-done"],
    "hub-o": ["hub-off", "hub-old"],
    "z": ["other-hub-z9"],
    "other-hub-z9": ["other-hub-z9"],
    **{text: [] for text in ["hub-z9", "1b2", "b2", "%", "hub_", "HUB", "2x", "\U0010ffff"]},
}


def test_ids_that_start_so(snapshot: Snapshot) -> None:
    assert {text: sorted(snapshot.starting(text)) for text in STARTING} == STARTING


def test_records(snapshot: Snapshot) -> None:
    for path, fields in RECORDS.items():
        assert snapshot.record(path) == fields
    assert snapshot.records(".beads/agents/") == {"coder": RECORDS[agent_path("coder")], "reader": RECORDS[agent_path("reader")]}
    assert snapshot.records(".agent-status/") == {"coder": RECORDS[capacity_path("coder")]}
    assert snapshot.agent("coder") == RECORDS[agent_path("coder")]
    assert snapshot.capacity("coder") == RECORDS[capacity_path("coder")]
    assert snapshot.config() == RECORDS[CONFIG_PATH]


def test_what_was_handed_out_can_be_changed_without_harm(snapshot: Snapshot) -> None:
    with suppress(AttributeError):  # it may be refused
        snapshot.records(".beads/agents/").clear()  # type: ignore[attr-defined]
    assert "coder" in snapshot.records(".beads/agents/")


def test_a_damaged_file_is_a_damage_and_no_bead(local_hub: Clone) -> None:
    write_hub(local_hub.path, files_of(BEADS[:2], [], RECORDS))
    commit_file(local_hub.path, "beads/hub-bad.yaml", "<<<<<<< ours\n")
    found = _opened(local_hub)
    try:
        assert found.bead("hub-bad") is None
        assert [damage.path for damage in found.damages] == ["beads/hub-bad.yaml"]
        assert ids(found.every()) == ["hub-a1b2", "hub-a1b2.2x"]
    finally:
        _OPEN.pop().close()
