"""How a brief says what to call, for those who have no bd: HTTP requests, the tools of MCP, or the command of an isolated attempt.

All are made from the table of endpoints, so that a brief names nothing that is not there.
"""

from __future__ import annotations

import json
import shlex
from typing import Any

from bd import TYPE_CHECKING
from bd.brief.verbs import Verbs
from bd.web.api.endpoints import BY_NAME, PREFIX
from bd.web.authentication import CLAIM

if TYPE_CHECKING:
    from collections.abc import Callable

    from bd.web.api.endpoints import Endpoint

# The program that an isolated attempt finds on its PATH (attempt_api.py).
PROGRAM = "bd-api"
_TOKEN = "TOKEN"  # noqa: S105  stands for it
_HOW_HTTP = "These are requests to the API that you have this from, with a JSON body"
_HOW_TOKEN = f"; {_TOKEN} is claim.token of what claim answered"
_HOW_TOOLS = "These are tools of the MCP server that you have this from"
_HOW_PROGRAM = (
    f"You have no clone of the hub. {PROGRAM} asks its API for your claim; `{PROGRAM} GET openapi.json` says what there is."
)

# What each deed calls, and with which values besides the bead's id.
_CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "progress": ("progress", {"text": "what you have found or done"}),
    "ask": ("wait_human", {"question": "the question"}),
    "release": ("release", {"reason": "why"}),
    "fail": ("fail", {"reason": "other", "error": "what went wrong"}),
    "close": ("close", {"reason": "what you did, in a sentence"}),
}


def requests(kind: str, bead_id: str) -> Verbs:
    """Return the HTTP requests, for a kind of account."""

    def printed(endpoint: Endpoint, values: dict[str, Any]) -> str:
        path = PREFIX + endpoint.path.replace("{id}", bead_id)
        body = {key: value for key, value in values.items() if key != "id"}
        return f"{endpoint.method} {path} {json.dumps(body) if body else ''}".rstrip()

    return _verbs(kind, bead_id, f"{_HOW_HTTP}{'' if kind == CLAIM else _HOW_TOKEN}.", printed)


def tools(kind: str, bead_id: str) -> Verbs:
    """Return the calls of MCP's tools, for a kind of account."""
    how = f"{_HOW_TOOLS}{'' if kind == CLAIM else _HOW_TOKEN}."
    return _verbs(kind, bead_id, how, lambda endpoint, values: f"{endpoint.name} {json.dumps(values)}")


def program_calls(_: str, bead_id: str) -> Verbs:
    """Return the calls of the program of an isolated attempt, which has the token of its claim."""

    def printed(endpoint: Endpoint, values: dict[str, Any]) -> str:
        body = {key: value for key, value in values.items() if key != "id"}
        path = endpoint.path.replace("{id}", bead_id).lstrip("/")
        return f"{PROGRAM} {endpoint.method} {path} {shlex.quote(json.dumps(body)) if body else ''}".rstrip()

    return _verbs(CLAIM, bead_id, _HOW_PROGRAM, printed)


def _verbs(kind: str, bead_id: str, how: str, printed: Callable[[Endpoint, dict[str, Any]], str]) -> Verbs:
    token = {} if kind == CLAIM else {"token": _TOKEN}
    called = {deed: printed(BY_NAME[name], {"id": bead_id, **token, **values}) for deed, (name, values) in _CALLS.items()}
    if kind in BY_NAME["create"].callers:
        new = {"title": "TITLE", "deps": [f"discovered-from:{bead_id}"]}
        found = f"becomes a bead: {printed(BY_NAME['create'], new)}"
    else:
        found = f"goes into a comment: {printed(BY_NAME['comment'], {'id': bead_id, 'text': 'what you have found'})}"
    return Verbs(found=found, show=printed(BY_NAME["show"], {"id": bead_id}), how=how, **called)
