"""The one parser of URLs, and of git's other forms of a repository's address.

Belongs here: the parts of an address, and what they say. Does not belong here: which addresses bd may connect to
(policy/url_access.py), and DNS.
"""

from __future__ import annotations

import os
import re

from bd.core.value import Value

_LAST_PORT = 65535
_PORTS = {"http": 80, "https": 443}
_IN_SCHEME = {ord(mark): None for mark in "+.-"}


class Url(Value):
    """The parts of an address. `port` is as typed, "" for none; `rest` is everything after host and port."""

    scheme: str
    user: str
    password: str | None
    host: str
    port: str
    rest: str

    @property
    def port_number(self) -> int | None:
        """The port, by default that of the scheme; None for a scheme other than http and https without a port.

        http.client would take the end of an IPv6 address without a port for one.
        """
        return int(self.port) if self.port else _PORTS.get(self.scheme)

    @property
    def target(self) -> str:
        """The request target: path and query, without the fragment."""
        path = self.rest.partition("#")[0]
        return path if path.startswith("/") else f"/{path}"

    @property
    def is_well_formed(self) -> bool:
        """Return whether it has a host, and a port that is valid or absent."""
        return bool(self.host) and (not self.port or (self.port.isdecimal() and 0 < int(self.port) <= _LAST_PORT))


def parsed(text: str) -> Url | None:
    """Parse a URL, or git's `user@host:path` (its scheme is ssh). Return None for a path."""
    scheme = _scheme_of(text)
    if scheme:
        authority, rest = _divided(text[len(scheme) + 3 :])
        userinfo, _, place = authority.rpartition("@")
        user, colon, password = userinfo.partition(":")
        host, port = host_and_port(place)
        return Url(scheme.lower(), user, password if colon else None, host, port, rest)
    place, colon, rest = (
        text.rpartition("]:") if text.partition("@")[2].startswith("[") or text[:1] == "[" else text.partition(":")
    )
    if not colon or "/" in place or _is_drive(text):
        return None
    user, _, host = place.rpartition("@")
    return Url("ssh", user, None, host.lstrip("[").lower(), "", rest)


def _scheme_of(text: str) -> str:
    """Return the text before `://` if it is a valid scheme, else ""."""
    name, mark, _ = text.partition("://")
    return name if mark and _is_scheme(name) else ""


def _is_scheme(name: str) -> bool:
    return name.isascii() and name[:1].isalnum() and name.translate(_IN_SCHEME).isalnum()


def host_and_port(text: str) -> tuple[str, str]:
    """Return host (lower case, without brackets) and port of `host:port`; a missing part is "".

    An invalid part (a user, a second colon) stays in the port, which is then no number.
    """
    if text.startswith("["):
        host, bracket, behind = text[1:].partition("]")
        is_whole = bracket and (not behind or behind.startswith(":"))
        return (host.lower(), behind[1:]) if is_whole else ("", text)
    host, _, port = text.partition(":")
    return ("", text) if "@" in text else (host.lower(), port)


def _divided(text: str) -> tuple[str, str]:
    """Split the text after `://` into the authority and the rest."""
    end = min((place for mark in "/?#" if (place := text.find(mark)) >= 0), default=len(text))
    return text[:end], text[end:]


def _is_drive(text: str) -> bool:
    return os.name == "nt" and text[1:2] == ":"


def is_url(text: str) -> bool:
    """Return whether the text begins with a scheme, such as `https://`, and goes on."""
    scheme = _scheme_of(text)
    return bool(scheme) and len(text) > len(scheme) + 3


def names_helper(text: str) -> bool:
    """Return whether git would start a remote helper for it (`ext::`, `fd::`)."""
    name, colons, _ = text.partition("::")
    return bool(colons) and _is_scheme(name)


def local_path(text: str) -> str | None:
    """Return the path, also of a file: URL; None for an address that needs a connection."""
    url = parsed(text)
    if url is None:
        return text
    if url.scheme != "file":
        return None
    plain = re.sub(rb"%([0-9A-Fa-f]{2})", lambda escape: bytes([int(escape[1], 16)]), os.fsencode(url.rest))
    return os.fsdecode(plain)


def is_here(text: str) -> bool:
    """Return whether it is a path, or an address of this machine."""
    url = parsed(text)
    return url is None or url.scheme == "file" or is_this_machine(url.host)


def is_this_machine(host: str) -> bool:
    """Return whether a host name or address is this machine's own, in any spelling. No name is looked up."""
    name = host.lower().removesuffix(".")
    if name == "localhost" or name.endswith(".localhost"):
        return True
    if ":" not in name and not name[:1].isdecimal():
        return False
    from bd.core.addresses import address_of, stands_for  # noqa: PLC0415  few remotes are named by number

    address = address_of(name)
    return address is not None and any(one.is_loopback or one.is_unspecified for one in stands_for(address))


def is_web(text: str) -> bool:
    """Return whether it is a valid http or https URL: host, valid port, no user or password, no characters that URLs exclude."""
    url = parsed(text)
    if url is None or url.scheme not in ("http", "https") or not url.is_well_formed or url.user or url.password is not None:
        return False
    return text.isprintable() and not any(mark in text for mark in ' \\"<>')


def without_password(text: str) -> str:
    """Return the address without its password, for display, even if the password contains a slash or an @."""
    scheme = _scheme_of(text)
    if not scheme:
        return text
    start = len(scheme) + 3
    authority, _ = _divided(text[start:])
    host, port = host_and_port(authority)
    is_place = port.isdecimal() or authority.lower() == f"[{host}]"
    if "@" not in authority and ":" in authority and not is_place:
        authority = text[start:]  # no host has such a port: a password with a slash in it
    userinfo, at, _ = authority.rpartition("@")
    user, colon, _ = userinfo.partition(":")
    if not at or not colon:
        return text
    return text[:start] + (user + at if user else "") + text[start + len(userinfo) + 1 :]
