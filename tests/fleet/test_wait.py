"""Waiting for work: it ends when there is some for this agent, by a push of others or by the clock, and costs no commit."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from bd.store.hub_location import locate
from bd.worker import wait as waiting
from bd.worker import wakeup, watcher
from tests.running import result_of
from tests.runtime import RUNTIME, open_clone
from tests.truth import tip

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from tests.clocks import FakeClock
    from tests.running import Clone

pytestmark = pytest.mark.one_in(9)


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch, clock: FakeClock) -> Callable[[Iterable[Callable[[], object]]], list[float]]:
    """`steps([act, ...])`: what happens in each pause instead of time; the pauses' lengths. After the last one, time alone."""
    slept: list[float] = []
    passed = [0.0]

    def play(acts: Iterable[Callable[[], object]]) -> list[float]:
        left = iter(acts)

        def sleep(seconds: float) -> None:
            slept.append(seconds)
            passed[0] += seconds
            clock.move(seconds=seconds)
            next(left, lambda: None)()

        monkeypatch.setattr(wakeup, "has_watcher", lambda: False)
        monkeypatch.setattr(RUNTIME, "sleep", sleep)
        monkeypatch.setattr(RUNTIME, "monotonic", lambda: passed[0])
        return slept

    return play


def nothing() -> None:
    pass


def test_what_rings_as_a_wait_ends_is_not_missed(local_hub: Clone, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wakeup, "has_watcher", lambda: False)
    one = wakeup.Alarm(open_clone(locate(str(local_hub.path))))

    class Late(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            is_set = super().wait(timeout)
            if not is_set:
                one.ring()  # the time is over, and nobody has been told so yet
            return is_set

    one._rung = Late()
    assert [one.wait(0), one.wait(0), one.wait(0)] == [False, True, False]


@pytest.mark.parametrize("command", ["poll", "wait"])
def test_work_is_seen_also_after_a_write_was_kept_for_a_hub_that_was_away(
    command: str, clone: Callable[[str], Clone], hub: Path, tmp_path: Path
) -> None:
    alice, bob = clone("alice"), clone("bob")
    bob.here("create", "In work", "--id", "hub-a")
    bob.here("claim", "hub-a", "--agent", "carol")
    hub.rename(tmp_path / "away")
    bob.here("comment", "hub-a", "how is it?")
    (tmp_path / "away").rename(hub)
    alice.here("create", "New", "--id", "hub-b")
    found = bob.bd(command, "--agent", "bob", "--json", *(["--timeout", "0s"] if command == "wait" else [])).json
    assert found["ready"] == (["hub-b"] if command == "wait" else 1)


def test_work_that_is_there_needs_no_wait(clone: Callable[[str], Clone], steps: Callable[..., list[float]]) -> None:
    alice, bob = clone("alice"), clone("bob")
    alice.here("create", "One", "--id", "hub-a")
    slept = steps([])
    assert bob.here("wait", "--agent", "bob", "--json").json["ready"] == ["hub-a"]
    assert slept == []


def test_a_push_ends_the_wait_and_nothing_is_written(
    clone: Callable[[str], Clone], hub: Path, steps: Callable[..., list[float]]
) -> None:
    alice, bob = clone("alice"), clone("bob")
    alice.here("agent", "add", "bob", "--role", "research", "--skills", "deep")
    slept = steps(
        [
            nothing,
            lambda: alice.here("create", "Not for bob", "--id", "hub-a"),
            lambda: alice.here("create", "For bob", "--id", "hub-b", "--assignee", "bob"),
        ]
    )
    assert bob.here("wait", "--agent", "bob", "--json").json["ready"] == ["hub-b"]
    assert len(slept) == 3
    assert set(slept) == {1.0}, "a hub that is a path is looked at every second"
    assert tip(hub) == tip(alice.path)


def test_the_clock_ends_the_wait(local_hub: Clone, steps: Callable[..., list[float]]) -> None:
    local_hub.here("create", "Later", "--id", "hub-a", "--defer", "90s")
    before = tip(local_hub.path)
    slept = steps([])
    assert local_hub.here("wait", "--agent", "bob", "--json").json["ready"] == ["hub-a"]
    assert 90 <= sum(slept) <= 93
    assert tip(local_hub.path) == before


def test_the_time_is_over(local_hub: Clone, steps: Callable[..., list[float]]) -> None:
    slept = steps([])
    refused = local_hub.here("wait", "--agent", "bob", "--timeout", "10s", "--json", code=3)
    assert (refused.json["code"], sum(slept)) == ("nothing_ready", 10.0)
    local_hub.here("create", "One")
    local_hub.here("pause", "--reason", "rest")
    assert "the fleet is paused" in local_hub.here("wait", "--agent", "bob", "--timeout", "1s", code=3).err


def test_a_hub_that_is_away_is_waited_for_too(
    clone: Callable[[str], Clone], hub: Path, steps: Callable[..., list[float]]
) -> None:
    alice, bob = clone("alice"), clone("bob")
    away = hub.with_suffix(".away")
    steps(
        [
            lambda: hub.rename(away),
            nothing,
            lambda: away.rename(hub),
            lambda: alice.here("create", "One", "--id", "hub-a"),
        ]
    )
    assert bob.here("wait", "--agent", "bob", "--json").json["ready"] == ["hub-a"]


def test_a_hub_of_this_machine_wakes_who_waits(clone: Callable[[str], Clone], monkeypatch: pytest.MonkeyPatch) -> None:
    """By its files alone: the look at its ref is switched off."""
    alice, bob = clone("alice"), clone("bob")
    bob.here("sync")
    monkeypatch.setattr(watcher.Lookout, "has_moved", lambda *_: False)
    begun = threading.Event()
    wait = watcher.Lookout.wait

    def wait_and_say(self: watcher.Lookout, seconds: float) -> bool:
        begun.set()
        return wait(self, seconds)

    def push() -> None:
        begun.wait()
        number = 0
        while thread.is_alive() and not found:  # files are watched a moment after the wait has begun
            number += 1
            alice.bd("create", f"Number {number}", "--id", f"hub-n{number}")

    found: list[str] = []
    monkeypatch.setattr(watcher.Lookout, "wait", wait_and_say)
    thread = threading.Thread(target=push)
    thread.start()
    hub = open_clone(locate(str(bob.path)))
    try:
        found += waiting.wait(hub, "bob")
    finally:
        found.append("")
        hub.close()
        thread.join()
    assert found[0].startswith("hub-n")


def test_work_that_waits_takes_what_a_push_brings(clone: Callable[[str], Clone], hub: Path) -> None:
    alice, bob = clone("alice"), clone("bob")
    worker = bob.start("work", "--agent", "bob", "--max-tasks", "2", "--json", "--", "true")
    for name in ("hub-a", "hub-b"):
        alice.bd("create", "One", "--id", name)
    assert [one["id"] for one in result_of(worker).json] == ["hub-a", "hub-b"]
