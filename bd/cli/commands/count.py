"""bd count."""

from __future__ import annotations

from collections import Counter

from bd import TYPE_CHECKING
from bd.cli.commands.bead_list import FILTERS, wanted_of
from bd.cli.spec import Command, Flag, list_option
from bd.core.queries import Lineup
from bd.policy.eligibility import Eligibility
from bd.policy.readiness import Readiness, status_now
from bd.policy.work_queue import ready_beads
from bd.report.selection import Wanted, lineup, passing

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from bd.cli.app import App
    from bd.core.model import Bead


_GROUPS = ("status", "phase", "priority", "type", "assignee", "label")


SPEC = Command(
    "count",
    list_option("--status", "-s", name="statuses", narrows=True, help="Only these statuses."),
    *FILTERS,
    Flag("--ready", help="Only what is ready (with --agent: what fits it)."),
    Flag("--by-status", name="group", value="status", help="Group by status."),
    Flag("--by-phase", name="group", value="phase", help="Group by phase."),
    Flag("--by-priority", name="group", value="priority", help="Group by priority."),
    Flag("--by-type", name="group", value="type", help="Group by type."),
    Flag("--by-assignee", name="group", value="assignee", help="Group by assignee."),
    Flag("--by-label", name="group", value="label", help="Group by label."),
    help="Count beads, also by group. Done beads count too, unless filtered out.",
    examples=["bd count --ready --agent codemonkey", "bd count --by-status"],
)


def run(app: App, ready: bool, group: str | None, **flags: Any) -> None:
    """Count beads, optionally by group. Done ones count, unless filtered out."""
    snapshot, now = app.snapshot(), app.now
    wanted = wanted_of(app, snapshot, **flags)
    if not wanted.statuses:
        wanted = wanted.replace(everything=True)
    if ready:
        beads = ready_beads(snapshot, now)
        if app.work_for:
            beads = Lineup(Eligibility(snapshot, app.work_for, now).beads(beads))
        if wanted != Wanted(everything=True):
            beads = Lineup(filter(passing(snapshot, wanted, now, app.settings), beads))
    else:
        beads = lineup(snapshot, wanted, now, app.settings)
    if not group:
        _show_total(app, len(beads))
        return
    readiness = Readiness(snapshot, now)
    keys: dict[str, Callable[[Bead], list[str]]] = {
        "status": lambda bead: [status_now(bead, now)],
        "phase": lambda bead: [readiness.phase(bead)],
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
