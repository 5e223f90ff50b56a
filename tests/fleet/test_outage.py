"""A provider that is away, with real workers on a real hub: its account rests, and no bead suffers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.race.history import subjects
from tests.running import BD
from tests.truth import tip_bead

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.running import Clone

    Clones = Callable[[str], Clone]

pytestmark = pytest.mark.slow

CLOCK = "BD_TEST_CLOCK_OFFSET_S"
AWAY_AT_S = (0, 120, 300, 600)
BEADS = [f"hub-{number}" for number in range(8)]
SAYS = "import json, os; json.dump({words!r}, open(os.environ['BD_RESULT_FILE'], 'w'))"


def says(**words: object) -> tuple[str, ...]:
    return (sys.executable, "-c", SAYS.format(words=words))


def test_six_workers_and_a_command_that_is_turned_away_at_once(clone: Clones, hub: Path) -> None:
    """Eight beads that are tried again at once, for ten minutes: they were dead letters in seconds, and all agents overloaded."""
    one = clone("one")
    for bead_id in BEADS:
        one.here("create", f"Do {bead_id}", "--id", bead_id, "--retry", "immediate")
    assert set(_six_work(one, 0)) <= {0, 3}
    began = len(subjects(hub, "claim"))
    assert 1 <= began <= 6, "those who begin before anybody knows, and nobody takes a second bead"
    refused = next(failure["agent"] for bead_id in BEADS for failure in tip_bead(hub, bead_id).get("failures") or [])
    rests = one.bd("claim", "--next", "--agent", refused, "--json", code=3).json
    assert rests["reason"] == "resting"
    assert 0 < rests["retry_after_s"] <= 300
    for at_s in AWAY_AT_S:
        before = len(subjects(hub, "claim"))
        assert set(_six_work(one, at_s)) <= {0, 3}
        assert len(subjects(hub, "claim")) - before <= 1, "one agent tries one bead"
    assert len(subjects(hub, "claim")) <= began + 3
    beads = [tip_bead(hub, bead_id) for bead_id in BEADS]
    assert [(bead.status, bead.attempts_counted, bead.get("retry_at")) for bead in beads] == [("open", 0, None)] * 8
    found = one.bd("attention", "--json", env={CLOCK: str(AWAY_AT_S[-1])}).json
    assert (found["total"], len(found["outages"])) == (1, 1)
    assert found["outages"][0]["reason"] == "rate_limit"
    after = {CLOCK: "3600"}
    done = one.bd("work", "--agent", refused, "--once", "--json", "--", "sh", "-c", "exit 0", env=after).json
    assert [entry["outcome"] for entry in done] == ["done"] * 8
    assert one.bd("attention", "--json", env=after).json["total"] == 0


def _six_work(one: Clone, at_s: int) -> list[int]:
    """Start six workers at the same moment, of which each is turned away. Return their exit codes."""
    typed = ("--once", "--", "sh", "-c", "exit 79")
    started = [
        subprocess.Popen(
            [*BD, "work", "--agent", f"agent-{number}", *typed],
            cwd=one.path,
            stderr=subprocess.DEVNULL,
            env={**os.environ, CLOCK: str(at_s)},
        )
        for number in range(6)
    ]
    return [worker.wait() for worker in started]


@pytest.mark.parametrize(
    ("command", "kind", "rest_s"),
    [
        (("sh", "-c", "exit 77"), "auth_failure", 3600),
        (("sh", "-c", "echo 'overloaded, retry in 5 minutes'; exit 79"), "rate_limit", 300),
        (says(outcome="failed", kind="quota", text="spent", resets_at="2099-01-01T00:00:00Z"), "quota", 7 * 86400),
        (says(outcome="failed", kind="provider_error", resets_at="tomorrow"), "provider_error", 60),
    ],
)
def test_how_a_command_says_that_it_was_turned_away(
    clone: Clones, hub: Path, command: tuple[str, ...], kind: str, rest_s: int
) -> None:
    one = clone("one")
    one.here("create", "Do it", "--id", "hub-a")
    ended = one.bd("work", "--agent", "coder", "--once", "--json", "--", *command).json
    assert [(entry["outcome"], entry["text"].partition(":")[0]) for entry in ended] == [("released", kind)]
    bead = tip_bead(hub, "hub-a")
    assert (bead.status, bead.attempts_counted, [one["reason"] for one in bead.get("failures")]) == ("open", 0, [kind])
    [outage] = json.loads(one.bd("attention", "--json").out)["outages"]
    waits = one.bd("claim", "--next", "--agent", "coder", "--json", code=3).json["retry_after_s"]
    assert outage["reason"] == kind
    assert rest_s - 60 < waits <= rest_s


def test_a_failure_by_hand_keeps_its_exit_code_and_its_json(clone: Clones) -> None:
    one = clone("one")
    one.here("create", "Do it", "--id", "hub-a")
    one.bd("claim", "hub-a", "--agent", "coder")
    [bead] = one.bd("fail", "hub-a", "--agent", "coder", "--reason", "rate_limit", "--error", "429", "--json").json
    assert (bead["id"], bead["status"], bead["failures"][0]["reason"]) == ("hub-a", "open", "rate_limit")
    one.bd("claim", "hub-a", "--agent", "other")
