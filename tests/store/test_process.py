"""Programs are started, fed, read and ended the same way by posix_spawn and by subprocess."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from bd.store.git import process

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(not process.HAS_SPAWN, reason="there is only the one way here")
LARGE = b"0123456789abcdef" * 40_000  # more than a pipe holds


@pytest.fixture(params=["spawned", "portable"], autouse=True)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "portable":
        monkeypatch.setattr(process, "HAS_SPAWN", False)
    return str(request.param)


def shell(words: str, *, stdin: bool = False, **more: str) -> process.Process:
    return process.start(["sh", "-c", words], {**os.environ, **more}, stdin=stdin)


def test_output_errors_and_exit_code_come_apart() -> None:
    running = shell("echo out; echo err >&2; exit 3")
    assert running.communicate(None, 30) == (b"out\n", b"err\n")
    assert (running.returncode, running.wait()) == (3, 3)


def test_the_environment_is_the_one_that_was_given() -> None:
    assert shell('echo "$ONE"', ONE="é two").communicate(None, 30)[0] == "é two\n".encode()


def test_without_input_a_program_reads_nothing() -> None:
    assert shell("cat; echo end").communicate(None, 30) == (b"end\n", b"")


@pytest.mark.parametrize("data", [b"", b"few", LARGE], ids=["nothing", "little", "much"])
def test_what_is_fed_comes_back_whole(data: bytes) -> None:
    assert shell("tee /dev/stderr", stdin=True).communicate(data, 30) == (data, data)


def test_a_program_that_does_not_read_its_input_is_no_error() -> None:
    running = shell("exec <&-; echo done", stdin=True)
    assert running.communicate(LARGE, 30) == (b"done\n", b"")
    assert running.wait() == 0


def test_much_on_both_streams_at_once_does_not_block() -> None:
    out, err = shell("(head -c 300000 /dev/zero >&2) & head -c 400000 /dev/zero; wait").communicate(None, 30)
    assert (len(out), len(err)) == (400_000, 300_000)


def test_who_takes_too_long_goes_on_until_it_is_ended() -> None:
    running = shell("echo begun; exec sleep 600")
    with pytest.raises(TimeoutError):
        running.communicate(None, 0.3)
    running.kill()
    running.close()
    assert running.wait() == -signal.SIGKILL
    running.kill()  # once more does nothing


def test_who_gets_on_may_take_as_long_as_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit is one on silence: here each look at the clock finds it ten seconds later."""
    now_s = itertools.count(0.0, 10.0)
    monkeypatch.setattr("bd.store.git.process.monotonic", lambda: next(now_s))
    running = shell("for line in 1 2 3 4 5 6 7 8 9; do echo $line >&2; sleep 0.01; done; echo end")
    assert running.communicate(None, 40)[0] == b"end\n"


def test_who_has_closed_its_streams_and_goes_on_takes_too_long_too() -> None:
    running = shell("exec >&- 2>&-; exec sleep 600")
    with pytest.raises(TimeoutError):
        running.communicate(None, 0.3)
    running.kill()
    running.close()


def test_what_a_killed_program_has_started_is_not_waited_for(tmp_path: Path) -> None:
    running = shell(f"sleep 600 & echo $! >{tmp_path}/pid; exec sleep 600")
    with pytest.raises(TimeoutError):
        running.communicate(None, 1)
    running.kill()
    running.close()
    os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)  # it is still there, and holds the pipes


def test_the_signal_that_ended_it_is_told() -> None:
    running = shell("kill -TERM $$")
    running.communicate(None, 30)
    assert running.returncode == -signal.SIGTERM


def test_a_missing_program_is_told_and_leaves_nothing_open() -> None:
    before = len(os.listdir("/dev/fd"))
    with pytest.raises(FileNotFoundError):
        process.start(["no-such-program-anywhere"], dict(os.environ), stdin=True)
    assert len(os.listdir("/dev/fd")) == before


def test_nothing_stays_open_afterwards() -> None:
    before = len(os.listdir("/dev/fd"))
    shell("cat", stdin=True).communicate(b"a", 30)
    running = shell("cat", stdin=True)
    running.close()
    assert running.wait() == 0
    assert len(os.listdir("/dev/fd")) == before


def test_a_broken_pipe_ends_what_writes_into_it() -> None:
    """Python ignores SIGPIPE, and whoever it starts would inherit that."""
    words = "trap '' TERM; yes | head -1; kill -PIPE $$; echo survived"
    assert shell(words).communicate(None, 30)[0] == b"y\n"


def test_descriptors_of_whoever_started_us_are_not_handed_on(tmp_path: Path) -> None:
    lock = os.open(tmp_path / "lock", os.O_CREAT | os.O_RDWR)
    os.set_inheritable(lock, True)
    try:
        out, _ = shell(f"(true >&{lock}) 2>/dev/null && echo open || echo closed").communicate(None, 30)
    finally:
        os.close(lock)
    assert out == b"closed\n"


def test_streams_in_conversation() -> None:
    running = shell('read line; echo "got $line"; read line; echo "and $line"', stdin=True)
    assert running.stdin is not None
    assert running.stdout is not None
    for word, answer in (("one", b"got one\n"), ("two", b"and two\n")):
        running.stdin.write(f"{word}\n".encode())
        running.stdin.flush()
        assert running.stdout.readline() == answer
    running.close()
    assert running.wait() == 0


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_without_standard_streams_of_our_own(closed: str, tmp_path: Path) -> None:
    """Pipes then get the low numbers that the program's own streams have."""
    script = (
        "import os, sys\n"
        "from bd.store.git import process\n"
        "running = process.start(['sh', '-c', 'cat; echo err >&2'], dict(os.environ), stdin=True)\n"
        "found = running.communicate(b'in', 30)\n"
        f"open({str(tmp_path / 'found')!r}, 'w').write(repr(found))\n"
    )
    subprocess.run(["sh", "-c", f'exec "$0" -c "$1" {closed}', sys.executable, script], check=False, timeout=60)
    assert (tmp_path / "found").read_text() == "(b'in', b'err\\n')"
