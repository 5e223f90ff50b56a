"""Authentication: accounts with a token, sent in a header or, by people, as a session cookie derived from it. Pure functions.

A token file has one line per account: its name, a space, the token. Lines that begin with `#` are comments. An account is a
person, an agent (`agent:NAME`) or one claim (`claim:BEAD:FENCING-TOKEN`). Instead of a token there may be its digest,
`sha256:HEX`: `bd token create` writes no other lines.

A session is an HMAC of the token, and the digest is a hash of the session: neither way back is known, so a browser's cookie does
not tell the token, and a file of digests tells neither token nor cookie.
"""

from __future__ import annotations

import hmac
import re
import secrets
from functools import lru_cache
from hashlib import sha256
from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.core.errors import BadInput
from bd.core.ids import check_agent

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# Long enough that a token cannot be guessed.
SHORTEST = 16
PERSON, AGENT, CLAIM = "person", "agent", "claim"
_PURPOSE = b"bd serve: a session of this token"
_DIGEST = "sha256:"
_CLAIM = re.compile(r"(?P<bead>\S+):(?P<token>[0-9A-Za-z]+)")


class Account(NamedTuple):
    """Whoever has a token. `token` is as in the file: the token itself, or its digest.

    `name` is a person's name, which becomes the author of their changes, or the agent's; for a claim it is the bead, and `claim`
    the fencing token. An account of a claim is as good as the claim: it ends with it.
    """

    name: str
    token: str
    kind: str = PERSON
    claim: str = ""

    @property
    def digest(self) -> str:
        """The digest of the token, `sha256:HEX`; its beginning names the account in `bd token list`."""
        return self.token if self.token.startswith(_DIGEST) else digest_of(self.token)

    @property
    def id(self) -> str:
        return self.digest.removeprefix(_DIGEST)[:8]

    @property
    def label(self) -> str:
        """The account as it stands in a token file."""
        if self.kind == CLAIM:
            return f"{CLAIM}:{self.name}:{self.claim}"
        return self.name if self.kind == PERSON else f"{self.kind}:{self.name}"


def read(text: str, where: str) -> tuple[Account, ...]:
    """Return the accounts in a token file. Raises BadInput with the number of a wrong line, but never with its content."""
    found: list[Account] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        label, _, token = line.strip().rpartition(" ")
        if len(token) < SHORTEST or not token.isascii() or not token.isprintable():
            raise BadInput(f"{where}, line {number}: a token has at least {SHORTEST} plain characters", hint=f"such as {fresh()}")
        account = account_of(label.strip(), token)
        if account is None:
            raise BadInput(f"{where}, line {number}: expected a name, a space and the token", hint="such as: Ada Lovelace 5b1f…")
        found.append(account)
    return tuple(found)


def account_of(label: str, token: str) -> Account | None:
    """Return the account of a line; None if its label is none."""
    kind, colon, name = label.partition(":")
    if colon and kind == AGENT:
        try:
            return Account(check_agent(name), token, AGENT)
        except BadInput:
            return None
    if colon and kind == CLAIM:
        found = _CLAIM.fullmatch(name)
        return Account(found["bead"], token, CLAIM, found["token"]) if found else None
    return Account(label, token) if label and label.isprintable() else None


def fresh() -> str:
    """Return a new token."""
    return secrets.token_urlsafe(24)


def session_of(token: str) -> str:
    """Return the value of the session cookie."""
    return hmac.new(token.encode("utf-8", "surrogatepass"), _PURPOSE, "sha256").hexdigest()


def digest_of(token: str) -> str:
    """Return what a token file may have instead of a token."""
    return _digest_of_session(session_of(token))


def _digest_of_session(session: str) -> str:
    return _DIGEST + sha256(session.encode("utf-8", "surrogatepass")).hexdigest()


def by_token(accounts: Iterable[Account], token: str) -> Account | None:
    """Return the account with this token, if any."""
    return by_session(accounts, session_of(token))


def by_session(accounts: Iterable[Account], session: str) -> Account | None:
    """Return the account with this session, if any. Its digest is looked up, so the time tells nothing of any other."""
    return _by_digest(tuple(accounts)).get(_digest_of_session(session))


@lru_cache(maxsize=4)
def _by_digest(accounts: tuple[Account, ...]) -> Mapping[str, Account]:
    return {account.digest: account for account in accounts}
