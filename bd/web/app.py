"""The ASGI application: all routes, each behind the request guard, with one error handler.

To add routes, write a module in this folder, named after a noun, with a tuple `ROUTES`, and add it to `MODULES`. routes.py
describes a route: method, path, an async handler that takes an `Ask` and returns a Starlette response, who may call it, and the
largest body. Handlers read and write the hub through `ask.site` (site.py) and follow its changes through `ask.site.feed`.
"""

from __future__ import annotations

from contextlib import asynccontextmanager, nullcontext
from functools import partial

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.routing import Route as Place

from bd import TYPE_CHECKING
from bd.web import (
    agents_page,
    bead_lists,
    board_page,
    error_responses,
    event_stream,
    flow_page,
    health,
    long_polls,
    request_guard,
    sign_in,
    webhooks,
    writes,
)
from bd.web.api import routes as api_routes
from bd.web.refusal import Refusal
from bd.web.routes import Ask, wants_json

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from contextlib import AbstractAsyncContextManager
    from typing import Protocol

    from starlette.responses import Response
    from starlette.types import ASGIApp, Receive, Scope, Send

    from bd.web.routes import Route
    from bd.web.site import Site

    class McpApp(Protocol):
        def running(self) -> AbstractAsyncContextManager[None]: ...
        async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None: ...


# Routes are tried in this order: first those that are asked for most.
MODULES = (
    api_routes,
    board_page,
    bead_lists,
    agents_page,
    flow_page,
    writes,
    sign_in,
    event_stream,
    health,
    webhooks,
    long_polls,
)


def routes() -> list[Route]:
    """Return every route, in the order in which they are matched."""
    return [route for module in MODULES for route in module.ROUTES]


def application(site: Site) -> ASGIApp:
    """Return the site as an ASGI application, which opens the site at startup and closes it at shutdown."""
    places = [Place(route.path, _guarded(route, site), methods=[route.method]) for route in routes()]
    return _opening(site, places, nullcontext)


def mcp_application(site: Site, path: str, mcp: McpApp) -> ASGIApp:
    """Return an ASGI application that answers MCP alone, at a path; it opens and closes the site as the other one does."""
    return _opening(site, [Place(path, mcp, methods=["GET", "POST", "DELETE"])], mcp.running)


def _opening(site: Site, places: list[Place], beside: Callable[[], AbstractAsyncContextManager[None]]) -> ASGIApp:
    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        site.open()
        try:
            async with beside():
                yield
        finally:
            site.close()

    async def unknown(request: Request, error: Exception) -> Response:
        """Answer a request for a path, or with a method, that no route has."""
        assert isinstance(error, HTTPException)
        refusal = Refusal(error.status_code, "no such path" if error.status_code == 404 else "no such method here")
        response = error_responses.answer(refusal, site, as_json=wants_json(request))
        response.headers.update(error.headers or {})
        return response

    return request_guard.Sealed(Starlette(routes=places, lifespan=lifespan, exception_handlers={HTTPException: unknown}))


def _guarded(route: Route, site: Site) -> Callable[[Request], Awaitable[Response]]:
    """Wrap the route's handler with the request guard and the error handler."""

    async def endpoint(request: Request) -> Response:
        try:
            person = request_guard.admit(request, route, site)
            body = await request_guard.body_of(request, route.limit) if request.method not in request_guard.SAFE else b""
            is_admitted = partial(request_guard.is_admitted, request, route, site)
            return await route.handler(Ask(request, site, person, body, is_admitted))
        except Exception as error:  # noqa: BLE001  a bug of a handler is answered, too
            return error_responses.answer(error, site, as_json=wants_json(request))

    return endpoint
