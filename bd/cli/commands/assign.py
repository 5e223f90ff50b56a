"""bd assign."""

from __future__ import annotations

import click

from bd.cli.context import App
from bd.cli.options import pass_app
from bd.operations.beads import Update


@click.command("assign", epilog="\b\nExample:\n  bd assign hub-7k3q codemonkey")
@click.argument("bead")
@click.argument("name")
@pass_app
def command(app: App, bead: str, name: str) -> None:
    """Route a bead to an agent or a person.

    An empty name routes it to nobody.
    """
    outcome = app.publish(Update(**app.asked([bead], ids=[bead], set={"assignee": name.strip()}, verb_words="assign")))
    app.show_written(outcome, f"Assigned to {name}:" if name.strip() else "Assigned to nobody:", as_object=True)
