"""bd reopen."""

from __future__ import annotations

import click

from bd.cli.app import App
from bd.cli.options import pass_app
from bd.operations.close import Reopen


@click.command("reopen", epilog='\b\nExample:\n  bd reopen hub-7k3q --reason "it came back"')
@click.argument("beads", nargs=-1, required=True)
@click.option("--reason", "-r", help="Why; kept as a comment.")
@pass_app
def command(app: App, beads: tuple[str, ...], reason: str | None) -> None:
    """Open beads again."""
    outcome = app.publish(Reopen(**app.asked(beads, ids=list(beads), reason=reason)))
    app.show_written(outcome, "Reopened")
