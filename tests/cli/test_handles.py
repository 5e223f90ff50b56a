"""Every kind of command with every kind of handle that takes nothing: the exit code says what is in the hub's history."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, NamedTuple

import click
import pytest

from bd.cli.click_commands import bd
from bd.cli.table import DEEDS, is_deed
from tests.running import BD, Clone
from tests.truth import git, tip, tip_bead

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Run = Callable[..., tuple[int, bytes, bytes]]

pytestmark = pytest.mark.one_in(15)

TITLE = "Größe 日本"


class Handles(NamedTuple):
    """What a command is started with: redirections of a shell, or a pipe without a reader; and what the locale says."""

    redirection: str = ""
    broken: str = ""
    env: tuple[tuple[str, str], ...] = ()

    @property
    def takes_nothing(self) -> bool:
        return ">/dev/full" in self.redirection.split()

    @property
    def is_untold(self) -> bool:
        """Whether what is written to stdout reaches nobody, and nobody wanted that."""
        return self.takes_nothing or ">&-" in self.redirection.split() or self.broken == "stdout"


HANDLES = {
    "stdout closed": Handles(">&-"),
    "stderr closed": Handles("2>&-"),
    "stdout and stderr closed": Handles(">&- 2>&-"),
    "all closed": Handles("<&- >&- 2>&-"),
    "stdout full": Handles(">/dev/full"),
    "stderr full": Handles("2>/dev/full"),
    "nobody reads stdout": Handles(broken="stdout"),
    "nobody reads stderr": Handles(broken="stderr"),
    "ascii": Handles(env=(("PYTHONIOENCODING", "ascii"),)),
    "latin-1": Handles(env=(("PYTHONIOENCODING", "latin-1"), ("LC_ALL", "C"), ("PYTHONUTF8", "0"))),
}
# What only answers, and what changes the hub with the verb of its commit.
READS = ("list --json", "ready", "doctor", "version", "--help", "close --help", "delete hub-two --dry-run")
WRITES = {
    f"create|{TITLE}|--json": "create",
    "claim|--next|--agent|k1": "claim",
    "comment|hub-two|é": "comment",
    "close|hub-two|--reason|ü": "close",
}


_TELL_HANDLES = """
import os
from bd.cli.output import prepare_streams
prepare_streams()
null = os.stat(os.devnull).st_rdev
told = [os.fstat(number).st_rdev == null and os.get_inheritable(number) for number in range(3)]
open(os.environ["TOLD"], "w").write(repr(told))
"""


@pytest.fixture
def run(clone: Callable[[str], Clone]) -> Run:
    """`run(handles, "list", "--json")`: a real command in a clone with two beads; its exit code, stdout, stderr."""
    alice = clone("alice")
    alice.here("create", TITLE, "--id", "hub-one", "-p", "1")
    alice.here("create", "Two", "--id", "hub-two", "-p", "3")

    def started(handles: Handles, *args: str) -> tuple[int, bytes, bytes]:
        ours, theirs = os.pipe()
        os.close(ours)
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        if handles.broken:
            streams[handles.broken] = theirs
        shell = ["sh", "-c", f'exec "$@" {handles.redirection}', "sh", *BD, *args]
        env = {**os.environ, **dict(handles.env)}
        ended = subprocess.run(shell, cwd=alice.path, stdin=subprocess.DEVNULL, env=env, check=False, **streams)  # type: ignore[call-overload]
        os.close(theirs)
        out, err = ended.stdout or b"", ended.stderr or b""
        assert b"Traceback" not in out + err, (args, err.decode())
        assert b"bug" not in err, (args, err.decode())
        return ended.returncode, out, err

    return started


@pytest.fixture(params=HANDLES)
def handles(request: pytest.FixtureRequest) -> Handles:
    """Each kind of handles; /dev/full is one of Linux."""
    found = HANDLES[request.param]
    if "/dev/full" in found.redirection and not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full here")
    return found


@pytest.mark.one_in(40)
def test_the_exit_code_of_a_write_says_what_is_in_the_history(handles: Handles, run: Run, hub: Path) -> None:
    for words, verb in WRITES.items():
        before = tip(hub)
        code, out, err = run(handles, *words.split("|"))
        subjects = git(hub, "log", "--format=%s", f"{before}..main").splitlines()
        assert (code, [subject.partition(":")[0] for subject in subjects]) == (0, [verb]), err.decode()
        assert b"try again" not in err
        if handles.takes_nothing and "2>" not in handles.redirection:
            assert b"the command itself succeeded" in err
        if words.endswith("--json") and not handles.is_untold:
            assert json.loads(out.decode("utf-8"))["title"] == TITLE
    assert run(handles, "close", "hub-nope", "--json")[0] == 4
    assert run(handles, "sync")[0] == 0


@pytest.mark.one_in(30)
@pytest.mark.parametrize(
    "handles", [name for name in HANDLES if "stdout" in name or name in ("all closed", "ascii")], indirect=True
)
def test_a_read_that_nobody_can_read_has_failed(handles: Handles, run: Run, hub: Path) -> None:
    before = tip(hub)
    for words in READS:
        code, out, err = run(handles, *words.split())
        assert code == (6 if handles.takes_nothing else 0), (words, err.decode())
        if handles.takes_nothing and "2>" not in handles.redirection:
            assert b"Error: could not write the output: No space left on device\n" in err
        if words == "list --json" and not handles.is_untold:
            assert TITLE in {bead["title"] for bead in json.loads(out.decode("utf-8"))}
    assert tip(hub) == before


def test_what_stands_without_its_words_are_commands() -> None:
    for words in DEEDS:
        name, _, sub = words.partition(" ")
        command = bd.get_command(click.Context(bd), name)
        assert command is not None, words
        assert not sub or sub in command.commands, words  # type: ignore[attr-defined]
    assert is_deed(["init", "folder"])
    assert not is_deed(["init", "--help"])
    assert not is_deed(["config", "get", "prefix"])


@pytest.mark.parametrize("name", ["stdout closed", "all closed", "stdout full", "nobody reads stdout"])
def test_a_claim_that_nobody_was_told_of_is_told_by_the_next(name: str, run: Run, hub: Path) -> None:
    handles = HANDLES[name]
    assert run(handles, "claim", "--next", "--agent", "k1")[0] == 0
    after = tip(hub)
    code, out, _ = run(Handles(), "claim", "--next", "--agent", "k1", "--json")
    (told,) = json.loads(out)
    assert (code, told["id"], tip(hub)) == (0, "hub-one", after)
    held = tip_bead(hub, "hub-one")
    assert held is not None
    assert held.claim is not None
    assert held.claim.token == told["claim"]["token"]


def test_a_long_answer_fails_as_a_short_one(run: Run, hub: Path, tmp_path: Path) -> None:
    """More than any buffer holds: the failure comes in the middle of the answer, not at its end."""
    Clone(tmp_path / "alice").here("create", "Long", "--id", "hub-long", "--description", "x\n" * 100_000)
    for args in (["list", "--json"], ["export"], ["show", "hub-long"]):
        assert run(HANDLES["stdout full"], *args)[0] == 6
        assert run(HANDLES["nobody reads stdout"], *args) == (0, b"", b"")
    assert run(HANDLES["stdout full"], "update", "hub-long", "--title", "New", "--json")[0] == 0
    made = tip_bead(hub, "hub-long")
    assert made is not None
    assert made.title == "New"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_what_is_done_beside_the_hub_is_done(run: Run, tmp_path: Path) -> None:
    full = HANDLES["stdout full"]
    assert run(full, "config", "set", "agent", "k2", "--clone")[0] == 0
    assert Clone(tmp_path / "alice").here("config", "get", "agent").out == "k2\n"
    assert run(full, "config", "get", "agent")[0] == 6
    code, _, err = run(full, "poll", "--agent", "k2")
    assert (code, b"the command itself succeeded" in err) == (0, True)
    assert run(full, "init")[0] == 0


def test_a_pipe_that_does_not_wait_gets_everything(clone: Callable[[str], Clone]) -> None:
    alice = clone("alice")
    alice.here("create", "Long", "--description", "x\n" * 50_000)
    ours, theirs = os.pipe()
    os.set_blocking(theirs, False)
    with subprocess.Popen([*BD, "list", "--json"], cwd=alice.path, stdout=theirs) as process, open(ours, "rb") as reading:
        os.close(theirs)
        (bead,) = json.loads(reading.read())
    assert (process.returncode, len(bead["description"])) == (0, 100_000)


def test_no_file_gets_the_number_of_a_closed_handle() -> None:
    ours, theirs = os.pipe()
    os.set_inheritable(theirs, True)
    env = {**os.environ, "TOLD": f"/dev/fd/{theirs}"}
    shell = ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", sys.executable, "-c", _TELL_HANDLES]
    subprocess.run(shell, pass_fds=[theirs], env=env, check=True)
    os.close(theirs)
    with open(ours, encoding="ascii") as told:
        assert told.read() == "[True, True, True]"


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-16"])
def test_stdin_is_utf_8_whatever_the_locale(encoding: str, clone: Callable[[str], Clone], hub: Path) -> None:
    alice = clone("alice")
    env = {"PYTHONIOENCODING": encoding, "LC_ALL": "C", "PYTHONUTF8": "0"}
    alice.bd("create", "t", "--id", "hub-in", "--description", "-", input="é 日本\r\nend\n", env=env)
    made = tip_bead(hub, "hub-in")
    assert made is not None
    assert made.get("description") == "é 日本\r\nend\n"


def test_stdin_that_is_not_utf_8_is_bad_input(clone: Callable[[str], Clone], hub: Path) -> None:
    alice, before = clone("alice"), tip(hub)
    env = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    ended = subprocess.run(
        [*BD, "create", "t", "--description", "-"], cwd=alice.path, input=b"\xe9", capture_output=True, env=env
    )
    assert (ended.returncode, tip(hub)) == (2, before), ended.stderr.decode()
