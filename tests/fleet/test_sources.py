"""Work that comes by itself: one bead a tick, whoever is awake, whatever dies."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from bd.core.errors import WrongState
from bd.policy import schedules
from tests.auditing import assert_sound
from tests.race.history import assert_nothing_twice
from tests.running import result_of
from tests.truth import all_beads, commits, git, log, tip_file

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.clocks import FakeClock
    from tests.running import Clone

    Clones = Callable[[str], Clone]

pytestmark = pytest.mark.one_in(36)

DAILY = ("schedule", "add", "audit", "--cron", "0 9 * * *", "--title", "Audit", "-t", "chore", "-l", "x", "-p", "1")


@pytest.fixture
def clones(clone: Clones, clock: FakeClock) -> tuple[Clone, Clone]:
    clock.set("2026-02-21T12:00:00Z")
    alice, bob = clone("alice"), clone("bob")
    alice.here(*DAILY)
    bob.here("sync")
    return alice, bob


def last_tick(hub: Path) -> str:
    (line,) = [line for line in (tip_file(hub, ".beads/config.yaml") or b"").decode().splitlines() if "last_tick" in line]
    return line.partition(":")[2].strip().strip('"')


def test_a_tick_is_a_bead(clones: tuple[Clone, Clone], hub: Path, clock: FakeClock) -> None:
    alice, bob = clones
    assert alice.here("schedule", "run", "--json").json == [], "the day on which it was added is past"
    clock.set("2026-02-22T09:00:30Z")
    (made,) = alice.here("schedule", "run", "--json").json
    assert bob.here("schedule", "run", "--json").json == []
    (bead,) = all_beads(hub)
    assert (bead.id, bead.title, bead.type, bead.priority, bead.labels) == (made["id"], "Audit", "chore", 1, ["x"])
    assert bead.get("created_by") == "cron:audit"
    assert bead.get("metadata") == {"schedule": "audit", "tick": "2026-02-22T09:00:00Z"}
    assert last_tick(hub) == "2026-02-22T09:00:00Z"


def test_what_was_missed_is_made_once(clones: tuple[Clone, Clone], hub: Path, clock: FakeClock) -> None:
    alice, _ = clones
    clock.set("2026-03-05T08:00:00Z")
    alice.here("schedule", "run")
    alice.here("schedule", "run")
    assert [bead.get("metadata")["tick"] for bead in all_beads(hub)] == ["2026-03-04T09:00:00Z"]


@pytest.mark.parametrize("end", [("delete", "--force"), ("close",)])
def test_a_tick_is_not_made_again_when_its_bead_is_gone(
    clones: tuple[Clone, Clone], hub: Path, clock: FakeClock, end: tuple[str, ...]
) -> None:
    alice, bob = clones
    clock.set("2026-02-22T10:00:00Z")
    (made,) = alice.here("schedule", "run", "--json").json
    alice.here(end[0], made["id"], *end[1:])
    clock.move(minutes=1)
    alice.here("archive", "--older-than", "0s")
    bob.here("schedule", "run")
    alice.here("schedule", "run")
    assert all_beads(hub) == []


def test_two_clones_at_once(clones: tuple[Clone, Clone], hub: Path) -> None:
    """Real processes, real clocks: the schedule is a minute's, so that something is due at once."""
    alice, bob = clones
    alice.here("schedule", "add", "often", "--cron", "* * * * *", "--title", "Often")
    bob.here("sync")
    for _ in range(2):
        results = [result_of(one) for one in [two.start("schedule", "run", "often", "--json") for two in clones]]
        assert [result.code for result in results] == [0, 0]
    ticks = [bead.get("metadata")["tick"] for bead in all_beads(hub) if bead.title == "Often"]
    assert ticks
    assert len(ticks) == len(set(ticks))
    assert_sound(hub)
    assert_nothing_twice(hub)


def test_a_race_lost_between_decision_and_push_makes_nothing(
    clones: tuple[Clone, Clone], hub: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.race.interleaving import install

    alice, bob = clones
    clock.set("2026-02-22T10:00:00Z")
    steps = install(monkeypatch)
    steps.at("push", lambda: bob.here("schedule", "run"))
    assert alice.here("schedule", "run", "--json").json == []
    assert len(all_beads(hub)) == 1
    assert not steps.left


@pytest.mark.one_in(12)
@pytest.mark.parametrize("step", ["build", "push", "pushed", "refs"])
def test_killed_at_a_step(clones: tuple[Clone, Clone], hub: Path, step: str) -> None:
    """The bead and the moved tick are one commit: both are there, or neither, and the next run makes up for it."""
    alice, bob = clones
    alice.here("schedule", "remove", "audit")
    alice.here("schedule", "add", "once", "--cron", "0 0 1 1 *", "--title", "Once a year")
    text = (tip_file(hub, ".beads/config.yaml") or b"").decode()
    (alice.path / ".beads" / "config.yaml").write_text(text.replace("2026-02-21T12:00:00Z", "2020-02-21T12:00:00Z"))
    alice.here("sync")
    assert last_tick(hub).startswith("2020")
    alice.bd("schedule", "run", env={"BD_TEST_STOP_AT": step}, code=137)
    assert len(all_beads(hub)) == (0 if step in ("build", "push") else 1) == (0 if last_tick(hub).startswith("2020") else 1)
    for one in (bob, alice):
        one.bd("schedule", "run")
    assert len(all_beads(hub)) == 1
    assert_nothing_twice(hub)


def test_made_offline_by_two_it_is_one_when_both_are_back(clones: tuple[Clone, Clone], hub: Path, clock: FakeClock) -> None:
    alice, bob = clones
    clock.set("2026-02-22T10:00:00Z")
    url = git(alice.path, "remote", "get-url", "origin")
    for one in clones:
        git(one.path, "remote", "set-url", "origin", "/nowhere")
        one.here("schedule", "run", check=False)
        git(one.path, "remote", "set-url", "origin", url)
    for one in (alice, bob, alice):
        one.here("sync")
    assert len(all_beads(hub)) == 1
    assert git(bob.path, "status", "--porcelain", "--untracked-files=no") == ""


def test_an_idle_agents_poll_and_the_overseer_make_what_is_due(clones: tuple[Clone, Clone], hub: Path, clock: FakeClock) -> None:
    alice, bob = clones
    clock.set("2026-02-22T10:00:00Z")
    assert bob.here("poll", "--agent", "coder", "--json").json["ready"] == 1, "what it has made itself, too"
    assert len(all_beads(hub)) == 1
    clock.set("2026-02-23T10:00:00Z")
    said = json.loads(alice.here("overseer", "--once", "--json").out)["house"]
    assert any("made from schedule audit" in line for line in said)
    assert len(all_beads(hub)) == 2


def test_a_damaged_schedule_keeps_nobody_from_the_others(clones: tuple[Clone, Clone], hub: Path, clock: FakeClock) -> None:
    alice, bob = clones
    file = alice.path / ".beads" / "config.yaml"
    file.write_text(file.read_text().replace("schedules:\n", "schedules:\n  - name: bad\n    cron: every day\n    title: Bad\n"))
    alice.here("sync", check=False)
    clock.set("2026-02-22T10:00:00Z")
    listed = {one["name"]: one for one in bob.here("schedule", "list", "--json", "--fetch").json}
    assert "is not a cron expression" in listed["bad"]["error"]
    assert len(bob.here("schedule", "run", "--json").json) == 1


ODD = ("[x]", "{a: 1}", "7", "true", "1.5", "[[x]]", "'-1'", "[1, {b: c}]", "2026-02-21", '"a\\nb"')


def test_a_schedule_whose_bead_cant_be_made_keeps_nobody_from_the_others(
    clones: tuple[Clone, Clone], hub: Path, clock: FakeClock
) -> None:
    alice, bob = clones
    odd = [(key, value) for key in schedules.BEAD_KEYS if key != "title" for value in ODD]
    entries = [
        f"  - name: {key}-{number}\n    cron: 0 9 * * *\n    title: {key} {number}\n    {key}: {value}\n"
        for number, (key, value) in enumerate(odd)
    ]
    file = alice.path / ".beads" / "config.yaml"
    file.write_text(file.read_text().replace("schedules:\n", f"schedules:\n{''.join(entries)}"))
    alice.here("sync")
    clock.set("2026-02-22T10:00:00Z")
    answer = bob.here("schedule", "run", "--json", "--fetch", check=False)
    failed = {one["schedule"]: one["code"] for one in answer.json if "error" in one}
    made = {one["schedule"] for one in answer.json if "error" not in one}
    assert (len(failed) + len(made), answer.code) == (len(odd) + 1, 2)
    assert "audit" in made
    first = next(name for name in failed if name.startswith("parent-"))
    assert f"mend {first} in .beads/config.yaml, or `bd schedule remove {first}`" in answer.err
    assert set(failed.values()) <= {"bad_input", "no_such_bead"}
    for words in (("poll", "--agent", "coder"), ("overseer", "--once")):
        assert bob.here(*words, check=False).code != 1
    assert {bead.title.partition(" ")[0].lower() for bead in all_beads(hub)} == {name.partition("-")[0] for name in made}
    assert [found for found in bob.here("doctor", "--json", check=False).json["findings"] if found["level"] == "error"] == []


def test_add_list_remove(clones: tuple[Clone, Clone], hub: Path) -> None:
    alice, bob = clones
    assert "the schedule audit already exists" in bob.here(*DAILY, code=WrongState.exit_code).err
    (one,) = bob.here("schedule", "list", "--json").json
    assert (one["next_tick"], one["last_tick"], one["tz"]) == ("2026-02-22T09:00:00Z", "2026-02-21T12:00:00Z", "UTC")
    bob.here("schedule", "remove", "audit")
    assert b"schedules" not in (tip_file(hub, ".beads/config.yaml") or b"")
    assert alice.here("schedule", "run", "audit", "--fetch", code=4)
    assert [subject.split(":")[0] for subject in log(hub)[:2]] == ["schedule-remove", "schedule-add"]
    assert len(commits(hub)) == 3
