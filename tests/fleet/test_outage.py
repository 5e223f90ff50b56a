"""A provider that is away, with real workers on a real hub: its account rests, and no bead suffers."""

from __future__ import annotations

import json
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

BEADS = [f"hub-{number}" for number in range(8)]
SAYS = "import json, os; json.dump({words!r}, open(os.environ['BD_RESULT_FILE'], 'w'))"


def says(**words: object) -> tuple[str, ...]:
    return (sys.executable, "-c", SAYS.format(words=words))


def test_six_workers_and_a_command_that_is_turned_away_at_once(clone: Clones, hub: Path) -> None:
    """Eight beads that are tried again at once: they were dead letters in seconds, and all agents overloaded."""
    one = clone("one")
    for bead_id in BEADS:
        one.here("create", f"Do {bead_id}", "--id", bead_id, "--retry", "immediate")
    words = ("--once", "--", "sh", "-c", "exit 79")
    for _ in range(2):  # the second round finds the account at rest
        started = [
            subprocess.Popen([*BD, "work", "--agent", f"agent-{number}", *words], cwd=one.path, stderr=subprocess.DEVNULL)
            for number in range(6)
        ]
        assert {worker.wait() for worker in started} <= {0, 3}
    beads = [tip_bead(hub, bead_id) for bead_id in BEADS]
    assert [(bead.status, bead.attempts_counted, bead.get("retry_at")) for bead in beads] == [("open", 0, None)] * 8
    claims = subjects(hub, "claim")
    assert len(claims) <= 6, "nobody takes a second bead"
    found = one.bd("attention", "--json").json
    assert (found["total"], len(found["outages"])) == (1, 1)
    assert found["outages"][0]["reason"] == "rate_limit"
    refused = one.bd("claim", "--next", "--agent", "agent-0", "--json", code=3).json
    assert refused["reason"] == "resting"
    assert 0 < refused["retry_after_s"] <= 120
    one.bd("agent", "wake", "agent-0")
    done = one.bd("work", "--agent", "agent-0", "--once", "--json", "--", "true").json
    assert [entry["outcome"] for entry in done] == ["done"] * 8


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
