"""What never reached the hub: text is kept and named, whichever way it was lost; a claim lapses; what did arrive is not kept."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from bd.store.local.lock import CloneLock
from tests.race.history import subjects
from tests.race.seeds import seed
from tests.race.test_many_clones import LOOK_FIRST, asks_and_dies, intents
from tests.race.test_one_clone import waiting
from tests.running import result_of
from tests.runtime import RUNTIME
from tests.truth import git, tip_bead
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.running import Clone

    Clones = Callable[[str], Clone]

pytestmark = pytest.mark.one_in(15)

WORDS = "words of somebody"
WRITES = {
    "create": ["create", WORDS],
    "update": ["update", "hub-a", "--title", WORDS],
    "comment": ["comment", "hub-a", WORDS],
    "close": ["close", "hub-a", "--reason", WORDS],
}


def kept(clone: Clone) -> list[str]:
    """The refs under which a clone keeps what was lost."""
    return git(clone.path, "for-each-ref", "--format=%(refname)", "refs/bd/kept").split()


def entry_of(clone: Clone, **changes: object) -> dict[str, object]:
    """The one journal entry of a clone, changed as a test wants it."""
    (path,) = (path for path in (clone.path / ".git" / "bd" / "journal").iterdir() if path.suffix in (".json", ".taken"))
    entry = {**json.loads(path.read_text().splitlines()[-1]), **changes}
    path.write_text(json.dumps(entry) + "\n")
    return entry


def left(clone: Clone) -> list[str]:
    return [path.name for path in (clone.path / ".git" / "bd" / "journal").iterdir()]


def cut(alice: Clone, bob: Clone, hub: Path, words: list[str]) -> None:
    """Its push never arrives, and somebody else's does."""
    alice.bd(*words, env={"BD_TEST_STOP_AT": "push"}, code=137)
    bob.bd("comment", "hub-b", "in between")


def asked(alice: Clone, bob: Clone, hub: Path, words: list[str]) -> None:
    """It was only asked for, and its intent is gone."""
    asks_and_dies(alice, hub, bob, *words)
    entry_of(alice, commits=None)
    git(hub, "update-ref", "-d", intents(hub)[0])


def taken(alice: Clone, bob: Clone, hub: Path, words: list[str]) -> None:
    """A neighbour took it over and never came back; its author was told that nobody knows."""
    with CloneLock(str(alice.path / ".git" / "bd" / "lock"), 60, RUNTIME):
        process = alice.start(*words, "--json", env={"BD_LOCK_TIMEOUT": "0.2"})
        until(lambda: bool(waiting(alice)), every_s=0.005)
        (path,) = (alice.path / ".git" / "bd" / "journal").glob("*.json")
        path.rename(path.with_suffix(".taken"))
        result = result_of(process)
    assert (result.code, result.json["written"]) == (6, "unknown")


@pytest.mark.one_in(45)
@pytest.mark.parametrize("lose", [cut, asked, taken])
@pytest.mark.parametrize("what", WRITES)
def test_text_that_never_arrived_is_kept_and_named(
    what: str, lose: Callable[[Clone, Clone, Path, list[str]], None], clone: Clones, hub: Path
) -> None:
    alice, bob = clone("alice"), clone("bob")
    seed(alice, "hub-a", "hub-b")
    lose(alice, bob, hub, WRITES[what])
    told = [alice.here("comment", "hub-b", f"after {number}", env=LOOK_FIRST).err for number in range(2)]
    (ref,) = kept(alice)
    assert WORDS in git(alice.path, "show", ref)
    assert f"{what}: " in "".join(told)
    assert "is kept" in "".join(told)
    uid = ref.rpartition("/")[2]
    assert uid in alice.here("sync", "--kept").out
    assert uid in alice.here("doctor").out
    assert left(alice) == []
    assert WORDS not in git(hub, "log", "--format=%B", "main")


@pytest.mark.parametrize("lose", [cut, asked, taken])
def test_a_claim_lapses_and_says_so(lose: Callable[[Clone, Clone, Path, list[str]], None], clone: Clones, hub: Path) -> None:
    alice, bob = clone("alice"), clone("bob")
    seed(alice, "hub-a", "hub-b")
    lose(alice, bob, hub, ["claim", "hub-a", "--agent", "coder"])
    told = [alice.here("comment", "hub-b", f"after {number}", env=LOOK_FIRST).err for number in range(2)]
    assert "lapsed" in "".join(told)
    assert "hub-a" in "".join(told)
    assert (kept(alice), left(alice), subjects(hub, "claim")) == ([], [], [])


@pytest.mark.parametrize(
    ("words", "code"), [(["claim", "hub-a", "--agent", "third"], 5), (["comment", "hub-nonsense", "to nobody"], 4)]
)
def test_a_command_that_is_refused_says_what_it_found_out(words: list[str], code: int, clone: Clones, hub: Path) -> None:
    alice, bob = clone("alice"), clone("bob")
    seed(alice, "hub-a", "hub-b")
    alice.bd("claim", "hub-a", "--agent", "coder", env={"BD_TEST_STOP_AT": "push"}, code=137)
    bob.bd("claim", "hub-a", "--agent", "other")
    assert alice.here(*words, env=LOOK_FIRST, code=code).err.count("lapsed") == 1
    assert left(alice) == []


def test_what_arrived_under_the_same_uid_is_not_kept(clone: Clones, hub: Path) -> None:
    """Another try of the same operation landed, whose commit the journal does not name."""
    alice = clone("alice")
    seed(alice, "hub-a")
    alice.bd(*WRITES["comment"], env={"BD_TEST_STOP_AT": "pushed"}, code=137)
    (path,) = (alice.path / ".git" / "bd" / "journal").glob("*.json")
    entry = json.loads(path.read_text().splitlines()[-1])
    (commit,) = entry["commits"]
    message = git(alice.path, "log", "-1", "--format=%B", commit).replace("Bd-Tries: 1", "Bd-Tries: 2").encode()
    twin = git(alice.path, "commit-tree", f"{commit}^{{tree}}", "-p", entry["base"], data=message + b"\n")
    assert twin != commit
    entry_of(alice, commits=[twin])
    assert "did not reach" not in alice.here("comment", "hub-a", "after", env=LOOK_FIRST).err
    assert (kept(alice), left(alice)) == ([], [])
    assert len(subjects(hub, "comment")) == 2


def test_what_was_asked_for_and_refused_is_kept_with_the_refusal(clone: Clones, hub: Path) -> None:
    alice, bob, hand = clone("alice"), clone("bob"), clone("hand")
    seed(alice, "hub-a", "hub-b")
    asks_and_dies(alice, hub, hand, *WRITES["close"])
    git(hand.path, "pull", "--quiet", "--rebase")
    file = hand.path / "beads" / "hub-a.yaml"
    file.write_text(file.read_text() + "depends_on: [hub-b]\n")
    git(hand.path, "commit", "--quiet", "--all", "-m", "waits by hand")
    git(hand.path, "push", "--quiet", "origin", "HEAD")
    bob.here("comment", "hub-b", "refuses it", env=LOOK_FIRST)
    assert intents(hub) == []
    told = alice.here("comment", "hub-b", "after", env=LOOK_FIRST).err
    (ref,) = kept(alice)
    assert WORDS in git(alice.path, "show", ref)
    assert "it was refused: " in told
    bead = tip_bead(hub, "hub-a")
    assert bead is not None
    assert bead.status == "open"
    assert left(alice) == []
