"""The flow page: throughput, waiting times, queue, lost pushes, costs."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.times import age_text
from bd.report import html_page
from bd.report.metrics import charts, series, svg
from bd.report.metrics.metrics import Window, measure
from bd.web import layout
from bd.web.pages import Page, shown
from bd.web.routes import Route
from bd.web.time_range import choices, chosen

if TYPE_CHECKING:
    from starlette.responses import Response

    from bd.report.metrics.flow import Flow
    from bd.web.routes import Ask
    from bd.web.site import View


async def flow(ask: Ask) -> Response:
    """Show the numbers of `bd metrics` as charts."""
    return await shown(ask, _flow)


def _flow(view: View, ask: Ask) -> Page:
    found = view.flow()
    since = chosen(ask, view.now, found)
    numbers = measure(found, view.snapshot, view.now, since)
    waits = _waits(found, Window(int(since.timestamp()), int(view.now.timestamp())))
    body = layout.live("flow", charts.sections(numbers) + waits)
    return Page(f"{view.name} flow", f"since {numbers['since'][:16].replace('T', ' ')} UTC", choices(ask) + body)


def _waits(found: Flow, window: Window) -> str:
    parts = series.waits(found, window)
    counted = [part for part in parts if part["count"]]
    if not counted:
        return html_page.section("Waits until claimed", '<p class="none">Nothing was claimed.</p>')
    words = [f"{part['at']}: {part['count']} claimed" + _spread(part) for part in parts]
    drawn = svg.columns(
        [(told, part.get("p95", 0)) for told, part in zip(words, parts, strict=True)], [part.get("p50", 0) for part in parts]
    )
    most = age_text(max(part["p95"] for part in counted))
    key = f'<p class="key"><b></b>95 of 100 waited no longer, at most {html_page.text(most)}<b class="two"></b>half of them</p>'
    return html_page.section("Waits until claimed", drawn + charts.scale(parts[0]["at"], parts[-1]["at"]) + key)


def _spread(part: dict[str, int]) -> str:
    return f", half within {age_text(part['p50'])}, 95 of 100 within {age_text(part['p95'])}" if part["count"] else ""


ROUTES = (Route("GET", "/flow", flow),)
