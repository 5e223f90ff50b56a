"""Logs move on when they have grown, and whoever holds one open goes on writing in the right place."""

from __future__ import annotations

import fcntl
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from bd.schedule import agent_log
from tests.clocks import START

if TYPE_CHECKING:
    from pathlib import Path

    from tests.clocks import FakeClock


def contents(log: Path) -> list[str]:
    """The log and its older ones, the newest first."""
    found = [log, *(log.with_name(f"{log.name}.{number}") for number in range(1, 9))]
    return [path.read_text() for path in found if path.exists()]


def test_a_small_log_and_none_at_all_stay(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    assert not agent_log.rotate(str(log))
    log.write_text("short\n")
    assert not agent_log.rotate(str(log))
    assert contents(log) == ["short\n"]


def test_the_older_ones_move_on_and_the_oldest_goes(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    for word in ("one", "two", "three", "four", "five"):
        log.write_text(word)
        assert agent_log.rotate(str(log), limit=3)
    assert contents(log) == ["", "five", "four", "three"]


def test_who_appends_goes_on_in_the_same_file(tmp_path: Path) -> None:
    """The shell of a cron line has its log open before bd begins."""
    log = tmp_path / "a.log"
    shell = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(shell, b"before\n")
    assert agent_log.rotate(str(log), limit=3)
    os.write(shell, b"after\n")
    os.close(shell)
    assert contents(log) == ["after\n", "before\n"]


def test_one_moves_it_at_a_time(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_text("much")
    with open(log, "rb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        assert not agent_log.rotate(str(log), limit=3)
    assert agent_log.rotate(str(log), limit=3)


def test_several_at_once_move_it_once(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_text("much")
    with ThreadPoolExecutor(8) as pool:
        moved = list(pool.map(lambda _: agent_log.rotate(str(log), limit=3), range(32)))
    assert sum(moved) == 1
    assert contents(log) == ["", "much"]


def test_a_line_has_the_time(tmp_path: Path, clock: FakeClock) -> None:
    log = tmp_path / "logs" / "a.log"
    agent_log.append(str(log), "began hub-a", clock.read())
    agent_log.append(str(log), "two\nlines", clock.read())
    assert [line.partition(" ")[2] for line in log.read_text().splitlines()] == ["began hub-a", "two", "lines"]
    assert log.read_text().startswith(clock.read().strftime("%Y-%m-%dT"))


def test_lines_move_a_grown_log_on(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_bytes(b"x" * agent_log.LIMIT)
    agent_log.append(str(log), "next", START)
    assert [len(text) > 100 for text in contents(log)] == [False, True]


def test_a_log_that_can_not_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    agent_log.append(str(tmp_path / "file" / "a.log"), "nowhere", START)
    assert not agent_log.rotate(str(tmp_path / "file" / "a.log"))


def test_only_its_owner_reads_a_log(tmp_path: Path) -> None:
    """Also one that the shell of a cron line made, or an earlier version."""
    made, old = tmp_path / "made" / "a.log", tmp_path / "old.log"
    before = os.umask(0)
    try:
        agent_log.make_if_possible(str(made))
        old.write_text("readable\n")
        assert stat.S_IMODE(old.stat().st_mode) == 0o666
        for log in (made, old):
            agent_log.append(str(log), "a line", START)
        assert agent_log.rotate(str(old), limit=3)
    finally:
        os.umask(before)
    assert [stat.S_IMODE(log.stat().st_mode) for log in (made, old, tmp_path / "old.log.1")] == [0o600] * 3
