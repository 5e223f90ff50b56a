"""A disk that fills up in the middle of a write: what its author is told is true, wherever that happens, and nothing is left behind.

The disk is full from the n-th place on at which the command writes: no file grows any more, neither bd's nor its git's. With n
from 1 on, each place is met.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import resource
import shutil
import sys
from typing import TYPE_CHECKING, Any

import pytest

from bd.store.local.journal import Journal
from bd.store.local.lock import CloneLock
from tests.race.seeds import seed
from tests.race.test_many_clones import LOOK_FIRST
from tests.runtime import RUNTIME
from tests.truth import commits, git, tip

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.race.interleaving import Interleaving
    from tests.running import Clone, Result

    Clones = Callable[[str], Clone]

# One of each kind: with text and without, with a token and without, of a bead and of none. `hub-held` is held by cat.
OPERATIONS = [
    "comment hub-a Look_here",
    "create Another",
    "update hub-a --priority 0",
    "claim hub-a --agent ben",
    "claim --next --agent ben",
    "close hub-held --agent cat",
    "release hub-held --reason Enough --agent cat",
    "fail hub-held --reason crash --error Broken --agent cat",
    "dep add hub-a hub-b",
    "cancel hub-a --reason Enough",
    "agent add dan",
    "config set retry_time 30s",
]
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_EVENTS = frozenset({"os.mkdir", "os.posix_spawn", "os.remove", "os.rename", "sqlite3.connect"})


class Disk:
    """A disk with room up to the `full_at`-th place of a command that writes (counted from 1)."""

    current: Disk | None = None

    def __init__(self, full_at: int) -> None:
        self._full_at = full_at
        self._place = 0

    @property
    def was_full(self) -> bool:
        return self._place >= self._full_at

    def written(self) -> None:
        self._place += 1
        if self._place == self._full_at:
            limit(0)


def limit(size: int) -> None:
    """No file of this process, or of one that it starts, grows beyond this many bytes."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def audited(event: str, args: tuple[Any, ...]) -> None:
    if Disk.current is not None and (event in _EVENTS or (event == "open" and args[2] & _WRITING)):
        Disk.current.written()


@pytest.fixture(scope="module", autouse=True)
def hook() -> None:
    sys.addaudithook(audited)  # there until its process ends


@contextlib.contextmanager
def full(at: int) -> Iterator[Disk]:
    Disk.current = made = Disk(at)
    try:
        yield made
    finally:
        Disk.current = None
        limit(resource.RLIM_INFINITY)


@pytest.fixture
def alice(clone: Clones) -> Clone:
    made = clone("alice")
    seed(made, "hub-a", "hub-b", "hub-held")
    made.here("claim", "hub-held", "--agent", "cat")
    made.here("list", "--fetch")
    return made


def kept(clone: Clone) -> list[str]:
    """What a clone has of a write: its unpublished tip, refused changes, entries of the journal."""
    ours = clone.path / ".git" / "bd"
    refs = git(clone.path, "for-each-ref", "--format=%(refname) %(objectname)", "refs/bd/view", "refs/bd/kept").splitlines()
    entries = [path.name for path in ours.glob("journal/*")] + [path.name for path in ours.glob("journal-*")]
    return sorted(refs) + sorted(entries)


def written(told: Result) -> str:
    """The `written` of a command that had to end with exit 6."""
    assert told.code == 6, told
    return str(told.json["written"])


@pytest.mark.one_in(4)
@pytest.mark.parametrize("typed", OPERATIONS)
def test_before_the_push_nothing_is_written(alice: Clone, hub: Path, steps: Interleaving, typed: str) -> None:
    before, here = tip(hub), kept(alice)
    for place in itertools.count(1):
        steps.seen.clear()
        with full(place):
            told = alice.here(*typed.split(), "--json", env=LOOK_FIRST, check=False)
        if "push" in steps.seen:
            break
        assert (written(told), tip(hub), kept(alice)) == ("no", before, here), told
    assert place > 5


def test_a_hub_without_a_remote(local_hub: Clone, steps: Interleaving) -> None:
    seed(local_hub, "hub-a")
    before, here = tip(local_hub.path), kept(local_hub)
    for place in itertools.count(1):
        steps.seen.clear()
        with full(place):
            told = local_hub.here("comment", "hub-a", "Look here", "--json", check=False)
        if "push" in steps.seen:
            break
        assert (written(told), tip(local_hub.path), kept(local_hub)) == ("no", before, here), told
    assert place > 5


@pytest.mark.parametrize("typed", ["comment hub-a Look_here", "claim hub-a --agent ben"])
def test_who_waits_for_the_lock_has_written_nothing(alice: Clone, hub: Path, typed: str) -> None:
    before, here = tip(hub), kept(alice)
    with CloneLock(str(alice.path / ".git" / "bd" / "lock"), 60, RUNTIME):
        for place in itertools.count(1):
            with full(place) as disk:
                told = alice.here(*typed.split(), "--json", env={"BD_LOCK_TIMEOUT": "0.01"}, check=False)
            assert (written(told), kept(alice)) == ("no", here), told
            if not disk.was_full:
                break
    assert place > 3
    alice.here("sync")
    assert tip(hub) == before


def test_what_a_neighbour_has_written_is_written(alice: Clone, hub: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk fills up while its author waits for the answer: the write itself is done."""
    journal = Journal(str(alice.path / ".git" / "bd" / "journal"))

    told = {"subject": "update: hub-a", "touched": ["hub-a"], "beads": ["hub-a"]}

    def answer_it(_pause_s: float) -> None:
        [(path, _)] = journal.take(lambda _: True, 1)
        journal.answer(path, {"commit": tip(hub), "tries": 1, "answer": told})
        limit(0)

    monkeypatch.setattr(RUNTIME, "sleep", answer_it)
    with CloneLock(str(alice.path / ".git" / "bd" / "lock"), 60, RUNTIME), full(10_000):
        alice.here("update", "hub-a", "--priority", "0")
    assert kept(alice)[1:] == []


def test_what_was_kept_is_told_so(alice: Clone, hub: Path, tmp_path: Path) -> None:
    """The hub is away: the next sync publishes exactly what its author was told is kept."""
    shutil.copytree(alice.path, tmp_path / "model")
    before, away, ends = tip(hub), tmp_path / "away", set()
    for place in itertools.count(1):
        hub.rename(away)
        with full(place) as disk:
            told = alice.here("comment", "hub-a", "Look here", "--json", check=False)
        away.rename(hub)
        is_kept = told.code == 0 or written(told) == "local"
        assert (git(alice.path, "rev-parse", "refs/bd/view") != before) == is_kept, told
        ends.add((disk.was_full, is_kept))
        if not disk.was_full:
            break
        shutil.rmtree(alice.path)
        shutil.copytree(tmp_path / "model", alice.path)
    assert ends == {(True, False), (True, True), (False, True)}
    assert len(commits(hub)) == 3


@pytest.mark.slow
@pytest.mark.parametrize("typed", OPERATIONS[::3])
@pytest.mark.parametrize("env", [LOOK_FIRST, {}], ids=["fetch first", "push first"])
def test_the_rest_of_the_way(alice: Clone, hub: Path, tmp_path: Path, env: dict[str, str], typed: str) -> None:
    """From the first place to the last one: what is told as written is on the hub, what is told as not is never."""
    model = tmp_path / "model"
    for path in (hub, alice.path):
        shutil.copytree(path, model / path.name)
    before = tip(hub)
    for place in itertools.count(1):
        with full(place) as disk:
            told = alice.here(*typed.split(), "--json", env=env, check=False)
        has_landed = tip(hub) != before
        assert has_landed == (told.code == 0) or written(told) == "unknown", told
        if told.code and not has_landed:
            synced = alice.here("sync", "--json", check=False)
            assert (tip(hub) == before) or written(told) != "no", synced
            assert not list((alice.path / ".git" / "bd").glob("journal*/*")), synced
        if not disk.was_full:
            break
        for path in (hub, alice.path):
            shutil.rmtree(path)
            shutil.copytree(model / path.name, path)
    assert told.code == 0
