"""What a bead asks to be checked before it is closed, and that only what was checked is closed."""

from __future__ import annotations

from typing import Any

import pytest

from bd.core.errors import NotValidated
from bd.policy import validation
from tests.clocks import START
from tests.memory import held, make_bead


@pytest.mark.parametrize(
    ("output", "kind"),
    [
        (None, "none"),
        ({}, "none"),
        ({"validation": "none"}, "none"),
        ({"validation": "json-schema"}, "json-schema"),
        ({"validation": "JSON_Schema"}, "json-schema"),
        ({"validation": "llm-judge"}, "judge"),
        ({"validation": "tests"}, "test-pass"),
        ({"validation": "prayer"}, "prayer"),
    ],
)
def test_which_check_a_bead_asks_for(output: Any, kind: str) -> None:
    assert validation.kind_of(make_bead(output=output)) == kind
    assert validation.is_asked(make_bead(output=output)) == (kind != "none")


def test_only_what_was_checked_is_closed() -> None:
    bead = make_bead(output={"validation": "regex", "validation_schema": "yes", "data": "yes"})
    seal = validation.seal_of(bead)
    assert validation.sealed(bead, {"hub-a": seal}, START).get("output")["validated"]["kind"] == "regex"
    assert validation.sealed(make_bead(), {}, START) == make_bead()
    with pytest.raises(NotValidated, match="asks for validation"):
        validation.sealed(bead, {"hub-b": seal}, START)
    for change in ({"data": "no"}, {"validation_schema": "no"}, {"artifacts": ["x"]}, {"validation": "judge"}):
        changed = bead.evolve(output={**bead.get("output"), **change})
        with pytest.raises(NotValidated, match="has changed since"):
            validation.sealed(changed, {"hub-a": seal}, START)
    passed = validation.sealed(bead, {"hub-a": seal}, START)
    assert validation.seal_of(passed) == seal, "that it passed is no change of what was judged"


def test_it_shows_while_it_is_checked() -> None:
    bead = validation.validating(held(), START)
    assert bead.status == "validating"
    assert validation.validating(bead, START) == bead
