"""Requests for URLs that came from a hub, to allowed addresses only.

Each name is looked up once, and the connection goes to the address that was checked; each redirect is checked again. Behind a
proxy (`http_proxy`, `https_proxy`, `no_proxy`) nothing is looked up here: the proxy decides what may be reached.
"""

from __future__ import annotations

import socket
import ssl
from base64 import b64encode
from http.client import HTTPConnection, HTTPSConnection
from threading import Event, Timer
from urllib.parse import quote, unquote_to_bytes, urljoin
from urllib.request import getproxies, proxy_bypass

from bd import TYPE_CHECKING
from bd.core import urls
from bd.core.addresses import address_of

if TYPE_CHECKING:
    from typing import Any

    from bd.core.runtime import Runtime
    from bd.policy.url_access import AllowList

_MOST_REDIRECTS = 5
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_AGENT = "bd"


class NotAllowed(Exception):
    """The URL leads to an address that is not allowed. The message names it, and must stay on this machine."""


def status_of(url: str, allowed: AllowList, limit_s: float, runtime: Runtime) -> int:
    """Return the HTTP status of a URL after its redirects, within `limit_s` seconds in total.

    Raises NotAllowed; OSError, HTTPException and ValueError if there is no answer.
    """
    end_s = runtime.monotonic() + limit_s
    for _ in range(_MOST_REDIRECTS + 1):
        if not urls.is_web(url):
            raise ValueError("it is not an http or https address")
        status, location = _asked(url, allowed, end_s - runtime.monotonic())
        if status not in _REDIRECTS or not location:
            return status
        url = urljoin(url, location)
    raise ValueError(f"more than {_MOST_REDIRECTS} redirects")


def _asked(url: str, allowed: AllowList, left_s: float) -> tuple[int, str]:
    """Return the status of one request, and the address that it redirects to."""
    if left_s <= 0:
        raise TimeoutError("timed out")
    connection, target, headers = _connection(url, allowed, left_s)
    # A time limit for single reads would not stop a server that sends a byte now and then.
    is_over = Event()
    end = Timer(left_s, _cut, (connection, is_over))
    end.daemon = True
    end.start()
    try:
        connection.request("GET", target, headers={"User-Agent": _AGENT, **headers})
        answer = connection.getresponse()
        if is_over.is_set():  # a response that was cut in its headers looks complete
            raise TimeoutError("timed out")
        return answer.status, answer.headers.get("Location") or ""
    finally:
        end.cancel()
        connection.close()


def _cut(connection: HTTPConnection, is_over: Event) -> None:
    is_over.set()
    held: socket.socket | None = connection.sock
    if held is not None:
        try:
            held.shutdown(socket.SHUT_RDWR)
        except OSError:  # it has ended by itself
            pass


def _connection(url: str, allowed: AllowList, left_s: float) -> tuple[HTTPConnection, str, dict[str, str]]:
    """Return a connection for a URL, not yet open, the request target, and headers."""
    parts = urls.parsed(url)
    assert parts is not None
    is_secret, host, port = parts.scheme == "https", parts.host, parts.port_number
    target = quote(parts.target, safe="%/:=&?~+!$,;'@()*[]")
    by = _proxy(parts)
    if by is None:
        make = _DirectTls if is_secret else _Direct
        return make(host, port, allowed, left_s), target, {}
    credentials = b64encode(unquote_to_bytes(f"{by.user}:{by.password or ''}")).decode() if by.user else ""
    headers = {"Proxy-Authorization": f"Basic {credentials}"} if credentials else {}
    if is_secret:
        tunnel = HTTPSConnection(by.host, by.port_number, timeout=left_s)
        tunnel.set_tunnel(host, port, headers)
        return tunnel, target, {}
    plain = HTTPSConnection if by.scheme == "https" else HTTPConnection
    return plain(by.host, by.port_number, timeout=left_s), url.partition("#")[0], headers


def _proxy(parts: urls.Url) -> urls.Url | None:
    """Return the proxy that this machine uses for a URL; None for a direct connection."""
    named = getproxies().get(parts.scheme)
    if not named or proxy_bypass(f"{parts.host}:{parts.port}" if parts.port else parts.host):
        return None
    address = named if urls.is_url(named) else f"http://{named}"
    found = urls.parsed(address)
    if found is None or found.scheme not in ("http", "https") or not found.is_well_formed:
        raise ValueError(f"the {parts.scheme} proxy of this machine is not an http or https address")
    return found


class _Direct(HTTPConnection):
    """A direct connection, to an allowed address."""

    def __init__(self, host: str, port: int | None, allowed: AllowList, left_s: float) -> None:
        super().__init__(host, port, timeout=left_s)
        self._allowed, self._left_s = allowed, left_s

    def connect(self) -> None:
        self.sock = _open(self.host, self.port, self._allowed, self._left_s)


class _DirectTls(HTTPSConnection):
    """A direct connection with TLS. The certificate must be that of the host in the URL."""

    def __init__(self, host: str, port: int | None, allowed: AllowList, left_s: float) -> None:
        self._trusted = ssl.create_default_context()
        super().__init__(host, port, timeout=left_s, context=self._trusted)
        self._allowed, self._left_s = allowed, left_s

    def connect(self) -> None:
        raw = _open(self.host, self.port, self._allowed, self._left_s)
        # In two steps, so that a handshake that never ends can be cut.
        self.sock = secret = self._trusted.wrap_socket(raw, server_hostname=self.host, do_handshake_on_connect=False)
        secret.do_handshake()


def _open(host: str, port: int, allowed: AllowList, left_s: float) -> socket.socket:
    """Connect to the first allowed address of a host that answers. Raises NotAllowed and OSError."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    if not found:
        raise OSError("it has no address")
    judged = [(family, place) for family, _, _, _, place in found if _may_ask(host, place, allowed)]
    if not judged:
        raise NotAllowed(f"{host} is at {', '.join(dict.fromkeys(str(place[0]) for *_, place in found))}")
    failed: OSError | None = None
    for family, place in judged:
        one = socket.socket(family, socket.SOCK_STREAM)
        one.settimeout(left_s / len(judged))
        try:
            one.connect(place)
        except OSError as error:
            failed = error
            one.close()
        else:
            one.settimeout(left_s)
            return one
    assert failed is not None
    raise failed


def _may_ask(host: str, place: tuple[Any, ...], allowed: AllowList) -> bool:
    address = address_of(str(place[0]))
    return address is not None and allowed.takes(host, address)
