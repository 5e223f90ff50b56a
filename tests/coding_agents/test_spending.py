"""What runs cost, by totals that cover a process or a session: the sums that are booked are the truth, whatever was killed."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bd.coding_agents.known import KNOWN
from bd.coding_agents.sessions import GIVEN_BACK, Session
from bd.coding_agents.spending import Meaning, Spent, Totals, estimated, spent
from bd.worker.agent_output import AgentOutput
from tests.standins import lines

OF_PROCESS, OF_SESSION = "2.1.276", "2.1.277"
CLAUDE = KNOWN["claude"].totals


@pytest.mark.parametrize(
    ("version", "covers"),
    [("1.0.3", "process"), ("2.1.221", "process"), ("2.1.276", "process"), ("2.1.277", "session"), ("2.2", "session"),
     ("3.0.0-beta.1", "session"), ("", "unknown"), ("newest", "unknown")],
)  # fmt: skip
def test_the_version_says_what_a_total_covers(version: str, covers: str) -> None:
    assert CLAUDE.of_dollars(version) == covers


@pytest.mark.parametrize(
    ("totals", "before", "version", "is_told"),
    [
        (Totals(0.5), Totals(), OF_PROCESS, Spent(0.5)),
        (Totals(0.5), Totals(0.3), OF_PROCESS, Spent(0.5)),
        (Totals(0.5), Totals(0.3), OF_SESSION, Spent(0.2)),
        (Totals(0.1), Totals(0.3), OF_SESSION, Spent(0.1)),  # a session that began to count again
        (Totals(0.5), Totals(), "", Spent(0.5)),
        (Totals(0.1), Totals(0.3), "", Spent(0.1)),
        (Totals(0.5, 10, 0, 5), Totals(0.3), "", Spent(None, {"input": 10, "output": 5}, True)),  # nobody can know
        (Totals(None, 10, 0, 5), Totals(), OF_PROCESS, Spent(None, {"input": 10, "output": 5}, True)),  # killed
        (Totals(0.0), Totals(), OF_PROCESS, Spent(0.0)),
        (Totals(), Totals(), OF_PROCESS, Spent()),
    ],
)
def test_a_run_costs_the_difference(totals: Totals, before: Totals, version: str, is_told: Spent) -> None:
    assert spent(totals, before, version, CLAUDE) == is_told


def test_a_price_is_for_a_million_tokens_and_makes_an_estimate() -> None:
    codex = KNOWN["codex"].totals
    run, before = Totals(None, 3_000_000, 1_000_000, 200_000), Totals(None, 1_000_000, 500_000, 100_000)
    price = {"input": 1.25, "cached": 0.125, "output": 10}
    tokens = {"input": 2_000_000, "output": 100_000}
    assert estimated(run, before, codex, price) == Spent(1.5 * 1.25 + 0.5 * 0.125 + 1.0, tokens, True)
    assert estimated(run, before, codex, {"input": 1, "output": 1}) == Spent(2.1, tokens, True)
    for useless in (None, {}, {"input": "1", "output": 1}, {"input": -1, "output": 1}, {"input": float("nan"), "output": 1}):
        assert estimated(run, before, codex, useless) == Spent(None, tokens, True)


def begun(name: str, resumed: Session | None, prices: dict[str, Any]) -> AgentOutput:
    output = AgentOutput(KNOWN[name], "", prices, lambda *_: None)
    output.begin("here", resumed)
    return output


class Life(NamedTuple):
    """One process: what it spends between its reports, in cents; whether it reports the last of it; whether it resumes."""

    cents: list[int]
    is_killed: bool
    resumes: bool


LIVES = st.lists(st.builds(Life, st.lists(st.integers(0, 500), max_size=4), st.booleans(), st.booleans()), max_size=8)


@given(LIVES, st.booleans())
def test_whatever_is_killed_and_resumed_the_booked_sum_is_what_was_said(lives: list[Life], of_session: bool) -> None:
    """A killed process has spent its last cents unsaid: a total of a process never names them, the next one of a session does."""
    version = OF_SESSION if of_session else OF_PROCESS
    before: Session | None = None
    booked = said = unsaid = counter = 0
    for number, life in enumerate(lives):
        resumed = before if life.resumes else None
        if resumed is None or not of_session:
            counter, unsaid = 0, 0
        output = begun("claude", resumed, {})
        name = resumed.session if resumed else f"session-{number}"
        output.hear(_json(lines.init(version, name)))
        for place, cents in enumerate(life.cents):
            counter, unsaid = counter + cents, unsaid + cents
            if not (life.is_killed and place == len(life.cents) - 1):
                output.hear(_json(lines.claude_result(usd=counter / 100, session_id=name)))
                said, unsaid = said + unsaid, 0
        booked += round(100 * (output.cost.get("usd") or 0))
        before = output.session(GIVEN_BACK)
    assert booked == said


@given(LIVES, st.booleans())
def test_a_thread_is_counted_once(lives: list[Life], has_price: bool) -> None:
    before: Session | None = None
    booked = said = unsaid = counter = 0
    usd = 0.0
    for number, life in enumerate(lives):
        resumed = before if life.resumes else None
        if resumed is None:
            counter, unsaid = 0, 0
        prices = {"codex": {"input": 1_000_000, "output": 0}} if has_price else {}
        output = begun("codex", resumed, prices)
        output.hear(_json(lines.thread(resumed.session if resumed else f"thread-{number}")))
        for place, tokens in enumerate(life.cents):
            counter, unsaid = counter + tokens, unsaid + tokens
            if not (life.is_killed and place == len(life.cents) - 1):
                output.hear(_json(lines.turn(counter, counter)))
                said, unsaid = said + unsaid, 0
        cost = output.cost
        booked += (cost.get("tokens") or {}).get("input", 0)
        usd += cost.get("usd") or 0
        assert bool(cost) == bool(cost.get("estimated"))
        before = output.session(GIVEN_BACK)
    assert booked == said
    assert usd == (said if has_price else 0)


def test_one_meaning_needs_no_version() -> None:
    assert Meaning((("0", "session"),), "session").of_dollars("") == "session"


def _json(found: object) -> str:
    import json

    return json.dumps(found)
