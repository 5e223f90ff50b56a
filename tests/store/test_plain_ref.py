"""A branch moved without git is moved as git moves it: value, reflogs, and nobody else's lock taken."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

import pytest

from bd.store.git.discovery import find_repo
from bd.store.worktree import plain_ref
from tests.runtime import RUNTIME
from tests.truth import git

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from bd.store.git.repository import GitRepo

BRANCH = "refs/heads/main"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A checkout with two commits; the branch stands at the first."""
    git(tmp_path, "init", "--quiet", "--initial-branch=main", "here")
    place = tmp_path / "here"
    for name in ("first", "second"):
        git(place, "commit", "--quiet", "--allow-empty", "-m", name)
    git(place, "tag", "second")
    git(place, "reset", "--quiet", "HEAD^")
    (place / ".git" / "bd").mkdir()
    (place / ".git" / "bd" / plain_ref.OWNER).touch()
    return place


def opened(place: Path) -> GitRepo:
    repo = find_repo(str(place))
    assert repo is not None
    repo.known_settings = repo.settings()
    return repo


def moved(place: Path) -> bool:
    old, new = git(place, "rev-parse", "HEAD"), git(place, "rev-parse", "second")
    return plain_ref.move(opened(place), BRANCH, new, old, RUNTIME.now())


def last_lines(place: Path) -> list[str]:
    """The last line of each reflog, with the time as `T` and the zone as `Z`."""
    lines = [(place / ".git" / "logs" / name).read_text().splitlines()[-1] for name in ("HEAD", BRANCH)]
    return [re.sub(r"\d+ [-+]\d{4}", "T Z", line) for line in lines]


@pytest.mark.parametrize("zone", ["UTC", "Asia/Kolkata", "America/St_Johns"])
def test_it_leaves_what_git_leaves(place: Path, zone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    monkeypatch.setenv("TZ", zone)
    time.tzset()
    first, second = git(place, "rev-parse", "HEAD"), git(place, "rev-parse", "second")
    assert moved(place)
    ours = last_lines(place)
    zone_of_ours = (place / ".git" / "logs" / "HEAD").read_text().split()[-1]
    assert (git(place, "rev-parse", "HEAD"), git(place, "rev-parse", "HEAD@{1}")) == (second, first)
    assert git(place, "rev-parse", "main@{1}") == first
    git(place, "update-ref", BRANCH, first)
    git(place, "update-ref", BRANCH, second)
    assert ours == last_lines(place)
    assert zone_of_ours == (place / ".git" / "logs" / "HEAD").read_text().split()[-1]
    git(place, "fsck", "--strict", "--no-dangling")
    assert not list((place / ".git").rglob("*.lock"))
    monkeypatch.undo()
    time.tzset()


def somebody_has_moved_it(place: Path) -> None:
    (place / ".git" / BRANCH).write_text(f"{git(place, 'rev-parse', 'second')}\n")


def pack(place: Path) -> None:
    git(place, "pack-refs", "--all")


def lock(place: Path) -> None:
    (place / ".git" / f"{BRANCH}.lock").touch()


def without_reflog(place: Path) -> None:
    (place / ".git" / "logs" / "HEAD").unlink()


def settings(*words: str) -> Callable[[Path], None]:
    def set_it(place: Path) -> None:
        git(place, "config", *words)

    return set_it


ODD = [
    pack,
    lock,
    without_reflog,
    pytest.param(settings("core.logAllRefUpdates", "false"), id="no log"),
    pytest.param(settings("core.sharedRepository", "group"), id="shared"),
    pytest.param(settings("committer.name", "Another"), id="committer"),
    pytest.param(settings("user.name", "Ada <x>"), id="odd name"),
    pytest.param(settings("user.name", "Ada."), id="dotted name"),
    pytest.param(settings("user.email", ""), id="no mail"),
]


@pytest.mark.parametrize("change", ODD)
def test_what_is_not_plain_is_left_to_git(place: Path, change: Callable[[Path], None]) -> None:
    change(place)
    before = git(place, "rev-parse", "HEAD")
    logs = [path.read_bytes() for path in sorted((place / ".git" / "logs").rglob("*")) if path.is_file()]
    assert not moved(place)
    assert git(place, "rev-parse", "HEAD") == before
    assert logs == [path.read_bytes() for path in sorted((place / ".git" / "logs").rglob("*")) if path.is_file()]


def test_a_branch_that_is_elsewhere_stays(place: Path) -> None:
    first, second = git(place, "rev-parse", "HEAD"), git(place, "rev-parse", "second")
    somebody_has_moved_it(place)
    assert not plain_ref.move(opened(place), BRANCH, first, first, RUNTIME.now())
    assert git(place, "rev-parse", "HEAD") == second
    assert not list((place / ".git").rglob("*.lock"))


def test_a_lock_of_a_killed_bd_is_removed_and_nobody_elses(place: Path) -> None:
    path = place / ".git" / f"{BRANCH}.lock"
    os.link(place / ".git" / "bd" / plain_ref.OWNER, path)
    assert moved(place)
    assert not path.exists()
