"""The HTTP routes of the table of endpoints."""

from __future__ import annotations

import json
from functools import partial

from starlette.responses import JSONResponse, Response

from bd import TYPE_CHECKING
from bd.core.errors import BadInput, BdError, StaleToken
from bd.core.json_shapes import no_constant
from bd.web import event_stream
from bd.web.api import openapi
from bd.web.api.call import claim_of
from bd.web.api.endpoints import BY_NAME, ENDPOINTS, PREFIX
from bd.web.api.parameters import of_query
from bd.web.api.service import refuse_caller
from bd.web.authentication import CLAIM
from bd.web.refusal import Refusal
from bd.web.routes import TOKEN, Route

if TYPE_CHECKING:
    from typing import Any

    from bd.web.api.call import Call
    from bd.web.api.endpoints import Endpoint
    from bd.web.routes import Ask

KEY = "idempotency-key"


async def answer(endpoint: Endpoint, ask: Ask) -> Response:
    """Answer a call of an endpoint that reads or writes."""
    done = await ask.site.service.run(endpoint, _call_of(endpoint, ask))
    return Response(done.text(), media_type="application/json", headers=dict(done.headers))


async def wait(ask: Ask) -> Response:
    """Hold the request until something is ready for the agent."""
    done = await ask.site.service.wait(_call_of(BY_NAME["wait"], ask), ask.request.is_disconnected)
    return JSONResponse(done.value)


async def events(ask: Ask) -> Response:
    """Send an event each time the hub moves, as long as the caller's token, and a claim's claim, is good."""
    account = ask.person
    assert account is not None
    refuse_caller(BY_NAME["events"], account)

    async def refuse_ended() -> None:
        if account.kind == CLAIM:
            await ask.site.read(lambda view: claim_of(account, view.snapshot))

    async def may_listen() -> bool:
        try:
            await refuse_ended()
        except StaleToken:
            return False
        except BdError:  # the hub can't be read now: the stream says so by itself
            pass
        return ask.is_admitted()

    await refuse_ended()
    return event_stream.stream(ask, may_listen)


async def document(ask: Ask) -> Response:
    """Return the OpenAPI document."""
    return JSONResponse(openapi.document())


def _call_of(endpoint: Endpoint, ask: Ask) -> Call:
    assert ask.person is not None
    values = _body_of(ask) if endpoint.write else of_query(endpoint.others, ask.request.query_params.multi_items())
    key = ask.request.headers.get(KEY, "") if endpoint.write else ""
    return ask.site.service.call_of(endpoint, ask.person, {**values, **ask.words}, key)


def _body_of(ask: Ask) -> dict[str, Any]:
    kind = ask.request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if not ask.body.strip():
        return {}
    if kind != "application/json":
        raise Refusal(415, "a body here is JSON", "Content-Type: application/json")
    try:
        found = json.loads(ask.body, parse_constant=no_constant)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"the body is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise BadInput("the body has to be a JSON object")
    return found


_HOLDING = {"wait": wait, "events": events}
ROUTES = (
    Route("GET", f"{PREFIX}/openapi.json", document, TOKEN),
    *(
        Route(one.method, PREFIX + one.path, _HOLDING.get(one.name) or partial(answer, one), TOKEN, one.limit if one.write else 0)
        for one in ENDPOINTS
    ),
)
