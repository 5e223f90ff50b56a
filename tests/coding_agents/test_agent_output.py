"""The outcome of an attempt with a coding agent: the worst of what the program, its commits and the result file say."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bd.coding_agents.known import KNOWN
from bd.repos.delivery import Commits
from bd.worker.agent_output import AgentOutput
from bd.worker.output import PlainOutput
from bd.worker.result import DONE, FAILED, RELEASED, Outcome
from tests.standins import lines

DENIED = lines.claude_result(permission_denials=[{"tool_name": "Write"}])
BROKEN = lines.claude_result("It broke", is_error=True)
TURNS = lines.claude_result("", subtype="error_max_turns", is_error=True)


def output(*out: Any, name: str = "claude", **more: Any) -> AgentOutput:
    made = AgentOutput(KNOWN[name], more.get("model", ""), more.get("prices", {}), more.get("note", lambda *_: None))
    for one in out:
        made.hear(one if isinstance(one, str) else json.dumps(one))
    return made


def outcome(*out: Any, code: int = 0, told: Any = None, commits: Commits | None = None) -> Outcome:
    result = None if told is None else told if isinstance(told, bytes) else json.dumps(told).encode()
    return output(lines.init(), *out).outcome(code, result, commits)


@pytest.mark.parametrize(
    ("result", "told", "commits", "what", "kind", "text"),
    [
        (lines.claude_result(), None, None, DONE, "", "Fixed the CORS headers."),
        (lines.claude_result(), None, Commits(2), DONE, "", "Fixed the CORS headers."),
        (lines.claude_result(), None, Commits(0), FAILED, "no_change", "it committed nothing: Fixed the CORS headers."),
        (lines.claude_result(), None, Commits(0, 2), DONE, "", "Fixed the CORS headers."),
        (lines.claude_result('{"files": 1}'), None, None, DONE, "", ""),
        (DENIED, None, None, FAILED, "denied", "it was not allowed to use Write: Fixed the CORS headers."),
        (
            DENIED,
            None,
            Commits(0),
            FAILED,
            "denied",
            "it was not allowed to use Write, and committed nothing: Fixed the CORS headers.",
        ),
        (DENIED, None, Commits(0, 2), FAILED, "denied", None),
        (DENIED, None, Commits(1), DONE, "", "Fixed the CORS headers."),
        (lines.claude_result(), {"text": "merged"}, None, DONE, "", "merged"),
        (lines.claude_result(), {"outcome": "released", "text": "no access"}, Commits(0), RELEASED, "", "no access"),
        (
            lines.claude_result(),
            {"outcome": "failed", "kind": "timeout"},
            Commits(1),
            FAILED,
            "timeout",
            "Fixed the CORS headers.",
        ),
        (lines.claude_result(), {"text": "x"}, Commits(0), FAILED, "no_change", "it committed nothing: x"),
        (lines.claude_result(), b"{", Commits(1), FAILED, "invalid_output", None),
        (lines.claude_result(), b" \n", Commits(1), DONE, "", "Fixed the CORS headers."),
        (BROKEN, {"outcome": "done", "text": "fine"}, Commits(1), FAILED, "other", "It broke"),
        (TURNS, {"outcome": "released"}, Commits(1), FAILED, "turn_limit", "it reached its limit of turns"),
    ],
)
def test_the_worst_counts(
    result: dict[str, Any], told: Any, commits: Commits | None, what: str, kind: str, text: str | None
) -> None:
    found = outcome(result, told=told, commits=commits)
    assert (found.what, found.kind) == (what, kind)
    assert text is None or found.text == text
    assert (found.cost["usd"], found.cost["model"]) == (0.25, "claude-sonnet-4-5")


PRETTY = json.dumps({"is_error": True, "response": "It broke"}, indent=2).split("\n")
LONG = json.dumps(lines.claude_result("It broke. " * 2000, is_error=True))
PLAIN: dict[str, tuple[list[str], str, str, str]] = {
    "success": ([json.dumps(lines.claude_result("# All\n\nFixed it."))], DONE, "", "Fixed it."),
    "error": (["Hello", json.dumps(BROKEN)], FAILED, "other", "It broke"),
    "over several lines": (["Hello", *PRETTY], FAILED, "other", "It broke"),
    "longer than what is kept of a line": ([LONG], FAILED, "other", "It broke."),
    "of the provider": (
        [json.dumps(lines.claude_result("API Error: 529 Overloaded", is_error=True))],
        FAILED,
        "overloaded",
        "API",
    ),
    "without words": (['{"is_error": true}'], FAILED, "other", "it reported an error"),
    "figures": (["Fixed 3 files.", '{"files": 3}'], DONE, "", "Fixed 3 files."),
    "a stream": ([json.dumps(lines.says("Looking")), json.dumps(lines.claude_result())], DONE, "", "Fixed the CORS headers."),
    "words in braces": (["{curly} words"], DONE, "", "{curly} words"),
    "an error that was mended": ([json.dumps(BROKEN), "Fixed it."], DONE, "", f"{json.dumps(BROKEN)}\nFixed it."),
}


@pytest.mark.parametrize("name", PLAIN)
def test_a_report_in_json_of_any_command_is_heard(name: str) -> None:
    """`bd work -- claude -p --output-format json`: its exit code is 0 whatever it reports."""
    said, what, kind, text = PLAIN[name]
    output = PlainOutput()
    for line in said:
        output.hear(line[: output.line_limit])
    found = output.outcome(0, None)
    assert (found.what, found.kind, found.text[: len(text) or None]) == (what, kind, text)
    if kind:
        assert output.outcome(0, b'{"outcome": "done", "text": "fine"}').kind == kind
        assert output.outcome(0, b'{"outcome": "released"}').what == RELEASED


def test_output_and_artifacts_of_the_result_file_are_kept_and_its_flaws_told() -> None:
    found = outcome(lines.claude_result(), told={"output": {"n": 1}, "artifacts": ["x"], "cost": 9, "tokns": 1})
    assert (found.output, found.artifacts, found.cost["usd"]) == ({"n": 1}, ["x"], 0.25)
    assert found.flaws == ("nothing reads its key 'tokns' (did you mean tokens?)",)


def test_the_end_of_a_limit_is_told_only_of_a_limit() -> None:
    limit = lines.limit("rejected", 1771390800)
    hit = lines.claude_result("You've hit your limit", is_error=True)
    assert outcome(limit, hit, code=1).resets_at == "2026-02-18T05:00:00Z"
    assert outcome(limit, BROKEN, code=1).kind == "rate_limit"  # the rejection came last: what broke is the limit
    assert outcome(limit, lines.limit("allowed", 1771390800), BROKEN, code=1).resets_at is None
    assert outcome(limit, lines.claude_result()).resets_at is None


def test_the_result_file_may_say_when_a_limit_ends() -> None:
    told = {"outcome": "failed", "kind": "rate_limit", "resets_at": "2026-02-18T05:00:00Z"}
    assert outcome(lines.claude_result(), told=told).resets_at == "2026-02-18T05:00:00Z"


def test_a_secret_is_masked_in_all_that_leaves_the_machine() -> None:
    token = "ghp_" + "a1B2c3D4e5F6" * 3
    made = output(lines.init(), lines.says(f"with {token}"), lines.claude_result(f"with {token}", is_error=True))
    assert token not in made.last_line
    assert token not in made.outcome(1, None).text
    assert token not in made.hear_error(f"with {token}")


def test_costs_are_told_as_they_come() -> None:
    told: list[Any] = []
    made = output(lines.init(), note=lambda cost, session: told.append((cost, session)))
    assert told == []
    made.hear(json.dumps(lines.says("a", 1, 10, 5)))
    made.hear(json.dumps({"type": "user"}))
    made.hear(json.dumps(lines.claude_result()))
    assert [cost for cost, _ in told] == [
        {"tokens": {"input": 10, "output": 5}, "model": "claude-sonnet-4-5", "estimated": True},
        {"usd": 0.25, "tokens": {"input": 110, "output": 5}, "model": "claude-sonnet-4-5"},
    ]
    assert told[-1][1]["session"] == lines.SESSION


@pytest.mark.parametrize(
    ("model", "prices", "usd"),
    [
        ("gpt-5", {"gpt-5": {"input": 1, "output": 10}, "codex": {"input": 9, "output": 9}}, 2.0),
        ("gpt-6", {"gpt-5": {"input": 1, "output": 10}, "codex": {"input": 9, "output": 9}}, 9.9),
        ("", {"codex": {"input": 9, "output": 9}}, 9.9),
        ("", {"codex": 7}, None),
        ("", {}, None),
    ],
)
def test_prices_go_by_model_then_by_program(model: str, prices: dict[str, Any], usd: float | None) -> None:
    made = output(lines.thread(), lines.turn(1_000_000, 100_000), name="codex", model=model, prices=prices)
    tokens = {"input": 1_000_000, "output": 100_000}
    expected = {"usd": usd, "tokens": tokens, "model": model or "codex", "estimated": True}
    assert made.cost == {key: value for key, value in expected.items() if value is not None}
    assert made.outcome(0, None).cost == made.cost
