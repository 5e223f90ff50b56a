"""A command line means without click what it means with it, or is left to click: both read the same SPEC."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bd.cli import click_commands, parse
from bd.cli.app import App, Globals
from bd.cli.output import Handle
from bd.cli.spec import Flag, Group
from bd.cli.table import ALIASES, COMMANDS
from bd.core.errors import BdError
from tests.runtime import RUNTIME

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bd.cli.spec import Option, Runner

pytestmark = pytest.mark.one_in(2)


def runners() -> Iterator[tuple[str, Runner]]:
    """What is typed for each command, its declaration and its function."""
    for name in COMMANDS:
        found = parse.declared(name)
        if isinstance(found, Group):
            yield from ((f"{name} {sub}", below) for sub, below in found.commands.items())
            if found.alone:
                yield name, found.alone
        else:
            yield name, found


RUNNERS = dict(runners())
TYPED = [*RUNNERS, *(alias for alias, name in ALIASES.items() if name in RUNNERS)]

# What a value may be: right for one kind or another, wrong for most, and what looks like a flag.
WORDS = """
hub-a a,b , 0 1 2 7 100 101 65536 0.5 1e3 nan inf 1_0 +5 -5 ٣ P1 p4 P9 45m 2h 90 blocks exclusive advisory down up tree json
bash bead agent day newer a=b = . / 12/h agents=1..8 help run list show
- -- -x -p1 --help -h --nonsense --nonsense=1 --force=true --json
""".split()
ANY_WORD = st.sampled_from([*WORDS, "Fix it", " ", "", "new:Tell them", "9" * 20])


def value_of(option: Option) -> st.SearchStrategy[str]:
    """A value for an option, more often than not one that it takes."""
    if option.kind.choices:
        return st.sampled_from(option.kind.choices) | ANY_WORD
    fitting = {
        "text": ["hub-a", "Fix it", ""],
        "integer": ["1", "30"],
        "integer range": ["0", "1", "64", "100"],
        "float": ["0.5", "10"],
        "float range": ["0", "0.5", "1."],
        "priority": ["P1", "2"],
        "duration": ["45m", "90s"],
        "list": ["a,b", "a"],
    }
    return st.sampled_from(fitting.get(option.kind.name, ["a"])) | ANY_WORD


@st.composite
def lines(draw: st.DrawFn) -> list[str]:
    """A command with flags of its own, words, and now and then something that belongs nowhere."""
    typed = draw(st.sampled_from(TYPED))
    spec, _ = RUNNERS[ALIASES.get(typed, typed)]
    parts: list[list[str]] = []
    for option in draw(st.lists(st.sampled_from(spec.options), max_size=3)) if spec.options else ():
        flag = draw(st.sampled_from(option.all_flags))
        if isinstance(option, Flag):
            parts.append([draw(st.sampled_from([flag, flag, flag, f"{flag}=true", f"{flag}=false", f"{flag}=x"]))])
            continue
        value = draw(value_of(option))
        parts.append(draw(st.sampled_from([[flag, value], [flag, value], [f"{flag}={value}"], [f"{flag}{value}"], [flag]])))
    least = sum(argument.is_required for argument in spec.arguments)
    parts += [[word] for word in draw(st.lists(ANY_WORD, min_size=draw(st.sampled_from([0, least])), max_size=least + 2))]
    return [*typed.split(), *(word for part in draw(st.permutations(parts)) for word in part)]


Call = tuple["Callable[..., Any]", dict[str, Any]]


def by_click(words: list[str]) -> Call | None:
    """The function that click runs and what it hands over; None where it refuses the line or shows help."""
    calls: list[Call] = []

    def recording(runner: Runner) -> Runner:
        spec, function = runner
        return spec, lambda app, **arguments: calls.append((function, arguments))

    def recorded(name: str) -> Group | Runner:
        found = parse.declared(name)
        if not isinstance(found, Group):
            return recording(found)
        below = {sub: recording(one) for sub, one in found.commands.items()}
        alone = recording(found.alone) if found.alone else None
        return Group(found.name, below, help=found.help, alone=alone, rewritten=found.rewritten)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(click_commands, "declared", recorded)
        patch.setattr(Handle, "stops", False)
        try:
            click_commands.run(App(Globals(), RUNTIME), words)
        except BdError:
            return None
    return calls[0] if calls else None


def assert_same(words: list[str]) -> None:
    ours = parse.read(words)
    assert ours is not None
    theirs = by_click(words)
    assert theirs is not None, f"{ours} is read from what click refuses"
    assert (ours.function, ours.arguments) == theirs
    assert repr(ours.arguments) == repr({name: theirs[1][name] for name in ours.arguments}), "of the same types"


@given(line=lines())
def test_what_is_read_here_is_what_click_reads(line: list[str]) -> None:
    if parse.read(line) is not None:
        assert_same(line)


PLAIN = [
    "claim --next",
    "claim hub-a hub-b --force",
    "claim --next --count 3 --reserve",
    "close hub-a --reason done",
    "done hub-a hub-b -r done --next --force",
    "close hub-a --reason=-",
    "create Title -t bug -p 1 -l a,b --parent hub-a",
    "create Title --labels a --labels b --no-inherit-labels",
    "create Title --description - --max-cost 0.5 --estimate 9",
    "create Title --description=--dashes",
    "q Title --priority P3",
    "ready",
    "ready --limit 50 --sort oldest",
    "show hub-a hub-b",
    "list --status open -p 1 -p 2 --limit=0",
    "count --by-status --ready",
    "version",
    "dep add hub-b hub-a -t related",
    "dep rm hub-b hub-a",
    "config set prefix hub",
    "config set prefix hub --clone",
    "rebalance --dry-run",
    "rebalance status",
    "note hub-a -",
    "update hub-a --set-metadata a=b --set-metadata c=d",
    "simulate --arrivals 12/h --load=0.5 --sweep agents=1..8",
    "serve --port 0",
    "schema",
]


@pytest.mark.parametrize("line", PLAIN)
def test_it_is_read_here(line: str) -> None:
    assert_same(line.split())


LEFT = [
    "nonsense",
    "help",
    "close",
    "create two words",
    "create Title --json-like",
    "create Title --priority 9",
    "create Title --silent --silent",
    "create Title -p1",
    "create Title --claim-mode both",
    "create Title --silent=true",
    "create Title --description --dashes",
    "close hub-a --reason",
    "close -- hub-a",
    "claim --count 0 --next",
    "claim --help",
    "count --by-status --by-type",
    "ready --nonsense",
    "dep",
    "dep hub-a --blocks hub-b",
    "config nonsense",
    "rebalance --dry-run status",
    "schedule add nightly --cron x",
    "work --folder nowhere true",
    "heat hub-a --by -5",
]


@pytest.mark.parametrize("line", LEFT)
def test_it_is_left_to_click(line: str) -> None:
    assert parse.read(line.split()) is None


@pytest.mark.parametrize("typed", RUNNERS)
def test_a_declaration_is_that_of_its_function(typed: str) -> None:
    spec, function = RUNNERS[typed]
    assert spec.name == typed.rsplit(maxsplit=1)[-1] or typed in SECOND_NAMES
    given = {one.name: None for part in (spec.arguments, spec.options) for one in part}
    inspect.signature(function).bind(None, **given)
    assert not any(argument.many for argument in spec.arguments[:-1]), "what follows many words has none left"
    flags = [flag for option in spec.options for flag in option.all_flags]
    assert len(flags) == len(set(flags))


SECOND_NAMES = {"dep rm", "config list"}


@pytest.mark.parametrize("name", COMMANDS)
def test_the_table_names_what_is_declared(name: str) -> None:
    found = parse.declared(name)
    spec = found if isinstance(found, Group) else found[0]
    assert spec.name == name
    assert spec.help.startswith(COMMANDS[name].help)
