"""The event stream that open pages listen to: each event says that the hub has moved or can't be reached."""

from __future__ import annotations

import asyncio
import json

from starlette.responses import Response, StreamingResponse

from bd import TYPE_CHECKING
from bd.web.feed import END, STALE, News
from bd.web.routes import Route

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from bd.web.feed import Feed
    from bd.web.routes import Ask

# A regular keepalive, so that proxies keep the connection and a closed browser is noticed.
_STILL_HERE_S = 20.0
# The most listeners at once: the other connections (connections.py) are left for requests. A stream beyond them ends at once, and
# the browser comes again; after an error it would not.
AT_ONCE = 512
_AGAIN_S = 30


async def events(ask: Ask) -> Response:
    """Send server-sent events until the page or the server goes away, or the caller's token."""

    async def may_listen() -> bool:
        return ask.is_admitted()

    return stream(ask, may_listen)


def stream(ask: Ask, may_listen: Callable[[], Awaitable[bool]]) -> Response:
    """Return the stream. It asks before each event, and every 20 seconds, whether the caller may still listen."""
    if ask.request.method == "HEAD":
        return Response(media_type="text/event-stream")
    headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
    return StreamingResponse(_lines(ask.site.feed, may_listen), media_type="text/event-stream", headers=headers)


async def _lines(feed: Feed, may_listen: Callable[[], Awaitable[bool]]) -> AsyncIterator[str]:
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
                news = None
            if (news and news.kind == END) or not await may_listen():
                return
            yield _event(news) if news else ": still here\n\n"


def _event(news: News) -> str:
    return f"event: {news.kind}\ndata: {json.dumps(news._asdict())}\n\n"


ROUTES = (Route("GET", "/events", events),)
