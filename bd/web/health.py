"""Health and metrics, for programs that monitor this server: /healthz, /metrics."""

from __future__ import annotations

from starlette.responses import JSONResponse, PlainTextResponse

from bd import TYPE_CHECKING, __version__
from bd.report.metrics import prometheus
from bd.report.metrics.metrics import measure
from bd.web.routes import OPEN, Route

if TYPE_CHECKING:
    from starlette.responses import Response

    from bd.web.routes import Ask
    from bd.web.site import View


async def healthz(ask: Ask) -> Response:
    """Answer 200 while the hub responds, else 503 with the time since when this clone's data is stale."""
    feed = ask.site.feed
    known = {
        "status": "stale" if feed.stale_since else "ok" if feed.tip else "starting",
        "version": __version__,
        "tip": feed.tip,
        "seen_at": feed.seen_at,
        "stale_since": feed.stale_since,
        "trouble": feed.trouble,
        "pages": feed.listeners,
    }
    return JSONResponse({key: value for key, value in known.items() if value != ""}, 503 if feed.stale_since else 200)


async def metrics(ask: Ask) -> Response:
    """Return the numbers of `bd metrics --prometheus`."""
    text = await ask.site.read(_numbers)
    return PlainTextResponse(text, media_type="text/plain; version=0.0.4; charset=utf-8")


def _numbers(view: View) -> str:
    return prometheus.text(measure(view.flow(), view.snapshot, view.now))


ROUTES = (
    Route("GET", "/healthz", healthz, OPEN),
    Route("GET", "/metrics", metrics),
)
