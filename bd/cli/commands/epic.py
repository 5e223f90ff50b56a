"""bd epic."""

from __future__ import annotations

import click

from bd.cli.context import App
from bd.cli.options import pass_app
from bd.interop import views


@click.group("epic", no_args_is_help=False)
def command() -> None:
    """Show how far epics are."""


@command.command("status", epilog="\b\nExample:\n  bd epic status")
@click.option("--eligible-only", is_flag=True, help="Only epics whose children are all done.")
@pass_app
def status(app: App, *, eligible_only: bool) -> None:
    """List the open epics with their children done and in all."""
    snapshot = app.snapshot()
    found = [entry for entry in views.epics(snapshot, app.now) if entry["eligible_for_close"] or not eligible_only]
    if app.out.is_json:
        app.out.json(found)
        return
    rows = [
        [entry["epic"]["id"], f"{entry['closed_children']}/{entry['total_children']}", entry["epic"]["title"]] for entry in found
    ]
    if rows:
        app.out.table(["epic", "done", "title"], rows)
    else:
        app.out.line("No open epics.")
