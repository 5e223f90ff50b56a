"""The plain forms of a few commands mean without click what they mean with it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bd.cli import parse

CLICK = {
    "claim": ("bd.cli.commands.claim", "command", "claim"),
    "close": ("bd.cli.commands.close", "command", "close"),
    "create": ("bd.cli.commands.create", "command", "create"),
    "q": ("bd.cli.commands.create", "quick", "create_quickly"),
}
DEFAULTS = {"inherit_labels": True, "count": 1}
WORDS = st.sampled_from(["hub-a", "Fix it", "a,b", " ", "2", "P1", "7", "-", "--", "--nonsense", "--help", "-x", ""])
FLAGS = sorted({flag for plain in parse._PLAIN.values() for flag in (*plain.switches, *plain.values)})
ANYTHING = st.tuples(st.sampled_from(sorted(CLICK)), st.lists(st.sampled_from(FLAGS) | WORDS, max_size=6))


@st.composite
def _sensible(draw: st.DrawFn) -> tuple[str, list[str]]:
    """A command with some of its own flags, each with a value where it takes one that mostly can be, and as many words as it needs."""
    command = draw(st.sampled_from(sorted(CLICK)))
    plain = parse._PLAIN[command]
    flags = draw(st.lists(st.sampled_from([*sorted(plain.switches), *sorted(plain.values)]), max_size=3, unique=True))
    values = {
        "count": ["2", "7", "0"],
        "priority": ["P1", "2", "9"],
        "labels": ["a,b", "a", ""],
        "bead_type": ["bug", "task", "a b"],
    }
    parts = [
        [flag, draw(st.sampled_from(values.get(plain.values[flag][0], ["hub-a", "Fix it", "a,b", " "])))]
        if flag in plain.values
        else [flag]
        for flag in flags
    ]
    words = draw(
        st.lists(st.sampled_from(["hub-a", "Fix it", "a,b", " ", "2"]), min_size=plain.least, max_size=min(plain.most, 3))
    )
    return command, [word for part in draw(st.permutations([*parts, *([word] for word in words)])) for word in part]


LINES = st.one_of(_sensible(), _sensible(), ANYTHING)


def by_click(words: list[str], monkeypatch: pytest.MonkeyPatch) -> tuple[Any, dict[str, Any]] | None:
    """The words and flags that click hands over; None where it refuses the line."""
    module, name, function = CLICK[words[0]]
    calls: list[tuple[Any, dict[str, Any]]] = []
    with monkeypatch.context() as patch:
        patch.setattr(f"{module}.{function}", lambda _, words, **flags: calls.append((words, flags)))
        try:
            getattr(import_module(module), name).main(words[1:], obj=None, standalone_mode=False)
        except Exception:
            return None
    return calls[0] if calls else None


def set_ones(flags: dict[str, Any]) -> dict[str, Any]:
    """The flags that say something, lists as lists."""
    plain = {key: list(value) if isinstance(value, tuple) else value for key, value in flags.items()}
    return {key: value for key, value in plain.items() if value not in (None, False, []) and value != DEFAULTS.get(key)}


@given(line=LINES)
def test_what_is_read_here_is_what_click_reads(line: tuple[str, list[str]]) -> None:
    words = [line[0], *line[1]]
    if parse.read(words) is not None:
        assert_same(words)


def assert_same(words: list[str]) -> None:
    ours = parse.read(words)
    assert ours is not None
    with pytest.MonkeyPatch.context() as monkeypatch:
        theirs = by_click(words, monkeypatch)
    assert theirs is not None, "a mistake is left to click"
    handed = list(theirs[0]) if isinstance(theirs[0], tuple) else theirs[0]
    assert (ours.words, set_ones(dict(ours.flags))) == (handed, set_ones(theirs[1]))


PLAIN = [
    "claim --next",
    "claim hub-a hub-b --force",
    "claim --next --count 3 --reserve",
    "close hub-a --reason done",
    "close hub-a hub-b -r done --next --force",
    "create Title -t bug -p 1 -l a,b --parent hub-a",
    "q Title --priority P3",
]


@pytest.mark.parametrize("line", PLAIN)
def test_it_is_read_here(line: str) -> None:
    assert_same(line.split())


LEFT = [
    "list",
    "close",
    "create",
    "create two words",
    "create Title --json-like",
    "create Title --priority 9",
    "create Title --labels a --labels b",
    "create Title --description -",
    "close hub-a --reason",
    "claim --count 0 --next",
    "claim --help",
]


@pytest.mark.parametrize("line", LEFT)
def test_it_is_left_to_click(line: str) -> None:
    assert parse.read(line.split()) is None


def test_every_function_is_there() -> None:
    for plain in parse._PLAIN.values():
        assert callable(getattr(import_module(plain.module), plain.function))
