"""kill -9 at every step of a close with a stored output: the artifact is there exactly where the close is, and once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.auditing import assert_sound
from tests.race.history import assert_nothing_twice, subjects
from tests.race.seeds import seed
from tests.race.test_crashes import STOPPED, WITH_REMOTE, WITHOUT_REMOTE, check_usable
from tests.truth import git, tip_bead, tip_file, tip_paths

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.running import Clone

    Clones = Callable[[str], Clone]

pytestmark = pytest.mark.one_in(72)

# More than a bead keeps in its own file.
REPORT = b"".join(b"%d lines of a report\n" % number for number in range(2000))
CLOSE = ("close", "hub-mine", "--reason", "done", "--output", "../report.md", "--agent", "coder")
ARTIFACT = "artifacts/hub-mine/report.md"


def prepared(writer: Clone) -> None:
    seed(writer, "hub-mine", "hub-next")
    writer.here("claim", "hub-mine", "--agent", "coder")
    (writer.path.parent / "report.md").write_bytes(REPORT)


def is_closed(repository: Path) -> bool:
    """Whether the close is in the branch: then with all that it stored, else with nothing of it."""
    bead = tip_bead(repository, "hub-mine")
    assert bead is not None
    stored = [path for path in tip_paths(repository) if path.startswith("artifacts/")]
    closes = subjects(repository, "close")
    if bead.status != "closed":
        assert (stored, closes, bead.get("output")) == ([], [], None)
        assert bead.claim is not None
        return False
    assert (stored, len(closes)) == ([ARTIFACT], 1)
    assert tip_file(repository, ARTIFACT) == REPORT
    assert bead.get("output") == {"artifacts": [{"name": "report.md", "ref": ARTIFACT}]}
    return True


def check_ended(clone: Clone, repository: Path) -> None:
    """The agent types the close again, whatever became of the first one: it is closed once, with its output."""
    clone.here(*CLOSE)
    assert is_closed(repository)
    assert git(clone.path, "cat-file", "blob", f"HEAD:{ARTIFACT}") + "\n" == REPORT.decode()
    check_usable(clone)
    assert_nothing_twice(repository)
    assert_sound(repository)


@pytest.mark.one_in(36)
@pytest.mark.parametrize("step", WITH_REMOTE)
def test_killed_at_a_step(step: str, clone: Clones, hub: Path) -> None:
    alice = clone("alice")
    prepared(alice)
    alice.bd(*CLOSE, env={"BD_TEST_STOP_AT": step}, code=STOPPED)
    assert is_closed(hub) == (step in ("pushed", "refs"))
    check_ended(alice, hub)


@pytest.mark.one_in(45)
@pytest.mark.parametrize("step", WITHOUT_REMOTE)
def test_killed_at_a_step_without_a_remote(step: str, local_hub: Clone) -> None:
    prepared(local_hub)
    local_hub.bd(*CLOSE, env={"BD_TEST_STOP_AT": step}, code=STOPPED)
    assert is_closed(local_hub.path) == (step in ("pushed", "refs"))
    check_ended(local_hub, local_hub.path)


@pytest.mark.parametrize("step", ["look", "keep"])
def test_killed_while_the_remote_is_away(step: str, clone: Clones, hub: Path) -> None:
    alice = clone("alice")
    prepared(alice)
    url = git(alice.path, "remote", "get-url", "origin")
    git(alice.path, "remote", "set-url", "origin", "/nowhere")
    alice.bd(*CLOSE, env={"BD_TEST_STOP_AT": step}, code=STOPPED)
    git(alice.path, "remote", "set-url", "origin", url)
    alice.bd("sync")
    assert not is_closed(hub), "nobody was told that it is kept"
    check_ended(alice, hub)


@pytest.mark.one_in(36)
@pytest.mark.parametrize("step", WITH_REMOTE)
def test_what_was_kept_in_the_clone_is_published_with_its_output(step: str, clone: Clones, hub: Path) -> None:
    """The remote was away, the close was kept in this clone, its file is gone; the sync that publishes it is killed."""
    alice, bob = clone("alice"), clone("bob")
    prepared(alice)
    url = git(alice.path, "remote", "get-url", "origin")
    git(alice.path, "remote", "set-url", "origin", "/nowhere")
    alice.bd(*CLOSE, code=6)
    git(alice.path, "remote", "set-url", "origin", url)
    (alice.path.parent / "report.md").unlink()
    bob.here("create", "Meanwhile")  # so that the close has to be decided anew
    alice.bd("sync", env={"BD_TEST_STOP_AT": step}, check=False)
    is_closed(hub)
    alice.here("sync")
    assert is_closed(hub)
    check_usable(alice)
    assert_nothing_twice(hub)
