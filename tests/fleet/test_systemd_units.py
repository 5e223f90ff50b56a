"""The service and the timer: what systemd makes of them, and whose files are touched."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from bd.core.errors import Refused
from bd.schedule import systemd_units
from bd.schedule.interval import EXPRESSIBLE, timetable
from tests.fleet.test_crontab import make_station

if TYPE_CHECKING:
    from pathlib import Path

needs_systemd = pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd-analyze")


def test_what_has_a_meaning_for_systemd_is_escaped() -> None:
    station = make_station(clone="/srv/100% hub", command=("/srv/run", "50%", "$HOME", 'say "hi"', "a\\b", ""))
    files = systemd_units.units(station, "/units")
    service = systemd_units.texts(station, timetable("codemonkey", 1800), files)["/units/bd-hub-codemonkey.service"].splitlines()
    assert service[0] == "# bd: unit codemonkey 01HUB"
    assert "WorkingDirectory=/srv/100%% hub" in service
    command = next(line for line in service if line.startswith("ExecStart="))
    assert command == (
        'ExecStart=/opt/bd/bin/bd work --agent codemonkey --once -C "/srv/100%% hub" '
        '-- /srv/run "50%%" "$$HOME" "say \\"hi\\"" "a\\\\b" ""'
    )


@needs_systemd
def test_systemd_reads_the_units(tmp_path: Path) -> None:
    place = tmp_path / "a clone $100 %h"
    station = make_station(
        clone=str(place), folder=str(place / "bd"), program=(sys.executable, "-m", "bd"), command=("x", "50% of $HOME", "'", '"')
    )
    (place / "bd" / "logs").mkdir(parents=True)
    files = systemd_units.units(station, str(tmp_path / "units"))
    for interval in (1800, 5 * 3600):
        systemd_units.install(station, timetable("codemonkey", interval), files)
        verified = subprocess.run(
            ["systemd-analyze", "verify", "--user", files.service, files.timer],
            env={**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)},
            capture_output=True,
            text=True,
        )
        assert verified.returncode == 0, verified.stderr
        assert files.name not in verified.stderr, verified.stderr


@needs_systemd
def test_systemd_reads_every_calendar() -> None:
    events = [timetable(agent, interval * 60).calendar for interval in EXPRESSIBLE for agent in ("codemonkey", "pltops")]
    read = subprocess.run(["systemd-analyze", "calendar", *events], capture_output=True, text=True)
    assert read.returncode == 0, read.stderr


def test_install_twice_changes_nothing_and_remove_takes_both(tmp_path: Path) -> None:
    station, folder = make_station(), tmp_path / "systemd" / "user"
    files = systemd_units.units(station, str(folder))
    assert systemd_units.install(station, timetable("codemonkey", 1800), files)
    assert not systemd_units.install(station, timetable("codemonkey", 1800), files)
    assert systemd_units.install(station, timetable("codemonkey", 900), files)
    (folder / "timers.target.wants").mkdir()
    os.symlink(files.timer, files.wanted)
    (folder / "mine.timer").write_text("[Timer]\n")
    assert systemd_units.remove(files)
    assert sorted(os.listdir(folder)) == ["mine.timer", "timers.target.wants"]
    assert os.listdir(folder / "timers.target.wants") == []
    assert not systemd_units.remove(files)


def test_others_files_are_left_alone(tmp_path: Path) -> None:
    """Two hubs may have one prefix, and somebody may have written such a file by hand."""
    ours, theirs, folder = make_station(), make_station(hub_id="01OTHER"), tmp_path / "units"
    files, others = systemd_units.units(ours, str(folder)), systemd_units.units(theirs, str(folder))
    systemd_units.install(theirs, timetable("codemonkey", 1800), others)
    before = {name: (folder / name).read_text() for name in os.listdir(folder)}
    with pytest.raises(Refused, match="belongs to another agent or hub"):
        systemd_units.install(ours, timetable("codemonkey", 1800), files)
    assert not systemd_units.remove(files)
    assert {name: (folder / name).read_text() for name in os.listdir(folder)} == before
