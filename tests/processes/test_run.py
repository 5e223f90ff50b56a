"""Running a command to its end: what it says is bounded, and what it started ends with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bd.processes.run import run
from tests.fleet.poolhost import is_alive

if TYPE_CHECKING:
    from pathlib import Path

    from bd.processes.tree import ProcessTree


def test_a_command_hears_its_input_and_the_end_of_what_it_says_is_kept(tmp_path: Path) -> None:
    ran = run("cat; pwd >&2; exit 3", {}, 60, stdin="told\n", folder=str(tmp_path))
    assert (ran.code, ran.out, ran.err) == (3, "told", str(tmp_path))
    ran = run("head -c 3000000 /dev/zero | tr '\\0' x; echo; echo last", {}, 60)
    assert ran.out.endswith("\nlast")
    assert len(ran.out) < 30_000


def test_what_takes_too_long_ends_with_all_that_it_started(tmp_path: Path) -> None:
    alive = tmp_path / "alive"
    ran = run(f"(mkfifo {alive}; echo gone > {alive}) & wait", {}, 0.3)
    assert (ran.code, ran.err) == (None, "took longer than 0.3s")
    ran = run(f"test -p {alive} && timeout 0.2 cat {alive}", {}, 60)
    assert ran.out == "", "nobody writes there any more"


def test_what_runs_as_somebody_presses_ctrl_c_ends_too() -> None:
    running: list[int] = []

    def interrupted(process: ProcessTree) -> None:
        running.append(process.pid)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run("while :; do sleep 0.1; done", {}, 60, started=interrupted)
    assert not is_alive(running[0])


def test_what_can_t_be_started_says_why(tmp_path: Path) -> None:
    ran = run("true", {}, 60, folder=str(tmp_path / "nowhere"))
    assert ran.code is None
    assert ran.err.startswith("could not be started: ")
    assert "nowhere" in ran.err
    ran = run("true\0", {}, 60)
    assert (ran.code, ran.err.startswith("could not be started: ")) == (None, True)
