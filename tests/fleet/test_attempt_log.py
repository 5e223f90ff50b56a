"""The full output of attempts: whole, private, gone after two weeks, and never a reason to stop."""

from __future__ import annotations

import os
import stat
from datetime import timedelta
from typing import TYPE_CHECKING

from bd.worker import attempt_log
from bd.worker.attempt_log import AttemptLog
from tests.clocks import START

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_all_of_it_is_kept_for_its_owner_alone(tmp_path: Path) -> None:
    path = attempt_log.path_of(str(tmp_path), "hub-a/../b", 2, "01KABCDEFGHXYZ12")
    log = AttemptLog(path)
    assert (log.size, os.path.exists(path)) == (0, False)
    for chunk in (b"half a li", b"ne\n\xff\x00", b"x" * 100_000):
        log.write(chunk)
    log.close()
    assert os.path.dirname(path) == str(tmp_path / "logs" / "attempts")
    with open(path, "rb") as file:
        assert file.read() == b"half a line\n\xff\x00" + b"x" * 100_000
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600


def test_what_comes_after_the_end_is_not_kept_and_opens_nothing(tmp_path: Path) -> None:
    log = AttemptLog(str(tmp_path / "a.log"))
    log.write(b"in time")
    log.close()
    before = len(os.listdir("/dev/fd"))
    log.write(b", too late")
    assert len(os.listdir("/dev/fd")) == before
    assert (tmp_path / "a.log").read_bytes() == b"in time"


def test_a_log_has_a_limit_and_a_full_disk_ends_no_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempt_log, "_LIMIT", 10)
    log = AttemptLog(str(tmp_path / "a.log"))
    for _ in range(5):
        log.write(b"123456")
    log.close()
    assert (tmp_path / "a.log").read_bytes() == b"123456123456\n[bd keeps no more of this output]\n"
    (tmp_path / "file").write_text("")
    AttemptLog(str(tmp_path / "file" / "b.log")).write(b"lost")


def test_old_logs_are_removed(tmp_path: Path) -> None:
    folder = tmp_path / "logs" / "attempts"
    folder.mkdir(parents=True)
    for name, days in (("old.log", 15), ("new.log", 13)):
        (folder / name).write_text("x")
        at_s = (START - timedelta(days=days)).timestamp()
        os.utime(folder / name, (at_s, at_s))
    attempt_log.clear_old(str(tmp_path), START)
    attempt_log.clear_old(str(tmp_path / "nowhere"), START)
    assert os.listdir(folder) == ["new.log"]
