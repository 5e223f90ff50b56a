"""The plain forms of every command, read by its SPEC without click.

A claim is a command whose time counts against git's own, and importing click takes longer than a local push. Whatever
is not sure here (help, mistakes, unknown flags, a value that begins with a hyphen, flags typed twice or bundled) is left
to click_commands.py, which reads the same SPEC to the same effect.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from bd.cli.spec import Flag, Group
from bd.cli.table import ALIASES, COMMANDS
from bd.core.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from bd.cli.app import App
    from bd.cli.spec import Argument, Command, Option, Runner

_CLICKS_OWN = "help"  # it shows what click knows


class Line(NamedTuple):
    """A command line that was read: the command's name in the table, what runs it, and with which arguments."""

    name: str
    function: Callable[..., Any]
    arguments: dict[str, Any]

    def run(self, app: App) -> int:
        """Carry it out; the exit code."""
        code = self.function(app, **self.arguments)
        return code if isinstance(code, int) else 0


def declared(name: str) -> Group | Runner:
    """The declaration of a command of the table, with the function that runs it; imports its module."""
    row = COMMANDS[name]
    module = __import__(f"bd.cli.commands.{row.module}", fromlist=["*"])
    spec = module.SPEC if row.attribute == "run" else getattr(module, row.attribute.upper())
    return spec if isinstance(spec, Group) else (spec, getattr(module, row.attribute))


def read(words: Sequence[str]) -> Line | None:
    """A plain command line; None where click has to read it."""
    if not words:
        from bd.cli.commands.overview import overview  # noqa: PLC0415  a command like any other

        return Line("", overview, {})
    name = ALIASES.get(words[0], words[0])
    if name not in COMMANDS or name == _CLICKS_OWN:
        return None
    found, rest = declared(name), words[1:]
    if isinstance(found, Group):
        below = found.commands.get(rest[0]) if rest else None
        rest = rest[1:] if below else rest
        runner = below or found.alone
    else:
        runner = found
    if runner is None:
        return None
    spec, function = runner
    arguments = arguments_of(spec, rest)
    return None if arguments is None else Line(name, function, arguments)


def arguments_of(spec: Command, words: Sequence[str]) -> dict[str, Any] | None:
    """The arguments that a command runs with; None where click has to read its words."""
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
    """Note what a flag stands for, with the next word as its value where it has one. Raises BadInput where click has to read it."""
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
    if option.multiple:
        typed[option.name] = (*typed.get(option.name, ()), value)
    elif option.name in typed:
        raise BadInput(f"{flag} is there twice")
    else:
        typed[option.name] = value


def _taken_words(arguments: Sequence[Argument], words: Sequence[str]) -> dict[str, Any]:
    """The words as arguments; the last argument may take many. Raises BadInput where they are too few or too many."""
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
