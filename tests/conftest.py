"""What every test stands on: a sealed environment, hubs, clones, a clock.

| fixture | what it is |
| --- | --- |
| `sealed` | always on: own HOME and git configuration, no GIT_*, BD_*, BEADS_* from outside, only the file protocol, cwd is tmp_path |
| `remote` | the path of a fresh, empty bare repository |
| `hub` | the path of a bare repository that `bd init` has made a hub on, prefix `hub` |
| `clone("alice")` | a plain `git clone` of `hub` at tmp_path/alice: `.path`, `.bd(...)` (a process), `.here(...)` (this process) |
| `local_hub` | a hub without a remote at tmp_path/local, with the same methods |
| `bd(*args, cwd=...)` | the command line's entry in this process |
| `clock` | a settable fake for the clock; processes take `BD_TEST_CLOCK_OFFSET_S` instead |
| `bead_factory("hub-a", ...)` | Bead values with defaults |
| `browser` | a real browser, see `tests/browser.py`; skips the test where there is none |

`tests/truth.py` looks at a repository with git alone; `tests/running.py` runs commands;
`tests/memory.py` holds beads without git.
"""

from __future__ import annotations

import gc
import os
import random
import shutil
import signal
import subprocess
import tempfile
import threading
import zlib
from collections import defaultdict
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from tests.clocks import FakeClock
from tests.memory import make_bead
from tests.running import BD, Clone, Result, run_here
from tests.runtime import RUNTIME
from tests.sealing import seal, sealed_environment
from tests.truth import git

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from bd.core.model import Bead
    from tests.browser import Browser

# How long an example takes says nothing about whether it is right; time belongs to bench/. Where CI is set, Hypothesis tries
# the same examples every time: a change is not stopped by what it has nothing to do with.
settings.register_profile("bd", deadline=None, print_blob=True, max_examples=50)
settings.register_profile("deep", deadline=None, print_blob=True, max_examples=3000)  # --hypothesis-profile=deep
settings.load_profile("bd")

# Git in tests writes many small files: in memory, where there is room for them, it takes two thirds of the time.
_IN_MEMORY = "/dev/shm"
_ROOM = 4 << 30


def pytest_configure() -> None:
    """Put the tests' folders into memory, unless TMPDIR says where they belong; and collect tests without collecting garbage.

    Tests send signals that nohup, or a shell with `&`, has everything ignore that it starts.
    """
    gc.disable()
    for name, handler in {"SIGINT": signal.default_int_handler, "SIGHUP": signal.SIG_DFL, "SIGQUIT": signal.SIG_DFL}.items():
        if hasattr(signal, name) and signal.getsignal(getattr(signal, name)) is signal.SIG_IGN:
            signal.signal(getattr(signal, name), handler)
    if "TMPDIR" not in os.environ and os.access(_IN_MEMORY, os.W_OK) and shutil.disk_usage(_IN_MEMORY).free > _ROOM:
        os.environ["TMPDIR"] = _IN_MEMORY
        tempfile.tempdir = None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of the cases of a test, or of the tests of a module, with `one_in(n)`, leave one in n quick; the others run with the slow tests.

    Their hashes decide which.
    """
    alike: dict[str, list[pytest.Item]] = defaultdict(list)
    one_in: dict[str, int] = {}
    for item in items:
        for node, marker in item.iter_markers_with_node("one_in"):
            name = node.nodeid.partition("[")[0]
            alike[name].append(item)
            one_in[name] = marker.args[0]
            break  # the test's own comes before its module's
    for name, found in alike.items():
        quick = -(-len(found) // one_in[name])
        for item in sorted(found, key=lambda item: zlib.crc32(item.nodeid.encode()))[quick:]:
            item.add_marker("slow")


def pytest_collection_finish() -> None:
    """What was collected stays until the end: looking for garbage in it, again and again, took a third of collecting."""
    gc.enable()
    gc.freeze()


@pytest.fixture(autouse=True)
def nobody_left() -> Iterator[None]:
    """No thread of bd's outlives its test: it would call what a later one has put in the place of the clock or of git."""
    before = set(threading.enumerate())
    yield
    left = [thread for thread in threading.enumerate() if thread not in before and _is_of_bd(thread)]
    for thread in left:
        thread.join(10)
    assert not [thread for thread in left if thread.is_alive()]


def _is_of_bd(thread: threading.Thread) -> bool:
    target = getattr(thread, "_target", None)
    modules = (type(thread).__module__, getattr(target, "__module__", None) or "")
    return thread.name.startswith("bd ") or any(module.partition(".")[0] == "bd" for module in modules)


@pytest.fixture(autouse=True)
def sealed(nobody_left: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Own HOME and git configuration, and nothing of the machine's; the test starts in tmp_path."""
    seal(monkeypatch, tmp_path / "home")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def rng() -> random.Random:
    """Randomness that is the same every time."""
    return random.Random(20260221)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeClock:
    """The clock of this process: stands still until it is set or moved."""
    fake = FakeClock()
    monkeypatch.setattr(RUNTIME, "now", fake.read)
    return fake


@pytest.fixture
def bead_factory() -> Callable[..., Bead]:
    """`bead_factory("hub-a", depends_on=["hub-b"])`: a bead with defaults for what is not said."""
    return make_bead


@pytest.fixture
def bd() -> Callable[..., Result]:
    """`bd("list", "--json", cwd=path)`: run in this process; `check=False` or `code=5` where it is to fail."""
    return run_here


@pytest.fixture
def browser() -> Iterator[Browser]:
    """Chromium without a window: `browser.open(url)` is a page of Playwright's."""
    from tests.browser import started

    with started() as running:
        yield running


# --- repositories -----------------------------------------------------------------------


@pytest.fixture(scope="session")
def templates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Hubs made once and copied by every test: `hub.git` with a hub on it, `local` without a remote."""
    folder = tmp_path_factory.mktemp("templates")
    environment = sealed_environment(folder / "home")
    for command in (
        ["git", "init", "--quiet", "--bare", "hub.git"],
        [*BD, "init", "first", "--prefix", "hub", "--remote", str(folder / "hub.git")],
        [*BD, "init", "local", "--prefix", "hub"],
    ):
        subprocess.run(command, cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
    for sample in folder.rglob("*.sample"):  # most of the files that each test would copy
        sample.unlink()
    return folder


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    """A fresh bare repository, empty."""
    path = tmp_path / "remote.git"
    git(tmp_path, "init", "--quiet", "--bare", str(path))
    return path


@pytest.fixture
def hub(tmp_path: Path, templates: Path) -> Path:
    """A bare repository that is a hub with the prefix `hub` and no beads."""
    path = tmp_path / "hub.git"
    shutil.copytree(templates / "hub.git", path)
    return path


@pytest.fixture
def clone(tmp_path: Path, hub: Path) -> Callable[[str], Clone]:
    """`clone("alice")`: a plain git clone of the hub, bd's first command in it is the test's own."""

    def make(name: str) -> Clone:
        git(tmp_path, "clone", "--quiet", str(hub), str(tmp_path / name))
        return Clone(tmp_path / name)

    return make


@pytest.fixture
def local_hub(tmp_path: Path, templates: Path) -> Clone:
    """A hub without a remote: the branch is the hub."""
    path = tmp_path / "local"
    shutil.copytree(templates / "local", path)
    return Clone(path)
