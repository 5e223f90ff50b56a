"""A hub's allowed signers, in git's own format: whose keys it trusts, and the name somebody signs under. Pure.

Reads and changes the lines of `.beads/allowed_signers`. Signatures are in store/trust/signatures.py; store/trust/authority.py
says who was allowed when.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.core.errors import BadInput
from bd.core.ids import agent_from_person
from bd.core.schema import is_agent
from bd.core.times import time_of_seconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

_LINE = re.compile(
    r"(?P<names>[a-z0-9][a-z0-9,-]*)[ \t]+(?:(?P<options>[a-z-]+(?:=\"[^\"]*\")?(?:,[a-z-]+(?:=\"[^\"]*\")?)*)[ \t]+)?"
    r"(?P<kind>(?:ssh|ecdsa|sk-ssh|sk-ecdsa)-[A-Za-z0-9@.-]+)[ \t]+(?P<key>[A-Za-z0-9+/]{16,}={0,2})(?:[ \t]+(?P<comment>.*))?\Z"
)
_OPTION = re.compile(r"([a-z-]+)(?:=\"([^\"]*)\")?")
_STAMP = re.compile(r"(\d{4})(\d\d)(\d\d)(?:(\d\d)(\d\d)(\d\d)?)?Z?\Z")
_KEY = re.compile(r"\s*((?:ssh|ecdsa|sk-ssh|sk-ecdsa)-[A-Za-z0-9@.-]+)\s+([A-Za-z0-9+/]{16,}={0,2})(?:\s.*)?\Z")
_NEVER = "99991231235959"


class Signer(NamedTuple):
    """One line: these names may sign with this key, from `since` until before `until` (stamps in UTC, YYYYMMDDHHMMSS)."""

    names: tuple[str, ...]
    key: str
    since: str = ""
    until: str = _NEVER
    line: str = ""

    @property
    def is_revoked(self) -> bool:
        return self.until != _NEVER

    def may(self, name: str, key: str, at: str) -> bool:
        """Return whether this line lets a name sign with a key at a stamp."""
        return key == self.key and name in self.names and self.since <= at and (at < self.until or not self.is_revoked)


def stamp_of(at_s: int) -> str:
    """Format Unix seconds as a stamp of allowed signers."""
    return "".join(char for char in time_of_seconds(at_s) if char.isdigit())[:14]


def _stamp(text: str) -> str | None:
    found = _STAMP.match(text)
    return "".join(part or "00" for part in found.groups()) if found else None


def read_line(line: str) -> Signer | None:
    """Parse a line; None for a comment, and for anything unusual: patterns, authorities, other namespaces."""
    found = _LINE.match(line.strip())
    if found is None:
        return None
    since, until = "", _NEVER
    for option, value in _OPTION.findall(found["options"] or ""):
        if option == "valid-after" and (stamp := _stamp(value)):
            since = stamp
        elif option == "valid-before" and (stamp := _stamp(value)):
            until = stamp
        elif option != "namespaces" or "git" not in value.split(","):
            return None
    names = tuple(name for name in found["names"].split(",") if is_agent(name))
    return Signer(names, f"{found['kind']} {found['key']}", since, until, line)


def read(lines: Iterable[str]) -> list[Signer]:
    """Return the signers in these lines."""
    return [signer for signer in map(read_line, lines) if signer is not None]


def key_of(text: str) -> str:
    """Return the public key in a typed text or a file, without its comment. Raises BadInput."""
    if "PRIVATE KEY" in text:
        raise BadInput("that is a private key", hint="give the .pub file next to it, and keep this one secret")
    found = _KEY.match(text)
    if found is None:
        raise BadInput("that is not a public SSH key", hint='one line, such as "ssh-ed25519 AAAA...", or a file that holds it')
    return f"{found[1]} {found[2]}"


def line_for(name: str, key: str) -> str:
    """Return the line that allows a key."""
    return f'{name} namespaces="git" {key}'


def revoked(signer: Signer, at_s: int) -> str:
    """Return the line that revokes a signer: what was signed earlier stays valid."""
    since = f',valid-after="{signer.since}Z"' if signer.since else ""
    return f'{",".join(signer.names)} namespaces="git"{since},valid-before="{stamp_of(at_s)}Z" {signer.key}'


def principal_of(form: Mapping[str, Any], author: str) -> str:
    """Return the name under which a commit has to be signed: its operation's author, or the commit's. "" if there is none."""
    said = str(form.get("by") or author.split(" <", maxsplit=1)[0])
    name = said.split(":", 1)[-1] if form.get("by") else said
    return name_of(name)


def name_of(name: str) -> str:
    """Return the name that an agent or a person signs under; "" if none can be made of it."""
    if is_agent(name):
        return name
    try:
        return agent_from_person(name)
    except BadInput:
        return ""
