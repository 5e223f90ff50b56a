"""bd on the Runtime of tests, in a process of its own; and that bd itself pays no heed to what they set."""

from __future__ import annotations

import os
import subprocess
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from bd.core.times import instant_of
from tests.running import BD, HOOKED
from tests.truth import tip, tip_bead

if TYPE_CHECKING:
    from pathlib import Path

    from tests.running import Clone

CREATE = ("create", "Do it", "--id", "hub-a")


def started(local_hub: Clone, *command: str, env: dict[str, str] | None = None) -> int:
    return subprocess.run(command, cwd=local_hub.path, env={**os.environ, **(env or {})}, capture_output=True).returncode


def created_at(hub: Path) -> datetime:
    bead = tip_bead(hub, "hub-a")
    assert bead is not None
    return instant_of(bead.get("created_at"))


def test_options_move_the_clock(local_hub: Clone) -> None:
    assert started(local_hub, *HOOKED[:-1], "--clock-offset=86400", "--", *CREATE) == 0
    assert (created_at(local_hub.path) - datetime.now(UTC)).total_seconds() > 80_000


def test_an_option_stops_it_at_a_step(local_hub: Clone) -> None:
    before = tip(local_hub.path)
    assert started(local_hub, *HOOKED[:-1], "--stop-at=build", "--", *CREATE) == 137
    assert tip(local_hub.path) == before


def test_bd_itself_reads_no_variables_of_tests(local_hub: Clone) -> None:
    moved = {"BD_TEST_STOP_AT": "build", "BD_TEST_CLOCK_OFFSET_S": "86400", "BD_CLOCK_OFFSET_S": "86400"}
    assert started(local_hub, *BD, *CREATE, env=moved) == 0
    assert (created_at(local_hub.path) - datetime.now(UTC)).total_seconds() < 80_000
