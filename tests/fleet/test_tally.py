"""The running cost of an attempt: held while its worker lives, and let go of with the attempt."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from bd.worker.tally import Tally, is_unbooked
from tests.runtime import RUNTIME

if TYPE_CHECKING:
    from pathlib import Path


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
