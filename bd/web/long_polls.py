"""Long polling: an agent on another machine asks once for work, and the answer comes as soon as there is some."""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING

from starlette.responses import JSONResponse

from bd.core.errors import BadInput
from bd.core.ids import check_agent
from bd.web.feed import END
from bd.web.refusal import Refusal
from bd.web.routes import Route
from bd.worker.long_poll import HELD_S
from bd.worker.wait import offered, turn_in_s

if TYPE_CHECKING:
    from starlette.responses import Response

    from bd.web.routes import Ask
    from bd.web.site import View

# The most requests held at once; other clients poll meanwhile.
AT_ONCE = 200
_waiting: set[int] = set()


async def wait(ask: Ask) -> Response:
    """Answer `/wait?agent=A&timeout=S` with {agent, ready, reason}. After a timeout `ready` is empty, which is not an error."""
    return await held(ask, check_agent(ask.query.get("agent", "")), _seconds(ask.query.get("timeout")))


async def held(ask: Ask, agent: str, timeout_s: float) -> Response:
    """Hold the request until something is ready for the agent. Raises Refusal if too many are held."""
    if len(_waiting) >= AT_ONCE:
        raise Refusal(503, "too many wait here already")
    _waiting.add(id(ask))
    try:
        return await _until_ready(ask, agent, ask.site.runtime.monotonic() + min(timeout_s, HELD_S))
    finally:
        _waiting.discard(id(ask))


async def _until_ready(ask: Ask, agent: str, until_s: float) -> Response:
    with ask.site.feed.listening() as news:
        while True:
            found, reason, turn_s = await ask.site.read(_look, agent)
            left_s = until_s - ask.site.runtime.monotonic()
            if found or left_s <= 0 or await ask.request.is_disconnected():
                return JSONResponse({"agent": agent, "ready": found, **({"reason": reason} if not found else {})})
            if ask.site.feed.stale_since:
                raise Refusal(503, "the hub can't be reached from here")
            try:
                one = await asyncio.wait_for(news.get(), max(0.01, min(left_s, turn_s)))
            except TimeoutError:
                continue
            if one.kind == END:
                raise Refusal(503, "this server ends")


def _look(view: View, agent: str) -> tuple[list[str], str, float]:
    found, reason = offered(view.snapshot, agent, view.now)
    turn_s = turn_in_s(view.snapshot, view.hub.runtime)
    return found, reason, math.inf if turn_s is None else turn_s


def _seconds(text: str | None) -> float:
    try:
        seconds = float(text or HELD_S)
    except ValueError:
        seconds = math.nan
    if not seconds >= 0:
        raise BadInput("timeout is a number of seconds")
    return seconds


ROUTES = (Route("GET", "/wait", wait),)
