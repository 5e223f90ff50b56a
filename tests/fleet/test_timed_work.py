"""Workers and polls that a timer starts: never two at once, what is due is done and taken at once, and the log is one to read."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.race.test_told_truly import entries
from tests.running import BD
from tests.truth import git, tip_bead
from tests.waiting import PATIENCE_S, until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.running import Clone

    Clones = Callable[[str], Clone]

pytestmark = pytest.mark.one_in(9)

TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z "


def start(clone: Clone, *words: str, log: Path) -> subprocess.Popen[bytes]:
    """A worker as cron starts it: all that it says goes to the end of one file."""
    with log.open("ab") as file:
        return subprocess.Popen([*BD, "work", "--agent", "ann", *words], cwd=clone.path, stdout=file, stderr=file)


@pytest.mark.parametrize("first", [("--once",), ()])
def test_a_timer_starts_no_second_worker_while_one_runs(first: tuple[str, ...], clone: Clones, hub: Path, tmp_path: Path) -> None:
    ada = clone("ada")
    for bead in ("hub-a", "hub-b"):
        ada.here("create", "Do it", "--id", bead)
    log, waits = (
        tmp_path / "log",
        ("--max-tasks", "1", "--", "sh", "-c", f"touch {tmp_path}/runs; until [ -e {tmp_path}/go ]; do sleep 0.05; done"),
    )
    worker = start(ada, *first, *waits, log=log)
    until((tmp_path / "runs").exists)
    second = start(ada, "--once", "--", "true", log=log)
    assert second.wait(PATIENCE_S) == 3
    assert log.read_text().splitlines()[-1].endswith("a worker of ann runs in this clone already")
    other = ada.bd("work", "--agent", "bob", "--once", "--max-tasks", "1", "--json", "--", "true")
    assert [one["outcome"] for one in other.json] == ["done"], "another agent's may"
    refused = ada.bd("work", "--agent", "ann", "--once", "--json", "--", "true", code=3)
    assert refused.json["code"] == "nothing_ready"
    (tmp_path / "go").touch()
    assert worker.wait(PATIENCE_S) == 0
    ada.here("create", "Do it", "--id", "hub-c")
    assert start(ada, "--once", "--", "true", log=log).wait(PATIENCE_S) == 0
    assert [tip_bead(hub, bead).status for bead in ("hub-a", "hub-b", "hub-c")] == ["closed"] * 3


def test_a_worker_that_was_killed_keeps_no_later_one_away(clone: Clones, tmp_path: Path) -> None:
    ada = clone("ada")
    ada.here("create", "Do it", "--id", "hub-a")
    worker = start(
        ada, "--once", "--grace", "0.1s", "--", "sh", "-c", f"touch {tmp_path}/runs; sleep 86400", log=tmp_path / "log"
    )
    until((tmp_path / "runs").exists)
    until(lambda: entries(ada) == [])  # else the claim of the dead one is handed out again
    worker.send_signal(signal.SIGKILL)
    worker.wait()
    ada.here("create", "Do it", "--id", "hub-b")
    assert ada.bd("work", "--agent", "ann", "--once", "--json", "--", "true").json[0]["id"] == "hub-b"


def test_each_line_of_a_log_has_its_time_and_nothing_to_do_is_no_error(clone: Clones, tmp_path: Path) -> None:
    ada, log = clone("ada"), tmp_path / "log"
    for bead in ("hub-a", "hub-b"):
        ada.here("create", f"Do {bead}", "--id", bead)
    start(ada, "--once", "--", "echo", "working", log=log).wait(PATIENCE_S)
    for _ in range(2):
        assert start(ada, "--once", "--", "echo", "working", log=log).wait(PATIENCE_S) == 3
    lines = log.read_text().splitlines()
    assert all(re.match(TIME, line) for line in lines), lines
    said = [re.sub(f"^{TIME}", "", line) for line in lines]
    assert not [line for line in said if line.startswith(("Error:", "Hint:"))]
    words = [line.split()[0] + line.split()[1] for line in said if line.startswith(("hub-", "✓")) and "|" not in line]
    assert words == ["hub-a—", "✓Closed", "hub-b—", "✓Closed"], "one bead after the other"
    assert said[-1].startswith("no work for ann")


def test_results_alone_and_on_a_terminal_have_no_times(clone: Clones) -> None:
    ada = clone("ada")
    ada.here("create", "Do it", "--id", "hub-a")
    assert ada.bd("work", "--agent", "ann", "--once", "--", "true").lines == ["✓ Closed hub-a — Do it: Done"]


def test_who_makes_a_scheduled_bead_takes_it(clone: Clones, hub: Path) -> None:
    ada = clone("ada")
    ada.here("schedule", "add", "water", "--cron", "* * * * *", "--title", "Water the plants")
    later = {"BD_TEST_CLOCK_OFFSET_S": "120"}
    polled = ada.bd("poll", "--agent", "bob", "--json", env=later)
    assert polled.json["ready"] == 1
    (bead,) = (one["id"] for one in ada.here("list", "--json", "--fetch").json)
    ada.here("cancel", bead, "--reason", "once more")
    done = ada.bd("work", "--agent", "ann", "--once", "--json", "--", "true", env={"BD_TEST_CLOCK_OFFSET_S": "300"})
    assert [(one["title"], one["outcome"]) for one in done.json] == [("Water the plants", "done")]


def test_a_poll_that_is_not_due_frees_what_has_stalled(clone: Clones, hub: Path, tmp_path: Path) -> None:
    ada, bob = clone("ada"), clone("bob")
    ada.here("create", "Do it", "--id", "hub-a")
    env = {**os.environ, "BD_HEARTBEAT_INTERVAL": "2s"}
    command = ["work", "--agent", "ann", "--", "sh", "-c", f"touch {tmp_path}/runs; sleep 86400"]
    worker = subprocess.Popen([*BD, *command], cwd=ada.path, env=env, stdout=-1, stderr=-1)
    until((tmp_path / "runs").exists)
    worker.kill()
    worker.communicate()

    def poll(after_s: int) -> dict[str, object]:
        env = {"BD_TEST_UPTIME_OFFSET_S": str(after_s), "BD_TEST_CLOCK_OFFSET_S": str(after_s)}
        return json.loads(bob.bd("poll", "--agent", "bob", "--interval", "30m", "--json", env=env, check=False).out)

    found = [poll(after_s) for after_s in range(0, 60, 10)]
    assert [one.get("freed") for one in found if one.get("freed")] == [["hub-a"]]
    assert any(not one["due"] for one in found), "its pace is half an hour"
    assert tip_bead(hub, "hub-a").claim is None


def test_polls_that_are_not_due_look_no_more_often_than_signs_are_given(clone: Clones, hub: Path) -> None:
    """And not at all where nobody has a claim: the tip is all they ask for."""
    ada, bob = clone("ada"), clone("bob")
    ada.here("create", "Do it", "--id", "hub-a", "--assignee", "ann")
    bob.bd("poll", "--agent", "bob", check=False, code=3)
    looked = bob.path / ".git" / "bd" / "stalls-looked.json"
    bob.bd("poll", "--agent", "bob", check=False, code=3)
    assert not looked.exists()
    ada.bd("claim", "hub-a", "--agent", "ann")
    bob.bd("poll", "--agent", "bob", check=False)
    before = [bob.bd("poll", "--agent", "bob", check=False) and looked.read_text() for _ in range(2)]
    assert before[0] == before[1]
    assert git(hub, "for-each-ref", "refs/bd/claims") == ""
