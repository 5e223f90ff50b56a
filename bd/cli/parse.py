"""The way of what agents type most: no click.

A claim is a command whose time counts against git's own, and importing click takes longer than a local push.
The plain forms of a few commands are read here; everything else about them (help, mistakes, unknown flags) is
left to the click command, which reads the same flags to the same effect.
"""

from __future__ import annotations

from bd.cli.values import comma_list, priority_of
from bd.core.errors import BadInput
from bd.core.light import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from bd.cli.app import App


class Plain(NamedTuple):
    """The plain form of a command: which function takes it, and the flags that may stand in it."""

    module: str
    function: str
    # How many words without a flag; where there can be but one, it is handed over by itself, else all as a list.
    least: int
    most: int
    switches: Mapping[str, str]
    # A flag with a value: the argument it becomes, and what reads it. Raises BadInput where click has to complain.
    values: Mapping[str, tuple[str, Callable[[str], Any]]]


class Read(NamedTuple):
    """A command line that was read."""

    plain: Plain
    words: Any
    flags: Mapping[str, Any]

    def run(self, app: App) -> None:
        """Carry it out."""
        getattr(__import__(self.plain.module, fromlist=["*"]), self.plain.function)(app, self.words, **self.flags)


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= 100):
        raise BadInput(f"{text!r} is not from 1 to 100")
    return int(text)


_MANY = 1_000_000
_OF_ONE: dict[str, tuple[str, Callable[[str], Any]]] = {
    **dict.fromkeys(("--type", "-t"), ("bead_type", str)),
    **dict.fromkeys(("--priority", "-p"), ("priority", priority_of)),
    **dict.fromkeys(("--labels", "--label", "-l"), ("labels", lambda text: [comma_list(text)])),
}
_PLAIN = {
    "claim": Plain(
        "bd.cli.claiming",
        "claim",
        0,
        _MANY,
        {"--next": "take_next", "--reserve": "reserve", "--resume": "resume", "--force": "force"},
        {"--count": ("count", _count)},
    ),
    "close": Plain(
        "bd.cli.closing",
        "close",
        1,
        _MANY,
        {"--next": "take_next", "--force": "force"},
        dict.fromkeys(("--reason", "-r", "-m", "--message"), ("reason", str)),
    ),
    "create": Plain(
        "bd.cli.creating",
        "create",
        1,
        1,
        {"--silent": "silent"},
        {
            **_OF_ONE,
            **dict.fromkeys(("--description", "-d"), ("description", str)),
            "--parent": ("parent", str),
            **dict.fromkeys(("--assignee", "-a"), ("assignee", str)),
        },
    ),
    "q": Plain("bd.cli.creating", "create_quickly", 1, 1, {}, _OF_ONE),
}


def read(words: Sequence[str]) -> Read | None:
    """A plain command line; None where click has to read it."""
    plain = _PLAIN.get(words[0]) if words else None
    if plain is None:
        return None
    found: list[str] = []
    flags: dict[str, Any] = {}
    rest = iter(words[1:])
    for word in rest:
        if word in plain.switches:
            flags[plain.switches[word]] = True
        elif word in plain.values:
            name, reader = plain.values[word]
            value = next(rest, "-")
            if name in flags or value.startswith("-"):
                return None
            try:
                flags[name] = reader(value)
            except BadInput:
                return None
        elif word.startswith("-"):
            return None
        else:
            found.append(word)
    if not plain.least <= len(found) <= plain.most:
        return None
    return Read(plain, found[0] if plain.most == 1 else found, flags)
