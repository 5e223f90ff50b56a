"""Authentication: people with a token, sent in a header or as a session cookie derived from it. Pure functions.

A token file has one line per person: a name, a space, the token. Lines that begin with `#` are comments. The name becomes the
author of that person's changes.
"""

from __future__ import annotations

import hmac
import secrets
from typing import TYPE_CHECKING, NamedTuple

from bd.core.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Iterable

# Long enough that a token cannot be guessed.
SHORTEST = 16
_PURPOSE = b"bd serve: a session of this token"


class Person(NamedTuple):
    """A person with a token; `name` is the author of their changes."""

    name: str
    token: str

    @property
    def session(self) -> str:
        """The value of the session cookie: derived from the token by HMAC, so the token cannot be recovered from it."""
        return hmac.new(self.token.encode(), _PURPOSE + self.name.encode(), "sha256").hexdigest()


def read(text: str, where: str) -> tuple[Person, ...]:
    """Return the people in a token file. Raises BadInput with the number of a wrong line, but never with its content."""
    found: list[Person] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        name, _, token = line.strip().rpartition(" ")
        if not name.strip() or not name.isprintable():
            raise BadInput(f"{where}, line {number}: expected a name, a space and the token", hint="such as: Ada Lovelace 5b1f…")
        if len(token) < SHORTEST or not token.isascii() or not token.isprintable():
            raise BadInput(f"{where}, line {number}: a token has at least {SHORTEST} plain characters", hint=f"such as {fresh()}")
        found.append(Person(name.strip(), token))
    if not found:
        raise BadInput(f"{where} has no token in it", hint=f"a name, a blank, a token, such as: Ada Lovelace {fresh()}")
    return tuple(found)


def fresh() -> str:
    """Return a new token."""
    return secrets.token_urlsafe(24)


def by_token(people: Iterable[Person], token: str) -> Person | None:
    """Return the person with this token, if any. Takes the same time for every wrong token."""
    return _whose([(person, person.token) for person in people], token)


def by_session(people: Iterable[Person], session: str) -> Person | None:
    """Return the person with this session, if any."""
    return _whose([(person, person.session) for person in people], session)


def _whose(kept: Iterable[tuple[Person, str]], given: str) -> Person | None:
    found = None
    for person, secret in kept:
        if hmac.compare_digest(secret.encode(), given.encode("utf-8", "surrogatepass")):
            found = person
    return found
