"""The table of errors: what holds in every row, and of what an error says about a write."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import bd
from bd.core import errors
from bd.core.errors import CODES, WRITTEN, BdError, TryAgain
from bd.store.group_commit.answer import error_of, of_error

if TYPE_CHECKING:
    from collections.abc import Iterator


def kinds(kind: type[BdError] = BdError) -> Iterator[type[BdError]]:
    """Every class of errors, also those that the store has for itself."""
    yield kind
    for below in kind.__subclasses__():
        yield from kinds(below)


TRANSIENT = sorted({kind.code for kind in kinds() if issubclass(kind, TryAgain)})


@pytest.mark.parametrize("code", CODES)
def test_exit_6_is_what_is_transient(code: str) -> None:
    exit_code, is_transient, words = CODES[code]
    assert (exit_code == 6) == is_transient
    assert words
    assert "\n" not in words


def test_a_class_has_the_exit_code_of_its_row_and_of_its_family() -> None:
    for kind in kinds():
        assert (kind.exit_code, kind.transient) == CODES[kind.code][:2]
        family = kind.__mro__[1]
        assert family in (BdError, Exception) or kind.exit_code == family.exit_code  # type: ignore[attr-defined]
        assert kind.transient == issubclass(kind, TryAgain)


def test_a_transient_error_says_what_became_of_the_write() -> None:
    found = []
    for path in Path(bd.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.keyword) and node.arg == "written":
                found.append(node.value.value if isinstance(node.value, ast.Constant) else ast.unparse(node.value))
    assert set(found) == {*WRITTEN, "written"}  # the last is handed on
    assert TryAgain("away").as_json()["written"] == "no"
    assert WRITTEN == ("no", "local", "unknown")


@pytest.mark.parametrize("code", TRANSIENT)
@pytest.mark.parametrize("data", [{}, {"written": "perhaps"}, None])
def test_an_answer_that_does_not_say_so_leaves_it_unknown(code: str, data: dict[str, str] | None) -> None:
    """Anybody who may push can write an answer."""
    told = error_of({"code": code, "message": "away", "data": data})
    assert told is not None
    assert (told.code, told.exit_code, told.data) == (code, 6, {"written": "unknown"})


def test_an_answer_keeps_what_its_error_says() -> None:
    for error in (TryAgain("away", written="local"), errors.Refused("no", id="hub-a")):
        told = error_of(of_error(error))
        assert told is not None
        assert told.as_json() == error.as_json()
