"""A check that takes long, beside a worker's other jobs, and when the worker is stopped."""

from __future__ import annotations

import json
import signal
from typing import TYPE_CHECKING

import pytest

from tests.fleet.poolhost import is_alive
from tests.running import start_process
from tests.truth import git, log, tip_bead
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.running import Clone

    Clones = Callable[[str], Clone]

pytestmark = pytest.mark.one_in(5)

PLAN = """\
title: All of it
tasks:
  - {name: one, id: hub-one, title: To be checked, output: {validation: test-pass}}
  - {name: two, id: hub-two, title: Endless, max_attempts: 1, spec: {max_duration: 1s}}
"""


def made(clone: Clone, tests: str) -> None:
    (clone.path / ".git" / "bd").mkdir(exist_ok=True)
    (clone.path / ".git" / "bd" / "config.yaml").write_text(json.dumps({"validators": {"tests": tests}}) + "\n")
    clone.here("plan", "apply", "-", input=PLAN)


def test_the_limits_of_other_jobs_hold_while_an_output_is_checked(clone: Clones, hub: Path) -> None:
    """The check ends only when the other job has been ended by its limit."""
    alice = clone("alice")
    made(alice, f"until git -C {hub} log --format=%s main | grep -q 'fail: hub-two'; do sleep 0.1; done")
    script = 'test "$BD_BEAD_ID" = hub-one || sleep 1000'
    told = alice.bd("work", "--agent", "coder", "--jobs", "2", "--max-tasks", "2", "--json", "--", "sh", "-c", script).json
    assert [(one["id"], one["outcome"]) for one in told] == [("hub-two", "failed"), ("hub-one", "done")]
    two = tip_bead(hub, "hub-two")
    assert two is not None
    assert [failure["reason"] for failure in two.get("failures")] == ["timeout"]
    verbs = [subject.partition(" by ")[0] for subject in reversed(log(hub))]
    assert verbs.index("validate: hub-one") < verbs.index("fail: hub-two") < verbs.index("close: hub-one")


@pytest.mark.parametrize(("grace", "signals"), [("1s", 1), ("1h", 2)])
def test_who_is_stopped_leaves_no_check_behind(clone: Clones, hub: Path, tmp_path: Path, grace: str, signals: int) -> None:
    alice = clone("alice")
    noted = tmp_path / "noted"
    made(alice, f"echo $$ > {noted}.new; mv {noted}.new {noted}; exec sleep 1000")
    words = ("work", "--agent", "coder", "--max-tasks", "1", "--grace", grace, "--", "true")
    worker = start_process(*words, cwd=alice.path)
    until(lambda: noted.exists() or worker.poll() is not None)
    for number in (signal.SIGTERM, signal.SIGINT)[:signals]:
        worker.send_signal(number)
    _, err = worker.communicate()
    one = tip_bead(hub, "hub-one")
    assert one is not None, err
    assert (one.status, one.claim, one.attempts_counted) == ("open", None, 0)
    assert one.get("status_reason") == "could not be validated: the worker was stopped"
    until(lambda: not is_alive(int(noted.read_text())))
    assert "every change kept the rules" in alice.here("audit", "--fetch").out
    assert git(hub, "for-each-ref", "refs/bd/claims") == ""
