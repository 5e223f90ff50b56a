"""A clone that can't see all of its hub says so, in every answer about the past and in every sum; one that can says nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.hub.hooks import offline
from tests.running import Clone
from tests.truth import git

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.one_in(20)

READERS = {"history": ["history", "hub-a"], "log": ["log"], "metrics": ["metrics"], "board": ["board"], "audit": ["audit"]}
SUMS = {"cost": ["cost"], "cost of a bead": ["cost", "hub-a"]}
OBJECTS = ("metrics", "board", "audit", "cost of a bead")
LATER = {"BD_TEST_CLOCK_OFFSET_S": "7200", "BD_TEST_UPTIME_OFFSET_S": "7200"}


@pytest.fixture
def whole(clone: Callable[[str], Clone]) -> Clone:
    """A clone that has all there is, and has just fetched it."""
    made = clone("whole")
    made.here("create", "One", "--id", "hub-a")
    made.here("claim", "hub-a", "--agent", "coder")
    made.here("cost", "hub-a", "--usd", "1", "--agent", "coder")
    return made


def told(clone: Clone, named: str, env: dict[str, str] | None = None) -> list[str]:
    """What is missing by the answer of a reader: the codes, as JSON has them where it is an object; each has a warning."""
    words = (READERS | SUMS)[named]
    answer = clone.here(*words, "--json", env=env)
    warnings = [line for line in answer.err.splitlines() if line.startswith("warning: ")]
    assert clone.here(*words, env=env).err.splitlines() == warnings
    if named not in OBJECTS:
        return warnings
    found = answer.json.get("incomplete", [])
    assert [f"warning: {one['text']}" for one in found] == warnings
    return [one["code"] for one in found]


@pytest.mark.one_in(12)
@pytest.mark.parametrize("named", [*READERS, *SUMS])
def test_a_clone_that_has_everything_says_nothing(named: str, whole: Clone) -> None:
    assert told(whole, named) == []


@pytest.mark.one_in(12)
@pytest.mark.parametrize("named", [*READERS, *SUMS])
def test_what_is_missing_is_said(named: str, whole: Clone, hub: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "--quiet", "--depth", "1", hub.as_uri(), "shallow")
    shallow = told(Clone(tmp_path / "shallow"), named)
    stale = told(whole, named, LATER)
    with offline(whole):
        whole.here("comment", "hub-a", "kept here")
        whole.here("comment", "hub-a", "this too")
        unpublished = told(whole, named)
    if named in OBJECTS:
        assert (stale, unpublished) == (["stale"], ["unpublished"])
        assert shallow == ([] if named in SUMS else ["shallow"])
    else:
        assert "last fetched 2h ago" in stale[0]
        assert "2 writes of this clone are not published" in unpublished[0]
        assert bool(shallow) == (named in READERS), "a sum of what the beads say lacks nothing of the past"


def test_a_shallow_clone_gives_nobody_the_changes_of_others(whole: Clone, hub: Path, tmp_path: Path) -> None:
    """The first commit that it has holds all beads, and whoever made it has made none of them."""
    whole.here("comment", "hub-a", "the last word", "--agent", "ben")
    git(tmp_path, "clone", "--quiet", "--depth", "2", hub.as_uri(), "shallow")
    shallow = Clone(tmp_path / "shallow")
    [only] = shallow.here("history", "hub-a", "--json").json
    assert (only["by"], only["verb"]) == ("ben", "comment")
    first = git(tmp_path / "shallow", "rev-list", "--max-parents=0", "HEAD")
    assert first[:7] in shallow.here("history", "hub-a").err


def test_what_is_known_since_then_is_all_there_is(whole: Clone, hub: Path, tmp_path: Path) -> None:
    whole.here("comment", "hub-a", "the last word")
    git(tmp_path, "clone", "--quiet", "--depth", "2", hub.as_uri(), "shallow")
    shallow = Clone(tmp_path / "shallow")
    first = git(tmp_path / "shallow", "rev-list", "--max-parents=0", "HEAD")
    assert shallow.here("history", "hub-a", "--since", first).err == ""
    assert shallow.here("audit", "--since", first).err == ""
    assert shallow.here("log", "--limit", "1").err == ""


def test_a_fetch_by_plain_git_counts(whole: Clone) -> None:
    assert "last fetched" in whole.here("log", env=LATER).err
    git(whole.path, "fetch", "--quiet")
    assert whole.here("log", env={"BD_TEST_UPTIME_OFFSET_S": "7200"}).err == ""


def test_the_past_lacks_nothing_of_now(whole: Clone) -> None:
    assert whole.here("metrics", "--at", "HEAD", env=LATER).err == ""


def test_numbers_of_a_cut_history_are_not_kept_for_a_whole_one(whole: Clone, hub: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "--quiet", "--depth", "1", hub.as_uri(), "shallow")
    shallow = Clone(tmp_path / "shallow")
    assert shallow.here("metrics", "--json").json["contention"]["claims"] == 0
    git(shallow.path, "fetch", "--quiet", "--unshallow")
    found = shallow.here("metrics", "--json").json
    assert (found["contention"]["claims"], "incomplete" in found) == (1, False)
