"""Long polling: an agent on another machine asks once for work, and the answer comes as soon as there is some."""

from __future__ import annotations

import math

from starlette.responses import JSONResponse

from bd import TYPE_CHECKING
from bd.core.errors import BadInput
from bd.core.ids import check_agent
from bd.web.routes import Route
from bd.web.waits import held
from bd.worker.long_poll import HELD_S

if TYPE_CHECKING:
    from starlette.responses import Response

    from bd.web.routes import Ask


async def wait(ask: Ask) -> Response:
    """Answer `/wait?agent=A&timeout=S` with {agent, ready, reason}. After a timeout `ready` is empty, which is not an error."""
    agent, timeout_s = check_agent(ask.query.get("agent", "")), _seconds(ask.query.get("timeout"))
    return JSONResponse(await held(ask.site, agent, timeout_s, ask.request.is_disconnected))


def _seconds(text: str | None) -> float:
    try:
        seconds = float(text or HELD_S)
    except ValueError:
        seconds = math.nan
    if not seconds >= 0:
        raise BadInput("timeout is a number of seconds")
    return seconds


ROUTES = (Route("GET", "/wait", wait),)
