"""Reads the plain forms of every command by its SPEC, without click.

A claim is timed against git's own commands, and importing click takes longer than a local push. Anything unclear (help, mistakes,
unknown flags, a value that begins with a hyphen, repeated or bundled flags) is left to click_commands.py, which reads the same
SPEC with the same result.
"""

from __future__ import annotations

import os

from bd import TYPE_CHECKING
from bd.cli.spec import Flag, Group, is_empty
from bd.cli.table import ALIASES, COMMANDS
from bd.core.errors import BadInput
from bd.core.value import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from bd.cli.app import App
    from bd.cli.spec import Argument, Command, Option, Runner

_CLICKS_OWN = "help"  # it shows what click knows


class Line(Value):
    """A parsed command line: the command's name in the table, its function, the arguments, and the name with that of a group."""

    name: str
    function: Callable[..., Any]
    arguments: dict[str, Any]
    full_name: str = ""

    def run(self, app: App) -> int:
        """Run it. Return the exit code."""
        code = called(app, self.full_name or self.name, self.function, self.arguments)
        return code if isinstance(code, int) else 0


def declared(name: str) -> Group | Runner:
    """Return a command's declaration, with its function; imports its module."""
    row = COMMANDS[name]
    module = __import__(f"bd.cli.commands.{row.module}", fromlist=["*"])
    spec = module.SPEC if row.attribute == "run" else getattr(module, row.attribute.upper())
    return spec if isinstance(spec, Group) else (spec, getattr(module, row.attribute))


def read(words: Sequence[str]) -> Line | None:
    """Parse a plain command line; None if click has to."""
    if not words:
        from bd.cli.commands.overview import overview  # noqa: PLC0415  a command like any other

        return Line("", overview, {})
    name = ALIASES.get(words[0], words[0])
    if name not in COMMANDS or name == _CLICKS_OWN:
        return None
    found, rest, full_name = declared(name), words[1:], name
    if isinstance(found, Group):
        below = found.commands.get(rest[0]) if rest else None
        full_name = f"{name} {rest[0]}" if below else name
        rest = rest[1:] if below else rest
        runner = below or found.alone
    else:
        runner = found
    if runner is None:
        return None
    spec, function = runner
    arguments = arguments_of(spec, rest)
    return None if arguments is None else Line(name, function, arguments, full_name)


def called(app: App, full_name: str, function: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
    """Call the function of a command, unless the caller is a command of `bd work` that may not. Raises NotPermitted."""
    if os.environ.get("BD_BEAD_FILE") or os.environ.get("BD_TOKEN"):
        from bd.cli.child_rights import refuse  # noqa: PLC0415  only for the calls of such commands

        refuse(app, full_name, arguments)
    return function(app, **arguments)


def arguments_of(spec: Command, words: Sequence[str]) -> dict[str, Any] | None:
    """Parse a command's arguments; None if click has to."""
    known = {flag: option for option in spec.options for flag in option.all_flags}
    typed: dict[str, Any] = {}
    plain: list[str] = []
    rest = iter(words)
    try:
        for word in rest:
            if word.startswith("-") and word != "-":
                _take_option(known, word, rest, typed)
            else:
                plain.append(word)
        typed.update(_taken_words(spec.arguments, plain))
    except BadInput:
        return None
    if any(option.is_required and option.name not in typed for option in spec.options):
        return None
    return {**spec.defaults(), **typed}


def _take_option(known: Mapping[str, Option], word: str, rest: Iterator[str], typed: dict[str, Any]) -> None:
    """Record a flag, with the next word as its value if it has one. Raises BadInput if click has to read it."""
    flag, equals, text = word.partition("=") if word.startswith("--") else (word, "", "")
    option = known.get(flag)
    if option is None or (equals and isinstance(option, Flag)):
        raise BadInput(f"{word} is not sure")
    value: Any
    if isinstance(option, Flag):
        value = flag != option.off and option.value
    else:
        if not equals:
            text = next(rest, flag)
            if text.startswith("-") and text != "-":
                raise BadInput(f"{flag} has no value, or one that looks like a flag")
        value = option.kind.read(text)
        if option.needs_text and is_empty(value):
            raise BadInput(f"{flag} is empty")
    if option.multiple:
        typed[option.name] = (*typed.get(option.name, ()), value)
    elif option.name in typed:
        raise BadInput(f"{flag} is there twice")
    else:
        typed[option.name] = value


def _taken_words(arguments: Sequence[Argument], words: Sequence[str]) -> dict[str, Any]:
    """Assign the words to arguments; the last may take many. Raises BadInput if there are too few or too many."""
    found: dict[str, Any] = {}
    for place, argument in enumerate(arguments):
        if argument.many:
            found[argument.name] = tuple([argument.kind.read(word) for word in words[place:]])
        elif place < len(words):
            found[argument.name] = argument.kind.read(words[place])
        if argument.is_required and place >= len(words):
            raise BadInput(f"no {argument.name}")
    if len(words) > len(arguments) and not (arguments and arguments[-1].many):
        raise BadInput("more words than arguments")
    return found
