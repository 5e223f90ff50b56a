"""A route: where it is, what answers there, who may ask, and how much they may say.

A module of a noun has `ROUTES`, a tuple of them; app.py names the modules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from starlette.requests import Request
    from starlette.responses import Response

    from bd.web.authentication import Person
    from bd.web.site import Site

    Handler = Callable[["Ask"], Awaitable[Response]]

# Who may ask. `read`: everybody, unless the site is private; `write`: a person with a token, from this site's own pages or
# with the token in a header; `open`: everybody; `own`: the handler finds out itself who it is (a signature in the body).
READ, WRITE, OPEN, OWN = "read", "write", "open", "own"
FORM_LIMIT = 256 * 1024


class Ask(NamedTuple):
    """One request: its body, no larger than its route allows, and who asks, where somebody with a token does."""

    request: Request
    site: Site
    person: Person | None
    body: bytes

    @property
    def words(self) -> Mapping[str, str]:
        """What is in the path."""
        return self.request.path_params

    @property
    def query(self) -> Mapping[str, str]:
        return self.request.query_params

    @property
    def wants_json(self) -> bool:
        """Whether a program asks, which wants JSON rather than a page."""
        return "text/html" not in self.request.headers.get("accept", "")


class Route(NamedTuple):
    """`limit` is how many bytes a body may have."""

    method: str
    path: str
    handler: Handler
    rule: str = READ
    limit: int = 0
