"""bd epic."""

from __future__ import annotations

import click

from bd.cli.context import App
from bd.cli.options import accept, pass_app
from bd.interop import views


@click.group("epic")
def command() -> None:
    """Show how far epics are."""


@command.command("status", epilog="\b\nExample:\n  bd epic status")
@accept("--eligible-only")
@pass_app
def status(app: App) -> None:
    """List the open epics with their children done and in all."""
    snapshot = app.snapshot()
    found = views.epics(snapshot, app.now)
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
