"""How a session ended, by how the claim ended and why."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from bd.coding_agents.sessions import ASKED, GIVEN_BACK, TURNS
from bd.worker.attempt_end import _end
from bd.worker.result import DONE, FAILED, RELEASED, WAITING, Outcome
from tests.memory import make_bead


@pytest.mark.parametrize(
    ("what", "outcome", "status", "end"),
    [
        (DONE, Outcome(DONE), "closed", ""),
        (RELEASED, Outcome(RELEASED), "open", GIVEN_BACK),
        (WAITING, Outcome(WAITING), "blocked", ASKED),
        (FAILED, Outcome(FAILED, "other"), "open", ""),
        (FAILED, Outcome(FAILED, "turn_limit"), "open", TURNS),
        (RELEASED, Outcome(FAILED, "rate_limit"), "open", GIVEN_BACK),
        (RELEASED, Outcome(FAILED, "agent_crash"), "open", ""),  # such as a session that is gone: it would be gone again
        (FAILED, Outcome(DONE), "open", ""),
        ("settled", Outcome(DONE), "blocked", ASKED),
        ("settled", Outcome(DONE), "open", GIVEN_BACK),
        ("settled", Outcome(DONE), "closed", ""),
        ("lost", Outcome(RELEASED), "open", ""),
    ],
)
def test_only_work_that_was_interrupted_goes_on(what: str, outcome: Outcome, status: str, end: str) -> None:
    job: Any = SimpleNamespace(has_failed=lambda bead: False)
    assert _end(make_bead(status=status), job, what, outcome) == end


def test_what_the_agent_itself_failed_begins_anew() -> None:
    job: Any = SimpleNamespace(has_failed=lambda bead: True)
    assert _end(make_bead(status="open"), job, "settled", Outcome(DONE)) == ""
