"""The event stream that open pages listen to: each event says that the hub has moved or can't be reached."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

from starlette.responses import Response, StreamingResponse

from bd.web.feed import END, STALE, News
from bd.web.routes import Route

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from bd.web.feed import Feed
    from bd.web.routes import Ask

# A regular keepalive, so that proxies keep the connection and a closed browser is noticed.
_STILL_HERE_S = 20.0
# The most listeners at once: the other connections (connections.py) are left for requests. A stream beyond them ends at once, and
# the browser comes again; after an error it would not.
AT_ONCE = 512
_AGAIN_S = 30


async def events(ask: Ask) -> Response:
    """Send server-sent events until the page or the server goes away."""
    if ask.request.method == "HEAD":
        return Response(media_type="text/event-stream")
    headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
    return StreamingResponse(_stream(ask.site.feed), media_type="text/event-stream", headers=headers)


async def _stream(feed: Feed) -> AsyncIterator[str]:
    with feed.listening() as queue:
        if feed.listeners > AT_ONCE:
            yield f"retry: {_AGAIN_S * 1000}\n\n"
            return
        kind = STALE if feed.stale_since else "hello"
        yield "retry: 2000\n" + _event(News(kind, feed.tip, feed.seen_at, feed.trouble, feed.stale_since))
        while True:
            try:
                news = await asyncio.wait_for(queue.get(), _STILL_HERE_S)
            except TimeoutError:
                yield ": still here\n\n"
                continue
            if news.kind == END:
                return
            yield _event(news)


def _event(news: News) -> str:
    return f"event: {news.kind}\ndata: {json.dumps(news._asdict())}\n\n"


ROUTES = (Route("GET", "/events", events),)
