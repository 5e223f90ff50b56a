"""bd stats."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.cli.output import sentence
from bd.cli.spec import Command
from bd.compat import bead_json
from bd.core.times import age_text
from bd.policy.eligibility import pause_of, pause_words

if TYPE_CHECKING:
    from bd.cli.app import App


SPEC = Command(
    "stats",
    help="Show the hub in numbers.",
    examples=["bd stats --json"],
)


def run(app: App) -> None:
    """Show the hub in numbers."""
    snapshot = app.snapshot()
    numbers = bead_json.statistics(snapshot, app.now)
    paused = pause_of(snapshot)
    if paused:
        numbers["paused"] = dict(paused)
    if app.out.is_json:
        app.out.object(numbers)
        return
    if paused:
        app.out.line(sentence(pause_words(paused)))
    summary = numbers["summary"]
    app.out.line(f"{summary['total_issues']} beads, {summary['ready_issues']} ready, {summary['in_progress_issues']} in progress")
    app.out.table(
        ["phase", "beads"], [[phase.replace("_", " "), str(count)] for phase, count in sorted(numbers["by_phase"].items())]
    )
    if summary["closed_issues"]:
        app.out.line(f"from creation to close on average: {age_text(summary['average_lead_time_hours'] * 3600)}")
