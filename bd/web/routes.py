"""A route: method, path, handler, who may call it, and the largest body.

A module with routes has a tuple `ROUTES`; app.py lists the modules.
"""

from __future__ import annotations

from typing import NamedTuple

from bd import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from starlette.requests import Request
    from starlette.responses import Response

    from bd.web.authentication import Account
    from bd.web.site import Site

    Handler = Callable[["Ask"], Awaitable[Response]]

# Who may call a route. `read`: everybody, unless the site is private; `write`: a person with a token, from this site's own pages
# or with the token in a header; `token`: whoever sends any account's token in a header; `open`: everybody; `own`: the handler
# authenticates by itself (a signature in the body).
READ, WRITE, TOKEN, OPEN, OWN = "read", "write", "token", "open", "own"
FORM_LIMIT = 256 * 1024


class Ask(NamedTuple):
    """One request: its body, within the limit of its route, and the person (or other account) who sent it, if any.

    `is_admitted` asks the request guard again, for answers that go on: a token may have been removed meanwhile.
    """

    request: Request
    site: Site
    person: Account | None
    body: bytes
    is_admitted: Callable[[], bool]

    @property
    def words(self) -> Mapping[str, str]:
        """The path parameters."""
        return self.request.path_params

    @property
    def query(self) -> Mapping[str, str]:
        return self.request.query_params


def wants_json(request: Request) -> bool:
    """Return whether a program asks, which wants JSON rather than a page."""
    return "text/html" not in request.headers.get("accept", "")


class Route(NamedTuple):
    """A method and path with its handler; `limit` is the largest body in bytes."""

    method: str
    path: str
    handler: Handler
    rule: str = READ
    limit: int = 0
