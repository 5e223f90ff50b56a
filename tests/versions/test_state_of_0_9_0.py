"""A clone as 0.9.0 left it, in each state that it knows: this version reads it, writes, syncs; nothing is lost, nothing is there twice."""

from __future__ import annotations

import tarfile
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.race.history import assert_nothing_twice, assert_one_owner, subjects
from tests.running import Clone
from tests.truth import git, tip, tip_bead
from tests.versions.make import FIXTURES
from tests.versions.states import BEADS, STATES

if TYPE_CHECKING:
    from pathlib import Path

    from tests.clocks import FakeClock
    from tests.versions.states import State

pytestmark = pytest.mark.slow  # CI runs them beside the quick ones

# What every state has: three beads, and coder's claim of one of them.
BEFORE = Counter(create=3, claim=1)
VERBS = ("create", "claim", "close", "comment", "update", "edit", "delete")


def unpacked(name: str, folder: Path) -> tuple[Clone, Path]:
    """The clone of a state, and the repository that its hub is in."""
    with tarfile.open(FIXTURES / f"{name}.tar.gz") as tar:
        if hasattr(tarfile, "tar_filter"):  # since 3.11.4
            tar.extractall(folder, filter="tar")
        else:
            tar.extractall(folder)  # noqa: S202  our own fixtures
    clone = Clone(folder / "clone")
    if not STATES[name].has_remote:
        return clone, clone.path
    git(clone.path, "remote", "set-url", "origin", str(folder / "hub.git"))
    return clone, folder / "hub.git"


def counted(repository: Path) -> Counter[str]:
    """The commits of the hub's branch by verb."""
    return Counter({verb: len(subjects(repository, verb)) for verb in VERBS if subjects(repository, verb)})


@pytest.mark.parametrize("name", STATES)
def test_a_clone_of_0_9_0_is_read_written_to_and_synced(
    name: str, tmp_path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BD_SESSION", "old")
    clock.set("2026-02-21T15:30:00Z")
    state = STATES[name]
    clone, hub = unpacked(name, tmp_path)
    history = git(hub, "rev-list", "--reverse", "main").split()
    assert {bead["id"] for bead in clone.here("list", "--all", "--json").json} >= set(BEADS) - deleted(state)
    clone.here("comment", "hub-other", "by this version", "--agent", "other")
    clone.here("sync")
    wanted = BEFORE + Counter(state.landed) + Counter(comment=1)
    assert counted(hub) == wanted
    check_texts(state, hub)
    check_kept(state, clone)
    check_work_goes_on(state, clone, hub)
    assert git(hub, "rev-list", "--reverse", "main").split()[: len(history)] == history
    assert_one_owner(hub)
    assert_nothing_twice(hub)
    check_at_rest(clone, hub)


def deleted(state: State) -> set[str]:
    return {"hub-a"} if state.landed.get("delete") else set()


def check_texts(state: State, hub: Path) -> None:
    """What was written is there whole: the texts of comments and notes, the new beads, the closed one."""
    first = tip_bead(hub, "hub-a")
    assert (first is None) == bool(deleted(state))
    other = tip_bead(hub, "hub-other")
    assert other is not None
    assert [comment["text"] for comment in other.comments][-1] == "by this version"
    if first is not None:
        of_coder = state.landed.get("comment", 0) - sum("found it" in step.typed for step in state.steps)
        assert [comment["text"] for comment in first.comments] == ["seen"] * of_coder
        noted = "by hand" if state.landed.get("edit") else "seen" if state.landed.get("update") else None
        assert first.get("notes") == noted
    assert (tip_bead(hub, "hub-new") is not None) == bool(state.landed.get("edit"))


def check_kept(state: State, clone: Clone) -> None:
    """What did not come to the hub lies in the clone, named, with the texts that were typed."""
    found = clone.here("sync", "--kept", "--json").json
    assert len(found) == state.kept
    for kept in found:
        changed = git(clone.path, "show", "--format=", kept["commit"])
        assert any(text in changed for text in ("Something new", "seen", "close_reason: done")), changed


def check_work_goes_on(state: State, clone: Clone, hub: Path) -> None:
    """coder has what it had won, by the token that 0.9.0 noted; and finishes it without typing one."""
    mine = tip_bead(hub, "hub-mine")
    assert mine is not None
    assert (mine.status == "closed") == bool(state.landed.get("close"))
    if mine.status != "closed":
        clone.here("close", "hub-mine", "--reason", "done", "--agent", "coder")
    if deleted(state):
        return
    before = tip_bead(hub, "hub-a")
    assert before is not None
    assert (before.claim is not None) == bool(state.landed.get("claim"))
    knows = before.claim is not None and (clone.path / ".git" / "bd" / "tokens" / "hub-a").exists()
    if not knows:
        [bead] = clone.here("claim", "hub-a", "--agent", "coder", "--json").json
        assert bead["attempts"] == 1
        assert before.claim is None or bead["claim"]["token"] == before.claim.token
    clone.here("close", "hub-a", "--reason", "done", "--agent", "coder")
    after = tip_bead(hub, "hub-a")
    assert after is not None
    assert after.status == "closed"


def check_at_rest(clone: Clone, hub: Path) -> None:
    """Nothing is left to settle, and files, index and branch are as the hub is."""
    clone.here("comment", "hub-other", "whatever had begun can't land any more", "--agent", "other")
    assert list((clone.path / ".git" / "bd" / "journal").iterdir()) == []
    assert git(clone.path, "status", "--porcelain") == ""
    assert git(clone.path, "rev-parse", "HEAD") == tip(hub)
    git(clone.path, "fsck", "--strict")


def test_every_state_has_a_fixture() -> None:
    assert {path.name.removesuffix(".tar.gz") for path in FIXTURES.glob("*.tar.gz")} == set(STATES)
