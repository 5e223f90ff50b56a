"""Which addresses may be asked for a URL that came from a hub: the public ones, and what a person of this machine has allowed.

Belongs here: the rule. Does not belong here: looking up names, and asking (worker/url_fetch.py).
"""

from __future__ import annotations

import re
from ipaddress import ip_network
from typing import TYPE_CHECKING, NamedTuple

from bd.core.addresses import address_of, is_metadata, is_public, stands_for
from bd.core.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bd.core.addresses import Address, Network

_NAME = re.compile(r"(?:[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?\.)*[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?")


_HINT = "such as ci.example.org, .example.org, 10.2.0.0/16 or 127.0.0.1"


class AllowList(NamedTuple):
    """What may be asked although it is not public: names of hosts, endings of such names (`.example.org`), networks, addresses."""

    names: frozenset[str] = frozenset()
    endings: tuple[str, ...] = ()
    networks: tuple[Network, ...] = ()
    addresses: frozenset[Address] = frozenset()

    def takes(self, host: str, address: Address) -> bool:
        """Whether a host may be asked at this address. One that tells a machine its credentials has to be named as it is."""
        meant = stands_for(address)
        if is_metadata(address):
            return any(one in self.addresses for one in meant)
        if is_public(address):
            return True
        name = host.lower().removesuffix(".")
        is_named = name in self.names or name.endswith(self.endings)
        return is_named or any(one in network for one in meant for network in self.networks)


def allow_list(entries: Iterable[str]) -> AllowList:
    """Read the setting `url_allow`. Raises BadInput for what is neither a host, an ending, a network nor an address."""
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
            raise BadInput(f"{entry!r} is no host, ending, network or address", hint=_HINT)
        elif ending:
            endings.append(ending)
        else:
            names.add(text)
    return AllowList(frozenset(names), tuple(endings), tuple(networks), frozenset(addresses))


def _network(text: str) -> Network:
    try:
        return ip_network(text)
    except ValueError as error:
        raise BadInput(f"{text!r} is no network: {error}", hint=_HINT) from None
