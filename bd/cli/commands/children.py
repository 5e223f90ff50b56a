"""bd children."""

from __future__ import annotations

import click

from bd.cli.app import App
from bd.cli.commands.bead_list import show_list
from bd.cli.options import pass_app
from bd.core import ids
from bd.core.queries import Lineup


@click.command("children", epilog="\b\nExample:\n  bd children hub-7k3q")
@click.argument("bead")
@pass_app
def command(app: App, bead: str) -> None:
    """List the beads below a bead.

    Done ones too, in the order they were made.
    """
    snapshot = app.snapshot()
    bead_id = ids.resolve(bead, snapshot.starting, snapshot.exists)
    children = sorted(snapshot.children_of(bead_id), key=lambda child: (child.created_at, child.id))
    show_list(app, snapshot, Lineup(children), limit=None, default_limit=0, empty=f"{bead_id} has no children.")
