"""The rule for URLs that came from a hub: bd connects to public addresses, and to those that a person allowed on this machine.

Does not belong here: DNS, and the connection (worker/url_fetch.py).
"""

from __future__ import annotations

import re
from ipaddress import ip_network
from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.core.addresses import address_of, is_metadata, is_public, stands_for
from bd.core.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bd.core.addresses import Address, Network

_NAME = re.compile(r"(?:[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?\.)*[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?")


_HINT = "such as ci.example.org, .example.org, 10.2.0.0/16 or 127.0.0.1"


class AllowList(NamedTuple):
    """Exceptions to the rule: host names, endings of host names (`.example.org`), networks, addresses."""

    names: frozenset[str] = frozenset()
    endings: tuple[str, ...] = ()
    networks: tuple[Network, ...] = ()
    addresses: frozenset[Address] = frozenset()

    def takes(self, host: str, address: Address) -> bool:
        """Return whether bd may connect to a host at this address. A metadata service needs its exact address in the list."""
        meant = stands_for(address)
        if is_metadata(address):
            return any(one in self.addresses for one in meant)
        if is_public(address):
            return True
        name = host.lower().removesuffix(".")
        is_named = name in self.names or name.endswith(self.endings)
        return is_named or any(one in network for one in meant for network in self.networks)


def allow_list(entries: Iterable[str]) -> AllowList:
    """Parse the setting `url_allow`. Raises BadInput for an entry that is not a host, an ending, a network or an address."""
    names: set[str] = set()
    endings: list[str] = []
    networks: list[Network] = []
    addresses: set[Address] = set()
    for entry in entries:
        text = entry.strip().lower().removesuffix(".")
        ending = text.removeprefix("*") if text.startswith(("*.", ".")) else ""
        address = address_of(text.strip("[]")) if text[:1].isdecimal() or ":" in text else None
        if address is not None:
            addresses.add(address)
            networks.append(ip_network(address))
        elif "/" in text and address_of(text.partition("/")[0]) is not None:
            networks.append(_network(text))
        elif not _NAME.fullmatch(ending.removeprefix(".") or text):
            raise BadInput(f"{entry!r} is not a host, an ending, a network or an address", hint=_HINT)
        elif ending:
            endings.append(ending)
        else:
            names.add(text)
    return AllowList(frozenset(names), tuple(endings), tuple(networks), frozenset(addresses))


def _network(text: str) -> Network:
    try:
        return ip_network(text)
    except ValueError as error:
        raise BadInput(f"{text!r} is not a network: {error}", hint=_HINT) from None
