"""What a run of a coding agent came to, by its lines and its exit code. Nothing that it prints is trusted."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bd.coding_agents.known import KNOWN
from bd.coding_agents.reader import Reader
from bd.coding_agents.result import SENTENCE_LIMIT, sentence_of
from bd.policy.failure_kinds import KINDS
from tests.standins import lines

if TYPE_CHECKING:
    from bd.coding_agents.result import Result

pytestmark = pytest.mark.one_in(3)

INIT, WORDS = lines.init(), lines.says("Looking at it.")
LIMIT = (
    '{"type":"error","error":{"type":"usage_limit_reached","message":"The usage limit has been reached","resets_at":1777936568}}'
)


def heard(name: str, out: list[Any], err: list[Any] | None = None, cut: bool = False) -> Reader:
    reader = KNOWN[name].reader()
    told = [one if isinstance(one, str) else json.dumps(one) for one in out]
    if cut:
        told[-1] = told[-1][: len(told[-1]) * 2 // 3]
    for text in told:
        for line in text.split("\n"):
            reader.hear(line)
    for one in err or []:
        for line in (one if isinstance(one, str) else json.dumps(one, indent=2)).split("\n"):
            reader.hear_error(line)
    return reader


def result(name: str, out: list[Any], code: int = 0, err: list[Any] | None = None, cut: bool = False) -> Result:
    return heard(name, out, err, cut).result(code)


def failed(subtype: str, **more: Any) -> dict[str, Any]:
    return lines.claude_result("", subtype=subtype, is_error=True, **more)


def refused(text: str, **more: Any) -> dict[str, Any]:
    return lines.claude_result(text, is_error=True, **more)


def gemini(response: str | None = "Fixed it.", **more: Any) -> str:
    return json.dumps(lines.gemini(response, **more), indent=2)


# Program, its lines, exit code, stderr; the kind of failure ("" for a success), and words of the text.
CASES: list[tuple[str, list[Any], int, list[Any], str, str]] = [
    ("claude", [INIT, WORDS, lines.claude_result()], 0, [], "", "Fixed the CORS headers."),
    ("claude", [INIT, lines.claude_result()], 1, [], "bad_output", "exit code 1"),
    ("claude", [INIT, lines.claude_result()], -9, [], "crash", "signal 9"),
    ("claude", [INIT, lines.claude_result(), refused("API Error: 500", api_error_status=500)], 0, [], "provider_error", "API"),
    ("claude", [INIT, refused("no"), lines.claude_result()], 0, [], "other", "no"),  # two results that disagree
    ("claude", [INIT, lines.claude_result("All done", subtype="error_during_execution")], 0, [], "other", "All done"),
    ("claude", [INIT, lines.claude_result(is_error="yes")], 0, [], "other", ""),
    ("claude", [INIT, failed("error_max_turns")], 1, [], "turn_limit", "limit of turns"),
    ("claude", [INIT, failed("error_max_budget_usd")], 1, [], "budget_exceeded", "cost"),
    ("claude", [INIT, refused("Credit balance is too low")], 1, [], "quota", "Credit balance"),
    ("claude", [INIT, refused("Invalid API key · Please run /login")], 1, [], "auth_failure", "login"),
    ("claude", [INIT, refused("API Error: 529 Overloaded")], 1, [], "overloaded", "529"),
    ("claude", [INIT, lines.limit("rejected", 1771390800), refused("Stopped")], 1, [], "rate_limit", "Stopped"),
    ("claude", [INIT, refused("You've hit your limit · resets 2:10pm (UTC)")], 1, [], "rate_limit", "limit"),
    ("claude", [INIT, lines.says("x", error="server_error"), refused("no")], 1, [], "provider_error", "no"),
    ("claude", [INIT, refused("No conversation found with session ID: 1")], 1, [], "agent_crash", "No conversation"),
    ("claude", [INIT, WORDS], 0, [], "bad_output", "printed no result"),
    ("claude", [INIT, WORDS], 1, ["Error: connect ECONNREFUSED"], "provider_error", "ECONNREFUSED"),
    ("claude", [INIT, WORDS], -15, [], "crash", "signal 15"),
    ("claude", [], 1, ["error: unknown option '--verbos'"], "agent_crash", "unknown option"),
    ("claude", ["Invalid API key · Please run /login"], 1, [], "auth_failure", "login"),
    ("claude", [], 0, [], "bad_output", "printed no result"),
    ("claude", ["null", "[1]", '"x"', "{}", '{"type": 7}', '{"type": "result"}'], 0, [], "other", "error"),
    ("codex", [lines.thread(), lines.message("All fixed."), lines.turn(1000, 50)], 0, [], "", "All fixed."),
    ("codex", [lines.thread(), lines.turn_failed("stream disconnected before completion")], 1, [], "provider_error", "stream"),
    ("codex", [lines.thread(), lines.turn_failed(LIMIT)], 1, [], "rate_limit", "usage"),
    (
        "codex",
        [lines.thread(), lines.turn_failed("You've hit your usage limit. Try again at 3:05 PM.")],
        1,
        [],
        "rate_limit",
        "3:05",
    ),
    ("codex", [lines.thread(), lines.turn_failed("unexpected status 401 Unauthorized")], 1, [], "auth_failure", "401"),
    ("codex", [lines.thread(), {"type": "error", "message": "Reconnecting... 1/5"}, lines.turn(1, 1)], 0, [], "", ""),
    ("codex", [lines.thread(), lines.message("Half")], 0, [], "bad_output", "no result"),
    ("codex", [lines.thread(), lines.turn(1, 1), {"type": "turn.started"}], 0, [], "bad_output", "can't be read"),
    ("codex", [lines.thread(), lines.turn_failed("no rollout found for thread id 1")], 1, [], "agent_crash", "rollout"),
    ("codex", [], 2, ["error: unexpected argument '--jsn'"], "agent_crash", "unexpected argument"),
    ("gemini", [gemini()], 0, ["Loaded cached credentials."], "", "Fixed it."),
    ("gemini", ["Data collection is disabled.", gemini()], 0, [], "", "Fixed it."),
    ("gemini", [gemini(None, error={"type": "Error", "message": "Quota exceeded", "code": 429})], 1, [], "rate_limit", "Quota"),
    ("gemini", [gemini(error={"type": "Error", "message": "It broke"})], 0, [], "other", "It broke"),  # and a response beside it
    ("gemini", [], 1, [{"error": {"type": "Error", "message": "Please set an Auth method", "code": 41}}], "auth_failure", "Auth"),
    ("gemini", [], 42, ["No input provided"], "other", "No input"),
    ("gemini", [gemini()], 53, [], "turn_limit", "limit of turns"),
    ("gemini", [gemini(None)], 0, [], "bad_output", "no result"),
    ("gemini", ["{", '"response": "x"'], 0, [], "bad_output", "can't be read"),
    ("gemini", [], 1, ["TypeError: fetch failed"], "provider_error", "fetch failed"),
]


@pytest.mark.parametrize(("name", "out", "code", "err", "kind", "words"), CASES)
def test_a_run_is_a_success_only_if_all_agrees(
    name: str, out: list[Any], code: int, err: list[Any], kind: str, words: str
) -> None:
    found = result(name, out, code, err)
    assert (found.kind, words in found.text) == (kind, True), found
    assert found.is_error == bool(kind)
    assert not kind or kind in KINDS


@pytest.mark.parametrize("name", KNOWN)
def test_a_last_line_that_is_cut_is_never_a_success(name: str) -> None:
    outs: dict[str, list[Any]] = {
        "claude": [INIT, lines.claude_result()],
        "codex": [lines.thread(), lines.message("x"), lines.turn(1, 1)],
        "gemini": [gemini()],
    }
    whole = outs[name]
    assert result(name, whole, cut=True).kind == "bad_output"
    if name != "gemini":  # a second report, of which nobody knows what it said
        assert result(name, [*whole, whole[-1]], cut=True).kind == "bad_output"


def test_what_a_run_says_beside_its_end() -> None:
    out = [
        INIT,
        lines.limit("allowed", 1),
        lines.limit("rejected", 1771390800),
        lines.limit("allowed", 1771999999),
        refused("Stop"),
    ]
    claude = heard(
        "claude", [*out[:-1], lines.claude_result(permission_denials=[{"tool_name": "Write"}, {"tool_name": "Bash"}] * 9)]
    )
    assert claude.result(0).denials == ("Write", "Bash")
    assert (claude.model, claude.session) == ("claude-sonnet-4-5", lines.SESSION)
    assert (claude.totals.usd, claude.totals.tokens) == (0.25, {"input": 110, "output": 5})
    rejected = result("claude", [INIT, lines.limit("rejected", 1771390800), refused("You've hit your limit")], 1)
    assert rejected.resets_at == "2026-02-18T05:00:00Z"
    codex = heard("codex", [lines.thread(), lines.turn_failed(LIMIT)])
    assert (codex.session, codex.result(1).resets_at) == (lines.THREAD, "2026-05-04T23:16:08Z")
    declined = {"type": "item.completed", "item": {"type": "command_execution", "status": "declined"}}
    assert result("codex", [lines.thread(), declined, lines.turn(1, 1)]).denials == ("command_execution",)
    gem = heard("gemini", [gemini()])
    assert gem.result(0).kind == ""
    assert (gem.model, gem.totals.tokens) == ("gemini-2.5-pro", {"input": 100, "output": 25})
    refusing = lines.gemini()
    refusing["stats"]["tools"]["byName"] = {"write_file": {"decisions": {"reject": 2}}, "read_file": {"decisions": {"accept": 1}}}
    assert result("gemini", [json.dumps(refusing)]).denials == ("write_file",)


def test_a_message_that_is_printed_in_parts_is_counted_once() -> None:
    parts = [lines.says("a", 1, 10, 5), lines.says("b", 1, 10, 7), lines.says("c", 2, 20, 1)]
    assert heard("claude", [INIT, *parts]).totals.tokens == {"input": 30, "output": 8}


@pytest.mark.parametrize("odd", [10**400, -(10**400), float("inf"), 1e300, [], {}, True], ids=lambda odd: repr(odd)[:9])
def test_odd_values_of_any_key_end_no_reader(odd: Any) -> None:
    """The thread that reads would end, and the program would wait until somebody takes its output."""
    whole: dict[str, list[Any]] = {
        "claude": [INIT, WORDS, lines.limit("rejected", 1), lines.claude_result(modelUsage={"m": {}}), refused("no", error="x")],
        "codex": [lines.thread(), lines.message("x"), lines.turn(1, 1, 1), lines.turn_failed(LIMIT)],
        "gemini": [lines.gemini(error={"type": "Error", "message": "no", "code": 41})],
    }
    for name, out in whole.items():
        for line in out:
            for one in _spoiled(line, odd):
                found = result(name, [one], 1)
                assert found.kind in KINDS


def _spoiled(value: Any, odd: Any) -> list[Any]:
    """The value with another in the place of each of its parts."""
    if not isinstance(value, dict):
        return [odd]
    return [{**value, key: one} for key in value for one in [odd, *(_spoiled(value[key], odd) if value[key] else [])]]


def test_a_window_s_end_is_no_end_of_a_limit() -> None:
    """Each run tells of its window; an overload in it lasts a minute, not for hours."""
    window = [INIT, lines.limit("allowed", 1771390800)]
    assert result("claude", [*window, refused("API Error: 529 Overloaded")], 1).resets_at is None
    hit = [*window, lines.limit("rejected", 1771390800), refused("You've hit your limit")]
    assert result("claude", hit, 1).resets_at == "2026-02-18T05:00:00Z"
    assert result("claude", [*hit[:-1], lines.limit("allowed", 1771999999), refused("429")], 1).resets_at is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(
        "type subtype is_error result usage message content id item text error code session_id total_cost_usd stats models "
        "tokens modelUsage permission_denials rate_limit_info resetsAt status thread_id response num_turns input_tokens".split()
    ), inner, max_size=6),
    max_leaves=20,
)  # fmt: skip
TYPES = st.sampled_from(
    "result system assistant rate_limit_event thread.started turn.started turn.completed turn.failed item.completed error".split()
)
SAID = st.lists(st.tuples(TYPES, JSON) | st.text(max_size=40), max_size=8)


@given(st.sampled_from(sorted(KNOWN)), SAID, SAID, st.integers(-20, 300))
def test_any_lines_make_some_result_and_only_a_claim_of_success_with_exit_0_is_one(
    name: str, out: list[Any], err: list[Any], code: int
) -> None:
    def line(one: Any) -> str:
        if isinstance(one, str):
            return one.replace("\n", " ")
        kind, value = one
        return json.dumps({**(value if isinstance(value, dict) else {"message": value}), "type": kind})

    reader = heard(name, [line(one) for one in out], [line(one) for one in err])
    found = reader.result(code)
    found.text.encode()
    assert found.kind in ("", *KINDS)
    if not found.kind:
        assert code == 0
    assert reader.totals.usd is None or reader.totals.usd >= 0
    assert "\n" not in reader.session
    assert not reader.session.startswith("-")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("Fixed it.", "Fixed it."),
        ("## Summary\n\nI fixed the\nheaders.\n\n- one\n- two", "I fixed the headers."),
        ("```\n\nDone", "Done"),
        ('{"result": "Fixed it.", "files": 3}', "Fixed it."),
        ('{"files": 3}', ""),
        ('```json\n{"summary": "Fixed"}\n```', "Fixed"),
        ('{"type":"result","is_error', ""),
        ("[x] is a checkbox", "[x] is a checkbox"),
        ("", ""),
        ("{curly} words", "{curly} words"),
    ],
)
def test_the_hub_gets_a_sentence_and_never_json(text: str, sentence: str) -> None:
    assert sentence_of(text) == sentence


@given(st.text())
def test_a_sentence_is_one_line_and_never_too_long(text: str) -> None:
    sentence = sentence_of(text)
    assert len(sentence) <= SENTENCE_LIMIT + 1
    assert "\n" not in sentence
