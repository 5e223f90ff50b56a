"""IP addresses in every spelling, and which of them are public.

Imports ipaddress and socket: modules that rarely need it import it late.
"""

from __future__ import annotations

import socket
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

# Not public, by the IANA registries of special-purpose addresses. Written out, because ipaddress calls some of them global, and
# versions of Python differ.
_NOT_PUBLIC = tuple(
    ip_network(text)
    for text in (
        "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 "
        "192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4 "
        "2001::/23 2001:db8::/32 2002::/16 3fff::/20"
    ).split()
)
_PUBLIC_V6 = IPv6Network("2000::/3")
# Metadata services of clouds: link-local addresses, and a few others of single providers.
_METADATA = tuple(
    ip_network(text)
    for text in "169.254.0.0/16 100.100.100.200 168.63.129.16 192.0.0.192 fe80::/10 fd00:ec2::/32 fd20:ce::254".split()
)
# IPv6 addresses that end in an IPv4 address: mapped, translated, compatible, NAT64 (the last one for local use).
_MAPPED, _NAT64 = IPv6Network("::ffff:0:0/96"), IPv6Network("64:ff9b::/96")
_ENDS_IN_V4 = (_MAPPED, _NAT64, *(IPv6Network(text) for text in ("::ffff:0:0:0/96", "::/96", "64:ff9b:1::/48")))
_ISATAP = 0x5EFE


def address_of(text: str) -> Address | None:
    """Parse an IP address; IPv4 may be decimal, octal, hexadecimal, shortened, or mapped into IPv6. Return None for a name."""
    try:
        if ":" in text:
            plain = IPv6Address(int(IPv6Address(text)))  # without its zone, which says nothing of where it leads
            return plain.ipv4_mapped or plain
        if text[-1:].isspace() or any(character.isspace() for character in text):  # inet_aton stops reading there
            return None
        return IPv4Address(socket.inet_aton(text))
    except (OSError, ValueError):
        return None


def stands_for(address: Address) -> tuple[Address, ...]:
    """Return the address, and the IPv4 addresses that are embedded in it."""
    if isinstance(address, IPv4Address):
        return (address,)
    number = int(address)
    found = [IPv4Address(number & 0xFFFFFFFF)] if any(address in network for network in _ENDS_IN_V4) else []
    if number >> 32 & 0xFFFF == _ISATAP:
        found.append(IPv4Address(number & 0xFFFFFFFF))
    return (address, *found, *filter(None, (address.sixtofour, *(address.teredo or ()))))


def is_public(address: Address) -> bool:
    """Return whether the address is public. NAT64 addresses count as the IPv4 address in them."""
    if isinstance(address, IPv6Address):
        if address in _MAPPED or address in _NAT64:
            return is_public(IPv4Address(int(address) & 0xFFFFFFFF))
        if address not in _PUBLIC_V6:
            return False
    return not any(address in network for network in _NOT_PUBLIC) and not is_metadata(address)


def is_metadata(address: Address) -> bool:
    """Return whether it may be a cloud's metadata service, which hands out credentials."""
    return any(one in network for one in stands_for(address) for network in _METADATA)
