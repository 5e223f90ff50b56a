"""The error handler: turns refusals and bugs into responses."""

from __future__ import annotations

import math
import sys
import traceback

from starlette.responses import HTMLResponse, JSONResponse

from bd import TYPE_CHECKING
from bd.core.errors import BdError
from bd.report import html_page
from bd.web import layout
from bd.web.refusal import Refusal

if TYPE_CHECKING:
    from typing import Any

    from starlette.responses import Response

    from bd.web.site import Site

# HTTP statuses of the exit codes in docs/exit-codes.md, and of single codes that differ.
STATUS = {2: 400, 3: 409, 4: 404, 5: 409, 6: 503, 7: 500}
STATUS_OF_CODE = {"not_allowed": 403}

_TITLES = {401: "Who are you?", 404: "Not found", 500: "A bug", 503: "Try again"}


def answer(error: Exception, site: Site, *, as_json: bool) -> Response:
    """Return the response to a request that failed."""
    status, told = told_of(error)
    if as_json:
        return JSONResponse(told, status, headers=_headers(status, told))
    hint = f'<p class="none">{html_page.text(told["hint"])}</p>\n' if told.get("hint") else ""
    way = '<p><a href="/sign-in">Sign in</a></p>\n' if status == 401 and site.people else ""
    body = f'<p class="state stop">{html_page.text(told["error"])}</p>\n{hint}{way}'
    return HTMLResponse(layout.document(_TITLES.get(status, "Refused"), str(status), body), status)


def _headers(status: int, told: dict[str, Any]) -> dict[str, str]:
    """Return what clients look for in headers: how to authenticate, and when to try again."""
    headers = {"www-authenticate": "Bearer"} if status == 401 else {}
    wait_s = told.get("retry_after_s", 1 if status == 503 else None)
    return {**headers, **({"retry-after": str(math.ceil(wait_s))} if isinstance(wait_s, int | float) else {})}


def told_of(error: Exception) -> tuple[int, dict[str, Any]]:
    """Return the status and the JSON of a request that failed. The details of a bug are for the server's own output."""
    if isinstance(error, Refusal):
        return error.status, {"error": error.message, "code": "refused", **({"hint": error.hint} if error.hint else {})}
    if isinstance(error, BdError):
        return STATUS_OF_CODE.get(error.code) or STATUS.get(error.exit_code, 500), error.as_json()
    traceback.print_exception(error, file=sys.stderr)
    return 500, {"error": "a bug in bd", "code": "bug", "hint": "the server's own output has the details"}
