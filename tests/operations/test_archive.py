"""Archiving: which beads, where to, and what brings them back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bd.core.model import Bead, Change, Damage, Overlay
from bd.core.schema import bead_path
from bd.operations import archive as archiving
from bd.operations.archive import Archive, placed
from bd.operations.beads import Comment, Delete
from bd.operations.close import Reopen
from bd.operations.hand_edits import HandCommit
from bd.operations.undo import Undo
from bd.policy.readiness import Readiness
from tests.clocks import START
from tests.memory import MemorySnapshot, MemoryStore, make_bead
from tests.operations.asking import by, revived

if TYPE_CHECKING:
    from collections.abc import Callable

DAY_S = 86400.0


def ended(bead_id: str, at: str | None = "2026-01-05T10:00:00Z", status: str = "closed", **fields: Any) -> Bead:
    return make_bead(bead_id, status=status, closed_at=at, **fields)


def archive(**given: Any) -> Archive:
    return Archive(**given, **by())


def test_what_ended_long_ago_moves_by_the_month_it_ended_in() -> None:
    store = MemoryStore(
        ended("hub-a"),
        ended("hub-b", "2025-12-31T23:59:59Z", "cancelled"),
        ended("hub-c", "2026-02-20T10:00:00Z"),
        ended("hub-d", None, updated_at="2025-11-02T00:00:00Z"),
        make_bead("hub-e", created_at="2025-01-01T00:00:00Z", updated_at="2025-01-01T00:00:00Z"),
        make_bead("hub-f", status="dead_letter", dead_lettered_at="2025-01-01T00:00:00Z"),
    )
    change = store.publish(archive())
    assert change.moves == {
        "hub-d": "beads/archive/2025-11-001.yaml/hub-d.yaml",
        "hub-b": "beads/archive/2025-12-001.yaml/hub-b.yaml",
        "hub-a": "beads/archive/2026-01-001.yaml/hub-a.yaml",
    }
    assert list(change.moves) == ["hub-d", "hub-b", "hub-a"], "the oldest first"
    assert not change.beads
    assert not change.is_empty
    assert change.result == {"archived": ["hub-d", "hub-b", "hub-a"], "gathered": [], "left": 0}
    assert store.tip.path_of("hub-b") == "beads/archive/2025-12-001.yaml/hub-b.yaml"
    assert store.decide(archive()).is_empty, "once"


@pytest.mark.parametrize(("older_than_s", "moved"), [(None, 1), (0, 2), (20 * DAY_S, 1), (60 * DAY_S, 0)])
def test_how_old_is_old(older_than_s: float | None, moved: int) -> None:
    store = MemoryStore(ended("hub-a"), ended("hub-b", "2026-02-20T10:00:00Z"))
    assert len(store.decide(archive(older_than_s=older_than_s)).moves) == moved


def test_the_setting_says_when_nothing_else_does() -> None:
    store = MemoryStore(ended("hub-a"), records={".beads/config.yaml": {"prefix": "hub", "defaults": {"archive_after": "365d"}}})
    assert store.decide(archive()).is_empty


def test_a_crowded_folder_lets_the_oldest_go_earlier_but_none_within_a_day(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archiving, "CROWDED", 3)
    times = ("2026-01-05T10:00:00Z", "2026-02-17T10:00:00Z", "2026-02-18T10:00:00Z", "2026-02-21T07:00:00Z")
    done = [ended(f"hub-{number}", at) for number, at in enumerate(times)]
    store = MemoryStore(*done, make_bead("hub-e"), make_bead("hub-f"))
    assert list(store.decide(archive()).moves) == ["hub-0", "hub-1", "hub-2"], "six files, three may stay"
    assert list(store.decide(archive(older_than_s=30 * DAY_S)).moves) == ["hub-0"], "who says how old gets just that"
    monkeypatch.setattr(archiving, "CROWDED", 4)
    assert list(store.decide(archive()).moves) == ["hub-0", "hub-1"]
    monkeypatch.setattr(archiving, "CROWDED", 0)
    assert "hub-3" not in store.decide(archive()).moves, "that one ended today"


def test_so_many_at_once_and_the_rest_the_next_time() -> None:
    store = MemoryStore(*[ended(f"hub-{number}", f"2026-01-0{number}T00:00:00Z") for number in range(1, 6)])
    first = store.publish(archive(limit=2))
    assert first.result == {"archived": ["hub-1", "hub-2"], "gathered": [], "left": 3}
    assert store.publish(archive(limit=9)).result == {"archived": ["hub-3", "hub-4", "hub-5"], "gathered": [], "left": 0}


def test_it_never_moves_onto_a_file_that_cannot_be_read() -> None:
    damages = [Damage(f"beads/archive/2026-01{name}.yaml", "is empty") for name in ("-001", "/hub-a")]
    large = ended("hub-a", notes="n" * archiving.LARGE)
    snapshot = MemorySnapshot([large, ended("hub-b")], damages=damages)
    assert placed([large, ended("hub-b")], snapshot) == {"hub-b": "beads/archive/2026-01-002.yaml/hub-b.yaml"}


def test_a_volume_has_room_for_so_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archiving, "VOLUME_SIZE", 2)
    store = MemoryStore(*[ended(f"hub-{number}") for number in range(3)])
    store.publish(archive(limit=1))
    assert [path.split("/")[2] for path in store.publish(archive()).moves.values()] == ["2026-01-001.yaml", "2026-01-002.yaml"]
    store.publish(Reopen(ids=["hub-0"], **by()))
    store.put(ended("hub-8"), ended("hub-9"))
    moves = store.publish(archive()).moves
    assert [path.split("/")[2] for path in moves.values()] == ["2026-01-002.yaml", "2026-01-003.yaml"], "the last one is filled"


def test_what_is_large_keeps_a_file_of_its_own() -> None:
    store = MemoryStore(ended("hub-a", notes="n" * archiving.LARGE), ended("hub-b"))
    change = store.publish(archive())
    assert change.moves == {"hub-a": "beads/archive/2026-01/hub-a.yaml", "hub-b": "beads/archive/2026-01-001.yaml/hub-b.yaml"}
    assert store.decide(archive()).is_empty, "and is not looked at again"


def test_archived_beads_with_files_of_their_own_are_gathered_as_far_as_the_limit_goes() -> None:
    old = {f"hub-{number}": f"beads/archive/2026-01/hub-{number}.yaml" for number in range(3)}
    store = MemoryStore(*map(ended, old), ended("hub-9"))
    store.tip = MemorySnapshot([*map(ended, old), ended("hub-9")], archived=old)
    change = store.publish(archive(limit=3))
    assert change.result == {"archived": ["hub-9"], "gathered": ["hub-0", "hub-1"], "left": 0}
    assert store.publish(archive(limit=3)).result["gathered"] == ["hub-2"]
    assert store.decide(archive()).is_empty


def test_in_a_hub_of_the_format_before_nothing_is_gathered_wherever_it_lies() -> None:
    store = MemoryStore()
    settings = {".beads/config.yaml": {"format": 1, "prefix": "hub"}}
    store.tip = MemorySnapshot([ended("hub-a")], settings, archived={"hub-a": "beads/archive/2024-07/hub-a.yaml"})
    assert store.decide(archive()).is_empty


def test_an_archived_bead_counts_as_before() -> None:
    store = MemoryStore(ended("hub-a"), make_bead("hub-b", depends_on=["hub-a"]), make_bead("hub-c", parent="hub-a"))
    before = {name: Readiness(store.tip, START).phase(store.bead(name)) for name in ("hub-b", "hub-c")}
    store.publish(archive())
    assert {name: Readiness(store.tip, START).phase(store.bead(name)) for name in ("hub-b", "hub-c")} == before
    assert [bead.id for bead in store.tip.dependents_of("hub-a")] == ["hub-b"]


def test_a_replay_names_them_and_leaves_out_what_has_changed_since() -> None:
    store = MemoryStore(*[ended(f"hub-{name}", uid=f"01KB6ZZZZZZZZZZZZZZZZZZZZ{name.upper()}") for name in "abcd"])
    operation = archive()
    form = operation.pinned(store.decide(operation), store.tip)
    assert form["args"] == {"ids": ["hub-a", "hub-b", "hub-c", "hub-d"]}
    store.publish(Reopen(ids=["hub-a"], **by()))
    store.publish(Delete(ids=["hub-b"], **by()))
    store.publish(Comment(ids=["hub-c"], text="still here", **by()))
    store.put(ended("hub-new"))
    change = store.publish(revived(form))
    assert change.touched == ("hub-c", "hub-d")
    assert store.decide(revived(form)).is_empty


# --- what is not done lives among the active ones ----------------------------------------------


def test_reopening_brings_it_back_and_archiving_takes_it_away_again() -> None:
    store = MemoryStore(ended("hub-a"))
    store.publish(archive())
    store.publish(Comment(ids=["hub-a"], text="a word", **by()))
    assert store.tip.path_of("hub-a").startswith("beads/archive/"), "a comment opens nothing"
    store.publish(Reopen(ids=["hub-a"], **by()))
    assert store.tip.path_of("hub-a") == bead_path("hub-a")
    assert [bead.id for bead in store.tip.live()] == ["hub-a"]


def test_within_one_chain_too() -> None:
    below = MemorySnapshot([ended("hub-a"), make_bead("hub-b")])
    moved = Overlay(below, Change({}, "", moves={"hub-a": "beads/archive/2026-01/hub-a.yaml"}))
    assert moved.path_of("hub-a") == "beads/archive/2026-01/hub-a.yaml"
    assert [bead.id for bead in moved.ended()] == []
    commented = Overlay(moved, Change({"hub-a": ended("hub-a", notes="x")}, ""))
    assert commented.path_of("hub-a") == "beads/archive/2026-01/hub-a.yaml"
    opened = Overlay(commented, Change({"hub-a": make_bead("hub-a")}, ""))
    assert opened.path_of("hub-a") == bead_path("hub-a")
    gone = Overlay(commented, Change({"hub-a": None}, ""))
    assert gone.path_of("hub-a") == bead_path("hub-a")
    anew = Overlay(gone, Change({"hub-a": ended("hub-a")}, ""))
    assert anew.path_of("hub-a") == bead_path("hub-a")


def test_what_is_open_is_not_moved_away_by_any_change() -> None:
    below = MemorySnapshot([make_bead("hub-a")])
    assert Overlay(below, Change({}, "", moves={"hub-a": "beads/archive/2026-01/hub-a.yaml"})).path_of("hub-a") == bead_path(
        "hub-a"
    )


@given(st.lists(st.sampled_from(["archive", "reopen", "close", "comment", "delete", "undo"]), max_size=12))
def test_whatever_happens_only_done_beads_lie_in_the_archive(story: list[str]) -> None:
    store = MemoryStore(ended("hub-a"), ended("hub-b"))
    steps: dict[str, Callable[[], Any]] = {
        "archive": archive,
        "reopen": lambda: Reopen(ids=["hub-a"], **by()),
        "close": lambda: HandCommit(edits=[{"id": "hub-a", "old": fields("hub-a"), "new": dict(ended("hub-a").fields)}], files={}, **by()),
        "comment": lambda: Comment(ids=["hub-a"], text="x", **by()),
        "delete": lambda: Delete(ids=["hub-b"], **by()),
        "undo": lambda: HandCommit(edits=[{"id": "hub-b", "old": None, "new": dict(ended("hub-b").fields)}], files={}, **by()),
    }  # fmt: skip

    def fields(bead_id: str) -> dict[str, Any]:
        return dict(store.bead(bead_id).fields)

    for step in story:
        if step == "delete" and not store.tip.exists("hub-b"):
            continue
        store.publish(steps[step]())
        for bead in store.tip.every():
            assert bead.is_done or store.tip.path_of(bead.id) == bead_path(bead.id), step


# --- by hand, and taken back ---------------------------------------------------------------------


def moved_by_hand(bead: Bead, path: str, **changes: Any) -> HandCommit:
    new = {**bead.fields, **changes}
    return HandCommit(edits=[{"id": bead.id, "old": dict(bead.fields), "new": new, "path": path}], files={}, **by())


def test_a_file_moved_by_hand_stays_where_it_was_put() -> None:
    store = MemoryStore(ended("hub-a"))
    change = store.publish(moved_by_hand(ended("hub-a"), "beads/archive/2024-01/hub-a.yaml"))
    assert change.subject == "edit: hub-a by coder"
    assert store.tip.path_of("hub-a") == "beads/archive/2024-01/hub-a.yaml"
    back = moved_by_hand(ended("hub-a"), bead_path("hub-a"), notes="looked at")
    store.publish(back)
    assert store.tip.path_of("hub-a") == bead_path("hub-a")
    assert store.bead("hub-a").get("notes") == "looked at"
    assert store.decide(back).is_empty


def test_an_open_bead_moved_by_hand_comes_back() -> None:
    store = MemoryStore(make_bead("hub-a"))
    assert store.decide(moved_by_hand(make_bead("hub-a"), "beads/archive/2026-01/hub-a.yaml")).is_empty
    store.publish(moved_by_hand(make_bead("hub-a"), "beads/archive/2026-01/hub-a.yaml", notes="x"))
    assert store.tip.path_of("hub-a") == bead_path("hub-a")


def test_a_move_is_taken_back() -> None:
    store = MemoryStore(ended("hub-a"))
    change = store.publish(archive())
    fields = dict(ended("hub-a").fields)
    undo = Undo(
        words=change.subject, beads={"hub-a": {"before": fields, "after": fields}}, moves={"hub-a": bead_path("hub-a")}, **by()
    )
    taken = store.publish(undo)
    assert (taken.subject, taken.touched) == ("undo: hub-a by coder", ("hub-a",))
    assert store.tip.path_of("hub-a") == bead_path("hub-a")
    assert store.bead("hub-a") == ended("hub-a"), "not a byte of it is new"
    assert store.decide(undo).is_empty
