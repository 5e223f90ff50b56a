"""Two versions of bd on one clone and on one hub: nobody's operation is decided by other rules than its author's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import bd
from bd.core.versions import REQUEST, rules, rules_of
from bd.store.group_commit import local
from bd.store.local.journal import Journal
from bd.store.local.lock import CloneLock
from tests.hub.hooks import git_wrapper
from tests.race.history import subjects
from tests.race.seeds import seed
from tests.race.test_many_clones import LOOK_FIRST, asks_and_dies, crafted, form, intents, trailers
from tests.race.test_one_clone import count_pushes, waiting
from tests.running import result_of
from tests.runtime import RUNTIME
from tests.store.test_cache_paths import Version
from tests.truth import git, tip, tip_bead
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.running import Clone

    Clones = Callable[[str], Clone]

pytestmark = pytest.mark.one_in(15)

# What decides a comment says so in its commit.
MARK = " under other rules"
COMMENT = (
    "operations/beads.py",
    'subject("comment", [bead.id], self.by)',
    f'subject("comment", [bead.id], self.by, more="{MARK}")',
)
DECIDING = {
    "an operation": COMMENT,
    "a policy": ("policy/readiness.py", '"""', '"""Another. '),
    "a field": ("core/schema.py", '"""', '"""Another. '),
    "a setting": ("core/settings.py", '"""', '"""Another. '),
}
TELLING = {
    "a command": ("cli/commands/bead_list.py", '"""', '"""Another. '),
    "a page": ("web/__init__.py", '"""', '"""Another. '),
}


@pytest.fixture
def other(tmp_path: Path) -> dict[str, str]:
    """The environment of another version of bd, whose comments are marked."""
    version = Version(tmp_path / "other-version")
    version.change(*COMMENT)
    return {"PYTHONPATH": str(version.folder), "PYTHONDONTWRITEBYTECODE": "1"}


# --- the fingerprint ------------------------------------------------------------------------


@pytest.mark.parametrize(("change", "decides"), [*((one, True) for one in DECIDING), *((one, False) for one in TELLING)])
def test_what_decides_is_in_the_fingerprint_and_nothing_else(change: str, decides: bool, tmp_path: Path) -> None:
    version = Version(tmp_path / "v")
    assert rules_of(str(version.folder / "bd")) == rules()
    version.change(*(DECIDING | TELLING)[change])
    assert (rules_of(str(version.folder / "bd")) != rules()) == decides


def test_an_archive_counts_with_all_it_holds(tmp_path: Path) -> None:
    for name, content in (("one", b"a"), ("same", b"a"), ("two", b"b")):
        (tmp_path / name).write_bytes(content)
    one, same, two = (rules_of("nowhere", archive=str(tmp_path / name)) for name in ("one", "same", "two"))
    assert one == same != two
    assert rules_of(str(tmp_path / "nowhere")) == ""


# --- one clone ------------------------------------------------------------------------------


@pytest.mark.parametrize("is_same", [True, False])
def test_in_a_clone_only_the_same_rules_are_taken_along(is_same: bool, clone: Clones, hub: Path, other: dict[str, str]) -> None:
    alice = clone("alice")
    seed(alice, "hub-a", "hub-b")
    pushes = count_pushes(hub)
    with CloneLock(str(alice.path / ".git" / "bd" / "lock"), 60, RUNTIME):
        processes = [alice.start("comment", "hub-a", "one"), alice.start("comment", "hub-b", "two", env={} if is_same else other)]
        until(lambda: len(waiting(alice)) == 2, every_s=0.02)
    assert [result_of(process).code for process in processes] == [0, 0]
    assert pushes() == (1 if is_same else 2)
    by_bead = {line.split()[1]: MARK in line for line in subjects(hub, "comment")}
    assert by_bead == {"hub-a": False, "hub-b": not is_same}
    assert list((alice.path / ".git" / "bd" / "journal").iterdir()) == []


@pytest.mark.parametrize(
    ("named", "is_taken"),
    [
        ({"rules": rules()}, True),
        ({}, False),
        ({"rules": None}, False),
        ({"rules": ""}, False),
        ({"rules": "0123456789abcdef"}, False),
    ],
)
def test_rules_that_are_missing_are_others(named: dict[str, object], is_taken: bool, clone: Clones, hub: Path) -> None:
    """An entry as another bd writes it: its author is left alone, and publishes by itself."""
    alice = clone("alice")
    seed(alice, "hub-a")
    folder = alice.path / ".git" / "bd" / "journal"
    with CloneLock(str(alice.path / ".git" / "bd" / "lock"), 60, RUNTIME):
        process = alice.start("comment", "hub-a", "from another version")
        until(lambda: len(waiting(alice)) == 1, every_s=0.02)
        (path,) = folder.glob("*.json")
        entry = json.loads(path.read_text().splitlines()[-1])
        del entry["rules"]
        path.write_text(json.dumps({**entry, **named}) + "\n")
        journal = Journal(str(folder))
        taken = local.take(journal, entry["kin"], local.AT_ONCE, lambda form: form)  # type: ignore[return-value]
        assert [form["uid"] for _, form in taken] == [entry["uid"]] * is_taken
        journal.put_back()
    assert result_of(process).code == 0
    assert len(subjects(hub, "comment")) == 1


# --- one hub --------------------------------------------------------------------------------


@pytest.mark.parametrize("is_same", [True, False])
def test_across_clones_only_the_same_rules_are_carried_out(
    is_same: bool, clone: Clones, hub: Path, other: dict[str, str]
) -> None:
    alice, bob, hand = clone("alice"), clone("bob"), clone("hand")
    seed(alice, "hub-a", "hub-b")
    asks_and_dies(alice, hub, hand, "comment", "hub-a", "asked for", env={} if is_same else other)
    bob.here("comment", "hub-b", "goes on", env=LOOK_FIRST)
    assert (intents(hub) == []) == is_same
    assert len(subjects(hub, "comment")) == (2 if is_same else 1)
    bead = tip_bead(hub, "hub-a")
    assert bead is not None
    assert len(bead.comments) == is_same


def test_who_is_overtaken_by_other_rules_publishes_alone(clone: Clones, hub: Path, tmp_path: Path, other: dict[str, str]) -> None:
    """The other version asks, nobody carries it out, and it publishes what it has decided itself."""
    alice, bob = clone("alice"), clone("bob")
    seed(alice, "hub-a", "hub-b")
    here = f"env PYTHONPATH={Path(bd.__file__).parent.parent} python3 -m bd -C {bob.path}"
    script = f"""
        case "$verb $*" in
        *refs/bd/intents*) ;;
        push*) mkdir {tmp_path}/once 2> /dev/null && BD_FRESH_TIME=0 {here} comment hub-b faster > {tmp_path}/said 2>&1;;
        esac
        case "$verb $*" in
        push*refs/bd/intents*) "$real" "$@"; ended=$?
            mkdir {tmp_path}/asked 2> /dev/null && BD_FRESH_TIME=0 {here} comment hub-b again >> {tmp_path}/said 2>&1
            exit $ended;;
        esac"""
    alice.bd("comment", "hub-a", "by itself", env={**LOOK_FIRST, **other, **git_wrapper(tmp_path / "bin", script)})
    assert (tmp_path / "asked").exists(), (tmp_path / "said").read_text()
    told = subjects(hub, "comment")
    assert sorted(MARK in line for line in told) == [False, False, True]
    assert [line.split()[1] for line in told if MARK in line] == ["hub-a"]
    assert "Bd-Verdict" not in git(hub, "log", "--format=%B", "main")
    assert intents(hub) == []


@pytest.mark.parametrize(
    ("changes", "is_carried_out"),
    [
        ({}, True),
        ({"rules": "0123456789abcdef"}, False),
        ({"rules": None}, False),
        ({"rules": [rules()]}, False),
        ({"intent": 1, "rules": None}, False),
        ({"intent": REQUEST + 1}, False),
    ],
)
def test_a_request_is_carried_out_by_the_rules_that_it_names(
    changes: dict[str, object], is_carried_out: bool, clone: Clones, hub: Path
) -> None:
    alice = clone("alice")
    seed(alice, "hub-a", "hub-b")
    asked = form("01ASKED", tip(hub), **changes)
    args = {"ids": ["hub-a"], "text": "asked for", "comment_id": "01COMMENT"}
    crafted(hub, "01ASKED", json.dumps({**asked, "op": {**asked["op"], "args": args}}))  # type: ignore[dict-item]
    alice.here("comment", "hub-b", "goes on", env=LOOK_FIRST)
    assert (trailers(hub, "Bd-Uid").count("01ASKED") == 1) == is_carried_out
    assert (intents(hub) == []) == is_carried_out
