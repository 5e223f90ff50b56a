"""bd count."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import click

from bd.cli.app import App
from bd.cli.commands.bead_list import wanted_of
from bd.cli.options import filter_options, list_option, pass_app
from bd.core.model import Bead
from bd.core.queries import Lineup
from bd.policy.readiness import phase_of, status_now
from bd.policy.work_queue import ready_beads
from bd.report.selection import Wanted, lineup, passing

_GROUPS = ("status", "phase", "priority", "type", "assignee", "label")


@click.command("count", epilog="\b\nExamples:\n  bd count --ready --agent codemonkey\n  bd count --by-status")
@list_option("--status", "-s", "statuses", help="Only these statuses.")
@filter_options
@click.option("--ready", is_flag=True, help="Only what is ready (with --agent: what fits it).")
@click.option("--by-status", "group", flag_value="status", help="Group by status.")
@click.option("--by-phase", "group", flag_value="phase", help="Group by phase.")
@click.option("--by-priority", "group", flag_value="priority", help="Group by priority.")
@click.option("--by-type", "group", flag_value="type", help="Group by type.")
@click.option("--by-assignee", "group", flag_value="assignee", help="Group by assignee.")
@click.option("--by-label", "group", flag_value="label", help="Group by label.")
@pass_app
def command(app: App, ready: bool, group: str | None, **flags: Any) -> None:
    """Count beads, also by group. Done ones count too, unless filtered."""
    snapshot, now = app.snapshot(), app.now
    wanted = wanted_of(app, snapshot, **flags)
    if not wanted.statuses:
        wanted = wanted._replace(everything=True)
    if ready:
        beads = ready_beads(snapshot, now)
        if app.work_for:
            from bd.policy.eligibility import Eligibility

            beads = Lineup(Eligibility(snapshot, app.work_for, now).beads(beads))
        if wanted != Wanted(everything=True):
            beads = Lineup(filter(passing(snapshot, wanted, now, app.settings), beads))
    else:
        beads = lineup(snapshot, wanted, now, app.settings)
    if not group:
        _show_total(app, len(beads))
        return
    keys: dict[str, Callable[[Bead], list[str]]] = {
        "status": lambda bead: [status_now(bead, now)],
        "phase": lambda bead: [phase_of(bead, snapshot, now)],
        "priority": lambda bead: [f"P{bead.priority}"],
        "type": lambda bead: [bead.type],
        "assignee": lambda bead: [bead.assignee or ""],
        "label": lambda bead: bead.labels or [""],
    }
    counted = Counter(key for bead in beads for key in keys[group](bead))
    groups = [{"group": name or "(none)", "count": number} for name, number in sorted(counted.items())]
    if app.out.is_json:
        app.out.object({"total": len(beads), "groups": groups})
        return
    app.out.table([group, "beads"], [[str(entry["group"]), str(entry["count"])] for entry in groups])


def _show_total(app: App, number: int) -> None:
    if app.out.is_json:
        app.out.object({"count": number})
    else:
        app.out.line(str(number))
