"""The application: every route, each let through by the guard, every error through the door.

To add routes: write a module of one noun in this folder with a tuple `ROUTES` (routes.py says what one is: method, path, an
async handler that takes an `Ask` and returns a Starlette response, who may ask, how large a body may be), and name it in
`MODULES`. Handlers read and write the hub through `ask.site` (site.py) and hear of its changes through `ask.site.feed`.
"""

from __future__ import annotations

from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import Route as Place

from bd.serve import agents, beads, board, door, edits, entry, events, flow, guard, health, hooks, waits
from bd.serve.routes import Ask

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from starlette.responses import Response
    from starlette.types import ASGIApp

    from bd.serve.routes import Route
    from bd.serve.site import Site

MODULES = (board, beads, agents, flow, edits, entry, events, health, hooks, waits)


def routes() -> list[Route]:
    """Every route, in the order in which they are tried."""
    return [route for module in MODULES for route in module.ROUTES]


def application(site: Site) -> ASGIApp:
    """The site as an ASGI application; it opens the site when it starts, and closes it when it ends."""

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        site.open()
        try:
            yield
        finally:
            site.close()

    places = [Place(route.path, _guarded(route, site), methods=[route.method]) for route in routes()]
    return guard.Sealed(Starlette(routes=places, lifespan=lifespan))


def _guarded(route: Route, site: Site) -> Callable[[Request], Awaitable[Response]]:
    """The route's handler behind the guard."""

    async def endpoint(request: Request) -> Response:
        try:
            person = guard.admit(request, route, site)
            body = await guard.body_of(request, route.limit) if request.method not in guard.SAFE else b""
            return await route.handler(Ask(request, site, person, body))
        except Exception as error:  # noqa: BLE001  the one place where a handler's errors end
            return door.answer(error, site, as_json="text/html" not in request.headers.get("accept", ""))

    return endpoint
