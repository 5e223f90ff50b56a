"""Placeholders in a pool's commands: `{name}`, `{clone}` and so on become references to environment variables.

No value becomes part of a command's text, so the shell parses exactly what was reviewed and pinned. Belongs here: the
placeholders and their variables. Does not belong here: running commands (session.py).
"""

from __future__ import annotations

import re
import shlex

from bd import TYPE_CHECKING
from bd.core.errors import WrongState

if TYPE_CHECKING:
    from collections.abc import Mapping

VARIABLE = "BD_PLACE_"
# Placeholders whose values have no blanks and no characters that a shell treats specially: they need no quotes.
WORDS = ("name", "n", "pool", "hub", "session")
PLACES = (*WORDS, "clone", "command", "words")
_WORD = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_PLACE = rf"\$?\{{(?P<place>{'|'.join(PLACES)})\}}"
# The tokens outside of quotes and inside of each kind: quotes, substitutions, placeholders. Escapes and comments are skipped.
_SCANNERS = {
    "": re.compile(rf"\\.|(?<![^\s;&|()])\#[^\n]*|{_PLACE}|(?P<turn>['\"]|\$?\(|\))", re.DOTALL),
    '"': re.compile(rf"\\.|{_PLACE}|(?P<turn>\"|\$\()", re.DOTALL),
    "'": re.compile(rf"{_PLACE}|(?P<turn>')"),
}
_REFERENCES = {"": '"${%s}"', '"': "${%s}", "'": "'\"${%s}\"'"}


def values_of(name: str, pool: str, hub: str, clone: str) -> dict[str, str]:
    """Return the values of a member's placeholders."""
    number = name.rpartition("-")[2]
    named = {"name": name, "n": number if number.isdigit() else "1", "pool": pool, "hub": hub, "clone": clone}
    return {**named, "session": f"bd-{hub}-{name}"}


def filled(text: str) -> str:
    """Return a shell command with a reference to a variable for each placeholder. `${name}` is left as the command's own variable.

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
    """Enter or leave a quote or a substitution."""
    if sign == inside[-1] or (sign == ")" and len(inside) > 1):
        inside.pop()
    elif sign != ")":
        inside.append("" if sign.endswith("(") else sign)


def shown(text: str, values: Mapping[str, str]) -> str:
    """Return a command with the values of its placeholders, each as one word of the shell. It is for people, never to be run."""
    return re.sub(
        _PLACE, lambda found: found[0] if found[0][0] == "$" else shlex.quote(values.get(found["place"], found[0])), text
    )


def environment(values: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of placeholders. Raises WrongState for a value with characters that a shell treats specially."""
    for place in WORDS:
        if place in values and not _WORD.fullmatch(values[place]):
            raise WrongState(f"{values[place]!r} can't stand for {{{place}}}")
    return {VARIABLE + place.upper(): value for place, value in values.items()}
