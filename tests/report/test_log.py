"""The transitions of a hub's history: what is told of each change, and that nothing is told twice or left out."""

from __future__ import annotations

import json
import re
from threading import current_thread, main_thread
from typing import TYPE_CHECKING

import pytest

from bd.report.log import last, read
from bd.store.hub_location import locate
from bd.worker import follow, wakeup
from bd.worker.follow import tips
from tests.runtime import RUNTIME, open_clone
from tests.truth import commit_file, git, tip

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.clocks import FakeClock
    from tests.running import Clone

pytestmark = pytest.mark.one_in(5)


@pytest.fixture(autouse=True)
def session(monkeypatch: pytest.MonkeyPatch) -> None:
    """One session, which holds what it claims."""
    monkeypatch.setenv("BD_SESSION", "test")


@pytest.fixture
def told(local_hub: Clone, clock: FakeClock) -> Callable[[], list[tuple[str, str, str]]]:
    """What happened since the last call: (what, bead, agent)."""
    hub = open_clone(locate(str(local_hub.path)))
    known = [hub.view()]

    def since() -> list[tuple[str, str, str]]:
        before, known[0] = known[0], hub.view()
        return [(one.what, one.bead, one.agent) for one in read(hub.repo, known[0], f"^{before}")]

    return since


def test_an_attempt_is_told_step_by_step(local_hub: Clone, told: Callable[[], list[tuple[str, str, str]]]) -> None:
    here = local_hub.here
    here("create", "One", "--id", "hub-a")
    here("create", "Two", "--id", "hub-b")
    assert told() == [("created", "hub-a", ""), ("created", "hub-b", "")]
    here("claim", "hub-a", "--agent", "ann", "--reserve")
    here("start", "hub-a", "--agent", "ann")
    assert told() == [("reserved", "hub-a", "ann"), ("started", "hub-a", "ann")]
    here("close", "hub-a", "--reason", "done", "--next", "--agent", "ann")
    assert told() == [("closed", "hub-a", "ann"), ("claimed", "hub-b", "ann")]
    here("release", "hub-b", "--reason", "tired", "--agent", "ann")
    here("claim", "hub-b", "--agent", "bob")
    here("fail", "hub-b", "--reason", "budget_exceeded", "--error", "revoked", "--agent", "bob")
    ends = [("failed", "hub-b", "bob"), ("dead letter", "hub-b", "")]
    assert told() == [("released", "hub-b", "ann"), ("claimed", "hub-b", "bob"), *ends]
    here("dlq", "retry", "hub-b")
    here("comment", "hub-b", "again")
    here("update", "hub-b", "--title", "Two, again")
    assert told() == [("reopened", "hub-b", ""), ("commented", "hub-b", ""), ("changed", "hub-b", "")]
    here("claim", "hub-b", "--agent", "ann")
    here("claim", "hub-b", "--agent", "ann", "--resume")
    here("close", "hub-b", "--force", "--reason", "enough", "--agent", "bob")
    assert told() == [("claimed", "hub-b", "ann"), ("resumed", "hub-b", "ann"), ("closed", "hub-b", "ann")]
    here("delete", "hub-b", "--force")
    here("pause", "--reason", "rest")
    assert told() == [("deleted", "hub-b", ""), ("pause", "", "")]


def test_questions_and_what_is_called_off(local_hub: Clone, told: Callable[[], list[tuple[str, str, str]]]) -> None:
    here = local_hub.here
    here("create", "One", "--id", "hub-a")
    here("claim", "hub-a", "--agent", "ann")
    here("wait-human", "hub-a", "--reason", "Which one?", "--agent", "ann")
    here("answer", "hub-a", "the red one")
    here("cancel", "hub-a", "--reason", "no need")
    here("undo")
    assert told()[1:] == [
        ("claimed", "hub-a", "ann"),
        ("parked", "hub-a", "ann"),
        ("answered", "hub-a", ""),
        ("cancelled", "hub-a", ""),
        ("reopened", "hub-a", ""),
    ]


def test_what_plain_git_did_is_told_as_what_it_is(local_hub: Clone, told: Callable[[], list[tuple[str, str, str]]]) -> None:
    here = local_hub.here
    here("create", "One", "--id", "hub-a")
    here("claim", "hub-a", "--agent", "ann")
    text = (local_hub.path / "beads/hub-a.yaml").read_text(encoding="utf-8")
    commit_file(local_hub.path, "beads/hub-a.yaml", text.split("claim:")[0].replace("in_progress", "open"), "away with it")
    commit_file(local_hub.path, "notes.txt", "nothing of the hub", "notes")
    commit_file(local_hub.path, "beads/hub-a.yaml", "<<<<<<< broken", "broken")
    assert told()[2:] == [("released", "hub-a", "ann"), ("by hand", "", ""), ("deleted", "hub-a", "")]


def test_the_last_of_them(local_hub: Clone, clock: FakeClock) -> None:
    for number in range(7):
        local_hub.here("create", f"Number {number}", "--id", f"hub-{number}")
    hub = open_clone(locate(str(local_hub.path)))
    found, is_cut = last(hub.repo, hub.view(), 3)
    assert ([one.bead for one in found], is_cut) == (["hub-4", "hub-5", "hub-6"], True)
    found, is_cut = last(hub.repo, hub.view(), 8)
    assert ([one.what for one in found], is_cut) == (["init", *["created"] * 7], False)


def test_a_shallow_clone_claims_no_more_than_it_knows(clone: Callable[[str], Clone], hub: Path, tmp_path: Path) -> None:
    alice = clone("alice")
    for name in "abc":
        alice.here("create", name, "--id", f"hub-{name}")
    git(tmp_path, "clone", "--quiet", "--depth", "2", f"file://{hub}", "short")
    short = open_clone(locate(str(tmp_path / "short")))
    assert [one.bead for one in read(short.repo, short.view())] == ["hub-c"]


def test_following_shows_each_transition_once(clone: Callable[[str], Clone], hub: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alice, bob = clone("alice"), clone("bob")
    alice.here("create", "One", "--id", "hub-a")
    steps = iter(
        [
            lambda: None,
            lambda: alice.here("claim", "hub-a", "--agent", "ann"),
            lambda: [alice.here("create", "Two", "--id", "hub-b"), bob.here("create", "Three", "--id", "hub-c")],
            lambda: hub.rename(hub.with_suffix(".away")),  # the remote is gone for a while
            lambda: hub.with_suffix(".away").rename(hub),
            lambda: alice.here("close", "hub-a", "--reason", "done", "--agent", "ann"),
            lambda: None,
        ]
    )

    real, in_step = RUNTIME.sleep, [False]

    def sleep(seconds: float) -> None:
        if in_step[0] or current_thread() is not main_thread():  # somebody else waits: a command for a lock, another's thread
            real(seconds)
            return
        try:
            step = next(steps)
        except StopIteration:
            raise KeyboardInterrupt from None
        in_step[0] = True
        try:
            step()
        finally:
            in_step[0] = False

    monkeypatch.setattr(wakeup, "has_watcher", lambda: False)
    monkeypatch.setattr(RUNTIME, "sleep", sleep)
    shown = bob.here("log", "--follow", "--json", code=130)
    told = shown.lines[: shown.lines.index("{")]  # what stands below says that it was interrupted
    found = [json.loads(line) for line in told]
    assert [(one["transition"], one.get("id")) for one in found] == [
        ("init", None),
        ("created", "hub-a"),
        ("claimed", "hub-a"),
        ("created", "hub-b"),
        ("created", "hub-c"),
        ("closed", "hub-a"),
    ]


def test_the_watch_goes_on_after_trouble(clone: Callable[[str], Clone], monkeypatch: pytest.MonkeyPatch) -> None:
    alice, bob = clone("alice"), clone("bob")
    watching = open_clone(locate(str(bob.path)))
    monkeypatch.setattr(wakeup, "has_watcher", lambda: False)
    monkeypatch.setattr(RUNTIME, "sleep", lambda _: None)
    before = watching.view()
    alice.here("create", "One", "--id", "hub-a")
    fetch, troubles = watching.fetch, [OSError]

    def flaky() -> str:
        from bd.core.errors import RemoteUnreachable

        if troubles:
            troubles.pop()
            raise RemoteUnreachable("the hub is away")
        return fetch()

    monkeypatch.setattr(watching, "fetch", flaky)
    said: list[str] = []
    assert next(tips(watching, before, on_trouble=said.append)) == tip(alice.path)
    assert said == ["the hub is away; trying again"]


def test_a_transition_is_one_word_in_json(local_hub: Clone, clock: FakeClock) -> None:
    local_hub.here("create", "One", "--id", "hub-a")
    local_hub.here("claim", "hub-a", "--agent", "bob")
    local_hub.here("fail", "hub-a", "--reason", "budget_exceeded", "--error", "revoked", "--agent", "bob")
    commit_file(local_hub.path, "notes.txt", "nothing of the hub", "notes")
    found = [one["transition"] for one in local_hub.here("log", "--json").json]
    assert found == ["init", "created", "claimed", "failed", "dead_letter", "by_hand"]
    assert "dead letter  hub-a" in local_hub.here("log").out


def test_following_shows_notes_of_progress_as_they_come(clone: Callable[[str], Clone], monkeypatch: pytest.MonkeyPatch) -> None:
    alice, bob = clone("alice"), clone("bob")
    alice.here("create", "One", "--id", "hub-a")
    alice.here("claim", "hub-a", "--agent", "ann")
    alice.here("progress", "hub-a", "before", "--agent", "ann")
    bob.here("sync")
    texts = iter([None, "half", None, "most", None, None])

    def sleep(_: float) -> None:
        if current_thread() is not main_thread():
            return
        try:
            text = next(texts)
        except StopIteration:
            raise KeyboardInterrupt from None
        if text:
            monkeypatch.setattr(RUNTIME, "sleep", real)
            alice.here("progress", "hub-a", text, "--agent", "ann")
            monkeypatch.setattr(RUNTIME, "sleep", sleep)

    real = RUNTIME.sleep
    monkeypatch.setattr(wakeup, "has_watcher", lambda: False)
    monkeypatch.setattr(follow, "LOOK_EVERY_S", 0.0)
    monkeypatch.setattr(RUNTIME, "sleep", sleep)
    shown = bob.here("log", "--follow", "--json", code=130)
    found = [json.loads(line) for line in shown.lines[: shown.lines.index("{")]]
    assert [(one["id"], one["agent"], one["text"]) for one in found if one["transition"] == "progress"] == [
        ("hub-a", "ann", "half"),
        ("hub-a", "ann", "most"),
    ]


def test_notes_of_the_attempt_in_hand_are_in_every_view(clone: Callable[[str], Clone]) -> None:
    alice = clone("alice")
    alice.here("create", "One", "--id", "hub-a")
    alice.here("claim", "hub-a", "--agent", "ann")
    alice.here("progress", "hub-a", "half way", "--agent", "ann")
    assert re.search(r"progress, \d+s ago: half way", alice.here("show", "hub-a").out)
    assert [note["text"] for note in alice.here("show", "hub-a", "--json").json[0]["progress"]] == ["half way"]
    assert "half way" in alice.here("board").out
    assert "half way" in alice.here("board", "--html").out
