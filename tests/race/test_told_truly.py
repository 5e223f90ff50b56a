"""What a writer is told when something goes wrong around its push: written, not written, or nobody knows yet."""

from __future__ import annotations

import errno
import json
import signal
from typing import TYPE_CHECKING, Any

import pytest

from bd.core.errors import TryAgain
from bd.store.contract import PUBLISHED
from bd.store.git.repository import GitRepo
from bd.store.group_commit import order
from bd.store.local import journal
from tests.hub.hooks import git_wrapper, hook
from tests.race.history import subjects
from tests.race.seeds import seed
from tests.race.test_many_clones import ASK_AND_DIE, LOOK_FIRST, intents
from tests.race.test_one_clone import waiting
from tests.running import result_of
from tests.runtime import RUNTIME
from tests.truth import git, tip, tip_bead
from tests.waiting import until

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from tests.race.interleaving import Interleaving
    from tests.running import Clone

    Clones = Callable[[str], Clone]

pytestmark = pytest.mark.one_in(4)


def raising(error: Exception) -> Callable[[], object]:
    def action() -> None:
        raise error

    return action


def commit_by_hand(hand: Clone) -> None:
    """Something that overtakes whoever has looked already, once it is pushed."""
    (hand.path / "README.md").write_text("overtaken\n")
    git(hand.path, "pull", "--quiet", "--rebase")
    git(hand.path, "add", "README.md")
    git(hand.path, "commit", "--quiet", "-m", "by hand")


def entries(clone: Clone) -> list[dict[str, object]]:
    """What a clone's journal has not settled."""
    return [json.loads(path.read_text().splitlines()[-1]) for path in (clone.path / ".git" / "bd" / "journal").glob("*.json")]


def test_what_fails_after_the_push_has_landed_is_only_told(clone: Clones, hub: Path, steps: Interleaving) -> None:
    alice = clone("alice")
    steps.at("refs", raising(OSError(errno.ENOSPC, "No space left on device")))
    result = alice.here("create", "One", "--json", env=LOOK_FIRST)
    assert "No space left on device" in result.err
    assert tip_bead(hub, result.json["id"]) is not None
    assert entries(alice) == []
    alice.here("create", "Two")
    assert len(subjects(hub, "create")) == 2


def test_a_push_without_an_answer_is_never_told_as_nothing_written(
    clone: Clones, hub: Path, steps: Interleaving, tmp_path: Path
) -> None:
    alice = clone("alice")
    silent = git_wrapper(tmp_path / "bin", f'if [ "$verb" = push ] && mkdir {tmp_path}/once 2> /dev/null; then exit 1; fi')
    steps.at("look-after-push", raising(TryAgain("git's ref is locked")))
    result = alice.here("create", "One", "--json", env={**LOOK_FIRST, **silent}, code=6)
    assert result.json["written"] == "unknown"
    assert [entry["state"] for entry in entries(alice)] == ["unknown"]
    alice.here("comment", alice.here("create", "Two", "--json").json["id"], "the next command finds out")
    assert entries(alice) == []
    assert len(subjects(hub, "create")) == 1


def test_what_a_sync_has_pushed_without_an_answer_is_not_told_as_not_written(
    clone: Clones, hub: Path, steps: Interleaving, tmp_path: Path
) -> None:
    alice, away = clone("alice"), tmp_path / "away.git"
    alice.here("list", "--fetch")
    hub.rename(away)
    alice.here("create", "One")
    away.rename(hub)
    silent = git_wrapper(tmp_path / "bin", f'if [ "$verb" = push ] && mkdir {tmp_path}/once 2> /dev/null; then exit 1; fi')
    steps.at("look-after-push", raising(TryAgain("git's ref is locked")))
    assert alice.here("sync", "--json", env=silent, code=6).json["written"] == "unknown"
    alice.here("sync")
    assert entries(alice) == []
    assert len(subjects(hub, "create")) == 1


def test_what_landed_alone_is_written_though_this_clone_can_not_note_it(
    clone: Clones, hub: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server takes one commit at a time: after each, the clone notes how far it is."""
    alice, away = clone("alice"), hub.with_name("away.git")
    alice.here("list", "--fetch")
    hub.rename(away)
    alice.here("create", "One")
    away.rename(hub)
    hook(
        hub,
        "pre-receive",
        'while read old new ref; do [ "$(git rev-list --count "$old..$new")" -le 1 ] || { echo "one at a time" >&2; exit 1; }; done',
    )
    real = GitRepo.set_private_refs

    def set_refs(repo: GitRepo, values: Mapping[str, str]) -> None:
        if [*values] == [PUBLISHED]:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(repo, values)

    monkeypatch.setattr(GitRepo, "set_private_refs", set_refs)
    alice.here("create", "Two", "--json", env=LOOK_FIRST)
    assert len(subjects(hub, "create")) == 2


def test_an_ask_without_an_answer_may_land_after_its_author_has_given_up(
    clone: Clones, hub: Path, steps: Interleaving, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alice, bob = clone("alice"), clone("bob")
    seed(alice, "hub-a", "hub-b")
    ahead = [0.0]
    real = RUNTIME.monotonic
    monkeypatch.setattr(RUNTIME, "monotonic", lambda: real() + ahead[0])
    script = f'case "$verb $*" in push*refs/bd/intents*) mkdir {tmp_path}/once 2> /dev/null && exit 1;; esac'

    def overtake() -> None:
        bob.here("comment", "hub-b", "faster", env=LOOK_FIRST)

    steps.at("push", overtake, overtake)
    steps.at("asked", lambda: None, lambda: ahead.__setitem__(0, 3600.0))
    result = alice.here(
        "claim", "hub-a", "--agent", "coder", "--json", env={**LOOK_FIRST, **git_wrapper(tmp_path / "bin", script)}, code=6
    )
    assert result.json["written"] == "unknown", result
    assert intents(hub) == []
    bob.here("comment", "hub-b", "later", env=LOOK_FIRST)
    assert subjects(hub, "claim") == []


def test_an_ask_that_was_answered_is_no_failure_where_that_can_not_be_noted(
    clone: Clones, hub: Path, steps: Interleaving, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The request is on the remote: whoever gave up now would have to be told that nobody knows."""
    alice, bob = clone("alice"), clone("bob")
    seed(alice, "hub-a", "hub-b")
    real = journal.Entry.write

    def write(entry: journal.Entry, *, durably: bool = True, **changes: Any) -> None:
        if changes.get("unanswered_since_s", "") is None:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(entry, durably=durably, **changes)

    monkeypatch.setattr(journal.Entry, "write", write)
    steps.at("push", lambda: bob.here("comment", "hub-b", "faster", env=LOOK_FIRST))
    steps.at("asked", lambda: None)
    alice.here("comment", "hub-a", "asked for", env=LOOK_FIRST)
    assert len(subjects(hub, "comment")) == 2
    assert (entries(alice), intents(hub)) == ([], [])


def test_an_ask_that_arrives_late_and_is_carried_out_is_heard_of(
    clone: Clones, hub: Path, steps: Interleaving, tmp_path: Path
) -> None:
    alice, bob = clone("alice"), clone("bob")
    seed(alice, "hub-a", "hub-b")
    late = tmp_path / "late"
    script = f"""case "$verb $*" in push*refs/bd/intents*)
        [ -e {late} ] || {{ echo "$PWD" > {late}; for word in "$@"; do echo "$word" >> {late}; done; exit 1; }};; esac"""

    def arrive_and_fold() -> None:
        folder, *words = late.read_text().splitlines()
        git(folder, *words)
        assert len(intents(hub)) == 1
        bob.here("comment", "hub-b", "folds it", env=LOOK_FIRST)

    steps.at("push", lambda: bob.here("comment", "hub-b", "faster", env=LOOK_FIRST), arrive_and_fold)
    alice.here("heat", "hub-a", env={**LOOK_FIRST, **git_wrapper(tmp_path / "bin", script)})
    bead = tip_bead(hub, "hub-a")
    assert bead is not None
    assert bead.get("temperature") == 10


def test_who_is_settled_is_told_so_though_a_neighbour_is_not_and_the_hub_goes_away(
    clone: Clones, hub: Path, steps: Interleaving, tmp_path: Path
) -> None:
    alice, bob = clone("alice"), clone("bob")
    seed(alice, "hub-a", "hub-b")
    away = tmp_path / "away.git"
    neighbours: list[subprocess.Popen[bytes]] = []

    def fold_and_wait() -> None:
        bob.here("comment", "hub-b", "folds it", env=LOOK_FIRST)
        neighbours.append(alice.start("claim", "hub-b", "--agent", "other", "--json"))
        until(lambda: waiting(alice), every_s=0.01)

    steps.at("push", lambda: bob.here("comment", "hub-b", "first", env=LOOK_FIRST), lambda: hub.rename(away))
    steps.at("asked", fold_and_wait)
    result = alice.here("claim", "hub-a", "--agent", "coder", "--json", env=LOOK_FIRST)
    away.rename(hub)
    assert result.json[0]["claim"]["agent"] == "coder"
    told = result_of(neighbours[0])
    alice.here("sync")
    assert entries(alice) == []
    assert told.code in (0, 6)
    made = subjects(hub, "claim")
    assert len([line for line in made if "hub-a" in line]) == 1
    assert len([line for line in made if "hub-b" in line]) <= 1
    assert told.code == 6 or len(made) == 2
    assert git(hub, "for-each-ref", "refs/bd/intents") == ""


def test_nobody_sees_an_entry_before_it_is_locked(clone: Clones, monkeypatch: pytest.MonkeyPatch) -> None:
    alice = clone("alice")
    folder = alice.path / ".git" / "bd" / "journal"
    seen: list[list[str]] = []
    real = journal._lock

    def lock(descriptor: int) -> bool:
        seen.append([path.name for path in folder.iterdir()])
        return real(descriptor)

    monkeypatch.setattr(journal, "_lock", lock)
    entry = journal.Journal(str(folder)).begin("01ABC", verb="create")
    entry.write(state="waiting")
    assert seen == [[]]
    assert [path.name for path in folder.iterdir()] == ["01ABC.json"]
    assert not (folder.parent / "journal-01ABC.json").exists()
    entry.remove()


@pytest.mark.parametrize("is_cut_off", [False, True])
def test_what_a_dead_process_had_taken_along_may_still_land(
    is_cut_off: bool, clone: Clones, hub: Path, steps: Interleaving, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its push arrives when the author has looked already: what the author is told must not be that nothing was written."""
    alice = clone("alice")
    seed(alice, "hub-a", "hub-b")
    # Behind the other one in the order, or both would make the same commit.
    real, base = RUNTIME.new_id, tip(hub)
    monkeypatch.setattr(RUNTIME, "new_id", lambda: order.order(base, [real() for _ in range(500)])[-1])
    late, looking = tmp_path / "late", tmp_path / "looking"
    script = (
        f'if [ "$verb" = fetch ]; then touch {looking}; while ! grep -qs waiting .git/bd/journal/*; do sleep 0.01; done; fi\n'
        f'if [ "$verb" = push ]; then printf "%s\\n" "$@" > {late}; kill -9 $PPID; exit 1; fi'
    )
    dead = alice.start("comment", "hub-b", "one", env={**LOOK_FIRST, **git_wrapper(tmp_path / "bin", script)})
    until(looking.exists)
    away = git_wrapper(tmp_path / "away", 'if [ "$verb" = fetch ]; then exit 128; fi') if is_cut_off else {}
    if not is_cut_off:
        steps.at("push", lambda: git(alice.path, *late.read_text().splitlines()))
    result = alice.here(
        "claim", "hub-a", "--agent", "coder", "--json", env={**LOOK_FIRST, **away, "BD_RETRY_TIME": "0.01"}, code=6
    )
    assert result_of(dead).code == -signal.SIGKILL
    if is_cut_off:
        git(alice.path, *late.read_text().splitlines())
    assert len(subjects(hub, "claim")) == 1
    assert result.json["written"] == "unknown"
    [handed] = alice.here("claim", "hub-a", "--agent", "coder", "--json").json
    assert (handed["attempts"], entries(alice)) == (1, [])
    assert len(subjects(hub, "claim")) == 1


def test_who_is_refused_by_the_server_is_not_told_no_where_a_dead_process_has_asked_for_it(
    clone: Clones, hub: Path, tmp_path: Path
) -> None:
    """Its own push is declined, and the dead one's ask may still be carried out by anybody."""
    alice, hand = clone("alice"), clone("hand")
    seed(alice, "hub-a", "hub-b")
    looking = tmp_path / "looking"
    commit_by_hand(hand)
    script = f"""
        if [ "$verb" = fetch ]; then touch {looking}; while ! grep -qs waiting .git/bd/journal/*; do sleep 0.01; done; fi
        case "$verb $*" in
        push*refs/bd/intents*)
            "$real" "$@"; ended=$?
            printf '#!/bin/sh\\necho frozen until Monday >&2; exit 1\\n' > {hub}/hooks/pre-receive
            chmod +x {hub}/hooks/pre-receive; exit $ended;;
        push*) "$real" -C {hand.path} push -q origin HEAD;;
        esac"""
    dead = alice.start("comment", "hub-b", "one", env={**ASK_AND_DIE, **git_wrapper(tmp_path / "bin", script)})
    until(looking.exists)
    result = alice.bd("claim", "hub-a", "--agent", "coder", "--json", env=LOOK_FIRST, code=6)
    assert result_of(dead).code == 137
    assert result.json["written"] == "unknown"
    (hub / "hooks" / "pre-receive").unlink()
    alice.here("comment", "hub-a", "the next command finds out")
    [handed] = alice.here("claim", "hub-a", "--agent", "coder", "--json").json
    assert handed["attempts"] == 1
    assert len(subjects(hub, "claim")) == 1
    assert (entries(alice), intents(hub)) == ([], [])


def test_an_ask_of_the_dead_without_an_answer_may_still_arrive(clone: Clones, hub: Path, tmp_path: Path) -> None:
    """Its git outlives it: who lives and is refused by the server is not told that nothing was written."""
    alice, bob, hand = clone("alice"), clone("bob"), clone("hand")
    seed(alice, "hub-a", "hub-b")
    late, looking = tmp_path / "late", tmp_path / "looking"
    commit_by_hand(hand)
    hooks = hub / "hooks"
    script = f"""
        if [ "$verb" = fetch ]; then touch {looking}; while ! grep -qs waiting .git/bd/journal/*; do sleep 0.01; done; fi
        case "$verb $*" in
        push*refs/bd/intents*)
            printf "%s\\n" "$@" > {late}
            printf '#!/bin/sh\\necho frozen until Monday >&2; exit 1\\n' > {hooks}/pre-receive
            chmod +x {hooks}/pre-receive; kill -9 $PPID; exit 1;;
        push*) "$real" -C {hand.path} push -q origin HEAD;;
        esac"""
    dead = alice.start("comment", "hub-b", "one", env={**LOOK_FIRST, **git_wrapper(tmp_path / "bin", script)})
    until(looking.exists)
    result = alice.bd("claim", "hub-a", "--agent", "coder", "--json", env=LOOK_FIRST, code=6)
    assert result_of(dead).code == -signal.SIGKILL
    assert result.json["written"] == "unknown"
    (hooks / "pre-receive").unlink()
    git(alice.path, *late.read_text().splitlines())
    bob.here("comment", "hub-a", "carries them out", env=LOOK_FIRST)
    [handed] = alice.here("claim", "hub-a", "--agent", "coder", "--json").json
    assert handed["attempts"] == 1
    assert len(subjects(hub, "claim")) == 1
    assert entries(alice) == []
