"""The request guard: which requests are allowed, and the security headers of every answer.

It refuses requests for a foreign host name (DNS rebinding), bodies that are too large, writes without a token, and writes that
another site makes a browser send (CSRF).
"""

from __future__ import annotations

from typing import NamedTuple

from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect

from bd import TYPE_CHECKING
from bd.core.urls import Url, host_and_port, parsed
from bd.web import authentication
from bd.web.refusal import Refusal
from bd.web.routes import OPEN, OWN, READ, TOKEN, WRITE

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from bd.web.authentication import Account
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
    "referrer-policy": "same-origin",  # "no-referrer" would make browsers hide the origin even of this site's own forms
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


class Sealed:
    """Wraps an application and adds the security headers to every response."""

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
    """The sender of a request. `is_ambient`: identified by a cookie, which a browser also sends on behalf of other sites."""

    person: Account | None
    is_ambient: bool


def admit(request: Request, route: Route, site: Site) -> Account | None:
    """Return the person who sends the request, if it is allowed. Raises Refusal."""
    if not site.names.has(_host_of(request)):
        raise Refusal(421, "this server does not answer to this host name", "`bd serve --name HOST` sets its host names")
    if route.rule in (OPEN, OWN):
        return None
    if route.rule == TOKEN:
        return _with_token(request, site)
    caller = caller_of(request, site)
    if route.rule == READ and site.is_private and caller.person is None:
        raise Refusal(401, "this site is for people with a token")
    if route.rule == WRITE:
        if not site.people:
            raise Refusal(403, "this site is read-only", "`bd serve --token-file FILE` names people who may")
        if caller.person is None:
            raise Refusal(401, "who are you? Changes need a token", "sign in, or send Authorization: Bearer TOKEN")
        if caller.is_ambient and request.method not in SAFE and not is_from_here(request):
            raise Refusal(403, "this change does not come from a page of this site")
    return caller.person


def is_admitted(request: Request, route: Route, site: Site) -> bool:
    """Return whether the request is allowed now, for an answer that goes on."""
    try:
        admit(request, route, site)
    except Refusal:
        return False
    return True


def _with_token(request: Request, site: Site) -> Account:
    """Return the account whose token the request brings along; a cookie is none, and other sites may send no request."""
    if request.headers.get("origin") is not None and not is_from_here(request):
        raise Refusal(403, "this request does not come from a page of this site")
    account = authentication.by_token(site.accounts(), _bearer_of(request))
    if account is None:
        raise Refusal(401, "no valid token", "send Authorization: Bearer TOKEN; `bd token create` on the server makes one")
    return account


def _bearer_of(request: Request) -> str:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def caller_of(request: Request, site: Site) -> Caller:
    """Return who sends the request, by its header or else by its cookie."""
    token = _bearer_of(request)
    if token:
        return Caller(authentication.by_token(site.people, token), is_ambient=False)
    session = request.cookies.get(cookie_of(request), "")
    return Caller(authentication.by_session(site.people, session) if session else None, is_ambient=True)


def cookie_of(request: Request) -> str:
    """Return the cookie's name. It contains the port, because browsers share cookies between all ports of a host."""
    server = request.scope.get("server") or ("", 0)
    return f"bd_session_{server[1] or 0}"


def is_from_here(request: Request) -> bool:
    """Return whether a page of this site sends the request, by headers that a browser sets and pages can't change."""
    origin = request.headers.get("origin")
    if origin is not None:
        found, (host, port) = parsed(origin), host_and_port(request.headers.get("host", ""))
        return found is not None and bool(host) and found == Url(found.scheme, "", None, host, port, "")
    return request.headers.get("sec-fetch-site") == "same-origin"


async def body_of(request: Request, limit: int) -> bytes:
    """Return the body. Raises Refusal if it is larger than `limit`, which is not read then, or incomplete."""
    told = request.headers.get("content-length", "")
    if told.isdecimal() and int(told) > limit:
        raise _too_large(limit)
    found = bytearray()
    try:
        async for part in request.stream():
            found += part
            if len(found) > limit:
                raise _too_large(limit)
    except ClientDisconnect:
        raise Refusal(400, "the body broke off") from None
    return bytes(found)


def _too_large(limit: int) -> Refusal:
    return Refusal(413, f"more than {limit} bytes" if limit else "a request body is not allowed here")


def _host_of(request: Request) -> str:
    """Return the host name without its port, in lower case; empty for a header that can't be one."""
    host, port = host_and_port(request.headers.get("host", ""))
    return host if not port or port.isdecimal() else ""
