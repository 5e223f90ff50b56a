"""Places in a pool's commands: `{name}`, `{clone}` and so on stand for variables of the command's environment.

No value ever becomes part of a command's text: what the shell reads is what was looked at and pinned. Belongs here: the
places and their variables. Does not belong here: running commands (session.py).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bd.core.errors import WrongState

if TYPE_CHECKING:
    from collections.abc import Mapping

VARIABLE = "BD_PLACE_"
# Places whose values are words without blanks or signs that a shell knows: also without quotes they are one word.
WORDS = ("name", "n", "pool", "hub", "session")
PLACES = (*WORDS, "clone", "command", "words")
_WORD = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_PLACE = rf"\$?\{{(?P<place>{'|'.join(PLACES)})\}}"
# What counts outside of quotes, and inside of each kind: quotes, substitutions, places; what is escaped or a comment does not.
_SCANNERS = {
    "": re.compile(rf"\\.|(?<![^\s;&|()])\#[^\n]*|{_PLACE}|(?P<turn>['\"]|\$?\(|\))", re.DOTALL),
    '"': re.compile(rf"\\.|{_PLACE}|(?P<turn>\"|\$\()", re.DOTALL),
    "'": re.compile(rf"{_PLACE}|(?P<turn>')"),
}
_REFERENCES = {"": '"${%s}"', '"': "${%s}", "'": "'\"${%s}\"'"}


def filled(text: str) -> str:
    """A command of the shell with each place as a reference to its variable. `${name}` is a variable of the command's own.

    `bot.sh {clone} '{name}'` becomes `bot.sh "${BD_PLACE_CLONE}" ''"${BD_PLACE_NAME}"''`.
    """
    written: list[str] = []
    inside, done = [""], 0  # the quotes and substitutions around what comes next; the last counts
    while found := _SCANNERS[inside[-1]].search(text, done):
        written.append(text[done : found.start()])
        token, place, done = found[0], found["place"], found.end()
        if place and token[0] == "{":
            around = (
                '"' if not inside[-1] and place in WORDS else inside[-1]
            )  # a word needs no quotes, and a here-document takes none
            token = _REFERENCES[around] % (VARIABLE + place.upper())
        elif found["turn"]:
            _turn(inside, token)
        written.append(token)
    return "".join([*written, text[done:]])


def _turn(inside: list[str], sign: str) -> None:
    """Go into a quote or a substitution, or out of it."""
    if sign == inside[-1] or (sign == ")" and len(inside) > 1):
        inside.pop()
    elif sign != ")":
        inside.append("" if sign.endswith("(") else sign)


def environment(values: Mapping[str, str]) -> dict[str, str]:
    """The variables of places. Raises WrongState for a value that no word can be: it is from a hub, whatever was checked there."""
    for place in WORDS:
        if place in values and not _WORD.fullmatch(values[place]):
            raise WrongState(f"{values[place]!r} can't stand for {{{place}}}")
    return {VARIABLE + place.upper(): value for place, value in values.items()}
