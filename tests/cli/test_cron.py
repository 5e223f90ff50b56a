"""`bd cron`, with a `crontab` program that keeps a file: what it holds before and after, and what is told."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from bd.schedule.interval import timetable
from tests.crontabs import FakeCrontab, fake_crontab, path_with
from tests.truth import git, tip

if TYPE_CHECKING:
    from pathlib import Path

    from tests.running import Clone

pytestmark = pytest.mark.one_in(4)

OTHERS = b"MAILTO=ops@example.org\n# caf\xe9, not UTF-8\n0 4 * * * backup --keep=50\\%\n"
WORKER = '#!/bin/sh\nprintf "%s\\n" "$@" "$PATH" "$HOME"\n'


@pytest.fixture
def crontab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeCrontab:
    fake = fake_crontab(tmp_path)
    monkeypatch.setenv("PATH", path_with(fake))
    return fake


@pytest.fixture
def worker(tmp_path: Path) -> str:
    program = tmp_path / "worker"
    program.write_text(WORKER)
    program.chmod(0o755)
    return str(program)


@pytest.mark.usefixtures("crontab")  # and its PATH: this machine's own may be longer than a line of cron's
def test_the_line_that_is_shown_can_be_run_as_it_stands(board: Clone, worker: str) -> None:
    line = board.here("cron", "show", "--agent", "bob", "--", worker).lines[1].partition(" cd ")[2]
    assert subprocess.run(["sh", "-c", f"cd {line}"], check=False).returncode == 0
    assert "hub-" in (board.path / ".git" / "bd" / "logs" / "bob.log").read_text()


def test_install_remove_and_all_other_bytes(board: Clone, crontab: FakeCrontab, worker: str) -> None:
    crontab.file.write_bytes(OTHERS)
    told = board.here("cron", "install", "--agent", "bob", "--json", "--", worker, "it's 100%")
    assert told.json == {"agent": "bob", "changed": True, "file": "crontab", "published": True, "schema_version": 1}
    installed = crontab.text
    assert installed.startswith(OTHERS)
    block = installed[len(OTHERS) :].decode().splitlines()
    assert block[0].startswith("# bd: begin bob ")
    assert block[2] == block[0].replace("begin", "end")
    assert f" work --agent bob --once -C {board.path} -- {worker} 'it'\"'\"'s 100'\\% >> " in block[1]
    assert (board.path / ".git" / "bd" / "logs").is_dir()

    again = board.here("cron", "install", "--agent", "bob", "--json", "--", worker, "it's 100%")
    assert again.json["changed"] is False
    assert (crontab.text, crontab.writes) == (installed, 1)

    slower = board.here("cron", "install", "--agent", "bob", "--interval", "2h", "--", worker)
    assert "every 2h" in slower.out
    assert crontab.text.startswith(OTHERS)
    assert crontab.text.count(b"# bd: begin") == 1

    removed = board.here("cron", "remove", "--agent", "bob", "--json")
    assert removed.json["changed"] is True
    assert crontab.text == OTHERS
    assert board.here("cron", "remove", "--agent", "bob", "--json").json["changed"] is False
    assert crontab.writes == 3


def test_an_agent_without_a_crontab_yet(board: Clone, crontab: FakeCrontab, worker: str) -> None:
    board.here("cron", "install", "--agent", "bob", "--", worker)
    assert crontab.text.startswith(b"# bd: begin bob ")
    board.here("cron", "remove", "--agent", "bob")
    assert crontab.text == b""


def test_agents_and_hubs_have_blocks_of_their_own(board: Clone, clone: object, crontab: FakeCrontab, worker: str) -> None:
    board.here("cron", "install", "--agent", "bob", "--", worker)
    of_bob = crontab.text
    other: Clone = clone("alice")  # type: ignore[operator]
    other.here("cron", "install", "--agent", "bob", "--", worker)
    board.here("cron", "install", "--agent", "eve", "--", worker)
    assert crontab.text.count(b"# bd: begin") == 3
    other.here("cron", "remove", "--agent", "bob")
    board.here("cron", "remove", "--agent", "eve")
    assert crontab.text == of_bob


def test_the_line_runs_as_cron_would_run_it(board: Clone, crontab: FakeCrontab, worker: str, tmp_path: Path) -> None:
    """From another folder, with cron's few variables: the same bd starts, in the right clone, with the right PATH."""
    shown = board.here("cron", "show", "--agent", "bob", "--json", "--", worker).json
    line = shown["lines"][1]
    command = line.split(None, 5)[5].replace(" work --agent bob --once ", " whoami --agent bob ").partition(" -- ")
    whoami = f"{command[0]} >> {shown['log']} 2>&1"
    few = {"HOME": os.environ["HOME"], "LOGNAME": "ada", "SHELL": "/bin/sh", "PATH": "/usr/bin:/bin"}
    ended = subprocess.run(["/bin/sh", "-c", whoami], cwd=tmp_path / "home", env=few, capture_output=True, text=True)
    with open(shown["log"], encoding="utf-8") as log:
        said = log.read()
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", ""), said
    assert "bob@hub" in said


def test_show_says_what_install_writes_and_what_is_there(board: Clone, crontab: FakeCrontab, worker: str) -> None:
    shown = board.here("cron", "show", "--agent", "bob", "--interval", "20m", "--json", "--", worker).json
    assert crontab.writes == 0
    assert shown["minutes"] == list(timetable("bob", 1200).minutes)
    assert shown["path"].split(":")[-1] == "/bin"
    assert shown["log"] == str(board.path / ".git" / "bd" / "logs" / "bob.log")
    nothing = board.here("cron", "show", "--agent", "bob", code=4)
    assert "no lines for bob" in nothing.err
    board.here("cron", "install", "--agent", "bob", "--interval", "20m", "--", worker)
    assert crontab.text.decode().splitlines() == shown["lines"]
    assert board.here("cron", "show", "--agent", "bob", "--json").json == shown
    assert board.here("cron", "show", "--agent", "bob").lines == shown["lines"]


def test_the_interval_is_the_agents_own_unless_it_is_said(local_hub: Clone, crontab: FakeCrontab, worker: str) -> None:
    agents = local_hub.path / ".beads" / "agents"
    agents.mkdir(parents=True, exist_ok=True)
    (agents / "bob.yaml").write_text("name: bob\ninterval: 15m\n")
    local_hub.here("sync")
    typed = ("cron", "show", "--agent", "bob", "--json")
    assert len(local_hub.here(*typed, "--", worker).json["minutes"]) == 4
    (agents / "bob.yaml").write_text("name: bob\nrole: research\n")
    local_hub.here("sync")
    assert len(local_hub.here(*typed, "--", worker).json["minutes"]) == 1
    rounded = local_hub.here(*typed, "--interval", "45m", "--", worker)
    assert len(rounded.json["minutes"]) == 2
    assert "45m" in rounded.err
    assert "every 30m" in rounded.err
    hours = local_hub.here(*typed, "--interval", "6h", "--", worker).json
    assert (len(hours["minutes"]), len(hours["hours"])) == (1, 4)


@pytest.mark.parametrize("verb", ["install", "remove", "show"])
def test_a_crontab_program_that_fails_loses_nothing(board: Clone, crontab: FakeCrontab, worker: str, verb: str) -> None:
    crontab.file.write_bytes(OTHERS)
    crontab.forbid()
    words = ("--", worker) if verb == "install" else ()
    failed = board.here("cron", verb, "--agent", "bob", *words, code=6)
    assert "not allowed to use this program" in failed.err
    assert crontab.text == OTHERS


def test_a_text_that_crontab_refuses(board: Clone, crontab: FakeCrontab, worker: str) -> None:
    crontab.file.write_bytes(OTHERS)
    crontab.refuse()
    failed = board.here("cron", "install", "--agent", "bob", "--json", "--", worker, check=False)
    assert failed.code == 6
    assert "can't install" in failed.err
    assert crontab.text == OTHERS


def test_without_a_crontab_program(board: Clone, worker: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git = tmp_path / "only-git"
    git.mkdir()
    for program in ("git", "env"):
        found = next(f"{folder}/{program}" for folder in os.environ["PATH"].split(":") if os.path.exists(f"{folder}/{program}"))
        (git / program).symlink_to(found)
    monkeypatch.setenv("PATH", str(git))
    missing = board.here("cron", "install", "--agent", "bob", "--", worker, code=4)
    assert "no `crontab` program" in missing.err
    assert "--systemd" in missing.err
    assert "# bd: begin bob" in board.here("cron", "show", "--agent", "bob", "--", worker).out


@pytest.mark.parametrize("how", [(), ("--systemd",)], ids=["crontab", "systemd"])
def test_the_agent_is_online_with_its_line_and_offline_without(
    board: Clone, crontab: FakeCrontab, worker: str, how: tuple[str, ...]
) -> None:
    board.here("cron", "install", *how, "--agent", "bob", "--", worker)
    board.here("claim", "hub-bug", "--agent", "bob")
    board.here("cron", "remove", *how, "--agent", "bob")
    refused = board.here("claim", "--next", "--agent", "bob", code=3)
    assert "offline" in refused.err
    before = tip(board.path)
    board.here("cron", "remove", *how, "--agent", "bob")
    assert tip(board.path) == before, "it is offline already"
    board.here("cron", "install", *how, "--agent", "bob", "--", worker)
    board.here("release", "hub-bug", "--reason", "x", "--agent", "bob")
    board.here("claim", "--next", "--agent", "bob")


def test_the_line_is_edited_also_when_the_hub_is_out_of_reach(
    shared: Clone, hub: Path, crontab: FakeCrontab, worker: str, tmp_path: Path
) -> None:
    shared.here("list")
    hub.rename(tmp_path / "away.git")
    told = shared.here("cron", "install", "--agent", "bob", "--", worker, check=False)
    assert crontab.text.startswith(b"# bd: begin bob ")
    assert "Wrote crontab" in told.out
    shared.here("cron", "remove", "--agent", "bob", check=False)
    assert crontab.text == b""
    (tmp_path / "away.git").rename(hub)
    shared.here("sync")
    assert "offline" in git(hub, "show", "HEAD:.agent-status/bob.yaml")


def test_a_block_broken_by_hand_is_told_and_left(board: Clone, crontab: FakeCrontab, worker: str) -> None:
    board.here("cron", "install", "--agent", "bob", "--", worker)
    broken = crontab.text.replace(b"# bd: end", b"# the end")
    crontab.file.write_bytes(broken)
    assert "crontab -e" in board.here("cron", "remove", "--agent", "bob", code=7).err
    assert crontab.text == broken


def test_paths_are_made_absolute_and_a_missing_command_is_told(board: Clone, crontab: FakeCrontab, worker: str) -> None:
    told = board.here("cron", "install", "--agent", "bob", "--", "./not-there", "./argument")
    assert "there is no" in told.err
    assert f" -- {board.path}/not-there ./argument >> ".encode() in crontab.text


def test_what_a_line_can_not_hold(board: Clone, crontab: FakeCrontab, worker: str) -> None:
    assert "line break" in board.here("cron", "install", "--agent", "bob", "--", worker, "a\nb", code=2).err
    assert "998" in board.here("cron", "install", "--agent", "bob", "--", worker, "x" * 999, code=2).err
    assert "which command" in board.here("cron", "install", "--agent", "bob", code=2).err
    assert "which command" in board.here("cron", "show", "--systemd", "--agent", "bob", code=2).err
    assert crontab.text == b""


def test_units_are_written_and_removed(board: Clone, worker: str, tmp_path: Path) -> None:
    folder = tmp_path / "home" / "config" / "systemd" / "user"
    told = board.here("cron", "install", "--systemd", "--agent", "bob", "--json", "--", worker)
    assert (told.json["changed"], told.json["file"]) == (True, str(folder / "bd-hub-bob.timer"))
    assert sorted(os.listdir(folder)) == ["bd-hub-bob.service", "bd-hub-bob.timer"]
    again = board.here("cron", "install", "--systemd", "--agent", "bob", "--", worker)
    assert "Nothing to change" in again.out
    assert "systemctl --user enable --now bd-hub-bob.timer" in again.out
    shown = board.here("cron", "show", "--systemd", "--agent", "bob", "--", worker).lines
    assert [line for line in shown if line.startswith("# /")] == [
        f"# {folder}/bd-hub-bob.service",
        f"# {folder}/bd-hub-bob.timer",
    ]
    removed = board.here("cron", "remove", "--systemd", "--agent", "bob")
    assert "systemctl --user stop bd-hub-bob.timer" in removed.out
    assert os.listdir(folder) == []
    assert board.here("cron", "remove", "--systemd", "--agent", "bob", "--json").json["changed"] is False


def test_units_in_another_folder(board: Clone, worker: str, tmp_path: Path) -> None:
    typed = ("--systemd", "--units", str(tmp_path / "units"), "--agent", "bob")
    board.here("cron", "install", *typed, "--", worker)
    assert sorted(os.listdir(tmp_path / "units")) == ["bd-hub-bob.service", "bd-hub-bob.timer"]
    board.here("cron", "remove", *typed)
    assert os.listdir(tmp_path / "units") == []
