"""bd stale."""

from __future__ import annotations

from datetime import timedelta

import click

from bd.cli.app import App
from bd.cli.commands.bead_list import show_list
from bd.cli.options import list_option, pass_app
from bd.cli.values import flat
from bd.report.selection import Wanted, lineup

_LIMIT = 50


@click.command("stale", epilog="\b\nExample:\n  bd stale --days 14")
@click.option("--days", "-d", type=click.IntRange(min=0), default=30, help="Not changed for this many days (30).")
@list_option("--status", "-s", "statuses", help="Only these statuses; open and in_progress when left out.")
@click.option("--limit", "-n", type=click.IntRange(min=0), help="At most this many; 0 is no limit.")
@pass_app
def command(app: App, days: int, statuses: tuple[list[str], ...], limit: int | None) -> None:
    """List beads that nobody has touched for long.

    `bd stalled` is about holders that are gone; this is about beads that were forgotten.
    """
    snapshot = app.snapshot()
    names = tuple(flat(statuses)) or ("open", "in_progress")
    wanted = Wanted(statuses=names, times={"updated_before": app.now - timedelta(days=days)})
    beads = lineup(snapshot, wanted, app.now, app.settings, "updated")
    show_list(app, snapshot, beads, limit=limit, default_limit=_LIMIT, empty=f"Nothing is older than {days} days.")
