"""bd release."""

from __future__ import annotations

import click

from bd.cli.app import App
from bd.cli.options import pass_app
from bd.core.errors import BadInput
from bd.operations.claims import Release


@click.command("release", epilog='\b\nExample:\n  bd release hub-7k3q --reason "no access to the cluster"')
@click.argument("beads", nargs=-1, required=True)
@click.option("--reason", "-r", help="Why; kept on the bead.")
@click.option("--force", is_flag=True, help="Take it from whoever holds it (needs --reason).")
@pass_app
def command(app: App, beads: tuple[str, ...], reason: str | None, force: bool) -> None:
    """Give a bead back; it costs no attempt.

    From the second time in a row on, it is hidden for a while: 10s, then twice as long, at most 5m.
    """
    if not (reason or "").strip():
        raise BadInput("a release needs a reason", hint=f'bd release {beads[0]} --reason "why"')
    outcome = app.publish(Release(**app.asked_to_end(beads, ids=list(beads), reason=reason, force=force)))
    app.show_written(outcome, "Released")
