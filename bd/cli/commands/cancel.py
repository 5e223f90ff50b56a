"""bd cancel."""

from __future__ import annotations

import click

from bd.cli.app import App
from bd.cli.options import pass_app
from bd.operations.close import Cancel


@click.command("cancel", epilog='\b\nExample:\n  bd cancel hub-7k3q --reason "no longer wanted" --cascade')
@click.argument("beads", nargs=-1, required=True)
@click.option("--reason", "-r", help="Why; kept on the bead.")
@click.option("--cascade", is_flag=True, help="Also what is below it and what waits for it.")
@click.option("--unblock", is_flag=True, help="Let what waits for it go on without it.")
@click.option("--force", is_flag=True, help="Although another holds it (needs --reason).")
@pass_app
def command(app: App, beads: tuple[str, ...], reason: str | None, cascade: bool, unblock: bool, force: bool) -> None:
    """Call beads off. What waits for them keeps waiting, unless --cascade or --unblock decides."""
    asked = app.asked(beads, ids=list(beads), reason=reason, cascade=cascade, unblock=unblock, force=force)
    app.show_written(app.publish(Cancel(**asked)), "Cancelled")
