"""The listening socket, and the server that runs on it until it is stopped."""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress
from threading import Thread

import uvicorn

from bd import TYPE_CHECKING
from bd.core.errors import BadInput
from bd.web.app import application
from bd.web.connections import MOST, Connection

if TYPE_CHECKING:
    from types import FrameType

    from starlette.types import ASGIApp

    from bd.web.site import Site

# The largest request head, and the seconds to finish requests at shutdown.
_HEAD_BYTES = 32 * 1024
_GRACE_S = 3
# Open files that are not connections: the hub's, and those of git.
_OTHER_FILES = 512


def bound(host: str, port: int) -> socket.socket:
    """Return a listening socket. Raises BadInput."""
    try:
        family = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host.strip("[]"), port), family=family, backlog=512)
    except (OSError, OverflowError, UnicodeError) as error:
        raise BadInput(f"can't listen on {host} port {port}: {error}", hint="--port 0 takes any free one") from error


def address_of(listener: socket.socket) -> str:
    """Return the URL of a listening socket."""
    host, port = listener.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/"


def run(site: Site, listener: socket.socket, app: ASGIApp | None = None) -> None:
    """Serve the pages and the API, or another application on the site, until Ctrl-C or SIGTERM."""
    _allow_files(MOST + _OTHER_FILES)
    _Server(_config(app or application(site)), site).run(sockets=[listener])


def _config(app: ASGIApp) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        h11_max_incomplete_event_size=_HEAD_BYTES,
        backlog=512,
        http=Connection,
        timeout_graceful_shutdown=_GRACE_S,
    )


class Background:
    """The pages and the API of a site, served by a thread of this process until `close`. Requests that came before are answered."""

    def __init__(self, site: Site, listener: socket.socket) -> None:
        self.address = address_of(listener)
        self._server = _Server(_config(application(site)), site)
        self._thread = Thread(target=self._server.run, kwargs={"sockets": [listener]}, name="bd api", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the server, and wait for that."""
        self._server.end()
        self._thread.join()


def _allow_files(number: int) -> None:
    """Let this process open so many files, as far as the system allows it."""
    try:
        import resource  # noqa: PLC0415  POSIX alone has it
    except ImportError:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = number if hard == resource.RLIM_INFINITY else min(number, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


class _Server(uvicorn.Server):
    """A server that ends the event streams of open pages before it waits for requests to finish."""

    def __init__(self, config: uvicorn.Config, site: Site) -> None:
        super().__init__(config)
        self._site = site

    def end(self) -> None:
        """Ask it to end, from another thread."""
        self.should_exit = True
        self._site.feed.end()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.force_exit = self.should_exit  # the second signal
        self.should_exit = True
        with suppress(RuntimeError):  # without a loop there are no open pages
            # a signal may come while this thread holds the feed's locks, so the call is deferred
            loop = asyncio.get_running_loop()
            loop.call_soon_threadsafe(self._site.feed.end)
