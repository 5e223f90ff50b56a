"""A first read in several processes: the same as in one, whatever becomes of them."""

from __future__ import annotations

import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from bd.core.schema import bead_path
from bd.store.cache import load
from bd.store.hub_location import locate
from bd.store.replica import Replica
from tests.runtime import open_clone
from tests.store.test_cache import cache_path, content
from tests.truth import git, tip

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.running import Clone

pytestmark = pytest.mark.one_in(9)

NUMBER = 450


@pytest.fixture
def many(local_hub: Clone) -> Clone:
    """A hub of some hundred beads; a few of its files can't be read."""
    stream = [f"commit {git(local_hub.path, 'symbolic-ref', 'HEAD')}\ncommitter Ada <ada@example.org> 1790000000 +0000\n"]
    stream.append(f"data 4\nmany\nfrom {tip(local_hub.path)}\n")
    for number in range(NUMBER):
        text = f"id: hub-{number:03}\ntitle: Number {number}\ndepends_on: [hub-{number // 2:03}]\nnotes: |\n  Long\n  text {number}\n"
        if number % 100 == 99:
            text = "<<<<<<< ours\n"
        stream.append(f"M 100644 inline {bead_path(f'hub-{number:03}')}\ndata {len(text)}\n{text}\n")
    subprocess.run(["git", "fast-import", "--quiet", "--force"], cwd=local_hub.path, input="".join(stream).encode(), check=True)
    return local_hub


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a machine with three cores, for which every hub is large."""
    monkeypatch.setattr(load, "WORTH_A_PROCESS", 1)
    monkeypatch.setattr(load, "_cores", lambda: 3)


@pytest.fixture
def hub(many: Clone) -> Iterator[Replica]:
    opened = open_clone(locate(str(many.path)))
    yield opened
    opened.close()


def alone(hub: Replica) -> dict[str, object]:
    """What the cache holds that this process alone has built."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(load, "_cores", lambda: 1)
        return content(hub.snapshot_aside(hub.view()).cache)


def started(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The programs that are started from now on, git apart."""
    found: list[list[str]] = []
    start = subprocess.Popen

    class Noted(subprocess.Popen):  # type: ignore[type-arg]
        def __init__(self, argv: list[str], **more: object) -> None:
            if argv[0] != "git":
                found.append(argv)
            start.__init__(self, argv, **more)  # type: ignore[call-overload]

    monkeypatch.setattr(subprocess, "Popen", Noted)
    return found


@pytest.mark.usefixtures("processes")
def test_in_processes_as_in_one(hub: Replica, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = alone(hub)
    programs = started(monkeypatch)
    seen: list[tuple[int, int]] = []
    hub.cache.move_to(hub.view(), lambda done, of: seen.append((done, of)))
    assert content(hub.cache) == expected
    assert [argv[0] for argv in programs] == [sys.executable] * 3
    assert seen == sorted(seen)
    assert seen[-1][0] == seen[-1][1] >= NUMBER, "it is told how far it is"
    assert len(hub.cache.damages()) == NUMBER // 100


def test_a_small_hub_is_read_by_one_process(hub: Replica, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load, "_cores", lambda: 64)
    programs = started(monkeypatch)
    hub.snapshot()
    assert programs == []


KILLS_ITSELF = """
import os, signal, sys
sys.path[:] = {path!r}
from bd.store.cache import load
read, done = load._read_here, []
def once(repo, piece):
    if done:
        os.kill(os.getpid(), signal.SIGKILL)
    done.append(piece)
    return read(repo, piece)
load._read_here = once
load.serve()
"""
GOES_WRONG = {
    "there is no such interpreter": ("executable", "/nowhere/python"),
    "nobody knows the interpreter": ("executable", ""),
    "it ends at once": ("serve", "raise SystemExit(1)"),
    "it never reads what it has to do": ("serve", "import sys; sys.stdin.close()"),
    "it answers nothing": ("serve", "import sys; sys.stdin.buffer.read()"),
    "it is cut off": (
        "serve",
        "import sys; sys.stdin.buffer.read(); sys.stdout.buffer.write(b'bd' + bytes([0, 0, 0, 0, 99, 99]) + b'abc')",
    ),
    "it says something else": (
        "serve",
        "import sys; sys.stdin.buffer.read(); print('Traceback: this is no answer at all ' * 99)",
    ),
    "its answer is short": (
        "serve",
        "import sys; sys.stdin.buffer.read(); sys.stdout.buffer.write(b'bd' + bytes([0, 0, 0, 0, 0, 5]) + b'[' + bytes(4))",
    ),
    "it is killed after its first answer": ("serve", KILLS_ITSELF),
}


@pytest.mark.one_in(9)
@pytest.mark.parametrize("how", GOES_WRONG)
@pytest.mark.usefixtures("processes")
def test_what_a_process_does_not_do_is_done_here(how: str, hub: Replica, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = alone(hub)
    what, value = GOES_WRONG[how]
    if what == "executable":
        monkeypatch.setattr(sys, "executable", value)
    else:
        monkeypatch.setattr(load, "_SERVE", value)
    monkeypatch.setattr(load, "PIECE", 50)
    hub.snapshot()
    assert content(hub.cache) == expected


KILLED = """
import os, signal, sys
from bd.cli.app import open_clone
from bd.cli.runtime import SystemRuntime
from bd.store.cache import load
from bd.store.hub_location import locate
load.WORTH_A_PROCESS, load._cores = 1, lambda: 3
hub = open_clone(locate(), SystemRuntime())
def on_progress(done, of):
    if done >= of * int(sys.argv[1]) // 100:
        os.kill(os.getpid(), signal.SIGKILL)
hub.cache.move_to(hub.view(), on_progress)
"""


@pytest.mark.parametrize("percent", [1, 50, 100])
def test_whoever_is_killed_while_building_it_leaves_nothing_wrong(percent: int, many: Clone, hub: Replica) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, str(percent)], cwd=many.path, capture_output=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    folder = cache_path(many).parent
    left = {path.name for path in folder.glob("cache*")}
    name = cache_path(many).name
    assert left <= {name, f"{name}-wal", f"{name}-shm"}
    hub.snapshot()
    assert content(hub.cache) == alone(hub)
    assert many.bd("count").out.strip() == str(NUMBER - NUMBER // 100)


@pytest.mark.usefixtures("processes")
def test_a_process_that_nobody_listens_to_ends(hub: Replica) -> None:
    """As when whoever started it was killed: its answers go nowhere."""
    entries = hub.repo.diff(None, hub.view(), "beads")
    with load._Reader(hub.repo, [entries[:100]] * 50) as reader:
        assert reader.answer(100) is not None
        process = reader._process
        assert process is not None
        assert process.stdout is not None
        process.stdout.close()
        assert process.wait() != 0
