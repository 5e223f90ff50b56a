"""The agents page: the state of each agent, and the work it held over time."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.times import age_text, time_of_seconds
from bd.report import html_page
from bd.report.agents import names_of, records_of
from bd.report.board.board_page import agent_status
from bd.report.html_page import Cell
from bd.report.metrics import charts, series, svg
from bd.report.metrics.metrics import Window, measure, spans
from bd.web import layout
from bd.web.pages import Page, shown
from bd.web.routes import Route
from bd.web.time_range import choices, chosen

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from starlette.responses import Response

    from bd.web.routes import Ask
    from bd.web.site import View


async def agents(ask: Ask) -> Response:
    """Show every agent, with its capacity over time."""
    return await shown(ask, _agents)


def _agents(view: View, ask: Ask) -> Page:
    flow = view.flow()
    since = chosen(ask, view.now, flow)
    window = Window(int(since.timestamp()), int(view.now.timestamp()))
    done = {agent["agent"]: agent for agent in measure(flow, view.snapshot, view.now, since)["agents"]}
    held = spans(flow, window)
    names = sorted({*names_of(view.snapshot), *held})
    known = records_of(view.snapshot, view.now, names)
    made = [_agent(record, done.get(record["agent"], {}), held.get(record["agent"], []), window) for record in known]
    body = layout.live("agents", "".join(made) or '<p class="none">No agents yet.</p>')
    return Page(f"{view.name} agents", f"since {time_of_seconds(window.start_s)[:16].replace('T', ' ')} UTC", choices(ask) + body)


def _agent(record: Mapping[str, Any], done: Mapping[str, Any], held: list[tuple[int, int]], window: Window) -> str:
    name = record["agent"]
    word = "offline" if record.get("presumed_offline") else record["status"]
    facts = "".join(f"<div><dt>{html_page.text(words)}</dt><dd>{told}</dd></div>" for words, told in _facts(record, done) if told)
    chart = svg.steps(series.in_hand(held, window), record.get("max_concurrent"), "beads in hand", kind="small")
    scale = charts.scale(time_of_seconds(window.start_s), time_of_seconds(window.end_s))
    head = f'<h2 id="{html_page.text(name)}">{html_page.text(name)} {agent_status(word)}</h2>'
    return f'<section>{head}\n<dl class="facts flat">{facts}</dl>\n{chart}{scale}</section>\n'


def _facts(record: Mapping[str, Any], done: Mapping[str, Any]) -> list[tuple[str, str]]:
    limit = record.get("max_concurrent")
    age_s = record.get("heartbeat_age_s")
    left = record.get("budget_remaining_usd")
    return [
        ("role", html_page.text(str(record.get("role") or ""))),
        (
            "holds",
            Cell(f"{record['current_tasks']}{'' if limit is None else f' of {limit}'} ")
            + Cell(", ".join(map(layout.bead_link, record["beads"]))),
        ),
        ("waiting for it", html_page.text(str(record["pending_count"] or ""))),
        ("last sign", html_page.text("" if age_s is None else f"{age_text(age_s)} ago")),
        ("closed", html_page.text(f"{done['closed']}, {done['failed']} failed" if done else "")),
        ("success", html_page.text(charts.share_text(done.get("success_rate")) if done else "")),
        ("busy", html_page.text(charts.share_text(done["utilisation"]) if done else "")),
        ("spent", html_page.text(f"${done['cost_usd']:.2f}" if done.get("cost_usd") else "")),
        ("may spend", html_page.text("" if left is None else f"${left:.2f}")),
    ]


ROUTES = (Route("GET", "/agents", agents),)
