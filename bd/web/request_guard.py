"""The guard: which requests are let through, and what every answer tells the browser.

Refused are hosts that are not this site's (a name that was made to point here), bodies that are too large, changes without
a token, and changes that another site has a browser send.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect

from bd.web import authentication
from bd.web.routes import OPEN, OWN, READ, WRITE

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from bd.web.authentication import Person
    from bd.web.routes import Route
    from bd.web.site import Site

SAFE = frozenset({"GET", "HEAD"})
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",  # with none at all, browsers hide where a form of this very site comes from
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


class Refusal(Exception):
    """A request that is not let through: the status, and why."""

    def __init__(self, status: int, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.status, self.message, self.hint = status, message, hint


class Sealed:
    """An application whose every answer has the headers that keep other sites out."""

    def __init__(self, inner: ASGIApp) -> None:
        self._inner = inner

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("cache-control", "no-store")
            await send(message)

        await self._inner(scope, receive, with_headers)


class Caller(NamedTuple):
    """Who asks, and whether a browser may have been made to ask (`is_ambient`: by a cookie, which it sends by itself)."""

    person: Person | None
    is_ambient: bool


def admit(request: Request, route: Route, site: Site) -> Person | None:
    """Who asks, if they may ask this. Raises Refusal."""
    if site.names and _host_of(request) not in site.names:
        raise Refusal(421, "this server has another name", "`bd serve --name HOST` says under which names it is reached")
    if route.rule in (OPEN, OWN):
        return None
    caller = caller_of(request, site)
    if route.rule == READ and site.is_private and caller.person is None:
        raise Refusal(401, "this site is for people with a token")
    if route.rule == WRITE:
        if not site.people:
            raise Refusal(403, "nobody may change anything here", "`bd serve --token-file FILE` names people who may")
        if caller.person is None:
            raise Refusal(401, "who are you? Changes need a token", "sign in, or send Authorization: Bearer TOKEN")
        if caller.is_ambient and request.method not in SAFE and not is_from_here(request):
            raise Refusal(403, "this change does not come from a page of this site")
    return caller.person


def caller_of(request: Request, site: Site) -> Caller:
    """Who sends the request, by the header, else by the cookie."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and token.strip():
        return Caller(authentication.by_token(site.people, token.strip()), is_ambient=False)
    session = request.cookies.get(cookie_of(request), "")
    return Caller(authentication.by_session(site.people, session) if session else None, is_ambient=True)


def cookie_of(request: Request) -> str:
    """The cookie's name; browsers give cookies to every port of a host, so it has the port in it."""
    server = request.scope.get("server") or ("", 0)
    return f"bd_session_{server[1] or 0}"


def is_from_here(request: Request) -> bool:
    """Whether a page of this very site sends it: browsers say where a request comes from, and pages can't change that."""
    origin = request.headers.get("origin")
    if origin is not None:
        return origin.partition("://")[2].lower() == request.headers.get("host", "").lower() != ""
    return request.headers.get("sec-fetch-site") == "same-origin"


async def body_of(request: Request, limit: int) -> bytes:
    """The body, if it is no larger. Raises Refusal as soon as it is, and for one that breaks off."""
    found = bytearray()
    try:
        async for part in request.stream():
            found += part
            if len(found) > limit:
                raise Refusal(413, f"more than {limit} bytes" if limit else "no body belongs here")
    except ClientDisconnect:
        raise Refusal(400, "the body broke off") from None
    return bytes(found)


def _host_of(request: Request) -> str:
    """The host's name without its port, lower case."""
    host = request.headers.get("host", "").lower()
    return host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
