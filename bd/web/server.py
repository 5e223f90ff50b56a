"""The listening socket, and the server that runs on it until it is stopped."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from contextlib import suppress
from typing import TYPE_CHECKING

import uvicorn

from bd.core.errors import BadInput
from bd.web.app import application

if TYPE_CHECKING:
    from types import FrameType

    from bd.web.site import Site

# The largest request head, the most requests at once (more get 503), and the seconds to finish requests at shutdown.
_HEAD_BYTES = 32 * 1024
_AT_ONCE = 512
_GRACE_S = 3


def is_loopback(host: str) -> bool:
    """Return whether a host is reachable from this machine only."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def names_of(host: str, more: tuple[str, ...]) -> tuple[str, ...]:
    """Return the host names to answer to; () for any, if others can reach the server and no names were given."""
    if not is_loopback(host) and not more:
        return ()
    return ("localhost", "127.0.0.1", "::1", host.strip("[]"), *more)


def bound(host: str, port: int) -> socket.socket:
    """Return a listening socket. Raises BadInput."""
    try:
        family = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host.strip("[]"), port), family=family, backlog=128)
    except (OSError, OverflowError, UnicodeError) as error:
        raise BadInput(f"can't listen on {host} port {port}: {error}", hint="--port 0 takes any free one") from error


def address_of(listener: socket.socket) -> str:
    """Return the URL of a listening socket."""
    host, port = listener.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/"


def run(site: Site, listener: socket.socket) -> None:
    """Serve until Ctrl-C or SIGTERM."""
    config = uvicorn.Config(
        application(site),
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        h11_max_incomplete_event_size=_HEAD_BYTES,
        limit_concurrency=_AT_ONCE,
        timeout_graceful_shutdown=_GRACE_S,
    )
    _Server(config, site).run(sockets=[listener])


class _Server(uvicorn.Server):
    """A server that ends the event streams of open pages before it waits for requests to finish."""

    def __init__(self, config: uvicorn.Config, site: Site) -> None:
        super().__init__(config)
        self._site = site

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.force_exit = self.should_exit  # the second signal
        self.should_exit = True
        with suppress(RuntimeError):  # without a loop there are no open pages
            # a signal may come while this thread holds the feed's locks, so the call is deferred
            loop = asyncio.get_running_loop()
            loop.call_soon_threadsafe(self._site.feed.end)
