"""Which addresses may be asked for a URL of a hub, in all the ways to spell them."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bd.core.addresses import address_of, is_metadata, is_public
from bd.core.errors import BadInput
from bd.policy.url_access import AllowList, allow_list

NOT_PUBLIC = """
0.0.0.0 0.1.2.3 10.0.0.1 100.64.0.1 127.0.0.1 127.255.255.254 169.254.169.254 172.16.0.1 172.31.255.255 192.0.0.1 192.0.2.1
192.88.99.1 192.168.1.1 198.18.0.1 198.51.100.1 203.0.113.1 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255
100.100.100.200 168.63.129.16 192.0.0.192 169.254.170.2
:: ::1 ::127.0.0.1 ::8.8.8.8 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:0:127.0.0.1 64:ff9b::127.0.0.1 64:ff9b::10.0.0.1
64:ff9b::169.254.169.254 64:ff9b:1::8.8.8.8 100::1 2001::1 2001:db8::1 2002:7f00:1::1 2002:0808:0808::1 3fff::1 4000::1
5f00::1 fc00::1 fd00::1 fd00:ec2::254 fe80::1 fe80::1%1 fec0::1 ff02::1 ff0e::1
""".split()
PUBLIC = (
    "1.1.1.1 8.8.8.8 93.184.216.34 172.15.0.1 172.32.0.1 2606:4700::1111 2a00:1450::1 ::ffff:8.8.8.8 64:ff9b::8.8.8.8".split()
)
METADATA = """
169.254.169.254 169.254.170.2 169.254.1.1 100.100.100.200 168.63.129.16 192.0.0.192 fe80::1 fe80::a9fe:a9fe%1 fd00:ec2::254
::ffff:169.254.169.254 ::ffff:a9fe:a9fe ::169.254.169.254 64:ff9b::a9fe:a9fe 64:ff9b:1::169.254.169.254 ::ffff:0:169.254.169.254
2002:a9fe:a9fe::1 2001:0:1234::5601:5601 fe80::5efe:169.254.169.254 2606:4700::5efe:169.254.169.254
2852039166 0xa9fea9fe 0251.0376.0251.0376 0xa9.254.0xa9.0376 169.254.43518 169.16689662
""".split()


def at(text: str) -> IPv4Address | IPv6Address:
    found = address_of(text)
    assert found is not None
    return found


@pytest.mark.parametrize("text", NOT_PUBLIC)
def test_what_is_not_public(text: str) -> None:
    assert not is_public(at(text))
    assert not AllowList().takes("example.org", at(text))


@pytest.mark.parametrize("text", PUBLIC)
def test_what_is_public(text: str) -> None:
    assert AllowList().takes("example.org", at(text))


@pytest.mark.parametrize("text", METADATA)
def test_credentials_of_machines_have_to_be_named_exactly(text: str) -> None:
    address = at(text)
    assert is_metadata(address)
    wide = allow_list(["0.0.0.0/0", "::/0", "example.org", ".example.org", "metadata.internal"])
    for host in ("example.org", "x.example.org", "metadata.internal", text):
        assert not wide.takes(host, address)
    assert allow_list([str(address)]).takes("example.org", address)


@pytest.mark.parametrize("entry", ["169.254.169.254", "2852039166", "[::ffff:169.254.169.254]"])
def test_an_address_is_named_in_any_spelling(entry: str) -> None:
    assert allow_list([entry]).takes("x", at("0xa9fea9fe"))


@pytest.mark.parametrize(
    ("entry", "host", "address", "takes"),
    [
        ("ci.example.org", "ci.example.org", "10.0.0.1", True),
        ("CI.example.org.", "ci.EXAMPLE.org.", "10.0.0.1", True),
        ("ci.example.org", "x.ci.example.org", "10.0.0.1", False),
        ("ci.example.org", "ci.example.org.evil.com", "10.0.0.1", False),
        (".example.org", "ci.example.org", "fd12::1", True),
        ("*.example.org", "a.b.example.org", "127.0.0.1", True),
        (".example.org", "example.org", "10.0.0.1", False),
        (".example.org", "evilexample.org", "10.0.0.1", False),
        ("10.1.0.0/16", "x", "10.1.2.3", True),
        ("10.1.0.0/16", "x", "::ffff:10.1.2.3", True),
        ("10.1.0.0/16", "x", "10.2.0.1", False),
        ("fd12::/16", "x", "fd12::1", True),
        ("127.0.0.1", "x", "127.0.0.1", True),
        ("127.0.0.1", "x", "127.0.0.2", False),
        ("localhost", "localhost", "::1", True),
        ("localhost", "x", "::1", False),
    ],
)
def test_what_an_entry_lets_in(entry: str, host: str, address: str, takes: bool) -> None:
    assert allow_list([entry]).takes(host, at(address)) is takes


@pytest.mark.parametrize(
    "entry", ["", ".", "*", "*example.org", "http://x", "x:80", "a b", "10.0.0.1/8", "10.0.0.0/40", "a/b", "-x"]
)
def test_what_is_no_entry(entry: str) -> None:
    with pytest.raises(BadInput):
        allow_list([entry])


@given(st.integers(0, 2**32 - 1))
def test_an_ipv4_address_is_judged_alike_in_every_spelling(number: int) -> None:
    plain = IPv4Address(number)
    octal = ".".join(f"0{byte:o}" for byte in plain.packed)
    for text in (str(number), hex(number), octal, f"{number >> 24}.{number & 0xFFFFFF}"):
        assert address_of(text) == plain
    for prefix in ("::ffff:", "64:ff9b::"):
        assert is_public(at(f"{prefix}{plain}")) is is_public(plain)
        assert is_metadata(at(f"{prefix}{plain}")) is is_metadata(plain)


@given(st.ip_addresses())
def test_what_the_standard_library_holds_for_private_is_not_public(address: IPv4Address | IPv6Address) -> None:
    if ip_address(address).is_private and not getattr(address, "ipv4_mapped", None):
        assert not is_public(address)
