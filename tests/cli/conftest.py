"""What the command line's tests stand on: a small hub with a bead in every state, at a fixed time."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import pytest

from tests.clocks import FakeClock
from tests.running import Clone, run_here
from tests.runtime import RUNTIME
from tests.sealing import seal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# What is on the board, and how each came to be as it is. The clock moves a minute with every line.
STORY = """\
create|Ship the login page|--id|hub-epic|-t|epic|-p|1|-l|web
create|Draw the form|--id|hub-kid1|-p|1|--parent|hub-epic|-l|merge
create|Wire the form|--id|hub-kid2|-p|2|--parent|hub-epic|--deps|hub-kid1
create|Fix CORS in the auth middleware|--id|hub-bug|-t|bug|-p|0|-l|infra/auth|-d|It fails.|--external-ref|gh-9
update|hub-bug|--set-metadata|team=core
comment|hub-bug|the cause is the proxy|--author|Ada
create|Compare queues|--id|hub-res|-t|research|--assignee|axiom|--deps|discovered-from:hub-bug
create|Review the pull request|--id|hub-work|-t|review|-l|merge
claim|hub-work|--agent|codemonkey
create|Set up the pipeline|--id|hub-done|-t|chore
close|hub-done|--reason|merged as #12
create|Rewrite it all|--id|hub-off
cancel|hub-off|--reason|no longer wanted
create|Renew the certificate|--id|hub-later|--defer|2099-03-01
"""
IDS = ("hub-epic", "hub-kid1", "hub-kid2", "hub-bug", "hub-res", "hub-work", "hub-done", "hub-off", "hub-later")
READY = ("hub-bug", "hub-kid1", "hub-epic", "hub-res")


@pytest.fixture(scope="session")
def told_board(tmp_path_factory: pytest.TempPathFactory, templates: Path) -> Path:
    """The board, made once; tests get copies."""
    folder = tmp_path_factory.mktemp("board")
    shutil.copytree(templates / "local", folder / "board")
    clock = FakeClock()
    with pytest.MonkeyPatch.context() as patch:
        seal(patch, folder / "home")
        patch.setenv("BD_SESSION", "test")
        patch.setattr(RUNTIME, "now", clock.read)
        for line in STORY.splitlines():
            run_here(*line.split("|"), cwd=folder / "board")
            clock.move(minutes=1)
    return folder / "board"


@pytest.fixture
def board(told_board: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clock: FakeClock) -> Clone:
    """A hub without a remote that holds `STORY`, an hour after it was told."""
    shutil.copytree(told_board, tmp_path / "board")
    monkeypatch.setenv("BD_SESSION", "test")
    clock.set("2026-02-21T16:14:00Z")
    return Clone(tmp_path / "board")


@pytest.fixture
def shared(hub: Path, clone: Any, monkeypatch: pytest.MonkeyPatch, clock: FakeClock) -> Iterator[Clone]:
    """A clone of a hub with a remote, for what only a remote shows."""
    monkeypatch.setenv("BD_SESSION", "test")
    return clone("alice")


def assert_no_nulls(value: Any, where: str = "$") -> None:
    """No null at any depth of a JSON document."""
    assert value is not None, f"null at {where}"
    if isinstance(value, dict):
        for key, entry in value.items():
            assert_no_nulls(entry, f"{where}.{key}")
    elif isinstance(value, list):
        for place, entry in enumerate(value):
            assert_no_nulls(entry, f"{where}[{place}]")


def assert_issue(bead: dict[str, Any]) -> None:
    """What every client needs of an Issue object."""
    assert next(iter(bead)) == "id"
    needed = {"id", "title", "status", "priority", "issue_type", "created_at", "updated_at", "phase", "effective_priority"}
    assert needed <= set(bead), f"{needed - set(bead)} missing in {bead}"
    assert type(bead["priority"]) is int
    assert bead["created_at"].endswith("Z")
    assert bead["updated_at"].endswith("Z")
    assert bead["updated_at"] >= bead["created_at"][:-1]
    assert bead.get("labels", []) == sorted(bead.get("labels", []))
    assert "type" not in bead
    assert_no_nulls(bead)
