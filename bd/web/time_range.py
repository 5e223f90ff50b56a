"""The time range that a page shows."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from bd import TYPE_CHECKING

if TYPE_CHECKING:
    from bd.report.metrics.flow import Flow
    from bd.web.routes import Ask

_WINDOWS = {"1h": timedelta(hours=1), "24h": timedelta(days=1), "7d": timedelta(days=7), "30d": timedelta(days=30), "all": None}
_USUAL = "24h"


def chosen(ask: Ask, now: datetime, flow: Flow) -> datetime:
    """Return the start of the chosen range; `all` starts with the first work."""
    length = _WINDOWS[_name(ask)]
    first_s = min((row.at_s for row in flow.rows), default=int(now.timestamp()) - 1)
    return now - length if length else datetime.fromtimestamp(first_s, UTC)


def choices(ask: Ask) -> str:
    """Return links to the other ranges."""
    here = _name(ask)
    ways = (f"<b>{name}</b>" if name == here else f'<a href="?since={name}">{name}</a>' for name in _WINDOWS)
    return f'<p class="path">{" &middot; ".join(ways)}</p>\n'


def _name(ask: Ask) -> str:
    typed = ask.query.get("since", _USUAL)
    return typed if typed in _WINDOWS else _USUAL
