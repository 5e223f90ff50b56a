"""When a session is resumed: only after some ends, and only where it was."""

from __future__ import annotations

from typing import Any

import pytest

from bd.coding_agents.known import KNOWN, known_agent
from bd.coding_agents.sessions import ASKED, GIVEN_BACK, TURNS, Session, place_of, read
from bd.coding_agents.spending import Totals
from bd.core.errors import BadInput

HERE = place_of("build-3", "/work", "abc")
SESSION = Session("claude", "s-1", HERE, GIVEN_BACK, 0, Totals(0.5, 10, 2, 5))


@pytest.mark.parametrize(
    ("changes", "program", "place", "resumes"),
    [
        ({}, "claude", HERE, True),
        ({"end": ASKED}, "claude", HERE, True),
        ({"end": TURNS, "turn_limits": 1}, "claude", HERE, True),
        ({"end": TURNS, "turn_limits": 2}, "claude", HERE, False),  # once
        ({"end": GIVEN_BACK, "turn_limits": 2}, "claude", HERE, True),
        ({"end": ""}, "claude", HERE, False),
        ({"end": "failed"}, "claude", HERE, False),
        ({"session": ""}, "claude", HERE, False),
        ({}, "codex", HERE, False),
        ({}, "claude", place_of("build-4", "/work", "abc"), False),
        ({}, "claude", place_of("build-3", "/other", "abc"), False),
        ({}, "claude", place_of("build-3", "/work", "def"), False),
    ],
)
def test_a_session_is_resumed_only_where_and_after_what_it_can_go_on(
    changes: dict[str, Any], program: str, place: str, resumes: bool
) -> None:
    assert SESSION._replace(**changes).may_resume(program, place) is resumes


def test_a_note_is_read_back_and_any_other_is_none() -> None:
    noted = SESSION.as_json()
    assert read(noted) == SESSION
    for wrong in (
        None,
        {},
        {**noted, "usd": "1"},
        {**noted, "tokens": [1, 2]},
        {**noted, "session": 3},
        {**noted, "tokens": None},
    ):
        assert read(wrong) is None


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("claude", "--model m --verbose --resume s"),
        ("codex", "--model m --verbose resume s -"),
        ("gemini", "--model m --verbose --resume s"),
    ],
)
def test_the_words_of_a_program_are_in_an_order_that_it_understands(name: str, words: str) -> None:
    known = KNOWN[name]
    for permissions in ("edit", "full"):
        started = known.words(permissions, "m", "s", ["--verbose"])
        assert started[0] == name
        assert " ".join(started).endswith(words)
    assert "--model" not in known.words("edit")
    assert not {"resume", "--resume"} & set(known.words("edit"))
    dangerous = ("yolo", "bypass", "danger")
    assert any(word in " ".join(known.words("full")) for word in dangerous)
    for permissions in ("edit", "", "Full", "anything"):
        assert not any(word in " ".join(known.words(permissions)) for word in dangerous)


def test_codex_may_commit_in_a_clone_of_its_own_alone() -> None:
    codex = KNOWN["codex"]
    root = 'sandbox_workspace_write.writable_roots=["/state/a \\"b\\"/.git"]'
    assert root in codex.words("edit", workspace='/state/a "b"')
    assert "-c" not in codex.words("edit")
    assert "-c" not in codex.words("full", workspace="/state/a")


def test_an_unknown_program_names_the_nearest() -> None:
    with pytest.raises(BadInput) as caught:
        known_agent("codx")
    assert "did you mean codex?" in str(caught.value.hint)
