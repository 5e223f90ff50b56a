"""A whole fleet on a real hub: skills, a death in the middle, a pause, an idle hour, beads that fail for ever."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from bd.worker import maintenance
from tests.race.history import subjects
from tests.running import BD
from tests.truth import bead_files, git, tip, tip_bead
from tests.waiting import PATIENCE_S, until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.clocks import FakeClock
    from tests.running import Clone

    Clones = Callable[[str], Clone]

pytestmark = pytest.mark.one_in(9)

QUICK = {"BD_HEARTBEAT_INTERVAL": "2s"}
ROLES = {"pltops": "infrastructure", "codemonkey": "coding", "brenner": "research", "beadmaster": "overseer"}
TITLES = {"pltops": "Deploy service", "codemonkey": "Fix defect", "brenner": "Research: question", "beadmaster": "Write to"}
# Says who did it; on the chosen bead it waits to be killed, the first time.
COMMAND = """
import os, sys, time

if os.environ["BD_BEAD_ID"] == "hub-victim" and os.environ["BD_ATTEMPT"] == "1":
    open(sys.argv[1], "w").write(str(os.getpid()))
    time.sleep(120)
print("done by", os.environ["BD_AGENT"])
"""


def start(clone: Clone, agent: str, pid_path: Path, log: Path) -> subprocess.Popen[str]:
    words = [
        "work",
        "--agent",
        agent,
        "--interval",
        "1s",
        "--",
        sys.executable,
        "-c",
        COMMAND,
        str(pid_path),
    ]
    with log.open("w") as err:
        return subprocess.Popen([*BD, *words], cwd=clone.path, stdout=err, stderr=err, text=True, env={**os.environ, **QUICK})


@pytest.mark.slow
def test_four_agents_drain_twenty_beads_and_a_death_in_the_middle_costs_none(clone: Clones, hub: Path, tmp_path: Path) -> None:
    ada = clone("ada")
    for agent, role in ROLES.items():
        ada.here("agent", "add", agent, "--role", role, "--interval", "5s")
    plan: list[dict[str, Any]] = [
        {"title": f"{TITLES[agent]} {number}", "id": f"hub-{agent}{number}"} for agent in ROLES for number in range(5)
    ]
    plan[5] = {"title": "Fix the victim", "id": "hub-victim", "priority": 0}
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    ada.here("create", "--file", str(tmp_path / "plan.json"))
    clones = {agent: clone(agent) for agent in ROLES}
    pid_path = tmp_path / "child"
    workers = {"codemonkey": start(clones["codemonkey"], "codemonkey", pid_path, tmp_path / "codemonkey.log")}
    until(lambda: pid_path.exists() and pid_path.read_text().strip() != "")
    for agent in ROLES.keys() - workers.keys():  # now that the victim is in hand: the fallback agent would take it soon
        workers[agent] = start(clones[agent], agent, pid_path, tmp_path / f"{agent}.log")
    workers["codemonkey"].send_signal(signal.SIGKILL)
    os.kill(int(pid_path.read_text()), signal.SIGKILL)
    until(lambda: len(ada.here("list", "--status", "closed", "--fetch", "-q", "--limit", "0").lines) == 20, every_s=0.5)
    for worker in workers.values():
        worker.terminate()
        worker.wait(timeout=PATIENCE_S)
    done = {bead["id"]: bead for bead in json.loads(ada.here("list", "--all", "--json", "--fetch").out)}
    assert len(done) == 20
    assert {bead["status"] for bead in done.values()} == {"closed"}
    for bead_id, bead in done.items():
        by = bead["close_reason"].removeprefix("done by ")
        mine = "codemonkey" if bead_id == "hub-victim" else bead_id.removeprefix("hub-").rstrip("0123456789")
        assert by in (mine, "beadmaster"), f"{bead_id} ({bead['title']}) was done by {by}"
    (failure,) = done["hub-victim"]["failures"]
    assert (failure["agent"], failure["reason"]) == ("codemonkey", "stalled")
    assert done["hub-victim"]["close_reason"] == "done by beadmaster"
    assert git(hub, "for-each-ref", "refs/bd/claims") == ""


def test_a_paused_fleet_claims_nothing_and_goes_on_afterwards(clone: Clones, hub: Path) -> None:
    ada, coder = clone("ada"), clone("coder")
    ada.here("create", "Do it", "--id", "hub-a")
    ada.here("pause", "--reason", "the disk is full")
    result = coder.bd("work", "--agent", "coder", "--once", "--", "true", code=3)
    assert "the disk is full" in result.err
    assert coder.bd("poll", "--agent", "coder", "--json", code=3, env={"BD_TEST_CLOCK_OFFSET_S": "7200"}).json["ready"] == 0
    assert subjects(hub, "claim") == []
    ada.here("resume")
    coder.bd("work", "--agent", "coder", "--once", "--", "true")
    assert tip_bead(hub, "hub-a").status == "closed"


def test_an_agent_that_is_set_offline_gets_no_work(clone: Clones, hub: Path) -> None:
    ada, coder = clone("ada"), clone("coder")
    ada.here("agent", "add", "coder", "--role", "coding")
    ada.here("create", "Fix it", "--id", "hub-a")
    ada.here("offline", "coder")
    coder.bd("work", "--agent", "coder", "--once", "--", "true", code=3)
    assert tip_bead(hub, "hub-a").attempts == 0


@pytest.mark.slow
def test_an_idle_hour_of_ten_agents_makes_no_commits_and_few_polls(clone: Clones, hub: Path) -> None:
    """Ten agents of a 15 minute interval, asked every ten minutes of an hour that a clock pretends."""
    shared = clone("shared")
    before = git(hub, "rev-parse", "main")
    due = 0
    for minute in range(0, 60, 10):
        for agent in range(10):
            words = ("poll", "--agent", f"agent-{agent}", "--interval", "15m", "--json")
            due += shared.here(*words, code=3, env={"BD_TEST_CLOCK_OFFSET_S": str(minute * 60)}).json["due"]
    assert git(hub, "rev-parse", "main") == before
    assert due <= 10 * (3600 / 900 + 1)
    clone("ada").here("create", "Do it", "--id", "hub-a")
    woken = shared.bd("poll", "--agent", "agent-3", "--interval", "15m", "--json", env={"BD_TEST_CLOCK_OFFSET_S": "3600"}).json
    assert (woken["due"], woken["ready"]) == (True, 1)


@pytest.mark.slow
def test_a_bead_whose_worker_always_dies_is_given_up_after_three_claims(clone: Clones, hub: Path) -> None:
    """Killed right after each claim, so that nobody ever starts."""
    ada, coder = clone("ada"), clone("coder")
    ada.here("create", "Do it", "--id", "hub-a")
    later_s = 0
    for attempt in (1, 2, 3):
        later_s += 7200
        clocks = {"BD_TEST_CLOCK_OFFSET_S": str(later_s)}
        coder.bd("claim", "--next", "--agent", f"coder{attempt}", "--reserve", env=clocks)
        later_s += 7200
        clocks = {"BD_TEST_CLOCK_OFFSET_S": str(later_s)}
        coder.here("comment", "hub-a", "confirms her clock", "--agent", "clock", env=clocks)
        ada.bd("stalled", "--reassign", env=clocks)
    bead = tip_bead(hub, "hub-a")
    assert (bead.status, bead.attempts, len(bead.get("failures"))) == ("dead_letter", 3, 3)
    assert len(subjects(hub, "claim")) == 3
    assert ada.bd("ready", "--json", env={"BD_TEST_CLOCK_OFFSET_S": "999999"}).json == []
    ada.bd("dlq", "retry", "hub-a", "--reason", "the image is mended")
    coder.bd("claim", "--next", "--agent", "coder4")
    assert tip_bead(hub, "hub-a").attempts_counted == 1


@pytest.mark.slow
def test_a_bead_that_is_only_ever_given_back_is_spaced_out_and_never_given_up(clone: Clones, hub: Path) -> None:
    ada, coder = clone("ada"), clone("coder")
    ada.here("create", "Broken", "--id", "hub-a", "-p", "0")
    ada.here("create", "Fine", "--id", "hub-b")
    script = "test $BD_BEAD_ID = hub-b || exit 75"
    waits = []
    for turn in range(5):  # more often than a bead may fail
        clocks = {"BD_TEST_CLOCK_OFFSET_S": str(turn * 7200)}
        coder.bd("work", "--agent", "coder", "--once", "--max-tasks", "1", "--", "sh", "-c", script, env=clocks)
        waits.append(tip_bead(hub, "hub-a").get("retry_at") or "")
        coder.bd("work", "--agent", "coder", "--once", "--", "sh", "-c", script, env=clocks, check=False)
    bead = tip_bead(hub, "hub-a")
    assert (bead.status, bead.attempts_counted) == ("open", 0)
    assert bead.attempts >= 5
    assert waits == sorted(waits)
    assert tip_bead(hub, "hub-b").status == "closed"


def test_an_idle_agent_keeps_house(clone: Clones, hub: Path) -> None:
    """What was done long ago is archived by whoever has nothing else to do, once."""
    ada, coder = clone("ada"), clone("coder")
    ada.here("create", "Do it", "--id", "hub-a")
    ada.here("close", "hub-a")
    much_later = {"BD_TEST_CLOCK_OFFSET_S": str(40 * 86400)}
    coder.bd("work", "--agent", "coder", "--once", "--", "true", code=3, env=much_later)
    assert "archived 1 beads" not in coder.bd("work", "--agent", "coder", "--once", "--", "true", code=3, env=much_later).err
    assert len(subjects(hub, "archive")) == 1


def test_archiving_goes_on_for_a_few_commits_where_there_is_much(
    clone: Clones, hub: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maintenance, "_ARCHIVED_AT_ONCE", 2)
    monkeypatch.setattr(maintenance, "_ARCHIVINGS", 2)
    ada = clone("ada")
    for number in range(5):
        ada.here("create", "Do it", "--id", f"hub-{number}")
    ada.here("close", *(f"hub-{number}" for number in range(5)))
    clock.move(days=40)
    ada.here("poll", "--agent", "ada", code=3)
    assert len(subjects(hub, "archive")) == 2
    assert sum(path.startswith("beads/archive/") for path in bead_files(hub)) == 4
    clock.move(days=1)
    ada.here("poll", "--agent", "ada", code=3)
    assert sum(path.startswith("beads/archive/") for path in bead_files(hub)) == 5


def test_left_over_refs_are_removed_from_the_hub(clone: Clones, hub: Path) -> None:
    """Signs of claims that nobody has any more, at once; what a killed probe left, after a day."""
    ada = clone("ada")
    ada.bd("poll", "--agent", "ada", code=3)
    for name in ("claims/01GONE", "probe/12-ab"):
        git(hub, "update-ref", f"refs/bd/{name}", tip(hub))
    left = []
    for days in (1.1, 2.2, 3.3):
        later = str(days * 86400)
        ada.bd("poll", "--agent", "ada", code=3, env={"BD_TEST_CLOCK_OFFSET_S": later, "BD_TEST_UPTIME_OFFSET_S": later})
        left.append(git(hub, "for-each-ref", "--format=%(refname)", "refs/bd/claims", "refs/bd/probe").split())
    assert left == [["refs/bd/probe/12-ab"], [], []]


def test_a_clone_is_packed_once_it_has_many_loose_objects(
    clone: Clones, tmp_path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not once a day: a busy worker makes thousands in an hour. Where git has nothing to gain, it is not started again."""
    monkeypatch.setattr(maintenance, "LOOSE_OBJECTS", 256)
    ada = clone("ada")
    ada.here("poll", "--agent", "ada", code=3)
    for number in range(1200):
        (tmp_path / f"text-{number}").write_text(f"{number}\n")
    names = "\n".join(str(path) for path in sorted(tmp_path.glob("text-*")))
    git(ada.path, "hash-object", "-w", "--stdin-paths", data=names.encode())
    sample = ada.path / ".git" / "objects" / "17"
    assert len(list(sample.iterdir())) > 1
    clock.move(hours=3)
    ada.here("poll", "--agent", "ada", code=3)
    left = len(list(sample.iterdir())) if sample.exists() else 0
    packs = sorted((ada.path / ".git" / "objects" / "pack").iterdir())
    assert packs
    noted = json.loads((ada.path / ".git" / "bd" / "packed.json").read_text())
    assert noted == {"left": left}
    clock.move(hours=3)
    ada.here("poll", "--agent", "ada", code=3)
    assert sorted((ada.path / ".git" / "objects" / "pack").iterdir()) == packs


def test_an_idle_agent_says_so_once_and_then_now_and_then(clone: Clones, hub: Path, clock: FakeClock) -> None:
    """Each time is a push, and a host may count those."""
    ada = clone("ada")
    seen = []
    for minutes in (0, 2, 2, 16):
        clock.move(minutes=minutes)
        assert ada.here("poll", "--agent", "coder", "--interval", "1m", "--json", code=3).json["due"]
        seen.append(git(hub, "rev-parse", "refs/bd/agents/coder"))
    assert seen[0] == seen[1], "another empty poll is no news"
    assert seen[2] != seen[1], "that it looks more rarely is"
    assert seen[3] != seen[2], "nor is it silent for a quarter of an hour"


def test_an_agent_that_is_removed_leaves_no_record(clone: Clones, hub: Path) -> None:
    ada = clone("ada")
    ada.here("agent", "add", "coder", "--role", "coding")
    ada.bd("poll", "--agent", "coder", code=3)
    assert "refs/bd/agents/coder" in git(hub, "for-each-ref")
    ada.here("agent", "remove", "coder")
    assert "refs/bd/agents/coder" not in git(hub, "for-each-ref")
