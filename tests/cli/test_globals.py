"""What holds for every command: flags anywhere, streams, colours, letters, stdin, interruption, bugs."""

from __future__ import annotations

import errno
import json
import os
import pty
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from bd.cli.global_options import split
from bd.compat import bead_json
from bd.core.errors import BadInput
from tests.cli.conftest import IDS
from tests.running import BD, Clone, start_process
from tests.truth import commit_file

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.one_in(6)


# --- flags --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        "--json show hub-bug",
        "show --json hub-bug",
        "show hub-bug --json",
        "show hub-bug --json=true",
        "--sandbox --json show hub-bug",
        "show --json -- hub-bug",
        "--json=true --quiet=false show hub-bug",
        "--format json show hub-bug",
        "show hub-bug --format=json",
        "--actor bob --json show hub-bug",
        "show hub-bug --actor=bob --json",
        "--no-auto-flush --no-auto-import --no-daemon --allow-stale --no-db --no-pager show hub-bug --json",
        "--dolt-auto-commit off show hub-bug --json",
        "--dolt-auto-commit=batch show hub-bug --json",
        "--readonly --global --profile --ignore-schema-skew --flat show hub-bug --json",
        "--verbose show hub-bug --json",
        "--db .beads --json show hub-bug",
        "-C . show hub-bug --json",
        "--directory=. show hub-bug --json",
    ],
)
def test_global_flags_stand_anywhere(board: Clone, words: str) -> None:
    assert board.here(*words.split()).json[0]["id"] == "hub-bug"


def test_a_switch_that_is_off(board: Clone) -> None:
    for args in (("--json=false",), ("--json", "--json=false"), ("--json=0",)):
        assert board.here("show", "hub-bug", *args).out.startswith("○ hub-bug")


def test_switches_take_true_and_false_as_existing_clients_write_them(board: Clone) -> None:
    assert len(board.here("list", "--tree=false", "--json").json) == 7
    assert len(board.here("list", "--tree", "--all=true", "--json").json) == 9
    assert len(board.here("list", "--all=false", "--json").json) == 7
    assert board.here("update", "hub-bug", "--claim=true", "--actor", "bob", "--json").json[0]["assignee"] == "bob"
    assert board.here("show", "--include-dependents", "hub-bug", "--json").json[0]["id"] == "hub-bug"
    assert board.here("show", "--include-dependents=true", "hub-bug", "--json").json[0]["id"] == "hub-bug"


def test_list_flags_repeat_and_take_commas(board: Clone) -> None:
    for args in (("-l", "merge,web"), ("-l", "merge", "-l", "web"), ("--label", "merge", "--labels=web"), ("-l", "merge, web ")):
        assert [bead["id"] for bead in board.here("list", *args, "--json").json] == ["hub-kid1"]


def test_an_empty_value_is_a_value(board: Clone) -> None:
    board.here("update", "hub-res", "--assignee", "")
    board.here("update", "hub-bug", "--description=", "--external-ref", "")
    assert "assignee" not in board.here("show", "hub-res", "--json").json[0]
    assert not {"description", "external_ref"} & set(board.here("show", "hub-bug", "--json").json[0])


def test_what_follows_two_dashes_is_left_alone(board: Clone) -> None:
    bead_id = board.here("create", "--silent", "--", "--json is a flag").out.strip()
    assert board.here("show", bead_id, "--json").json[0]["title"] == "--json is a flag"


def test_split() -> None:
    flags, rest = split(["--json", "list", "-a", "x", "--agent=bob", "--at", "2d", "--no-fetch", "--", "--json"])
    assert (flags.json, flags.agent, flags.at, flags.fetch) == (True, "bob", "2d", False)
    assert rest == ["list", "-a", "x", "--", "--json"]
    with pytest.raises(BadInput, match="--agent needs a value"):
        split(["list", "--agent"])


def test_a_flag_without_its_value(board: Clone) -> None:
    refused = board.here("list", "--agent", code=2)
    assert refused.err == "Error: --agent needs a value\n"


def test_strict_is_taken(board: Clone) -> None:
    assert board.here("list", "--strict").code == 0


@pytest.mark.parametrize("flag", ["-v", "--verbose"])
def test_verbose_shows_the_states_of_a_write_and_what_it_does_there(board: Clone, flag: str) -> None:
    told = board.here("create", "New", "--json", flag)
    assert told.json["title"] == "New"
    states = [line.partition(":")[0] for line in told.err.splitlines()]
    assert states[-4:] == ["Pushing", "Pushed", "Following", "Settled"]
    assert "Deciding: Decide" in told.err
    assert "Pushed: Learn verdict=landed" in told.err
    assert board.here("list", flag).err == "", "a read goes through none"


# --- quiet --------------------------------------------------------------------------------


def test_quiet_prints_ids_and_values_only(board: Clone) -> None:
    assert set(board.here("list", "-q").lines) == {*IDS} - {"hub-done", "hub-off"}
    assert board.here("ready", "--quiet").lines == ["hub-bug", "hub-kid1", "hub-epic", "hub-res"]
    assert board.here("close", "hub-bug", "-q").out == "hub-bug\n"
    assert board.here("claim", "--next", "--agent", "bob", "-q").out == "hub-kid1\n"
    assert board.here("create", "New", "-q", "--id", "hub-new").out == "hub-new\n"
    assert board.here("count", "-q").out == "10\n"
    for args in (
        ("comment", "hub-new", "x"),
        ("dep", "add", "hub-new", "hub-epic"),
        ("config", "set", "max_attempts", "5"),
        ("sync",),
    ):
        assert board.here(*args, "-q").out == ""


def test_silent_is_for_scripts(board: Clone) -> None:
    assert board.here("create", "New", "--id", "hub-new", "--silent").out == "hub-new\n"
    assert board.here("q", "Newer").out.startswith("hub-")


# --- streams ------------------------------------------------------------------------------


def test_warnings_never_reach_stdout(board: Clone) -> None:
    commit_file(board.path, "beads/hub-bad.yaml", "title: [\n")
    for args in (("list",), ("ready",), ("show", "hub-bug"), ("stats",), ("count",)):
        result = board.here(*args, "--json")
        assert result.json
        assert "beads/hub-bad.yaml" in result.err
        assert "[" not in result.err.split("hub-bad.yaml")[0]
        assert board.here(*args, "--strict", "--json", code=7).json


def test_stdin_is_never_read_unless_asked(board: Clone) -> None:
    """With stdin a pipe that never ends, everything ends all the same."""
    reading, writing = os.pipe()
    try:
        for args in (
            ["list"],
            ["create", "New", "--id", "hub-new"],
            ["update", "hub-new", "--priority", "1"],
            ["delete", "hub-new"],
            ["trust"],
            ["comment", "hub-bug", "hello"],
            ["claim", "--next", "--agent", "bob"],
        ):
            run = subprocess.run([*BD, *args], cwd=board.path, stdin=reading, capture_output=True, text=True)
            assert run.returncode == 0, run
    finally:
        os.close(reading)
        os.close(writing)


def test_a_loop_over_stdin_keeps_its_lines(board: Clone) -> None:
    script = f"printf 'one\\ntwo\\nthree\\n' | while read -r title; do {' '.join(BD)} create \"$title\" --silent; done"
    run = subprocess.run(["sh", "-c", script], cwd=board.path, capture_output=True, text=True)
    assert len(run.stdout.split()) == 3


def test_stdin_is_read_when_asked(board: Clone) -> None:
    for number, args in enumerate((["--description", "-"], ["--body-file", "-"], ["--description=-"])):
        bead_id = board.here("create", f"From stdin {number}", *args, "--silent", input="a long\ntext\n").out.strip()
        assert board.here("show", bead_id, "--json").json[0]["description"] == "a long\ntext\n"
    board.here("comment", "hub-bug", "--stdin", input="from stdin\n")
    board.here("comments", "add", "hub-bug", "-f", "-", input="from stdin too\n")
    assert [entry["text"] for entry in board.here("comments", "hub-bug", "--json").json][1:] == ["from stdin", "from stdin too"]
    board.here("close", "hub-bug", "--reason-file", "-", input="because\n")
    assert board.here("show", "hub-bug", "--json").json[0]["close_reason"].strip() == "because"


def test_a_reader_that_goes_away(board: Clone) -> None:
    """`bd ... | head -1` is no error."""
    run = subprocess.run(["sh", "-c", f"{' '.join(BD)} export | head -n 1"], cwd=board.path, capture_output=True, text=True)
    assert run.stdout.count("\n") == 1
    assert "Traceback" not in run.stderr
    assert "Error" not in run.stderr


@pytest.mark.parametrize("args", [["export"], ["log", "--json"], ["metrics"]])
def test_who_reads_no_more_makes_no_failure(args: list[str], board: Clone) -> None:
    """Nobody reads at all; click alone would end with exit 1 and no word."""
    ours, theirs = os.pipe()
    os.close(ours)
    ended = subprocess.run([*BD, *args], cwd=board.path, stdout=theirs, stderr=subprocess.PIPE, text=True)
    os.close(theirs)
    assert (ended.returncode, ended.stderr) == (0, "")


# --- letters and colours ------------------------------------------------------------------


@pytest.mark.parametrize(
    "locale", [{"LANG": "C", "LC_ALL": "C"}, {"LANG": "C", "PYTHONUTF8": "0", "LC_ALL": "POSIX"}, {"PYTHONIOENCODING": "ascii"}]
)
def test_output_is_utf8_whatever_the_locale(board: Clone, locale: dict[str, str]) -> None:
    board.here("create", "Ünïcode ✓ 日本", "--id", "hub-uni")
    for args in (["show", "hub-uni"], ["show", "hub-uni", "--json"], ["show", "hub-üni"]):
        run = subprocess.run([*BD, *args], cwd=board.path, capture_output=True, env={**os.environ, **locale})
        assert ("Ünïcode ✓ 日本" if run.returncode == 0 else "hub-üni") in (run.stdout + run.stderr).decode("utf-8")


def test_text_typed_under_any_locale_is_kept(board: Clone) -> None:
    env = {**os.environ, "LANG": "C", "LC_ALL": "C"}
    run = subprocess.run(
        [*BD, "create", "Größe 日本", "--id", "hub-uni", "--silent"], cwd=board.path, capture_output=True, env=env
    )
    assert run.returncode == 0, run
    assert board.here("show", "hub-uni", "--json").json[0]["title"] == "Größe 日本"


def test_control_characters_never_reach_a_terminal(board: Clone) -> None:
    evil = "\x1b]0;owned\x07 \x1b[2J \u202etxt.exe"
    board.here("create", f"Evil {evil}", "--id", "hub-evil", "-d", f"{evil}\nnext line", "-l", "ok")
    board.here("comment", "hub-evil", evil, "--author", "\x1b[31mred")
    board.here("update", "hub-evil", "--set-metadata", f"k={evil}", "--external-ref", evil, "--assignee", evil)
    board.here("dep", "add", "hub-kid1", "hub-evil")
    for args in (
        ("list",),
        ("show", "hub-evil"),
        ("comments", "hub-evil"),
        ("history", "hub-evil"),
        ("search", "evil"),
        ("ready",),
        ("blocked",),
        ("why", "hub-kid1"),
        ("dep", "tree", "hub-kid1"),
        ("dep", "list", "hub-kid1"),
        ("count", "--by-assignee"),
        ("show", "hub-kid1"),
        ("close", "hub-evil", "--reason", evil),
        ("why", "hub-evil"),
        ("create", evil),
    ):
        result = board.here(*args)
        for forbidden in ("\x1b", "\x07", "\u202e"):
            assert forbidden not in result.out + result.err, args
    shown = board.here("show", "hub-evil", "--json")
    assert shown.json[0]["external_ref"] == evil, "JSON carries the text itself"
    assert "\x1b" not in shown.out, "but escaped"
    assert "\\x1b" in board.here("show", "hub-evil").out


def test_a_control_character_in_an_id_is_escaped_too(board: Clone) -> None:
    refused = board.here("show", "\x1b[31mred", code=4)
    assert "\x1b" not in refused.err


def in_a_terminal(*args: str, cwd: Path, env: dict[str, str] | None = None, columns: int = 80, types: str = "") -> str:
    """What a command shows on a terminal of its own, where somebody types."""
    import fcntl
    import struct
    import termios

    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    kept = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    process = subprocess.Popen(
        [*BD, *args], cwd=cwd, stdin=follower, stdout=follower, stderr=follower, env={**kept, "TERM": "xterm", **(env or {})}
    )
    os.close(follower)
    os.write(leader, types.encode())
    shown = b""
    while True:
        try:
            data = os.read(leader, 65536)
        except OSError:
            break
        if not data:
            break
        shown += data
    os.close(leader)
    process.wait()
    return shown.decode()


def visible(text: str) -> list[str]:
    import re

    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", text).splitlines()


def test_a_terminal_has_colours_and_a_width(board: Clone) -> None:
    board.here("create", "A very long title " * 12, "--id", "hub-long")
    shown = in_a_terminal("list", cwd=board.path)
    assert "\x1b[1mhub-bug\x1b[0m" in shown
    assert all(len(line) <= 80 for line in visible(shown)), shown
    assert any(line.startswith("○ hub-long ● P2 task A very long") and "…" in line for line in visible(shown))
    wide = in_a_terminal("list", cwd=board.path, columns=200)
    assert max(len(line) for line in visible(wide)) > 120


def test_tables_on_a_terminal_cut_words_and_never_names(board: Clone) -> None:
    shown = visible(in_a_terminal("config", "show", cwd=board.path))
    assert any("max_attempts" in line for line in shown), shown
    assert any(line.startswith("stall_factor") for line in shown)
    assert all(len(line) <= 80 for line in shown)


def test_a_person_at_a_terminal_claims_as_gits_user(board: Clone) -> None:
    shown = in_a_terminal("claim", "hub-bug", cwd=board.path)
    assert any(line.startswith("✓ Claimed hub-bug — Fix CORS") for line in visible(shown)), shown
    assert board.here("show", "hub-bug", "--json").json[0]["owner"] == "test-person@hub"


@pytest.mark.parametrize(("answer", "status"), [("y\n", None), ("n\n", "open"), ("", "open")])
def test_a_terminal_is_asked_before_something_goes_for_good(board: Clone, answer: str, status: str | None) -> None:
    shown = in_a_terminal("delete", "hub-bug", cwd=board.path, types=answer or "\x04")
    assert "Delete hub-bug for good?" in shown
    beads = {bead["id"]: bead["status"] for bead in board.here("list", "--json").json}
    assert beads.get("hub-bug") == status


def test_no_color(board: Clone) -> None:
    for env in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        assert "\x1b" not in in_a_terminal("list", cwd=board.path, env=env)


def test_no_colour_into_a_pipe(board: Clone) -> None:
    for args in (("list",), ("show", "hub-bug"), ("stats",), ("config", "show"), ("--help",), ("nonsense",)):
        run = subprocess.run(
            [*BD, *args], cwd=board.path, capture_output=True, env={k: v for k, v in os.environ.items() if k != "NO_COLOR"}
        )
        assert b"\x1b" not in run.stdout + run.stderr


# --- interruption and bugs ----------------------------------------------------------------


def broken(*_: Any, **__: Any) -> Any:
    raise ZeroDivisionError("a bug made for this test")


def test_a_full_disk_is_no_bug(board: Clone, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> Any:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(bead_json, "statistics", full)
    told = board.here("stats", "--json", code=6)
    assert (told.json["code"], told.json["written"]) == ("try_again", "unknown")
    assert "No space left on device" in told.json["error"]


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (PermissionError(errno.EACCES, "Permission denied", "/srv/hub/.git/bd/lock"), "permission denied"),
        (OSError(errno.EMFILE, "Too many open files"), "the system failed"),
        (FileNotFoundError(errno.ENOENT, "No such file", "/nowhere/at/all/lock"), "the folder /nowhere/at/all is gone"),
    ],
)
def test_what_the_world_does_is_no_bug(board: Clone, monkeypatch: pytest.MonkeyPatch, error: OSError, words: str) -> None:
    def refused(*_: Any, **__: Any) -> Any:
        raise error

    monkeypatch.setattr(bead_json, "statistics", refused)
    told = board.here("stats", "--json", code=6)
    assert (told.json["code"], told.json["written"]) == ("try_again", "unknown")
    assert words in told.json["error"]
    assert told.json["hint"]


def test_a_folder_that_is_taken_away_meanwhile(board: Clone, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = board.path / ".git" / "bd"

    def removing(*_: Any, **__: Any) -> Any:
        shutil.rmtree(ours)
        return (ours / "lock").read_bytes()

    monkeypatch.setattr(bead_json, "statistics", removing)
    told = board.here("stats", code=6)
    assert f"the folder {ours} is gone" in told.err
    assert "bd doctor" in told.err
    monkeypatch.undo()
    board.here("create", "As if nothing had been")


def test_a_file_that_is_missing_in_its_folder_is_a_bug(board: Clone, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bead_json, "statistics", lambda *_, **__: (board.path / "nothing").read_bytes())
    crash = board.here("stats", "--json", code=1)
    assert crash.json["code"] == "bug"
    Path(crash.json["log"]).unlink()


def test_a_bug_is_told_where_its_log_can_not_be_written(board: Clone, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bead_json, "statistics", broken)
    monkeypatch.setattr(tempfile, "tempdir", str(board.path / "nowhere"))
    crash = board.here("stats", "--json", code=1)
    assert "ZeroDivisionError: a bug made for this test" in crash.json["error"]
    assert len(crash.err.splitlines()) == 2


def test_a_bug_is_one_line_and_a_log(board: Clone, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bead_json, "statistics", broken)
    crash = board.here("stats", "--json", code=1)
    assert (crash.json["code"], crash.json["schema_version"]) == ("bug", 1)
    assert "ZeroDivisionError: a bug made for this test" in crash.json["error"]
    assert len(crash.err.splitlines()) == 2
    assert "Traceback" not in crash.err
    log = Path(crash.json["log"])
    assert str(log) in crash.err
    text = log.read_text()
    assert "Traceback" in text
    assert "ZeroDivisionError" in text
    log.unlink()


def test_an_interruption(board: Clone, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(bead_json, "statistics", interrupted)
    result = board.here("stats", "--json", code=130)
    assert result.json["code"] == "interrupted"
    assert result.err.split() == ["Error:", "interrupted"]


def test_ctrl_c_ends_with_130(clone: Callable[[str], Clone], hub: Path) -> None:
    """A real signal while the server thinks: no traceback, and the clone goes on working."""
    alice = clone("alice")
    alice.here("list")
    gate = hub.parent / "gate"
    os.mkfifo(gate)
    hook = hub / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch '{hub.parent}/reached'\ncat '{gate}' > /dev/null\nexit 1\n")
    hook.chmod(0o755)
    process = start_process("create", "Interrupted", "--json", cwd=alice.path)
    while not (hub.parent / "reached").exists():
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    with open(gate, "wb"):  # let the hook end, whatever became of its client
        pass
    out, err = process.communicate()
    assert process.returncode == 130, err.decode()
    told = json.loads(out)
    assert (told["code"], told["written"]) == ("interrupted", "unknown")
    assert b"next command finds out" in err
    assert b"Traceback" not in err
    hook.unlink()
    alice.here("create", "After it")
    assert [bead["title"] for bead in alice.here("list", "--json").json] == ["After it"]


def test_the_module_and_the_script_are_the_same(board: Clone) -> None:
    script = Path(sys.executable).with_name("bd")
    if not script.exists():
        pytest.skip("bd is not installed as a script here")
    run = subprocess.run([str(script), "version"], capture_output=True, text=True, cwd=board.path)
    assert run.stdout == board.here("version").out
