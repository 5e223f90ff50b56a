"""A command's process tree ends with the command that bd started it as, by bd's wish, and with bd."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bd.processes import tree as tree_module
from bd.processes.tree import ProcessTree
from tests.fleet.poolhost import is_alive
from tests.processes.commands import KINDS, all_gone, hard_to_end, pids_of
from tests.waiting import until

pytestmark = [
    pytest.mark.one_in(5),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere daemons leave their tree"),
]

STARTER = """
import sys
from bd.processes.tree import ProcessTree
tree = ProcessTree(sys.argv[1:], grace_s=0.2)
print(tree.pid, flush=True)
tree.wait()
"""


def supervisor_of(tree: ProcessTree) -> int:
    return tree._process.pid


@pytest.mark.parametrize("kind", KINDS)
def test_a_killed_tree_is_gone(kind: str, tmp_path: Path) -> None:
    tree = ProcessTree(hard_to_end(kind, tmp_path / "said"), grace_s=60)
    pids = pids_of(kind, tmp_path / "said")
    tree.kill()
    tree.wait()
    assert all_gone(pids), "already when its end is known"


@pytest.mark.parametrize("kind", KINDS)
def test_a_tree_ends_with_whoever_started_it(kind: str, tmp_path: Path) -> None:
    starter = subprocess.Popen([sys.executable, "-c", STARTER, *hard_to_end(kind, tmp_path / "said")], stdout=subprocess.PIPE)
    pids = pids_of(kind, tmp_path / "said")
    starter.kill()
    starter.communicate()
    until(lambda: all_gone(pids))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_the_supervisor_ends_the_tree(kind: str, number: int, tmp_path: Path) -> None:
    tree = ProcessTree(hard_to_end(kind, tmp_path / "said"), grace_s=0.2)
    pids = pids_of(kind, tmp_path / "said")
    os.kill(supervisor_of(tree), number)
    tree.wait()
    assert all_gone(pids)


def test_a_killed_supervisor_takes_the_command_with_it(tmp_path: Path) -> None:
    tree = ProcessTree(hard_to_end("with a child", tmp_path / "said"), grace_s=60)
    pids = pids_of("with a child", tmp_path / "said")
    os.kill(supervisor_of(tree), signal.SIGKILL)
    assert tree.wait() == -signal.SIGKILL
    until(lambda: all_gone(pids))


def test_what_is_asked_to_end_has_its_time_and_then_its_rest_is_killed(tmp_path: Path) -> None:
    said = tmp_path / "said"
    script = f"(trap '' TERM; echo $$ >> {said}; exec sleep 86400) & trap 'echo bye >> {tmp_path}/bye; exit 7' TERM; sleep 86400 & wait"
    tree = ProcessTree(script, grace_s=0.5)
    until(said.exists)
    tree.terminate()
    assert tree.wait() == 7
    assert (tmp_path / "bye").exists()
    assert not is_alive(int(said.read_text()))


def test_what_the_command_has_left_has_its_time_too(tmp_path: Path) -> None:
    """A shell ends at once by TERM; the program that it runs may need a moment."""
    slow = f"trap 'sleep 0.3; echo bye >> {tmp_path}/bye; exit' TERM; echo > {tmp_path}/ready; sleep 86400 & wait"
    for script in (f'sh -c "{slow}"; true', f'setsid sh -c "{slow}" & sleep 86400'):
        tree = ProcessTree(script, grace_s=60)
        until((tmp_path / "ready").exists)
        tree.terminate()
        assert tree.wait() == -signal.SIGTERM
        (tmp_path / "bye").unlink()
        (tmp_path / "ready").unlink()


def test_what_a_command_leaves_running_when_it_ends_by_itself_goes_on(tmp_path: Path) -> None:
    tree = ProcessTree(f"sleep 86400 > /dev/null 2>&1 & echo $! > {tmp_path}/left", grace_s=60)
    assert tree.wait() == 0
    left = int((tmp_path / "left").read_text())
    assert is_alive(left)
    os.kill(left, signal.SIGKILL)


@pytest.fixture
def no_subreaper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A supervisor as on a system where it can't adopt the orphans of its tree."""
    text = Path(tree_module._SUPERVISOR).read_text()
    assert 'sys.platform == "linux"' in text
    (tmp_path / "supervisor.py").write_text(text.replace('sys.platform == "linux"', "False"))
    monkeypatch.setattr(tree_module, "_SUPERVISOR", str(tmp_path / "supervisor.py"))


@pytest.mark.usefixtures("no_subreaper")
def test_without_a_subreaper_the_commands_group_ends_with_it(tmp_path: Path) -> None:
    tree = ProcessTree(hard_to_end("with a child", tmp_path / "said"), grace_s=0.2)
    pids = pids_of("with a child", tmp_path / "said")
    tree.terminate()
    assert tree.wait() == -signal.SIGTERM
    assert all_gone(pids)


@pytest.mark.usefixtures("no_subreaper")
def test_without_a_subreaper_the_commands_group_has_its_time_too(tmp_path: Path) -> None:
    slow = f"trap 'sleep 0.3; echo bye >> {tmp_path}/bye; exit' TERM; echo > {tmp_path}/ready; sleep 86400 & wait"
    tree = ProcessTree(f'sh -c "{slow}"; true', grace_s=60)
    until((tmp_path / "ready").exists)
    tree.terminate()
    assert tree.wait() == -signal.SIGTERM
    assert (tmp_path / "bye").exists()


@pytest.mark.parametrize("kind", ["with a daemon", "deaf with daemons"])
def test_a_tree_that_outlives_its_starter_is_watched_to_its_last_process(kind: str, tmp_path: Path) -> None:
    said = tmp_path / "said"
    words = ["/bin/sh", "-c", '"$@" & exit 3', "sh", *hard_to_end(kind, said)]
    tree = ProcessTree(words, grace_s=0.2, outlives=True)
    pids = pids_of(kind, said)
    assert tree.poll() is None
    tree.terminate()
    assert tree.wait() == 3
    assert all_gone(pids)


@pytest.mark.parametrize(
    ("command", "code"),
    [("exit 0", 0), ("exit 75", 75), ("kill -TERM $$", -15), ("kill -KILL $$", -9), ("kill -HUP 0", -1), ("kill -KILL 0", -9)],
)
def test_the_end_is_told_as_it_was(command: str, code: int) -> None:
    assert ProcessTree(command, grace_s=1).wait() == code


def test_streams_folder_environment_and_ignored_signals_are_the_command_s_own(tmp_path: Path) -> None:
    script = f"cat; pwd; echo $X; grep -E 'SigIgn|SigBlk' /proc/self/status; ls /proc/self/fd | wc -l; cd {tmp_path}"
    plain = subprocess.run(
        ["/bin/sh", "-c", script], cwd="/", env={"X": "1", "PATH": os.environ["PATH"]}, input=b"in\n", stdout=-1
    )
    (tmp_path / "in").write_bytes(b"in\n")
    with (tmp_path / "in").open("rb") as stdin, (tmp_path / "out").open("wb") as out:
        tree = ProcessTree(script, grace_s=1, cwd="/", env={"X": "1", "PATH": os.environ["PATH"]}, stdin=stdin, stdout=out)
        assert tree.wait() == 0
    assert (tmp_path / "out").read_bytes() == plain.stdout


@pytest.mark.parametrize(
    ("words", "error"),
    [(["/nowhere/to/be/found"], FileNotFoundError), (["/etc/passwd"], PermissionError), (["a\0b"], ValueError)],
)
def test_what_can_t_be_started_says_why(words: list[str], error: type[Exception], tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(error):
        ProcessTree(words, grace_s=1)
    with pytest.raises(FileNotFoundError):
        ProcessTree(["true"], grace_s=1, cwd=tmp_path / "nowhere")
    assert len(os.listdir("/proc/self/fd")) == before
