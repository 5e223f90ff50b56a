"""The host names that a server answers to: others may be names that somebody else made to point here (DNS rebinding).

An address is no name, so nobody can make it point elsewhere: a server that others reach answers to every address literal, and to
the names that it was given. Pure, but for the name of this machine.
"""

from __future__ import annotations

import ipaddress
import socket
from typing import NamedTuple

from bd import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_LOCAL = ("localhost", "127.0.0.1", "::1")


class HostNames(NamedTuple):
    """`names` in lower case; `takes_addresses`: also any address literal."""

    names: frozenset[str]
    takes_addresses: bool = False

    def has(self, host: str) -> bool:
        """Return whether the server answers to a host, in lower case and without its port."""
        return host in self.names or (self.takes_addresses and _is_address(host))


def of_names(names: Iterable[str]) -> HostNames:
    """Return exactly these names."""
    return HostNames(frozenset(name.lower() for name in names))


LOCAL = of_names(_LOCAL)


def of_bind(host: str, more: Iterable[str]) -> HostNames:
    """Return the names for a server that listens on `host`; `more` are those that its owner gave it."""
    given = tuple(more)
    own = () if is_loopback(host) or given else (socket.gethostname(),)
    names = of_names((*_LOCAL, host.strip("[]"), *own, *given)).names
    return HostNames(names, takes_addresses=not is_loopback(host) and not given)


def is_loopback(host: str) -> bool:
    """Return whether a host is reachable from this machine only."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True
