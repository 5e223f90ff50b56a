"""A command's arguments as data: what may be typed, which value it becomes, and what help says of it. Imports no click.

`parse.py` reads plain command lines by it, `click_commands.py` makes click commands from it. Both pass on the same values.
"""

from __future__ import annotations

import os

from bd import TYPE_CHECKING
from bd.cli.values import comma_list, priority_of
from bd.core.errors import BadInput
from bd.core.ids import check_agent
from bd.core.times import duration_s
from bd.core.value import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    # A command and its function.
    Runner = tuple["Command", Callable[..., Any]]

_DIGITS = 15  # more than any number here has, and no more than Python converts at once


class Kind(Value):
    """A conversion from typed text to a value. `read` raises BadInput for a text that it is not sure of.

    `name` is click's name for it; kinds with bounds or choices, paths, texts and numbers are click's own.
    """

    name: str
    read: Callable[[str], Any]
    low: float | None = None
    high: float | None = None
    is_above_low: bool = False  # true if the lowest value itself is out of bounds
    choices: tuple[str, ...] = ()
    # True if an error names the option: "Invalid value for '--priority'".
    names_option: bool = False


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= _DIGITS):
        raise BadInput(f"{text!r} is not a whole number")
    return int(text)


def _number(text: str) -> float:
    whole, _, fraction = text.partition(".")
    if not all(part.isascii() and part.isdigit() for part in (whole, fraction or "0")) or len(text) > _DIGITS:
        raise BadInput(f"{text!r} is not a number")
    return float(text)


def _within(read: Callable[[str], Any], low: float | None, high: float | None, is_above_low: bool) -> Callable[[str], Any]:
    def bounded(text: str) -> Any:
        number = read(text)
        too_low = low is not None and (number < low or (is_above_low and number == low))
        if too_low or (high is not None and number > high):
            raise BadInput(f"{text!r} is out of bounds")
        return number

    return bounded


def whole_number(low: int | None = None, high: int | None = None) -> Kind:
    """Return the kind of whole numbers within these bounds."""
    return Kind("integer range", _within(_whole, low, high, False), low, high)


def real_number(low: float | None = None, high: float | None = None, *, is_above_low: bool = False) -> Kind:
    """Return the kind of numbers within these bounds."""
    return Kind("float range", _within(_number, low, high, is_above_low), low, high, is_above_low)


def one_of(*words: str) -> Kind:
    """Return the kind that accepts these words."""

    def read(text: str) -> str:
        if text not in words:
            raise BadInput(f"{text!r} is not one of {', '.join(words)}")
        return text

    return Kind("choice", read, choices=words)


def _folder(text: str) -> str:
    if not (os.path.isdir(text) and os.access(text, os.R_OK)):
        raise BadInput(f"{text!r} is not a folder that can be read")
    return text


TEXT = Kind("text", str)
INTEGER = Kind("integer", _whole)
NUMBER = Kind("float", _number)
PATH = Kind("path", str)
FOLDER = Kind("directory", _folder)
PRIORITY = Kind("priority", priority_of, names_option=True)  # 0-4 or P0-P4
AGENT = Kind("agent", check_agent)
DURATION = Kind("duration", duration_s)  # seconds, from `90s`, `45m`, `2h`, `1d`
COMMA_LIST = Kind("list", comma_list)
CLAIM_MODE = one_of("exclusive", "advisory")


class Argument:
    """A word without a flag; with `many`, any number of them."""

    __slots__ = ("default", "is_required", "kind", "many", "metavar", "name")

    def __init__(
        self,
        name: str,
        *,
        kind: Kind = TEXT,
        many: bool = False,
        required: bool | None = None,
        default: str | None = None,
        metavar: str | None = None,
    ) -> None:
        self.name = name
        self.kind = kind
        self.many = many
        self.is_required = not many and default is None if required is None else required
        self.default: Any = () if many else default
        self.metavar = metavar


class Option:
    """A flag with a value. `name` is the argument it becomes, by default the first long flag.

    An empty value is refused for one that `narrows` an answer, because it would filter nothing, and for one that `needs_text`.
    """

    __slots__ = (
        *("default", "flags", "help", "hidden", "is_required", "kind", "metavar", "multiple", "name", "narrows"),
        *("needs_text", "shows_default"),
    )

    def __init__(
        self,
        *flags: str,
        name: str = "",
        kind: Kind = TEXT,
        multiple: bool = False,
        default: Any = None,
        required: bool = False,
        hidden: bool = False,
        metavar: str | None = None,
        shows_default: bool = False,
        narrows: bool = False,
        needs_text: bool = False,
        help: str | None = None,
    ) -> None:
        self.flags = flags
        self.name = name or next(flag for flag in flags if flag.startswith("--"))[2:].replace("-", "_")
        self.kind = kind
        self.multiple = multiple
        self.default = () if multiple else default
        self.is_required = required
        self.hidden = hidden
        self.metavar = metavar
        self.shows_default = shows_default
        self.narrows = narrows
        self.needs_text = narrows or needs_text
        self.help = help

    @property
    def all_flags(self) -> tuple[str, ...]:
        return self.flags


class Flag(Option):
    """A flag without a value, which sets the argument to True, or to `value`. The flag `off` sets it to False."""

    __slots__ = ("off", "value")

    def __init__(
        self,
        *flags: str,
        name: str = "",
        value: str | None = None,
        off: str = "",
        default: Any = False,
        hidden: bool = False,
        help: str | None = None,
    ) -> None:
        default = None if value is not None and default is False else default
        super().__init__(*flags, name=name, default=default, hidden=hidden, help=help)
        self.value: bool | str = True if value is None else value
        self.off = off

    @property
    def all_flags(self) -> tuple[str, ...]:
        return (*self.flags, self.off) if self.off else self.flags


def list_option(*flags: str, name: str = "", hidden: bool = False, narrows: bool = False, help: str | None = None) -> Option:
    """Return a list option: repeatable, and with comma-separated values."""
    return Option(*flags, name=name, kind=COMMA_LIST, multiple=True, hidden=hidden, narrows=narrows, help=help)


def is_empty(value: object) -> bool:
    """Whether nothing is left of a value that was typed."""
    return not value.strip() if isinstance(value, str) else value == []


class Command:
    """The parameters and the help of one command. Its function, in the same module, takes what is named here."""

    __slots__ = ("arguments", "examples", "help", "name", "options", "takes")

    def __init__(self, name: str, *takes: Argument | Option, help: str, examples: Sequence[str] = ()) -> None:
        self.name = name
        self.takes = takes
        self.arguments = [one for one in takes if isinstance(one, Argument)]
        self.options = [one for one in takes if isinstance(one, Option)]
        self.help = help
        self.examples = examples

    def defaults(self) -> dict[str, Any]:
        """Return the values of all arguments and options that are not typed."""
        found: dict[str, Any] = {one.name: one.default for one in self.arguments}
        for option in self.options:
            if found.get(option.name) is None:
                found[option.name] = option.default
        return found


class Group:
    """Commands below a common word, each with its function.

    `alone` is the command without a second word, if there is one. `rewritten` turns other spellings of a subcommand into the
    plain one.
    """

    __slots__ = ("alone", "commands", "help", "name", "rewritten")

    def __init__(
        self,
        name: str,
        commands: Mapping[str, Runner],
        *,
        help: str,
        alone: Runner | None = None,
        rewritten: Callable[[list[str]], list[str]] | None = None,
    ) -> None:
        self.name = name
        self.commands = commands
        self.help = help
        self.alone = alone
        self.rewritten = rewritten
