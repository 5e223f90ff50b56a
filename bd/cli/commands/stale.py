"""bd stale."""

from __future__ import annotations

from datetime import timedelta

from bd import TYPE_CHECKING
from bd.cli.commands.bead_list import show_list
from bd.cli.spec import Command, Option, list_option, whole_number
from bd.cli.values import flat
from bd.report.selection import Wanted, lineup

if TYPE_CHECKING:
    from bd.cli.app import App


_LIMIT = 50


SPEC = Command(
    "stale",
    Option("--days", "-d", kind=whole_number(0), default=30, help="Not changed for this many days (30)."),
    list_option("--status", "-s", name="statuses", narrows=True, help="Only these statuses; default: open and in_progress."),
    Option("--limit", "-n", kind=whole_number(0), help="At most this many; 0 is no limit."),
    help="""List beads that nobody has changed for a long time.

    `bd stalled` is about holders that are gone; this is about beads that were forgotten.
    """,
    examples=["bd stale --days 14"],
)


def run(app: App, days: int, statuses: tuple[list[str], ...], limit: int | None) -> None:
    """List beads that nobody has changed for long."""
    snapshot = app.snapshot()
    names = tuple(flat(statuses)) or ("open", "in_progress")
    wanted = Wanted(statuses=names, times={"updated_before": app.now - timedelta(days=days)})
    beads = lineup(snapshot, wanted, app.now, app.settings, "updated")
    show_list(app, snapshot, beads, limit=limit, default_limit=_LIMIT, empty=f"Nothing is older than {days} days.")
