"""bd metrics."""

from __future__ import annotations

import sys

from bd import TYPE_CHECKING
from bd.cli.output import escaped
from bd.cli.spec import Command, Flag, Option
from bd.core.errors import BadInput
from bd.core.ids import hub_name
from bd.core.times import past_instant
from bd.report.metrics import charts, prometheus
from bd.report.metrics.flow import flow_of
from bd.report.metrics.metrics import measure

if TYPE_CHECKING:
    from typing import Any

    from bd.cli.app import App


SPEC = Command(
    "metrics",
    Option("--since", metavar="WHEN", narrows=True, help="Only what happened after this time, or within this period (`7d`)."),
    Flag("--plot", help="Draw bars."),
    Flag("--prometheus", name="as_prometheus", help="Print them for Prometheus."),
    Flag("--html", name="as_html", help="Print a self-contained page."),
    help="""Show how the fleet is doing in numbers, read from git's history.

    Queue by phase and tier, waits, throughput, lost pushes, attempts, costs, and each agent. The history is read
    once; later runs read only new commits.
    """,
    examples=[
        "bd metrics --since 7d",
        "bd metrics --plot              what was closed when, waits, how busy each agent is",
        "bd metrics --html > fleet.html",
        "bd metrics --prometheus > bd.prom",
    ],
)


def run(app: App, since: str | None, plot: bool, as_prometheus: bool, as_html: bool) -> None:
    """Show how the fleet is doing in numbers, read from git's history."""
    if as_prometheus and since:
        raise BadInput("Prometheus counts from the beginning", hint="leave --since out; its queries choose the time")
    if sum((plot, as_prometheus, as_html, app.flags.json)) > 1:
        raise BadInput("--plot, --prometheus, --html and --json can't be combined", hint="leave out all but one")
    start = past_instant(since, app.now) if since else None
    snapshot = app.snapshot()
    tip = snapshot.commit if app.flags.at else app.hub.published() or snapshot.commit
    flow = flow_of(app.hub, tip, app.hub.on_progress, keeps=not app.flags.at)
    numbers = measure(flow, snapshot, app.now, start)
    missing = app.tell_gaps()
    if app.out.is_json:
        app.out.object({**numbers, **missing})
    elif as_prometheus:
        sys.stdout.write(prometheus.text(numbers))
    elif as_html:
        sys.stdout.write(charts.html(numbers, hub_name(snapshot.config().get("prefix"))))
    elif plot:
        app.out.lines(charts.lines(numbers, min(100, app.out.width())))
    else:
        _tell(app, numbers)


def _tell(app: App, numbers: dict[str, Any]) -> None:
    app.out.line(f"{numbers['since']} to {numbers['until']}")
    for words, value in charts.summary(numbers):
        app.out.line(f"  {words:<19}  {value}")
    if numbers["queue"]:
        rows = [[entry["phase"].replace("_", " "), entry["tier"], str(entry["beads"])] for entry in numbers["queue"]]
        app.out.table(["phase", "tier", "beads"], rows)
    agents = [
        [
            escaped(agent["agent"]),
            *(str(agent[key]) for key in ("claims", "closed", "failed")),
            charts.share_text(agent.get("success_rate")),
            charts.share_text(agent["utilisation"]),
        ]
        for agent in numbers["agents"]
    ]
    if agents:
        app.out.table(["agent", "claims", "closed", "failed", "success", "busy"], agents)
