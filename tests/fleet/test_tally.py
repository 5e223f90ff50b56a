"""The running cost of an attempt: held while its worker lives, and let go of with the attempt."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from bd.worker.tally import Tally, is_unbooked
from tests.runtime import RUNTIME

if TYPE_CHECKING:
    from pathlib import Path

    from tests.running import Clone


def held_files(folder: Path) -> int:
    """How many files in the folder this process has open."""
    names = (os.path.join("/dev/fd", name) for name in os.listdir("/dev/fd"))
    return sum(os.path.exists(name) and os.path.realpath(name).startswith(str(folder)) for name in names)


def test_an_attempt_that_has_ended_holds_no_file(tmp_path: Path) -> None:
    """A worker may run for months."""
    tally = Tally(str(tmp_path), "hub-a", 1, "coder", RUNTIME)
    assert held_files(tmp_path) == 0
    tally.note({"usd": 0.1}, None)
    assert (held_files(tmp_path), is_unbooked(str(tmp_path))) == (1, True)
    tally.close()
    tally.close()
    assert held_files(tmp_path) == 0


def test_what_is_said_after_the_end_leaves_nothing_behind(tmp_path: Path) -> None:
    tally = Tally(str(tmp_path / "gone"), "hub-a", 1, "coder", RUNTIME)
    tally.close()
    tally.note({"usd": 0.1}, None)
    assert not (tmp_path / "gone").exists()


def test_what_a_killed_worker_has_spent_is_booked_before_its_files_are_removed(local_hub: Clone) -> None:
    """Days later, by whoever polls: no worker may ever begin in this clone again."""
    local_hub.here("create", "Do it", "--id", "hub-a")
    local_hub.here("claim", "hub-a", "--agent", "coder")
    local_hub.here("close", "hub-a", "--force", "--reason", "Done by hand")
    work = local_hub.path / ".git" / "bd" / "work"
    for name, cost in (("dead", {"usd": 0.31}), ("broken", "much")):
        (work / name).mkdir(parents=True)
        about = {"bead": "hub-a", "attempt": 1, "agent": "coder", "cost": cost}
        (work / name / "spent.json").write_text(json.dumps(about))
        for path in (work / name / "spent.json", work / name):
            os.utime(path, (0, 0))
    local_hub.here("poll", "--agent", "ann", code=3)
    assert not list(work.iterdir())
    [bead] = local_hub.here("show", "hub-a", "--json").json
    assert bead["cost"]["attempts"][0]["usd"] == 0.31
