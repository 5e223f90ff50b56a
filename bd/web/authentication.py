"""Who may change things: people with a token, by header or by a cookie that only they can have. Pure.

A token file has a line for each person: a name, a blank, the token; `#` begins a remark. The name is whose every change is.
"""

from __future__ import annotations

import hmac
import secrets
from typing import TYPE_CHECKING, NamedTuple

from bd.core.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Iterable

# Nobody guesses a token of so many characters.
SHORTEST = 16
_PURPOSE = b"bd serve: a session of this token"


class Person(NamedTuple):
    """Somebody who may change things; `name` is the author of what they do."""

    name: str
    token: str

    @property
    def session(self) -> str:
        """What a browser keeps instead of the token: nothing but the token makes it, and it makes no token."""
        return hmac.new(self.token.encode(), _PURPOSE + self.name.encode(), "sha256").hexdigest()


def read(text: str, where: str) -> tuple[Person, ...]:
    """The people of a token file. Raises BadInput with the line that is wrong, and never with what is in it."""
    found: list[Person] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        name, _, token = line.strip().rpartition(" ")
        if not name.strip() or not name.isprintable():
            raise BadInput(f"{where}, line {number}: a name, a blank, the token", hint="such as: Ada Lovelace 5b1f…")
        if len(token) < SHORTEST or not token.isascii() or not token.isprintable():
            raise BadInput(f"{where}, line {number}: a token has at least {SHORTEST} plain characters", hint=f"such as {fresh()}")
        found.append(Person(name.strip(), token))
    if not found:
        raise BadInput(f"{where} has no token in it", hint=f"a name, a blank, a token, such as: Ada Lovelace {fresh()}")
    return tuple(found)


def fresh() -> str:
    """A new token."""
    return secrets.token_urlsafe(24)


def by_token(people: Iterable[Person], token: str) -> Person | None:
    """Whose token it is. Takes as long whether it is nearly right or not at all."""
    return _whose([(person, person.token) for person in people], token)


def by_session(people: Iterable[Person], session: str) -> Person | None:
    """Whose session it is."""
    return _whose([(person, person.session) for person in people], session)


def _whose(kept: Iterable[tuple[Person, str]], given: str) -> Person | None:
    found = None
    for person, secret in kept:
        if hmac.compare_digest(secret.encode(), given.encode("utf-8", "surrogatepass")):
            found = person
    return found
